/**
 * `npm run bench`: what Parley does, compared in one run with its components alone and with a peer.
 *
 *   --quick         a tenth of it in one round, about a minute; writes nothing
 *   --only <name>   only benchmarks whose name begins with it; writes nothing
 *   --million       adds a million parked tasks
 *
 * A complete run writes bench/RESULTS.md, results.json and plots/. Each benchmark is a file in benchmarks/; benchmark.ts defines what a
 * benchmark is.
 */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { cpus, loadavg, totalmem } from "node:os";
import { parseArgs } from "node:util";
import { type Benchmark, type Row, runBenchmark } from "./benchmark.ts";
import { blockings } from "./benchmarks/blocking.ts";
import { create } from "./benchmarks/create.ts";
import { fanOuts } from "./benchmarks/fan-out.ts";
import { fairness } from "./benchmarks/fairness.ts";
import { fleet } from "./benchmarks/fleet.ts";
import { guardedLifecycles } from "./benchmarks/guarded.ts";
import { growth } from "./benchmarks/growth.ts";
import { inboxPages } from "./benchmarks/inbox.ts";
import { openAsks } from "./benchmarks/open-asks.ts";
import { lifecycles } from "./benchmarks/lifecycle.ts";
import { parkedTasks } from "./benchmarks/parked.ts";
import { pushes } from "./benchmarks/push.ts";
import { resumes } from "./benchmarks/resume.ts";
import { subscriptions } from "./benchmarks/subscriptions.ts";
import { tasksGet } from "./benchmarks/tasks-get.ts";
import { tasksGetToken } from "./benchmarks/tasks-get-token.ts";
import { victims } from "./benchmarks/victim.ts";
import { createClient } from "./client.ts";
import { lifecycle } from "./lifecycle.ts";
import { inParallel } from "./measure.ts";
import { tableOf, writeReport } from "./report.ts";
import { cpuMsOfStages, openStage, type Stage } from "./stage.ts";

const { values } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    million: { type: "boolean", default: false },
    only: { type: "string" },
  },
});
const { quick, million, only } = values;
const known: readonly Benchmark[] = [
  tasksGet,
  tasksGetToken,
  create,
  ...lifecycles,
  ...guardedLifecycles,
  ...resumes,
  ...pushes,
  ...fanOuts,
  inboxPages,
  ...blockings,
  parkedTasks,
  growth({ quick, million }),
  openAsks({ quick, million }),
  fairness,
  ...victims,
  subscriptions,
  fleet,
];
const chosen = known.filter(({ name }) => only === undefined || name.startsWith(only));
if (chosen.length === 0) throw new Error(`no benchmark is called ${only}: ${known.map(({ name }) => name).join(", ")}`);

if (cpus().length > 1) execFileSync("taskset", ["-cp", "1", String(process.pid)]);
const loadAtStart = loadavg().map((load) => load.toFixed(2));
const startedAt = { ms: performance.now(), cpu: machineCpu() };
const rows: Row[] = [];

let stage: Stage | undefined;
try {
  for (const benchmark of chosen) {
    if (stage && benchmark.alone) stage = await leave(stage);
    stage ??= await enter();
    process.stderr.write(`${benchmark.name} …\n`);
    rows.push(...(await runBenchmark(benchmark, stage)));
  }
} finally {
  if (stage) await leave(stage);
}

const [cpu] = cpus();
const machine = `${cpus().length} × ${cpu?.model ?? "unknown"}, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.version}`;
const noise = noiseOfRun();
process.stdout.write(`${tableOf(rows)}\n\n${machine}. ${noise}\n`);
// What is kept comes from a whole run.
if (!quick && only === undefined) writeReport({ rows, machine, noise, directory: new URL(".", import.meta.url) });

async function enter(): Promise<Stage> {
  const opened = await openStage(quick, { withDurablePeer: true });
  const client = createClient(`${opened.frontEnd.url}/mcp`, 50);
  await inParallel(50, opened.some(2_000), () => lifecycle(client)); // processes that have been up for a while
  client.close();
  if (opened.durablePeer) {
    const durable = createClient(`${opened.durablePeer.url}/mcp`, 10);
    await inParallel(10, opened.some(100), () => lifecycle(durable));
    durable.close();
  }
  return opened;
}

async function leave(left: Stage): Promise<undefined> {
  await left.close();
}

/** The share of the machine that other processes used, so that readers can tell a quiet run from a noisy one. */
function noiseOfRun(): string {
  const seconds = (performance.now() - startedAt.ms) / 1_000;
  const { user, system } = process.cpuUsage();
  const ours = cpuMsOfStages() + (user + system) / 1_000;
  const now = machineCpu();
  const others = Math.max(0, now.busyMs - startedAt.cpu.busyMs - ours) / (now.allMs - startedAt.cpu.allMs);
  const share = others < 0.01 ? "less than 1" : `about ${Math.round(others * 100)}`;
  return `The run took ${Math.round(seconds)} s. The load average at its start was ${loadAtStart.join(", ")}. Processes outside the run used ${share} % of the machine's CPU time.`;
}

/** Of all cores since the machine started. */
function machineCpu(): { busyMs: number; allMs: number } {
  const fields = (/^cpu +(.*)$/m.exec(readFileSync("/proc/stat", "utf8"))?.[1] ?? "").split(" ").map((ticks) => Number(ticks) * 10);
  const [user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, softirq = 0, steal = 0] = fields;
  const busyMs = user + nice + system + irq + softirq + steal;
  return { busyMs, allMs: busyMs + idle + wait };
}
