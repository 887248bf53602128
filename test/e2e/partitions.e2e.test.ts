/**
 * Workers that each serve a share of the partitions, some of which are killed. Who serves what is read from outside: from which worker
 * listens where.
 */
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Client, createClient } from "../../bench/client.ts";
import { ANSWER, lifecycle, parked, pollUntil } from "../../bench/lifecycle.ts";
import { IN_TIME } from "../support/in-time.ts";
import { type FrontEnd, type Launched, logged, startFrontEnd, startWorkerProcess } from "../support/processes.ts";
import { type SharedRedis, startOwnRedis } from "../support/shared-redis.ts";
import { until } from "../support/until.ts";

const PARTITIONS = 16;
/** docs/scaling.md: six seconds of silence, two to the next beat, and what opening queues takes. */
const TAKEN_OVER_MS = 10_000;

let server: SharedRedis;
let redis: Redis;
let frontEnd: FrontEnd;
let client: Client;
let env: Record<string, string>;
const workers = new Map<string, Launched>();

beforeAll(async () => {
  server = await startOwnRedis();
  redis = new Redis(server.url);
  env = {
    REDIS_URL: server.url,
    PARLEY_TOOLS: "bench/tool.ts",
    PARLEY_PARTITIONS: String(PARTITIONS),
    PARLEY_WORKER_PARTITIONS: "4",
  };
  frontEnd = await startFrontEnd(env);
  client = createClient(`${frontEnd.url}/mcp`, 50);
  await Promise.all([addWorker(), addWorker(), addWorker(), addWorker()]);
});

afterAll(async () => {
  client.close();
  await Promise.all([frontEnd.stop(), ...[...workers.values()].map((worker) => worker.stop())]);
  redis.disconnect();
  await server.close();
});

async function addWorker(): Promise<string> {
  const worker = await startWorkerProcess(env);
  const id = String((await logged(worker, "worker ready"))["worker"]);
  workers.set(id, worker);
  return id;
}

/** Partition → workers that listen for its runs. */
async function served(): Promise<Map<number, string[]>> {
  const of = new Map<number, string[]>(Array.from({ length: PARTITIONS }, (_, partition) => [partition, []]));
  for (const channel of (await redis.pubsub("CHANNELS", "parley:{p*}:lane:*")) as string[]) {
    const [, partition = "", worker = ""] = /\{p(\d+)\}:lane:(.+)$/.exec(channel) ?? [];
    of.get(Number(partition))?.push(worker);
  }
  return of;
}

/** Waits until each partition has so many workers, all of them alive. */
async function covered(times: number): Promise<Map<number, string[]>> {
  return await until(async () => {
    const of = await served();
    return [...of.values()].every((those) => those.length === times && those.every((id) => workers.has(id))) && of;
  });
}

/** Without those of this test: the one that asks, and the one that keeps the server. */
async function connectionsOfParley(): Promise<number> {
  const connections = ((await redis.client("LIST")) as string).split("\n").filter((line) => / cmd=(?!client)/.test(line));
  return connections.filter((line) => !line.includes(" name=parley-embedded-owner ")).length;
}

async function kill(ids: readonly string[]): Promise<void> {
  const killed = ids.map((id) => workers.get(id)!);
  for (const id of ids) workers.delete(id);
  await Promise.all(killed.map((worker) => worker.kill()));
}

describe("four workers of sixteen partitions, whose share is four", () => {
  test("serve each partition twice, and no worker all of them", async () => {
    const of = await covered(2);
    const sizes = [...workers.keys()].map((id) => [...of.values()].filter((those) => those.includes(id)).length);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(2 * PARTITIONS);
    expect(Math.max(...sizes)).toBeLessThan(PARTITIONS);
    // docs/scaling.md: two of a front end; three of a worker, and one for each partition that it serves.
    await until(async () => (await connectionsOfParley()) === 2 + workers.size * 3 + 2 * PARTITIONS);
    await Promise.all(Array.from({ length: 100 }, () => lifecycle(client)));
  });

  test(
    "a partition whose two workers are killed is served by others within ten seconds, and other partitions throughout",
    IN_TIME,
    async () => {
      while (workers.size < 4) await addWorker();
      const of = await covered(2);
      const waiting = await Promise.all(Array.from({ length: 50 }, () => parked(client)));
      const [both = []] = of.values();
      const orphaned = [...of].filter(([, those]) => those.every((id) => both.includes(id))).map(([partition]) => partition);
      const isOrphan = (taskId: string) => orphaned.includes(Number(taskId.split("-")[0]));
      expect(waiting.some(({ taskId }) => isOrphan(taskId))).toBe(true);

      await kill(both);
      const killedAtMs = performance.now();
      const tookMs = await Promise.all(
        waiting.map(async ({ taskId }) => {
          await client.answer(taskId, ANSWER);
          await pollUntil(client, taskId, "completed");
          return { taskId, ms: performance.now() - killedAtMs };
        }),
      );
      const longest = (those: typeof tookMs) => Math.max(0, ...those.map(({ ms }) => ms));
      expect(longest(tookMs.filter(({ taskId }) => isOrphan(taskId)))).toBeLessThan(TAKEN_OVER_MS);
      await covered(2);
      await Promise.all(Array.from({ length: 50 }, () => lifecycle(client)));
    },
  );

  test("a worker that comes takes its share, and the others leave it to it", async () => {
    const newcomer = await addWorker();
    await addWorker();
    const of = await covered(2);
    expect([...of.values()].flat().filter((id) => id === newcomer).length).toBeGreaterThan(0);
    await Promise.all(Array.from({ length: 100 }, () => lifecycle(client)));
  });

  test("a worker that is stopped leaves at once, and new tasks do not wait for it", async () => {
    await covered(2);
    const [leaving = ""] = workers.keys();
    const worker = workers.get(leaving)!;
    workers.delete(leaving);
    const [code] = await Promise.all([worker.stop(), ...Array.from({ length: 50 }, () => lifecycle(client))]);
    expect(code).toBe(0);
    await covered(2);
  });
});

test("an answer that a worker was notified of before it froze is taken up by others", async () => {
  await covered(2);
  const waiting = await Promise.all(Array.from({ length: 20 }, () => parked(client)));
  const [frozen = ""] = workers.keys();
  const { pid } = workers.get(frozen)!;
  process.kill(pid, "SIGSTOP");
  try {
    await Promise.all(
      waiting.map(async ({ taskId }) => {
        await client.answer(taskId, ANSWER);
        await pollUntil(client, taskId, "completed");
      }),
    );
  } finally {
    process.kill(pid, "SIGCONT");
  }
});
