/**
 * `npm run bench`: what Parley does, beside what its parts can do with nothing of ours in between, in one run.
 *
 * Front end and worker share core 0, the load runs on core 1, Redis where the system puts it, without persistence. Absolute figures move
 * from run to run and machine to machine; the ratios are what counts. `--quick` does a tenth. Writes bench/RESULTS.md and results.json.
 */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import autocannon from "autocannon";
import { Queue } from "bullmq";
import { Redis } from "ioredis";
import { createClient, message, type Message } from "./client.ts";
import { queueLatencies } from "./floor/queue.ts";
import { liveHeapBytes } from "./heap.ts";
import { lifecycle, parked, pollUntil } from "./lifecycle.ts";
import { inParallel, median, quantile } from "./measure.ts";
import { freePort, launch, type Measured, untilServed } from "./processes.ts";
import { type Row, writeReport } from "./report.ts";

const quick = process.argv.includes("--quick");
const scale = quick ? 0.1 : 1;
const ROUNDS = quick ? 1 : 3;
const cores = cpus().length;
const serverCore = cores > 1 ? { core: 0 } : {};
if (cores > 1) execFileSync("taskset", ["-cp", "1", String(process.pid)]);

const node = process.execPath;
const rows: Row[] = [];
const running: { stop(): Promise<void> }[] = [];

const redisPort = await freePort();
const redisUrl = `redis://127.0.0.1:${redisPort}`;
running.push(
  launch({
    command: "redis-server",
    args: ["--port", String(redisPort), "--save", "", "--appendonly", "no", "--maxmemory-policy", "noeviction"],
  }),
);
const redis = new Redis(redisUrl);
redis.on("error", () => undefined); // it is still starting; the next command waits for it
await redis.ping();

try {
  const port = await freePort();
  const env = {
    REDIS_URL: redisUrl,
    PARLEY_PORT: String(port),
    PARLEY_TOOLS: new URL("./tool.ts", import.meta.url).pathname,
    PARLEY_LOG_LEVEL: "error",
  };
  const frontEnd = launch({ command: node, args: ["apps/server/main.ts"], env, ...serverCore });
  const inspectorPort = await freePort();
  const worker = launch({
    command: node,
    args: [`--inspect=127.0.0.1:${inspectorPort}`, "--inspect-publish-uid=http", "apps/worker/main.ts"],
    env,
    ...serverCore,
  });
  running.push(frontEnd, worker);
  const base = `http://127.0.0.1:${port}`;
  await untilServed(`${base}/readyz`);
  const url = `${base}/mcp`;
  const client = createClient(url, 64);
  await inParallel(50, 2_000 * scale, () => lifecycle(client)); // processes that have been up for a while

  // ── tasks/get beside Fastify + HGETALL, interleaved ──
  const { taskId } = await parked(client);
  const floorPort = await freePort();
  const [key = ""] = await redis.keys(`*:task:${taskId}`);
  const floor = launch({
    command: node,
    args: ["bench/floor/http.ts"],
    env: { REDIS_URL: redisUrl, PORT: String(floorPort), KEY: key },
    ...serverCore,
  });
  running.push(floor);
  await untilServed(`http://127.0.0.1:${floorPort}/readyz`);
  const get = message("tasks/get", { taskId }, taskId);
  const rounds = { ours: [] as Rates[], floor: [] as Rates[] };
  for (let round = 0; round < ROUNDS; round += 1) {
    rounds.floor.push(await requestRates(`http://127.0.0.1:${floorPort}/mcp`, get, floor));
    rounds.ours.push(await requestRates(url, get, frontEnd));
  }
  const middle = (rates: readonly Rates[], which: keyof Rates) => median(rates.map((each) => each[which]));
  // The median, since the sweep's commands come in between now and then.
  const commandsPerGet: number[] = [];
  for (let read = 0; read < 100; read += 1) {
    const before = await statistic("total_commands_processed");
    await client.get(taskId);
    commandsPerGet.push((await statistic("total_commands_processed")) - before - 1);
  }
  rows.push(
    {
      metric: "tasks/get per second of CPU",
      ours: middle(rounds.ours, "perCpuSecond"),
      floor: middle(rounds.floor, "perCpuSecond"),
      unit: "/s",
      target: "≥ 70 % of the floor",
    },
    { metric: "tasks/get per second", ours: middle(rounds.ours, "perSecond"), floor: middle(rounds.floor, "perSecond"), unit: "/s" },
    { metric: "Redis commands per tasks/get", ours: median(commandsPerGet), unit: "", target: "1" },
  );

  // ── lifecycles ──
  for (const clients of [1, 10, 50]) {
    const count = Math.ceil((clients === 1 ? 300 : 3_000) * scale);
    const readsBefore = await statistic("total_reads_processed");
    const cpuBefore = frontEnd.cpuMs() + worker.cpuMs();
    const { latencies, wallMs } = await inParallel(clients, count, () => lifecycle(client));
    const cpuMs = (frontEnd.cpuMs() + worker.cpuMs() - cpuBefore) / count;
    const reads = ((await statistic("total_reads_processed")) - readsBefore) / count;
    const of = `${clients} client${clients === 1 ? "" : "s"}`;
    rows.push(
      { metric: `lifecycle p50, ${of}`, ours: median(latencies), unit: "ms", ...(clients === 1 && { target: "≤ 6 ms" }) },
      { metric: `lifecycle p99, ${of}`, ours: quantile(latencies, 0.99), unit: "ms" },
      { metric: `lifecycles per second, ${of}`, ours: (count / wallMs) * 1_000, unit: "/s", ...(clients === 50 && { target: "≥ 750" }) },
      { metric: `CPU per lifecycle, front end + worker, ${of}`, ours: cpuMs, unit: "ms", ...(clients === 50 && { target: "≤ 1.6 ms" }) },
      {
        metric: `Redis reads from sockets per lifecycle, ${of}`,
        ours: reads,
        unit: "",
        ...(clients === 1 && { target: "≤ 24" }),
        ...(clients === 50 && { target: "≤ 8" }),
      },
    );
  }

  // ── answer → the handler goes on and its result is there, beside BullMQ's add → start ──
  const resumes: number[] = [];
  for (let round = 0; round < 300 * scale; round += 1) {
    const task = await parked(client);
    const sentAt = performance.now();
    await client.answer(task.taskId, { size: { action: "accept", content: { size: 4 } } });
    await pollUntil(client, task.taskId, "completed");
    resumes.push(performance.now() - sentAt);
  }
  const starts = await queueLatencies(redisUrl, 300 * scale);
  rows.push({
    metric: "answer → client holds the result, p50 (floor: BullMQ add → start)",
    ours: median(resumes),
    floor: median(starts),
    unit: "ms",
  });

  // ── parked tasks ──
  const parkedCount = Math.ceil(10_000 * scale);
  const memory = async () => ({
    redis: await statistic("used_memory"),
    resident: worker.memoryBytes(),
    live: await liveHeapBytes(inspectorPort),
  });
  const before = await memory();
  const taskIds: string[] = [];
  await inParallel(50, parkedCount, async () => void taskIds.push((await parked(client)).taskId));
  const jobs = await jobsLeft(redis);
  const after = await memory();
  rows.push(
    {
      metric: `Redis bytes per parked task, ${parkedCount} parked, 300 B of arguments`,
      ours: (after.redis - before.redis) / parkedCount,
      unit: "B",
      target: "≤ 1,300",
    },
    {
      metric: `worker heap per parked task, ${parkedCount} parked, after a garbage collection`,
      ours: (after.live - before.live) / parkedCount,
      unit: "B",
      target: "0",
    },
    {
      metric: `worker resident memory per parked task, garbage and all`,
      ours: (after.resident - before.resident) / parkedCount,
      unit: "B",
    },
    { metric: `jobs in BullMQ while ${parkedCount} tasks are parked`, ours: jobs, unit: "", target: "0" },
  );
  const { wallMs } = await inParallel(50, parkedCount, async () => {
    const id = taskIds.pop() ?? "";
    await client.answer(id, { size: { action: "accept", content: { size: 4 } } });
    await pollUntil(client, id, "completed");
  });
  rows.push({ metric: `parked tasks answered and completed per second, 50 clients`, ours: (parkedCount / wallMs) * 1_000, unit: "/s" });
  client.close();
} finally {
  redis.disconnect();
  for (const each of running.toReversed()) await each.stop();
}

const [cpu] = cpus();
const machine = `${cores} × ${cpu?.model ?? "unknown"}, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.version}`;
writeReport({ rows, machine, quick, directory: new URL(".", import.meta.url), write: writeFileSync });

interface Rates {
  readonly perSecond: number;
  /** Of the process' CPU time: what a core could do, also when others take part of it meanwhile. */
  readonly perCpuSecond: number;
}

async function requestRates(target: string, { headers, body }: Message, served: Measured): Promise<Rates> {
  const cpuBefore = served.cpuMs();
  const { requests, non2xx } = await autocannon({
    url: target,
    method: "POST",
    headers: { ...headers },
    body,
    connections: 10,
    duration: quick ? 2 : 6,
  });
  if (non2xx > 0) throw new Error(`${non2xx} replies of ${target} were no success`);
  return { perSecond: requests.average, perCpuSecond: (requests.total / (served.cpuMs() - cpuBefore)) * 1_000 };
}

async function statistic(name: string): Promise<number> {
  const info = await redis.info();
  return Number(new RegExp(`^${name}:(\\d+)`, "m").exec(info)?.[1]);
}

/** Of the run queue, in whatever state, once the worker has put the last one away. */
async function jobsLeft(connection: Redis): Promise<number> {
  const [key = ""] = await connection.keys("*:run:meta");
  const queue = new Queue("run", { connection, prefix: key.slice(0, -":run:meta".length) });
  const count = async () => Object.values(await queue.getJobCounts()).reduce((sum, jobs) => sum + jobs, 0);
  try {
    for (let look = 0; look < 20 && (await count()) > 0; look += 1) await new Promise((resolve) => setTimeout(resolve, 100));
    return await count();
  } finally {
    await queue.close();
  }
}
