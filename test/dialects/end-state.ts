/**
 * Reads the stored runs that have a marker, without any dialect.
 *
 * A task that is over keeps a line for each entry: of an answer, its fingerprint. It is compared with those of the answers that a scenario gives.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { canonicalJson, type Task } from "@parley/core";
import { connectRedis, createKeys } from "@parley/redis";
import { plainContent } from "../../packages/redis/content/codec.ts";
import type { TestRedis } from "../support/redis.ts";
import { type EndState, SCENARIOS } from "./scenarios.ts";
import { markName } from "./tools.ts";

export interface Stored {
  /** The one task with that marker; undefined while there is none. Throws an Error when there are several: the tool was called twice. */
  taskOf(marker: string): Promise<Task | undefined>;
  load(taskId: string): Promise<Task | undefined>;
  /** `given`: answers that people gave and that no scenario ends with. Of those who do not own the task, the fingerprint is also of who they are, and when. */
  endOf(task: Task, given?: readonly object[]): Promise<EndState>;
  close(): Promise<void>;
}

const ANSWERS = Object.values(SCENARIOS).flatMap(({ end }) => Object.values(end.answers));

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
      const name = await markOf(id);
      if (name === undefined) continue;
      read.add(id);
      markers.set(name, (markers.get(name) ?? new Set()).add(id));
    }
  }

  async function linesOf(id: string): Promise<readonly string[]> {
    const [task = "", journal = ""] = named.task(id) ?? [];
    const kept = await redis.hget(task, "lines");
    if (kept !== null) return kept.split("\n");
    const entries = await redis.hgetall(journal);
    return Object.entries(entries).map(([key, entry]) => `${entry.split(" ").slice(0, 5).join(" ")} ${key}`);
  }

  /** Of a task that has not run, the marker is among its arguments. */
  async function markOf(id: string): Promise<string | undefined> {
    const marked = (await linesOf(id)).map((line) => /now:(marker-\w+)$/.exec(line)?.[1]).find((name) => name !== undefined);
    const marker = marked ?? markerOf(await redis.hget(named.task(id)?.[0] ?? "", "call"));
    return marked ?? (marker === undefined ? undefined : markName(marker));
  }

  return {
    async taskOf(marker) {
      await (reading ??= readNew().finally(() => (reading = undefined)));
      const [id, ...more] = markers.get(markName(marker)) ?? [];
      if (more.length > 0) throw new Error(`${marker} has ${more.length + 1} tasks`);
      return id === undefined ? undefined : await store.load(id);
    },

    load: (taskId) => store.load(taskId),

    async endOf(task, given = []) {
      const lines = await linesOf(task.id);
      const known = [...ANSWERS, ...given.map((answer) => ({ type: "answer", answer }))];
      const content = plainContent.of(task.id);
      const answers = lines
        // Its place, where it was called, its digest, its mark and its outcome. After `!` the outcome is a bare word.
        .map((line) => line.split(" "))
        .filter(([, , , , , key]) => key?.startsWith("ask:"))
        .map(([, , , mark, word, key = ""]) => {
          const printed = (answer: object) => content.fingerprint(`entry ${key}`, canonicalJson(answer as never));
          const answer = known.find((each) => printed(each) === mark) ?? { type: "answer", answer: { action: "another one" } };
          return [key.slice("ask:".length), mark === "!" ? { type: word } : answer];
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
