/** What a request of a session costs Redis: one round trip for the session, and what the request itself reads. */
import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { median } from "../../bench/measure.ts";
import { openSession as openHeld } from "../../bench/session.ts";
import { openSession, type Session } from "../dialects/clients/raw.ts";
import { type FrontEnd, type Launched, startFrontEnd, startWorkerProcess } from "../support/processes.ts";
import { type SharedRedis, startOwnRedis } from "../support/shared-redis.ts";
import { until } from "../support/until.ts";

const TIMES = 20;

let server: SharedRedis;
let redis: Redis;
let frontEnd: FrontEnd;
let worker: Launched;
let session: Session;

beforeAll(async () => {
  server = await startOwnRedis();
  redis = new Redis(server.url);
  const env = { REDIS_URL: server.url, PARLEY_TOOLS: "test/dialects/tools.ts" };
  [frontEnd, worker] = await Promise.all([startFrontEnd(env), startWorkerProcess(env)]);
  session = await openSession(`${frontEnd.url}/mcp`);
});

afterAll(async () => {
  await Promise.all([frontEnd?.stop(), worker?.stop()]);
  redis?.disconnect();
  await server?.close();
});

async function readsOf(work: () => Promise<unknown>): Promise<number> {
  const reads: number[] = [];
  for (let time = 0; time < TIMES; time += 1) {
    const before = await readsSoFar();
    await work();
    reads.push((await readsSoFar()) - before - 1); // less the look itself
  }
  return median(reads);
}

async function readsSoFar(): Promise<number> {
  return Number(/^total_reads_processed:(\d+)/m.exec(await redis.info("stats"))?.[1]);
}

test("a call that is held open reads its task only for the answer: it learns of the question and of the result from wake-ups", async () => {
  const held = await openHeld({ url: `${frontEnd.url}/mcp` });
  const lifecycle = () =>
    held.request("tools/call", { name: "greet", arguments: { marker: "" } }, ({ id, method }) => {
      if (method === "elicitation/create") void held.reply(id, { action: "accept", content: { name: "Ann" } });
    });
  await lifecycle();
  const before = await readsOfTasks();
  for (let time = 0; time < TIMES; time += 1) await lifecycle();
  const after = await readsOfTasks();
  // Each run reads the task and its journal as it begins, and the end the journal once more, to keep its lines. On a busy machine, a wake-up may be
  // missed now and then.
  expect(after.tasks - before.tasks - (2 * 2 + 1) * TIMES).toBeLessThan(1.5 * TIMES);
  expect(after.feeds - before.feeds).toBeLessThan(0.5 * TIMES);
  held.close();
});

/** The commands so far that read hashes and feeds, those in scripts included. */
async function readsOfTasks(): Promise<{ readonly tasks: number; readonly feeds: number }> {
  const statistics = await redis.info("commandstats");
  const calls = (command: string) => Number(new RegExp(`^cmdstat_${command}:calls=(\\d+)`, "m").exec(statistics)?.[1] ?? 0);
  return { tasks: calls("hgetall"), feeds: calls("xrange") };
}

describe("a request of a session", () => {
  let waiting: string;
  let settled: string;

  beforeAll(async () => {
    const call = async () =>
      (await session.request<{ taskId: string }>("tools/call", { name: "greet", arguments: { marker: "" }, task: {} })).taskId;
    const becomes = (taskId: string, status: string) =>
      until(async () => (await session.request<{ status: string }>("tasks/get", { taskId })).status === status);
    [waiting, settled] = await Promise.all([call(), call()]);
    await Promise.all([becomes(waiting, "input_required"), becomes(settled, "input_required")]);
    await session.request("tasks/sendInput", { taskId: settled, action: "accept", content: { name: "Ann" } });
    await becomes(settled, "completed");
    await worker.stop();
    await sleep(2_500); // every watch and every grace is over
  });

  test("that reads nothing else is one round trip", async () => {
    expect(await readsOf(() => session.request("ping", {}))).toBe(1);
    expect(await readsOf(() => session.request("tools/list", {}))).toBe(1);
  });

  test("for a task is two: the session, and the task whose owner must be that session's", async () => {
    expect(await readsOf(() => session.request("tasks/get", { taskId: settled }))).toBe(2);
    expect(await readsOf(() => session.request("tasks/get", { taskId: waiting }))).toBe(2);
  });

  test("for a list of tasks is three: the session, their ids, the tasks", async () => {
    expect(await readsOf(() => session.request("tasks/list", {}))).toBe(3);
  });
});
