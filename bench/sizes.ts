/**
 * What a task, a question and an owner take in Redis, waiting and finished: the rows of docs/scaling.md.
 *
 *   node bench/sizes.ts [--count 5000]
 *
 * Each row is the growth of `used_memory` of a Redis of its own by that many of it, written by the store as front ends and workers would: once with what
 * the shipped deploy/redis/redis.conf sets, and once with Redis' defaults. Sizes do not depend on what else the machine does.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import type { Ask, AskAbout, Audience, Call, Outcome } from "@parley/core";
import { connectRedis, type RedisBackend } from "@parley/redis";
import type { Redis } from "ioredis";
import { aLife, anAsk, aStep } from "../test/contract/builders.ts";
import { SILENT } from "./benchmarks/growth.ts";
import { usedMemory } from "./cost.ts";
import { layGround } from "./ground.ts";
import { inParallel } from "./measure.ts";

const DAY_MS = 86_400_000;
const TOGETHER = 50;
/** As deploy/redis/redis.conf. */
const SHIPPED = { "hash-max-listpack-value": 1_024, "stream-node-max-bytes": 1_024 };

const { values } = parseArgs({ options: { count: { type: "string", default: "5000" } } });
const count = Number(values.count);
if (!Number.isInteger(count) || count < 100) throw new Error("--count is a whole number, at least 100");

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

interface Row {
  readonly what: string;
  readonly write: (life: Writer, number: number) => Promise<unknown>;
}

const ROWS: readonly Row[] = [
  { what: "waiting, 20 B of arguments", write: (life) => waiting(life, 20) },
  { what: "waiting, 300 B of arguments", write: (life) => waiting(life, 300) },
  { what: "waiting, 10 kB of arguments", write: (life) => waiting(life, 10_000) },
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
  { what: "finished, a result of 20 B", write: (life) => finished(life, { given: 300, returned: 20 }) },
  { what: "finished, a result of 1 kB", write: (life) => finished(life, { given: 300, returned: 1_000 }) },
  { what: "finished, a result of 10 kB", write: (life) => finished(life, { given: 300, returned: 10_000 }) },
  {
    what: "finished with `keepContent`, a result of 20 B",
    write: (life) => finished(life, { given: 300, returned: 20, keepsContent: true }),
  },
  {
    what: "finished with `keepContent`, a result of 20 B, 10 kB of arguments",
    write: (life) => finished(life, { given: 10_000, returned: 20, keepsContent: true }),
  },
  {
    what: "an owner with one finished task, a result of 20 B",
    write: (life, number) => finished(life, { given: 300, returned: 20, principal: `person-${number}@example.com` }),
  },
  {
    what: "an owner whose only task has expired",
    write: (life, number) => finished(life, { given: 300, returned: 20, principal: `person-${number}@example.com`, retentionMs: 1 }),
  },
];

/** Bytes of each row, with these settings of Redis. */
async function bytesOf(settings: Readonly<Record<string, number>>): Promise<number[]> {
  const ground = await layGround();
  const backend = await connectRedis({ url: ground.redisUrl }, { log: SILENT });
  try {
    for (const [name, value] of Object.entries(settings)) await ground.redis.config("SET", name, String(value));
    const { store } = backend;
    const life = { ...aLife(store), store };
    const bytes: number[] = [];
    for (const { write } of ROWS) {
      await ground.redis.flushall();
      let number = 0;
      const writeSome = (some: number) => inParallel(TOGETHER, some, async () => void (await write(life, (number += 1))));
      await writeSome(count / 10); // scripts, buffers, and the tables of names
      const before = await settled(ground.redis);
      await writeSome(count);
      bytes.push(((await settled(ground.redis)) - before) / count);
    }
    return bytes;
  } finally {
    await backend.close();
    await ground.close();
  }
}

/** Once expired keys are gone, and Redis has given back what it used while it grew. */
async function settled(redis: Redis): Promise<number> {
  const look = async () => [await redis.dbsize(), await usedMemory(redis)] as const;
  for (let last = await look(); ;) {
    await sleep(1_000);
    const now = await look();
    if (now[0] === last[0] && Math.abs(now[1] - last[1]) < count) return now[1];
    last = now;
  }
}

const [shipped, plain] = [await bytesOf(SHIPPED), await bytesOf({})];
console.log("| | with the shipped redis.conf | with Redis' defaults | 1 GB of `maxmemory` has room for |");
console.log("|---|---|---|---|");
for (const [row, { what }] of ROWS.entries())
  console.log(
    `| ${what} | ${shipped[row]?.toFixed(0)} B | ${plain[row]?.toFixed(0)} B | ${(1e9 / (shipped[row] ?? Number.NaN)).toPrecision(2)} |`,
  );
