/** A tool's limit applies to all workers together, and the slot of a killed worker becomes free. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createClient } from "../../bench/client.ts";
import { type FrontEnd, type Launched, startFrontEnd, startWorkerProcess } from "../support/processes.ts";
import { openTestRedis, type TestRedis } from "../support/redis.ts";
import { until } from "../support/until.ts";

let redis: TestRedis;
let dir: string;
let frontEnd: FrontEnd;
let workers: readonly Launched[];

beforeAll(async () => {
  redis = openTestRedis();
  dir = await mkdtemp(join(tmpdir(), "parley-limits-"));
  const environment = {
    REDIS_URL: redis.url,
    PARLEY_PREFIX: redis.prefix,
    PARLEY_TOOLS: join(import.meta.dirname, "tools/limited.ts"),
  };
  [frontEnd, ...workers] = await Promise.all([
    startFrontEnd(environment),
    startWorkerProcess(environment),
    startWorkerProcess(environment),
  ]);
});
afterAll(async () => {
  await Promise.all([frontEnd, ...workers].map((each) => each.kill()));
  await rm(dir, { recursive: true });
  await redis.close();
});

const linesOf = async (file: string) => (await readFile(file, "utf8").catch(() => "")).split("\n").filter(Boolean);

/** How many were at work at most, by what they wrote. */
function mostAtOnce(lines: readonly string[]): number {
  let [atWork, most] = [0, 0];
  for (const line of lines) {
    atWork += line.startsWith("begin") ? 1 : -1;
    most = Math.max(most, atWork);
  }
  return most;
}

async function callAll(file: string, count: number, ms: number) {
  const client = createClient(`${frontEnd.url}/mcp`, 8);
  const tasks = await Promise.all(Array.from({ length: count }, (_, task) => client.call("limited", { file, task, ms })));
  const statuses = () => Promise.all(tasks.map(async ({ taskId }) => await client.get(taskId)));
  return { statuses, ended: async () => (await statuses()).every(({ status }) => status === "completed") };
}

test("two of twenty tasks on two workers run at once, the others report that they wait, and all of them finish", async () => {
  const file = join(dir, "twenty");
  const { statuses, ended } = await callAll(file, 20, 100);
  await until(async () =>
    (await statuses()).some(({ statusMessage }) => statusMessage === "Waiting for its turn: 2 of limited may run at once."),
  );
  await until(ended);
  const lines = await linesOf(file);
  expect(lines).toHaveLength(40);
  expect(mostAtOnce(lines)).toBe(2);
});

test("what a killed worker held is free after its lease, and nothing of it is lost", async () => {
  const file = join(dir, "killed");
  const { ended } = await callAll(file, 6, 1_000);
  await until(async () => (await linesOf(file)).length >= 2);
  await workers[0]?.kill();
  await until(ended);
  const lines = await linesOf(file);
  // Each came to its end; what the killed worker was at began twice.
  expect(new Set(lines.filter((line) => line.startsWith("end"))).size).toBe(6);
});
