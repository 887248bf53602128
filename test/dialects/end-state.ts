/** Reads the stored runs that have a marker, without any dialect. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Task } from "@parley/core";
import { connectRedis, createKeys } from "@parley/redis";
import type { TestRedis } from "../support/redis.ts";
import type { EndState } from "./scenarios.ts";

export interface Stored {
  /** The one task with that marker; undefined while there is none. Throws an Error when there are several: the tool was called twice. */
  taskOf(marker: string): Promise<Task | undefined>;
  endOf(task: Task): Promise<EndState>;
  close(): Promise<void>;
}

const silent = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

export async function openStored({ url, prefix, redis, keys }: TestRedis): Promise<Stored> {
  const { store, close } = await connectRedis({ url, prefix }, { log: silent });
  const named = createKeys(prefix);
  const markers = new Map<string, Set<string>>();
  const read = new Set<string>();
  let reading: Promise<void> | undefined;

  /** Many wait for their task at once: one look through the keys serves them all. */
  async function readNew(): Promise<void> {
    await sleep(20);
    const ids = (await keys()).flatMap((key) => /:task:([^:]+)$/.exec(key)?.[1] ?? []).filter((id) => !read.has(id));
    for (const id of ids) {
      const marker = markerOf(await redis.hget(named.task(id)?.[0] ?? "", "call"));
      if (marker === undefined) continue;
      read.add(id);
      markers.set(marker, (markers.get(marker) ?? new Set()).add(id));
    }
  }

  return {
    async taskOf(marker) {
      await (reading ??= readNew().finally(() => (reading = undefined)));
      const [id, ...more] = markers.get(marker) ?? [];
      if (more.length > 0) throw new Error(`${marker} has ${more.length + 1} tasks`);
      return id === undefined ? undefined : await store.load(id);
    },

    async endOf(task) {
      const [, journal] = named.task(task.id) ?? [];
      const entries = await redis.hgetall(journal ?? "");
      const answers = Object.entries(entries)
        .filter(([key]) => key.startsWith("ask:"))
        // After its place, where it was called, its digest and its mark. After `!` the outcome is a bare word.
        .map(([key, entry]) => {
          const [, , , mark, ...outcome] = entry.split(" ");
          return [key.slice("ask:".length), mark === "!" ? { type: outcome[0] } : (JSON.parse(outcome.join(" ")) as object)];
        });
      return {
        status: task.status,
        ...(task.outcome && { outcome: shortly(task.outcome) }),
        answers: Object.fromEntries(answers) as EndState["answers"],
        openAsks: task.asks.map(({ key }) => key),
      };
    },

    close,
  };
}

/** Among the arguments, which stand behind the call's facts. */
function markerOf(call: string | null): string | undefined {
  const [args] = JSON.parse(call?.split("\n")[1] ?? "[]") as { readonly marker?: string }[];
  return args?.marker;
}

/** Tools of the oracle answer with one text. */
function shortly(outcome: NonNullable<Task["outcome"]>): NonNullable<EndState["outcome"]> {
  if (outcome.type === "error") return { text: `${outcome.error.code} ${outcome.error.message}`, isError: true };
  const { content, isError } = outcome.result as unknown as { content: readonly { text: string }[]; isError?: boolean };
  return { text: content.map(({ text }) => text).join("\n"), isError: isError === true };
}
