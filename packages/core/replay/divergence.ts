/** What the handler did that no record tells of, and what is recorded that the handler has not called: what a divergence is made of. */
import { ParleyError } from "../errors.ts";
import { entryKey } from "../journal.ts";
import { openOf, type Task } from "../task.ts";
import type { Call, CalledKind, Recollection } from "./recollection.ts";
import type { Settling } from "./settling.ts";

export interface Divergence {
  /** The handler did something that no record tells of; the first such thing is kept. */
  noteNew(what: string): void;
  /** The same of a call, unless it is recorded or open. */
  noteCall(kind: CalledKind, call: Call): void;
  /** Whether the handler has done anything new, or has passed a recorded decision without a word. */
  isLikely(): boolean;
  /** Recorded decisions that the handler has not asked for. */
  patchesAhead(): string[];
  /** The handler threw. What it threw while recorded work had not been called again is kept: what it awaited outside ctx may work in the next run. */
  noteThrown(error: unknown): void;
  thrown(): { readonly error: unknown } | undefined;
  /** Of what is recorded, and what was found in its place. */
  error(recorded: string, found: string): ParleyError;
  /** Of what is missing now, and the first new thing. */
  now(): { readonly recorded: string; readonly found: string };
}

export interface DivergenceOptions {
  readonly task: Task;
  readonly recollection: Pick<Recollection, "ahead">;
  readonly settling: Pick<Settling, "missing" | "isLive">;
}

export function createDivergence({ task, recollection, settling }: DivergenceOptions): Divergence {
  /** The first thing that the handler did which no record tells of. */
  let unrecorded: string | undefined;
  let thrown: { readonly error: unknown } | undefined;

  function noteNew(what: string): void {
    unrecorded ??= what;
  }

  /** Recorded decisions that the handler has not asked for. */
  function patchesAhead(): string[] {
    const prefix = entryKey("patch", "");
    return [...recollection.ahead].filter((id) => id.startsWith(prefix)).map((id) => id.slice(prefix.length));
  }

  return {
    noteNew,
    noteCall(kind, call) {
      const isOpen = (kind === "ask" || kind === "event" || kind === "call") && openOf(task).some(({ key }) => key === call.key);
      const isRecorded = call.entry !== undefined || isOpen;
      if (!isRecorded && kind !== "random" && kind !== "uuid") noteNew(`new ${call.id}`);
    },
    isLikely: () => unrecorded !== undefined || patchesAhead().length > 0,
    patchesAhead,
    noteThrown(error) {
      noteNew("the end of the handler");
      if (!settling.isLive()) thrown = { error };
    },
    thrown: () => thrown,
    error(recorded, found) {
      const message = `replay diverged in ${task.call.kind} ${task.call.name}: recorded ${recorded}, found ${found}`;
      return new ParleyError("REPLAY_DIVERGED", message, { data: { recorded, found }, ...(thrown && { cause: thrown.error }) });
    },
    now: () => ({ recorded: settling.missing(), found: unrecorded ?? "nothing new" }),
  };
}
