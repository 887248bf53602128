/** A store whose changes leave evidence: when they are sent, and what came of them. */
import { randomUUID } from "node:crypto";
import type { Begun, Json, TaskStore } from "@parley/core";
import { write } from "./evidence.ts";

const CHANGES = ["create", "begin", "record", "renew", "park", "finish", "answer", "cancel"] as const;

export interface WatchedStore {
  readonly store: TaskStore;
  /** The token of a run that has begun. */
  tokenOf(begun: object): string;
}

/** `around` is called before a change is sent, and when its reply has come and nobody knows of it yet: the moments to die at. */
export function watchStore(store: TaskStore, directory: string, around: () => void = () => undefined): WatchedStore {
  const tokens = new WeakMap<object, string>();
  const changes = CHANGES.map((name) => {
    const change = store[name] as (request: { readonly taskId?: string }) => Promise<unknown>;
    const watched = async (request: { readonly taskId?: string; readonly token?: string }): Promise<unknown> => {
      const { taskId = "", token } = request;
      const id = randomUUID();
      around();
      write(directory, taskId, { type: "sent", id, name, request: plain(request) });
      try {
        const result = await change(request);
        around();
        write(directory, taskId, { type: "replied", id, result: plain(result) });
        if (name === "begin" && (result as Begun).type === "begun") tokens.set(result as object, token ?? "");
        return result;
      } catch (error) {
        write(directory, taskId, { type: "unanswered", id });
        throw error;
      }
    };
    return [name, watched] as const;
  });
  return {
    store: { ...store, ...(Object.fromEntries(changes) as Partial<TaskStore>) },
    tokenOf: (begun) => tokens.get(begun) ?? "",
  };
}

function plain(value: unknown): Json {
  return JSON.parse(JSON.stringify(value, (_key, each: unknown) => (each instanceof Map ? [...each] : each)) ?? "null") as Json;
}
