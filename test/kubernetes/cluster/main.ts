/**
 * npm run test:cluster -- [--only STAGE,…] [--redis sentinel|always] [--waiting N] [--toil N] [--report FILE]
 *
 * Runs deploy/kubernetes/base without a cluster: pods are processes, wired as the manifests say (pod.ts, cluster.ts), on a Redis with
 * Sentinel or a single one, while clients keep working.
 *
 *   roll     `kubectl rollout restart` of front ends and workers
 *   drain    evicts a third of everything, node by node
 *   scale    runs that work for a while: KEDA's signal scales the workers up, and down again
 *   failover the master of Redis dies. Clients repeat requests that failed
 *   upgrade  another image, whose tool has changed, while tasks wait; then all of them are answered
 *
 * Each stage reports what failed. Exits with 0 only if nothing was lost and, except for the failover, no request failed.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { createClient } from "../../../bench/client.ts";
import { pollUntil } from "../../../bench/lifecycle.ts";
import { inParallel } from "../../../bench/measure.ts";
import { startLoad } from "../../support/steady-load.ts";
import { until } from "../../support/until.ts";
import { startTopology } from "../../topologies/topologies.ts";
import { baseFromFiles, KUSTOMIZE, objectsInFiles, parseObjects } from "../render.ts";
import { type Cluster, startCluster } from "./cluster.ts";

const { values } = parseArgs({
  options: {
    only: { type: "string" },
    waiting: { type: "string", default: "10000" },
    redis: { type: "string", default: "sentinel" },
    toil: { type: "string", default: "400" },
    report: { type: "string" },
  },
});
for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => process.exit(1));

for (const name of ["waiting", "toil"] as const) {
  if (!(Number(values[name]) >= 1)) throw new Error(`--${name} ${values[name]}: must be a number of at least 1`);
}
const STAGES = { roll, drain, scale, failover, upgrade };
const wanted = values.only?.split(",") ?? Object.keys(STAGES);
for (const name of wanted)
  if (!Object.hasOwn(STAGES, name)) throw new Error(`--only ${name}: must be among ${Object.keys(STAGES).join(", ")}`);
if (!["sentinel", "always"].includes(values.redis)) throw new Error(`--redis ${values.redis}: must be sentinel or always`);
/** KEDA's waiting is shortened by this, for the signal alone. */
const FASTER = 15;
const CONNECTIONS = 20;
const PATIENCE = { timeoutMs: 300_000, everyMs: 250 };

const directory = mkdtempSync(join(tmpdir(), "parley-cluster-"));
const toilFile = join(directory, "toil");
writeFileSync(toilFile, "");
const hasSentinel = values.redis === "sentinel";
const redis = await startTopology(hasSentinel ? "sentinel" : "always", join(directory, "redis"), "parley:");
const tools = (file: string) =>
  `@parley/gallery,${join(import.meta.dirname, "../../e2e/tools/hold.ts")},${join(import.meta.dirname, "tools", file)}`;
const image = (file: string) => ({ ...imageEnvironment(), PARLEY_TOOLS: tools(file), PARLEY_GALLERY_DIR: directory, TOIL_FILE: toilFile });
const cluster: Cluster = await startCluster({
  objects: hasSentinel ? withSentinel() : baseFromFiles(),
  secrets: { "parley-redis": { url: redis.url } },
  images: { first: image("first.ts"), second: image("second.ts") },
  directory,
});

const lines: string[] = [];
let failed = 0;
let passed = 0;
let isDone = false;
try {
  await within(60_000, cluster.steady(), "the cluster did not become ready");
  for (const [name, stage] of Object.entries(STAGES)) {
    if (!wanted.includes(name)) continue;
    process.stderr.write(`${new Date().toTimeString().slice(0, 8)}  ${name} …\n`);
    const [restartsBefore, endsBefore] = [cluster.restarts.length, cluster.terminations.length];
    const beganMs = performance.now();
    const { said, problems } = await within(900_000, stage(), `${name} did not end`).catch((error: unknown) => ({
      said: "",
      problems: [String(error)],
    }));
    problems.push(
      ...cluster.restarts.slice(restartsBefore),
      ...cluster.terminations
        .slice(endsBefore)
        .filter(({ isKilled }) => isKilled)
        .map(({ pod }) => `${pod} was killed`),
    );
    lines.push(
      `${name.padEnd(9)} ${Math.round((performance.now() - beganMs) / 1_000)} s; ${said}`,
      ...problems.slice(0, 10).map((problem) => `          ✗ ${problem}`),
    );
    if (problems.length > 0) failed += 1;
    else passed += 1;
  }
  isDone = true;
  const stops = cluster.terminations.map(({ ms }) => ms).toSorted((one, other) => one - other);
  if (stops.length > 0)
    lines.push(`${stops.length} pods were terminated, the slowest within ${((stops.at(-1) ?? 0) / 1_000).toFixed(1)} s`);
} finally {
  await cluster.close();
  await redis.close();
  if (isDone && failed === 0) rmSync(directory, { recursive: true });
  else process.stderr.write(`logs of the pods: ${directory}\n`);
}
if (values.report !== undefined) writeFileSync(values.report, JSON.stringify({ numPassedTests: passed, numFailedTests: failed }));
process.stdout.write(`${lines.join("\n")}\n${passed} passed, ${failed} failed\n`);
process.exit(failed === 0 ? 0 : 1);

// ── stages ─────────────────────────────────────────────────────────────────────────────────────────────────────────

interface Told {
  readonly said: string;
  readonly problems: string[];
}

async function roll(): Promise<Told> {
  return await underLoad(() => cluster.rollOut("first"));
}

async function drain(): Promise<Told> {
  return await underLoad(async () => {
    const pods = [...cluster.pods("worker"), ...cluster.pods("server")];
    for (const node of new Set(pods.map((pod) => pod.node))) await cluster.drain(node);
  });
}

async function scale(): Promise<Told> {
  const [scaled] = objectsInFiles().filter(({ kind }) => kind === "ScaledObject");
  if (!scaled) throw new Error("there is no ScaledObject");
  const count = Number(values.toil);
  let most = 0;
  const told = await underLoad(async (client) => {
    const tasks: string[] = [];
    let number = 0;
    await inParallel(CONNECTIONS, count, async () => {
      number += 1;
      tasks.push((await client.call("toil", { number })).taskId);
    });
    cluster.autoscale(scaled, FASTER);
    const watching = setInterval(() => (most = Math.max(most, cluster.pods("worker").filter((pod) => pod.isReady()).length)), 100);
    for (const taskId of tasks) await until(async () => (await client.get(taskId)).status === "completed", PATIENCE);
    await until(() => cluster.pods("worker").length === 2, PATIENCE);
    clearInterval(watching);
    await cluster.steady();
  });
  const done = readFileSync(toilFile, "utf8").trim().split("\n");
  if (most < 8) told.problems.push(`${most} workers at most, for ${count} runs`);
  if (done.length !== count || new Set(done).size !== count)
    told.problems.push(`of ${count} steps ${new Set(done).size} were done, ${done.length} times in all`);
  return { ...told, said: `2 → ${most} → ${cluster.pods("worker").length} workers for ${count} runs of 15 s; ${told.said}` };
}

async function failover(): Promise<Told> {
  return await underLoad(() => redis.outage("SIGKILL", 1_000), 60);
}

async function upgrade(): Promise<Told> {
  const count = Number(values.waiting);
  let answered = 0;
  const wrong: string[] = [];
  const told = await underLoad(async (client) => {
    const tasks = new Map<string, string>();
    let number = 0;
    await inParallel(CONNECTIONS, count, async () => {
      number += 1;
      const what = `number ${number}`;
      tasks.set((await client.call("approve", { what })).taskId, what);
    });
    for (const taskId of tasks.keys()) await pollUntil(client, taskId, "input_required");
    await cluster.rollOut("second");
    const left = [...tasks.keys()];
    await inParallel(CONNECTIONS, count, async () => {
      const taskId = left.pop() ?? "";
      await client.answer(taskId, { sure: { action: "accept", content: { sure: true } } });
    });
    for (const [taskId, what] of tasks) {
      const { result } = await pollUntil(client, taskId, "completed");
      const text = result?.content?.[0]?.text ?? "";
      if (text === `${what}: true`) answered += 1;
      else wrong.push(`${what} came to "${text}"`);
    }
    const { taskId } = await client.call("approve", { what: "one of the new ones" });
    await pollUntil(client, taskId, "input_required");
    await client.answer(taskId, { sure: { action: "accept", content: { sure: true } } });
    await pollUntil(client, taskId, "input_required");
    await client.answer(taskId, { by: { action: "accept", content: { by: "ann" } } });
    const { result } = await pollUntil(client, taskId, "completed");
    if (result?.content?.[0]?.text !== "one of the new ones: true, says ann") wrong.push("a new task took the old way");
  });
  return {
    said: `${answered} of ${count} that waited were answered under the new image; ${told.said}`,
    problems: [...told.problems, ...wrong],
  };
}

/** Clients that keep working meanwhile, and until some of them have come to an end afterwards. */
async function underLoad(work: (client: ReturnType<typeof createClient>) => Promise<void>, patience = 0): Promise<Told> {
  const load = startLoad(`${cluster.url}/mcp`, { tasks: 4, calls: 4, held: { name: "hold", arguments: {} }, patience });
  const client = createClient(`${cluster.url}/mcp`, CONNECTIONS);
  try {
    await until(() => load.report.tasks > 4, PATIENCE);
    await work(client);
    const before = load.report;
    await until(() => load.report.tasks > before.tasks + 8 && load.report.calls > before.calls + 2, PATIENCE);
  } finally {
    client.close();
    await load.stop();
  }
  const { requests, tasks, calls, handedOver, failures, givenUp, slowestMs } = load.report;
  const said = `beside it ${requests} requests, ${tasks} tasks, ${calls} held calls (${handedOver} handed over), the slowest ${slowestMs} ms, ${failures.length} failed`;
  return { said, problems: [...givenUp, ...(patience === 0 ? failures : [])] };
}

// ── what the manifests refer to ────────────────────────────────────────────────────────────────────────────────────

/** What the Dockerfile says of the environment. */
function imageEnvironment(): Record<string, string> {
  const [, block = ""] =
    /^ENV (NODE_ENV=[\s\S]*?[^\\])$/m.exec(readFileSync(new URL("../../../Dockerfile", import.meta.url), "utf8")) ?? [];
  return Object.fromEntries(block.split(/\s*\\\n\s*/).map((each) => /^([^=]+)=(.*)$/.exec(each)?.slice(1) ?? []) as [string, string][]);
}

/** The base with what overlays/sentinel adds to its settings. */
function withSentinel() {
  const [{ configMapGenerator = [] } = {}] = parseObjects(
    readFileSync(join(KUSTOMIZE, "overlays/sentinel/kustomization.yaml"), "utf8"),
  ) as unknown as {
    configMapGenerator?: { literals: string[] }[];
  }[];
  const added = Object.fromEntries(
    configMapGenerator.flatMap(({ literals }) => literals).map((each) => each.split("=", 2) as [string, string]),
  );
  return baseFromFiles().map((object) =>
    object.kind === "ConfigMap" ? { ...object, data: { ...(object["data"] as Record<string, string>), ...added } } : object,
  );
}

async function within<Value>(ms: number, work: Promise<Value>, what: string): Promise<Value> {
  const over = new AbortController();
  try {
    return await Promise.race([
      work,
      sleep(ms, undefined, { signal: over.signal }).then(() => {
        throw new Error(`${what} within ${ms / 1_000} s`);
      }),
    ]);
  } finally {
    over.abort();
  }
}
