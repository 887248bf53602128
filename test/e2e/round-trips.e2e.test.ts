/**
 * Counts what a task costs Redis: each read from a socket is a round trip of some process, and Redis has one core.
 *
 * A change that adds a round trip must remove another one, or explain here why it is worth it.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Client, createClient, message } from "../../bench/client.ts";
import { lifecycle, parked } from "../../bench/lifecycle.ts";
import { type FrontEnd, type Launched, startFrontEnd, startWorkerProcess } from "../support/processes.ts";
import { type SharedRedis, startOwnRedis } from "../support/shared-redis.ts";

const TIMES = 40;

let server: SharedRedis;
let redis: Redis;
let frontEnd: FrontEnd;
let worker: Launched;
let client: Client;
let directory: string;

/** Rules that let every call pass, after a look at each condition: they cost no round trip. */
const RULES = {
  default: "allow",
  rules: Array.from({ length: 50 }, (_, at) => ({
    name: `rule-${at}`,
    when: `args.note == 'never-${at}' || 'group-${at}' in caller.groups`,
    action: "deny",
  })),
};

beforeAll(async () => {
  server = await startOwnRedis();
  redis = new Redis(server.url);
  directory = await mkdtemp(join(tmpdir(), "parley-round-trips-"));
  const rules = join(directory, "rules.yaml");
  await writeFile(rules, JSON.stringify(RULES));
  // However slow the machine, the client sees the question and the result with its first look.
  const env = { REDIS_URL: server.url, PARLEY_TOOLS: "bench/tool.ts", PARLEY_RULES: rules, PARLEY_SETTLE_GRACE: "2s" };
  [frontEnd, worker] = await Promise.all([startFrontEnd(env), startWorkerProcess(env)]);
  client = createClient(`${frontEnd.url}/mcp`, 1);
  await lifecycle(client); // scripts are loaded, connections are open
});

afterAll(async () => {
  client.close();
  await Promise.all([frontEnd.stop(), worker.stop()]);
  redis.disconnect();
  await server.close();
  await rm(directory, { recursive: true });
});

/** The lower quartile over many times: the sweep's reads come in between, and jobs that arrive one by one are fetched one by one. */
async function readsOf(work: () => Promise<unknown>): Promise<number> {
  const reads: number[] = [];
  for (let time = 0; time < TIMES; time += 1) {
    const before = await readsSoFar();
    await work();
    await sleep(30); // the worker puts the job away after the client has its result
    reads.push((await readsSoFar()) - before - 1); // less the look itself
  }
  return reads.toSorted((one, other) => one - other)[TIMES / 4] ?? Number.NaN;
}

async function readsSoFar(): Promise<number> {
  return Number(/^total_reads_processed:(\d+)/m.exec(await redis.info("stats"))?.[1]);
}

test("a lifecycle is 12 round trips at most, behind rules that let it pass: call, question, answer, result", async () => {
  expect(await readsOf(() => lifecycle(client))).toBeLessThanOrEqual(12);
});

test("while nothing happens a partition costs less than twenty commands a second", async () => {
  const commandsSoFar = async () => Number(/^total_commands_processed:(\d+)/m.exec(await redis.info("stats"))?.[1]);
  const [before, fromMs] = [await commandsSoFar(), performance.now()];
  await sleep(5_000);
  expect((await commandsSoFar()) - before).toBeLessThan((20 * (performance.now() - fromMs)) / 1_000);
});

describe("a front end alone", () => {
  let taskIds: string[];

  beforeAll(async () => {
    taskIds = [];
    for (let task = 0; task < TIMES; task += 1) taskIds.push((await parked(client)).taskId);
    await worker.stop();
    await sleep(2_500); // every watch and every grace is over
  });

  test("a tasks/get of a task at rest is one", async () => {
    const [taskId = ""] = taskIds;
    expect(await readsOf(() => client.get(taskId))).toBe(1);
  });

  test("a tools/call is one: the task and its run travel together", async () => {
    expect(await readsOf(() => client.call("ask", { note: "" }))).toBe(1);
  });

  test("a tools/call with an idempotency key is one as well", async () => {
    let calls = 0;
    const keyed = async () => {
      const { headers, body } = message("tools/call", { name: "ask", arguments: { note: "" } }, "ask");
      const sent = JSON.parse(body) as { params: { _meta: object } };
      const _meta = { ...sent.params._meta, "parley/idempotencyKey": `call-${(calls += 1)}` };
      await fetch(`${frontEnd.url}/mcp`, { method: "POST", headers, body: JSON.stringify({ ...sent, params: { ...sent.params, _meta } }) });
    };
    expect(await readsOf(keyed)).toBe(1);
  });

  test("a tasks/update is two: the question is read, the answer and its run travel together", async () => {
    expect(await readsOf(() => client.answer(taskIds.pop() ?? "", { size: { action: "accept", content: { size: 4 } } }))).toBe(2);
  });
});
