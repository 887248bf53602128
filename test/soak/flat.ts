/**
 * What finished tasks leave in Redis: bytes a task while it is kept, and none once its retention is over.
 *
 *   npm run test:flat -- [--waves 4] [--retention 12] [--report FILE]
 *
 * Two front ends and two workers serve waves of a mix, for callers of two tenants: answered questions, questions to a group, results of 10 kB,
 * cancelled and failed tasks, and tools that call tools. At the end of a wave all its tasks are kept. Then they expire, and what the keys of Redis
 * take is compared with what they took after the wave before: if that grows with the number of tasks, the exit code is 1. --report FILE writes
 * vitest's totals, for .ci/run.
 *
 * The bytes are those of MEMORY USAGE, summed over all keys: what else Redis uses, for scripts and connections, comes and goes with the load.
 */
import { writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { Redis } from "ioredis";
import { type Client, createClient } from "../../bench/client.ts";
import { ANSWER, ARGUMENTS } from "../../bench/lifecycle.ts";
import { startDeployment } from "../support/deployment.ts";
import { startIssuer } from "../support/issuer.ts";
import { startOwnRedis } from "../support/shared-redis.ts";

const PUBLIC_URL = "http://parley.example";
const SECOND_MS = 1_000;
/** Of the time that tasks are kept, so that those of a wave are all there at its end. */
const WAVE = 0.8;
/** Between two calls, of which at most so many are under way. */
const EVERY_MS = 25;
const AT_ONCE = 40;
/** Bytes that may be left of a task: its places in lists that are bounded, and are not full yet. */
const LEFT_MAX = 20;
/** What a person has answered, and what BullMQ tells of runs: for as many entries as they keep (docs/limits.md, docs/data-model.md). */
const BOUNDED = /:answered:|:run:events$/;

const { values } = parseArgs({
  options: {
    waves: { type: "string", default: "4" },
    retention: { type: "string", default: "12" },
    report: { type: "string" },
  },
});
const [waves, retention] = [Number(values.waves), Number(values.retention)];
if (!Number.isInteger(waves) || waves < 2 || !(retention >= 5))
  throw new Error("--waves is at least 2, and --retention at least 5 seconds");

const issuer = await startIssuer({ audience: `${PUBLIC_URL}/mcp` });
const token = (tenant: string) =>
  issuer.token({ sub: `${tenant}-caller`, tenant, groups: ["staff"], exp: Math.floor(Date.now() / SECOND_MS) + 3_600 });
const server = await startOwnRedis();
const look = new Redis(server.url);
const deployment = await startDeployment({
  tools: [new URL("tools.ts", import.meta.url).pathname],
  redisUrl: server.url,
  env: {
    PARLEY_AUTH: "required",
    PARLEY_AUTH_TENANT_CLAIM: "tenant",
    PARLEY_AUTH_GROUPS_CLAIM: "groups",
    PARLEY_AUTH_ISSUERS: issuer.url,
    PARLEY_PUBLIC_URL: PUBLIC_URL,
    PARLEY_RETENTION: `${retention}s`,
  },
});
const clients = await Promise.all(["acme", "umbrella"].map(async (tenant) => createClient(deployment.url, AT_ONCE, await token(tenant))));

const ended = { completed: 0, failed: 0, cancelled: 0 };
const problems: string[] = [];

async function reached(client: Client, taskId: string, status: string): Promise<void> {
  const giveUpAt = Date.now() + 30 * SECOND_MS;
  for (let waitMs = 20; Date.now() < giveUpAt; waitMs = Math.min(2 * waitMs, SECOND_MS)) {
    const task = await client.get(taskId);
    if (task.status === status) return;
    if (task.status in ended) throw new Error(`a task is ${task.status} that was to become ${status}`);
    await sleep(waitMs);
  }
  throw new Error(`a task did not become ${status} within half a minute`);
}

async function asked(client: Client, tool: string, args: object): Promise<void> {
  const { taskId } = await client.call(tool, args);
  await reached(client, taskId, "input_required");
  await client.answer(taskId, ANSWER);
  await reached(client, taskId, "completed");
  ended.completed += 1;
}

async function called(client: Client, tool: string, args: object, status: "completed" | "failed"): Promise<void> {
  const { taskId } = await client.call(tool, args);
  await reached(client, taskId, status);
  ended[status] += 1;
}

const large = "r".repeat(10_000);
const MIX: readonly ((client: Client) => Promise<void>)[] = [
  (client) => asked(client, "ask_when", ARGUMENTS),
  (client) => asked(client, "ask_group", { note: "n", group: "staff" }),
  (client) => called(client, "keep", { text: large }, "completed"),
  (client) => called(client, "fail", {}, "failed"),
  (client) => called(client, "call_keep", { text: "x" }, "completed"),
  async (client) => {
    const { taskId } = await client.call("keep_open", { text: "x" });
    await reached(client, taskId, "input_required");
    await client.cancel(taskId);
    ended.cancelled += 1;
  },
];

const count = () => ended.completed + ended.failed + ended.cancelled;

async function wave(): Promise<void> {
  const overAt = performance.now() + WAVE * retention * SECOND_MS;
  const own = new Set<Promise<void>>();
  for (let at = 0; performance.now() < overAt; at += 1) {
    if (own.size < AT_ONCE) {
      const each = MIX[at % MIX.length]!(clients[at % clients.length]!).catch(
        (error: unknown) => void problems.push((error as Error).message),
      );
      own.add(each);
      void each.finally(() => own.delete(each));
    }
    await sleep(EVERY_MS);
  }
  await Promise.all(own);
}

/** Of each key that is not in a list with a bound of its own. */
async function bytesByKey(): Promise<ReadonlyMap<string, number>> {
  const keys = (await look.keys("*")).filter((key) => !BOUNDED.test(key));
  const sizes = await Promise.all(keys.map((key) => look.memory("USAGE", key, "SAMPLES", 0)));
  return new Map(keys.map((key, i) => [key, Number(sizes[i] ?? 0)]));
}

const sum = (sizes: ReadonlyMap<string, number>) => [...sizes.values()].reduce((all, each) => all + each, 0);

async function allGone(): Promise<ReadonlyMap<string, number>> {
  const giveUpAt = performance.now() + (retention + 60) * SECOND_MS;
  for (;;) {
    const sizes = await bytesByKey();
    if (![...sizes.keys()].some((key) => key.includes(":task:"))) return sizes;
    if (performance.now() > giveUpAt) return sizes;
    await sleep(SECOND_MS / 2);
  }
}

try {
  // Lists that are bounded, and what a deployment writes at its start.
  await wave();
  const first = await allGone();
  const before = count();
  let last = first;
  console.log("wave | tasks | bytes a task while it is kept | bytes left in all");
  for (let i = 1; i <= waves; i += 1) {
    const from = count();
    await wave();
    const kept = (sum(await bytesByKey()) - sum(last)) / (count() - from);
    last = await allGone();
    console.log(`${i} | ${count() - from} | ${kept.toFixed(0)} | ${sum(last)}`);
  }
  const tasks = count() - before;
  const left = (sum(last) - sum(first)) / tasks;
  console.log(
    `${tasks} tasks: ${left.toFixed(1)} bytes left of each. ${ended.completed} completed, ${ended.failed} failed and ${ended.cancelled} cancelled in all`,
  );

  const grown = [...last]
    .filter(([key, size]) => size > (first.get(key) ?? 0))
    .map(([key, size]) => `${key} from ${first.get(key) ?? 0} to ${size}`);
  const wrong = [
    ...[...new Set(problems)].map((why) => `a call failed: ${why}`),
    ...(left > LEFT_MAX ? [`${left.toFixed(1)} bytes are left of each task: ${grown.slice(0, 10).join(", ")}`] : []),
    ...(Math.min(ended.completed, ended.failed, ended.cancelled) === 0 ? ["a kind of end did not happen"] : []),
  ];
  for (const each of wrong) console.log(`FAILED: ${each}`);
  if (values.report !== undefined) {
    const numFailedTests = wrong.length === 0 ? 0 : 1;
    await writeFile(values.report, JSON.stringify({ numPassedTests: 1 - numFailedTests, numFailedTests, failures: wrong }));
  }
  process.exitCode = wrong.length === 0 ? 0 : 1;
} finally {
  for (const client of clients) client.close();
  await deployment.close();
  look.disconnect();
  await server.close();
  await issuer.close();
}
