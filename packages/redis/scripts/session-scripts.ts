/** The Lua scripts of sessions as typed functions; scripts/session/session.lua describes the hash that they work on. */
import type { Redis } from "ioredis";
import { loadScripts } from "./load-scripts.ts";

export interface SessionScripts {
  open(key: string, args: { session: string; level: string | undefined; ttlMs: number }): Promise<"opened">;
  touch(key: string, args: { ttlMs: number; beginsWith: string }): Promise<[session: string | null, level: string | null]>;
  note(key: string, args: { field: string; value: string }): Promise<"noted" | "gone">;
  add(key: string, args: AddArguments): Promise<"added" | "full" | "gone">;
  call(key: string, args: { call: string; taskId: string; most: number }): Promise<"noted" | "full" | "gone" | "cancelled">;
  cancel(key: string, args: { call: string; most: number }): Promise<string>;
  hold(key: string, args: HoldArguments): Promise<[type: "full" | "gone"] | [type: "held", ...asksAndRefusals: string[]]>;
  keep(key: string, args: { stream: string; token: string; leaseUntilMs: number }): Promise<"kept" | "lost">;
  drop(key: string, args: { stream: string; token: string }): Promise<"dropped" | "lost">;
  end(key: string, args: { stream: string; heir: string; nowMs: number }): Promise<"ended" | "none">;
  claim(key: string, args: ClaimArguments): Promise<"claimed" | "put" | "elsewhere" | "full">;
}

export interface AddArguments {
  readonly kind: "uri:" | "task:";
  readonly name: string;
  readonly most: number;
}

export interface HoldArguments {
  readonly stream: string;
  readonly token: string;
  readonly nowMs: number;
  readonly leaseUntilMs: number;
  readonly after: number;
  readonly most: number;
}

export interface ClaimArguments {
  readonly ask: string;
  readonly stream: string;
  readonly token: string;
  readonly refusals: number;
  readonly event: number;
  readonly nowMs: number;
  readonly most: number;
}

export function defineSessionScripts(redis: Redis, sharded: boolean): SessionScripts {
  const run = loadScripts(redis, {
    names: ["open", "touch", "note", "add", "call", "cancel", "hold", "keep", "drop", "end", "claim"],
    folder: "session/",
    shared: ["session"],
    keyCount: () => 1,
    sharded,
  });
  return {
    open: (key, args) => run.open([key, args.session, args.level ?? "", args.ttlMs]) as never,
    touch: (key, args) => run.touch([key, args.ttlMs, args.beginsWith]) as never,
    note: (key, args) => run.note([key, args.field, args.value]) as never,
    add: (key, args) => run.add([key, args.kind, args.name, args.most]) as never,
    call: (key, args) => run.call([key, args.call, args.taskId, args.most]) as never,
    cancel: (key, args) => run.cancel([key, args.call, args.most]) as never,
    hold: (key, args) => run.hold([key, args.stream, args.token, args.nowMs, args.leaseUntilMs, args.after, args.most]) as never,
    keep: (key, args) => run.keep([key, args.stream, args.token, args.leaseUntilMs]) as never,
    drop: (key, args) => run.drop([key, args.stream, args.token]) as never,
    end: (key, args) => run.end([key, args.stream, args.heir, args.nowMs]) as never,
    claim: (key, args) => run.claim([key, args.ask, args.stream, args.token, args.refusals, args.event, args.nowMs, args.most]) as never,
  };
}
