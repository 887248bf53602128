/** Processes die at bad moments; tasks continue (I6, I8). Two front ends behind a proxy without affinity, two workers, one Redis. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connectRedis } from "@parley/redis";
import { createClient, type Client } from "../../bench/client.ts";
import { type Deployment, startDeployment } from "../support/deployment.ts";
import { IN_TIME } from "../support/in-time.ts";
import type { Launched } from "../support/processes.ts";
import { until } from "../support/until.ts";

let deployment: Deployment;
let workers: Launched[];
let client: Client;
let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "parley-crash-"));
  deployment = await startDeployment({ tools: ["steps", "drawn"].map((name) => join(import.meta.dirname, `tools/${name}.ts`)) });
  workers = [...deployment.workers];
  client = createClient(deployment.url, 20);
});

async function addWorker(): Promise<Launched> {
  const worker = await deployment.addWorker();
  workers.push(worker);
  return worker;
}

/** All of them, so also the one at work on the task. */
async function killWorkers(): Promise<void> {
  await Promise.all(workers.splice(0).map((worker) => worker.kill()));
}

afterAll(async () => {
  client.close();
  await deployment.close();
  await rm(directory, { recursive: true });
});

/** Rounds of the race. 1,000 take about a minute. */
const ROUNDS = Number(process.env["RACE_ROUNDS"] ?? 20);

const silent = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
const accept = (n: number) => ({ n: { action: "accept", content: { n } } });
const becomes = (taskId: string, status: string) => until(async () => ((await client.get(taskId)).status === status ? true : undefined));
const marks = async (file: string) => (await readFile(file, "utf8").catch(() => "")).split("\n").filter(Boolean);

describe("a worker that is killed", () => {
  test("in the middle of a step: the step is in work again within 10 s, on a worker that lives", IN_TIME, async () => {
    const file = join(await mkdtemp(join(directory, "again-")), "marks");
    await killWorkers();
    const first = await addWorker();
    await client.call("steps", { file, slowMs: 12_000 });
    const begun = async () => (await marks(file)).filter((mark) => mark === "slow-begins").length;
    await until(async () => (await begun()) === 1);
    await addWorker();
    const killedAt = Date.now();
    await first.kill();
    await until(async () => (await begun()) === 2);
    expect(Date.now() - killedAt).toBeLessThan(10_000);
  });

  test("in the middle of a step: the task is taken over within 15 s and no recorded step runs twice", IN_TIME, async () => {
    const file = join(await mkdtemp(join(directory, "step-")), "marks");
    const { taskId } = await client.call("steps", { file, slowMs: 3_000 });
    await until(async () => ((await marks(file)).includes("slow-begins") ? true : undefined));
    const killedAt = Date.now();
    await killWorkers();
    await addWorker();
    await becomes(taskId, "input_required");
    expect(Date.now() - killedAt).toBeLessThan(15_000);
    await client.answer(taskId, accept(3));
    await becomes(taskId, "completed");
    expect((await marks(file)).filter((mark) => mark === "before")).toHaveLength(1);
    expect((await marks(file)).filter((mark) => mark === "after")).toHaveLength(1);
  });

  test("between step and ask: the step is not repeated, and the question is asked once", IN_TIME, async () => {
    const file = join(await mkdtemp(join(directory, "between-")), "marks");
    const { redis, prefix } = deployment.redis;
    const { taskId } = await client.call("steps", { file, thinkMs: 3_000 });
    await until(async () => ((await redis.hexists(`${prefix}:{p0}:task:${taskId}:journal`, "step:slow")) === 1 ? true : undefined));
    expect(await client.get(taskId)).toMatchObject({ status: "working" });
    const killedAt = Date.now();
    await killWorkers();
    await addWorker();
    await becomes(taskId, "input_required");
    expect(Date.now() - killedAt).toBeLessThan(15_000);
    expect(Object.keys((await client.get(taskId)).inputRequests ?? {})).toEqual(["n"]);
    await client.answer(taskId, accept(4));
    await becomes(taskId, "completed");
    expect(await marks(file)).toEqual(["before", "slow-begins", "slow-ends", "after"]);
  });

  test(
    "at any moment: what schemas draw for arguments and answers stays the same, for the tool and for what it calls",
    IN_TIME,
    async () => {
      const file = join(await mkdtemp(join(directory, "drawn-")), "seen");
      const seen = () => marks(file);
      const { taskId } = await client.call("drawn", { file, slowMs: 2_000 });
      await until(async () => (await seen()).length === 2);
      await killWorkers(); // in the step
      await addWorker();
      await becomes(taskId, "input_required");
      await killWorkers(); // parked
      await addWorker();
      await client.answer(taskId, { go: { action: "accept", content: { go: true } } });
      const answers = () => marks(`${file}.answer`);
      await until(async () => (await answers()).length === 2);
      await killWorkers(); // in the step that follows the answer
      await addWorker();
      await until(async () => (await marks(`${file}.child`)).length === 1);
      await killWorkers(); // asleep in the child
      await addWorker();
      await becomes(taskId, "completed");
      expect((await seen()).length).toBeGreaterThanOrEqual(6);
      expect(new Set(await seen()).size).toBe(1);
      expect((await answers()).length).toBeGreaterThanOrEqual(4);
      expect(new Set(await answers()).size).toBe(1);
      const below = await marks(`${file}.child`);
      expect(below.length).toBeGreaterThanOrEqual(2);
      expect(new Set(below).size).toBe(1);
      expect(below[0]).not.toBe((await seen())[0]);
    },
  );

  test("while its task waits: the task was never there", async () => {
    const file = join(directory, "parked");
    const worker = await addWorker();
    const { taskId } = await client.call("steps", { file });
    await becomes(taskId, "input_required");
    await worker.kill();
    await client.answer(taskId, accept(5));
    await becomes(taskId, "completed");
    expect((await marks(file)).filter((mark) => mark === "before")).toHaveLength(1);
  });

  test("right after the answer: the answer is not lost", async () => {
    const file = join(directory, "answer");
    const worker = await addWorker();
    const tasks = await Promise.all(Array.from({ length: 10 }, () => client.call("steps", { file })));
    for (const { taskId } of tasks) await becomes(taskId, "input_required");
    await Promise.all(tasks.map(({ taskId }, index) => client.answer(taskId, accept(index))));
    await worker.kill();
    for (const { taskId } of tasks) await becomes(taskId, "completed");
    expect((await marks(file)).filter((mark) => mark === "before")).toHaveLength(10);
  });
});

test(
  "of twenty racing answers through both front ends one counts, and every other sender receives its receipt (I2)",
  { timeout: 60_000 + ROUNDS * 1_000 },
  async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const file = join(directory, `race-${round}`);
      const { taskId } = await client.call("steps", { file });
      await becomes(taskId, "input_required");
      const acknowledged = await Promise.all(Array.from({ length: 20 }, (_, n) => client.answer(taskId, accept(n + 1))));
      const receipts = acknowledged.map(({ _meta }) => _meta["parley/receipts"]["n"]);
      expect(receipts.filter((receipt) => receipt === "accepted")).toHaveLength(1);
      expect(receipts.filter((receipt) => receipt === "late")).toHaveLength(19);
      await becomes(taskId, "completed");
      expect(await client.get(taskId)).toMatchObject({ result: { content: [{ text: `n is ${receipts.indexOf("accepted") + 1}` }] } });
      expect((await marks(file)).filter((mark) => mark === "after")).toHaveLength(1);
    }
  },
);

test("an answer whose front end died between recording it and adding the run is found by the sweep", async () => {
  const { taskId } = await client.call("steps", { file: join(directory, "queued") });
  await becomes(taskId, "input_required");
  // What such a front end leaves behind: the answer in the store, and no job.
  const { url, prefix } = deployment.redis;
  const { store, close } = await connectRedis({ url, prefix }, { log: silent });
  const ask = (await store.load(taskId))?.asks[0];
  const answer = { action: "accept", content: { n: 7 } } as const;
  const recorded = await store.answer({ taskId, key: "n", ...(ask && { digest: ask.digest }), answer, nowMs: Date.now(), graceMs: 1_000 });
  await close();
  expect(recorded).toEqual({ receipt: "accepted", nextRun: 2 });
  await becomes(taskId, "completed");
});
