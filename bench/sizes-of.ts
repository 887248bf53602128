/** What is written to see how much memory of Redis it takes (sizes.ts, and the test that compares docs/scaling.md with it). */
import { setTimeout as sleep } from "node:timers/promises";
import type { Ask, AskAbout, Audience, Call, Outcome } from "@parley/core";
import { connectRedis, type RedisBackend } from "@parley/redis";
import type { Redis } from "ioredis";
import { aLife, anAsk, aStep } from "../test/contract/builders.ts";
import { SILENT } from "./benchmarks/growth.ts";
import { usedMemory } from "./cost.ts";
import { inParallel } from "./measure.ts";

const DAY_MS = 86_400_000;
const TOGETHER = 50;
/** As deploy/redis/redis.conf. */
export const SHIPPED = { "hash-max-listpack-value": 1_024, "stream-node-max-bytes": 1_024 };

const args = (size: number) => ({ text: "a".repeat(size) });

type Life = ReturnType<typeof aLife>;
interface Writer extends Life {
  readonly store: RedisBackend["store"];
}

async function waiting(life: Writer, size: number, { audience, about }: { audience?: Audience; about?: AskAbout } = {}): Promise<string> {
  const ask = anAsk("size", { deadlineMs: Date.now() + 7 * DAY_MS, ...(audience && { audience }) });
  const asks: Ask[] = [about && ask.request.type === "form" ? { ...ask, request: { ...ask.request, about } } : ask];
  return await life.parked(asks, { arguments: args(size), retentionMs: DAY_MS });
}

/** Asked once, with one step of 500 bytes. */
async function finished(life: Writer, { given, returned, ...call }: { given: number; returned: number } & Partial<Call>): Promise<string> {
  const taskId = await life.parked([anAsk("size")], { arguments: args(given), retentionMs: DAY_MS, ...call });
  await life.answer(taskId, "size", "4");
  const token = await life.begin({ taskId, run: 2 });
  const outcome: Outcome = { type: "result", result: { content: [{ type: "text", text: "r".repeat(returned) }] } };
  await life.store.finish({ taskId, token, nowMs: Date.now(), entries: [aStep("hold", "h".repeat(500))], outcome });
  return taskId;
}

export interface Row {
  readonly what: string;
  readonly write: (life: Writer, number: number) => Promise<unknown>;
}

export const ROWS: readonly Row[] = [
  { what: "task that waits, 20 B of arguments", write: (life) => waiting(life, 20) },
  { what: "task that waits, 300 B of arguments", write: (life) => waiting(life, 300) },
  { what: "task that waits, 10 kB of arguments", write: (life) => waiting(life, 10_000) },
  {
    what: "… 300 B, and a group is asked",
    write: (life, number) => waiting(life, 300, { audience: { to: { groups: [`group-${number % 100}`] } } }),
  },
  {
    what: "… 300 B, and three groups are asked, with `due` and `priority`",
    write: (life, number) =>
      waiting(life, 300, {
        audience: { to: { groups: [0, 1, 2].map((each) => `group-${(number + each) % 100}`) } },
        about: { dueMs: DAY_MS, priority: "urgent" },
      }),
  },
  {
    what: "… 300 B, and it has reported progress ten times",
    async write(life) {
      const taskId = await life.create({ arguments: args(300), retentionMs: DAY_MS });
      const token = await life.begin({ taskId, run: 1 });
      const items = Array.from({ length: 10 }, (_, at) => ({ type: "progress", progress: at, message: "m".repeat(50) }) as const);
      await life.store.report({ taskId, token, nowMs: Date.now(), items });
      await life.park(taskId, token, [anAsk("size")]);
    },
  },
  { what: "finished task, a result of 20 B", write: (life) => finished(life, { given: 300, returned: 20 }) },
  { what: "finished task, a result of 1 kB", write: (life) => finished(life, { given: 300, returned: 1_000 }) },
  { what: "finished task, a result of 10 kB", write: (life) => finished(life, { given: 300, returned: 10_000 }) },
  {
    what: "finished task with `keepContent`, 300 B of arguments, a step of 500 B",
    write: (life) => finished(life, { given: 300, returned: 20, keepsContent: true }),
  },
  {
    what: "finished task with `keepContent`, 10 kB of arguments",
    write: (life) => finished(life, { given: 10_000, returned: 20, keepsContent: true }),
  },
  {
    what: "first task of an owner, finished: with their list",
    write: (life, number) => finished(life, { given: 300, returned: 20, principal: `person-${number}@example.com` }),
  },
  {
    what: "owner whose tasks have all expired, for up to 90 days",
    write: (life, number) => finished(life, { given: 300, returned: 20, principal: `person-${number}@example.com`, retentionMs: 1 }),
  },
];

export interface Weigh {
  /** Its database is emptied. */
  readonly redisUrl: string;
  readonly redis: Redis;
  readonly settings: Readonly<Record<string, number>>;
  readonly count: number;
  readonly rows?: readonly Row[];
}

/** Bytes of each row, with these settings of Redis. */
export async function bytesOf({ redisUrl, redis, settings, count, rows = ROWS }: Weigh): Promise<number[]> {
  const backend = await connectRedis({ url: redisUrl }, { log: SILENT });
  try {
    for (const [name, value] of Object.entries(settings)) await redis.config("SET", name, String(value));
    const { store } = backend;
    const life = { ...aLife(store), store };
    const bytes: number[] = [];
    for (const { write } of rows) {
      await redis.flushall();
      let number = 0;
      const writeSome = (some: number) => inParallel(TOGETHER, some, async () => void (await write(life, (number += 1))));
      await writeSome(count / 10); // scripts, buffers, and the tables of names
      const before = await settled(redis, count);
      await writeSome(count);
      bytes.push(((await settled(redis, count)) - before) / count);
    }
    return bytes;
  } finally {
    await backend.close();
  }
}

/** Once expired keys are gone, and Redis has given back what it used while it grew. */
async function settled(redis: Redis, count: number): Promise<number> {
  const look = async () => [await redis.dbsize(), await usedMemory(redis)] as const;
  for (let last = await look(); ;) {
    await sleep(1_000);
    const now = await look();
    if (now[0] === last[0] && Math.abs(now[1] - last[1]) < count) return now[1];
    last = now;
  }
}
