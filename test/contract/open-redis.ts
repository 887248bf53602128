/**
 * A backend on the tests' Redis under a separate prefix. It leaves nothing behind, and closing it fails if a key would have stayed forever.
 *
 * An unfinished task never expires. Its keys are bounded by the due set: a task in it will run, and end.
 */
import { randomBytes } from "node:crypto";
import type { Log } from "@parley/core";
import { connectRedis, createIds, type RedisBackend, type RedisSettings, sealWordOf } from "@parley/redis";
import type { Redis } from "ioredis";
import { expect } from "vitest";
import { keysOf, openLook } from "../support/look.ts";

export { keysOf } from "../support/look.ts";

/** Keys without a TTL that do not belong to a task, all of them bounded by the work in progress. docs/data-model.md lists the same. */
export const WITHOUT_TTL = [
  // Emptied by the tasks themselves, which leave at their end, and by the sweep.
  /:due$/,
  // BullMQ's own: a counter, settings, its event stream (100 entries), its lists of jobs.
  /:run:(id|meta|events|marker|wait|active|prioritized|delayed|stalled|pc)$/,
  // Jobs that wait or run.
  /:run:\d+-(\w{4}-)?[\w-]{22}~?\.\d+(\.overtaken)?$/,
  // Deleted with the last unfinished task that they count.
  /:usage:(principal|tenant):/,
  // One small record for each tenant and epoch.
  /^[^:]+:content$/,
  // Records for auditors, as many as a setting says.
  /:audit$/,
  // What seals requestState.
  /^[^:]+:secret$/,
];

const ONCE = /:once:[^:]+$/;

/** Those of `keys` that nothing deletes: neither a TTL, nor the end of their task, nor the work in progress. */
export async function everlasting(redis: Redis, keys: readonly string[]): Promise<string[]> {
  const lifetimes = await Promise.all(keys.map(async (key) => [key, await redis.pttl(key)] as const));
  const unfinished = await unfinishedTasks(redis, keys);
  const ofKeys = new Map(
    await Promise.all(
      // An idempotency key goes with its task.
      keys
        .filter((key) => ONCE.test(key))
        .map(async (key) => [key, key.replace(ONCE, `:task:${(await redis.get(key))?.split(" ")[0]}`)] as const),
    ),
  );
  return lifetimes.flatMap(([key, ms]) => {
    const task = ofKeys.get(key) ?? /^(.*:task:[^:]+)(?::journal|:feed|:deposits|:threads)?$/.exec(key)?.[1];
    const isBounded = task === undefined ? WITHOUT_TTL.some((allowed) => allowed.test(key)) : unfinished.has(task);
    return ms === -1 && !isBounded ? [key] : [];
  });
}

/** The keys of the tasks that are in a due set. */
async function unfinishedTasks(redis: Redis, keys: readonly string[]): Promise<ReadonlySet<string>> {
  const dueKeys = keys.filter((key) => key.endsWith(":due"));
  const members = await Promise.all(dueKeys.map((key) => redis.zrange(key, "0", "-1")));
  return new Set(dueKeys.flatMap((key, i) => (members[i] ?? []).map((taskId) => key.replace(/due$/, `task:${taskId}`))));
}

export interface OpenRedis extends RedisBackend {
  readonly url: string;
  readonly prefix: string;
  /** As `ids.taskId`, without having to wait for a key. */
  newTaskId(): string;
  taskIdOf(tenant: string): string | Promise<string>;
  /** The test's own connection, to inspect and to interfere. */
  readonly redis: Redis;
  readonly logged: readonly { readonly level: string; readonly message: string }[];
  /** The same with their fields. */
  readonly lines: readonly (readonly [level: string, fields: object, message: string])[];
}

/** `drawsIds`: false for a process without a key that seals new tasks. */
export async function openRedis({
  drawsIds = true,
  ...settings
}: Partial<RedisSettings> & { drawsIds?: boolean } = {}): Promise<OpenRedis> {
  const url = settings.url ?? process.env["REDIS_URL"];
  if (!url) throw new Error("REDIS_URL is not set: run the tests by vitest, whose set-up starts a Redis");
  const prefix = settings.prefix ?? `test-${randomBytes(6).toString("hex")}`;
  const logged: { level: string; message: string }[] = [];
  const lines: [level: string, fields: object, message: string][] = [];
  const log = recordTo(logged, lines);
  const backend = await connectRedis({ ...settings, prefix, url }, { log });
  const redis = openLook(url);
  const word = drawsIds ? sealWordOf(await backend.ids.taskId()) : undefined;
  const ids = createIds({ partitions: 1 });
  return {
    ...backend,
    url,
    prefix,
    redis,
    // Ids of the contract are drawn for partition 0.
    taskIdOf: async (tenant) => (await backend.ids.taskId(tenant)).replace(/^\d+/, "0"),
    newTaskId: () => (word === undefined ? ids.taskId() : ids.taskId().replace("-", `-${word}-`)),
    logged,
    lines,
    async close() {
      await backend.close();
      const keys = await keysOf(redis, prefix);
      const left = await everlasting(redis, keys);
      await Promise.all(keys.map((key) => redis.unlink(key)));
      redis.disconnect();
      expect(left).toEqual([]);
    },
  };
}

function recordTo(logged: { level: string; message: string }[], lines: [string, object, string][]): Log {
  const at = (level: string) => (fields: object, message: string) => {
    logged.push({ level, message });
    lines.push([level, fields, message]);
  };
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}
