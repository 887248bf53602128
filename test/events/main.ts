/**
 * Very many events, and everything that can happen to them on their way.
 *
 *   node test/events/main.ts [--events 100000] [--minutes 8] [--seed 1] [--report FILE]
 *
 * Two front ends, three workers and a Redis that writes each change to disk; any of them is killed now and then. Tasks ask ten questions each, and are
 * answered. Eight webhooks of the operator's file hear of one tool each, three subscriptions of a client hear of ends, one client polls. Receivers fail,
 * are busy, redirect, stall, break off, take an event and say they have not; one refuses everything until more has happened than the outbox keeps.
 *
 * At the end, of what was acknowledged: nobody lost anything, whatever came again had the same id and the same text, each task came in its order, and the
 * one that was away for too long was told so, before what followed. Loopback only; ends by itself. --report FILE writes vitest's totals, for .ci/run.
 */
import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { rpc } from "../../apps/server/client.fixture.ts";
import type { Front } from "../../apps/server/deployment.fixture.ts";
import { type Client, createClient } from "../../bench/client.ts";
import { createRandom } from "../chaos/random.ts";
import { freePorts } from "../support/free-ports.ts";
import { startIssuer } from "../support/issuer.ts";
import { type FrontEnd, type Launched, startFrontEnd, startWorkerProcess } from "../support/processes.ts";
import { startSingle } from "../topologies/single.ts";
import { judge } from "./judge.ts";
import { type Receiver, startReceiver } from "./receiver.ts";
import { QUESTIONS, TOOLS } from "./tools.ts";

const PUBLIC_URL = "http://parley.example";
const EVENTS_EACH = 2 * QUESTIONS.length + 1;
/** Entries in the outbox: all questions at once, each answer, the end. */
const ENTRIES_EACH = QUESTIONS.length + 2;
const TOGETHER = 12;
const SUBSCRIBED = 3;
const ANSWERS = Object.fromEntries(QUESTIONS.map((name) => [name, { action: "accept", content: { yes: true } }]));

const { values } = parseArgs({
  options: {
    events: { type: "string", default: "100000" },
    minutes: { type: "string", default: "8" },
    seed: { type: "string", default: "1" },
    report: { type: "string" },
  },
});
const [events, minutes] = [Number(values.events), Number(values.minutes)];
if (!(events >= 1_000) || !(minutes > 0)) throw new Error("--events is at least 1000, and --minutes above 0");

const startedAt = performance.now();
const seconds = () => Math.round((performance.now() - startedAt) / 1_000);
const isOver = () => performance.now() - startedAt > minutes * 60_000;
const random = createRandom(values.seed);

const lives = Math.ceil(events / EVENTS_EACH);
/** What the outbox keeps: less than there will be, so that who refuses everything misses something. */
const kept = Math.min(20_000, Math.floor((lives * ENTRIES_EACH) / 1.3));
const troubles = Math.min(40, 2 + Math.floor(events / 2_500));

const directory = await mkdtemp(join(tmpdir(), "parley-events-"));
const redis = await startSingle({ name: "always", directory, fsync: "always" });
const issuer = await startIssuer({ audience: `${PUBLIC_URL}/mcp` });
const token = await issuer.token({ sub: "ann", exp: Math.floor(Date.now() / 1_000) + 3_600 });
const secret = `whsec_${randomBytes(32).toString("base64")}`;

const receiver = (seed: string, of: number, most = troubles): Promise<Receiver> =>
  startReceiver({ secret, seed: `${values.seed}/${seed}`, troubles: most, of });
const hooks = await Promise.all(Array.from({ length: TOOLS }, (_, at) => receiver(`hook ${at}`, events / TOOLS)));
const subscribed = await Promise.all(Array.from({ length: SUBSCRIBED }, (_, at) => receiver(`subscription ${at}`, lives / TOOLS, 4)));
// Of ends only, so that what is kept for it is soon told.
const late = await receiver("late", events, 0);
late.refuses = true;
const receivers = [...hooks, ...subscribed, late];

const webhooksFile = join(directory, "webhooks.json");
const hook = ({ url }: Receiver, more: object) => ({
  url,
  secret,
  private: true,
  events: ["ask.opened", "ask.settled", "task.ended"],
  ...more,
});
await writeFile(
  webhooksFile,
  JSON.stringify({
    webhooks: {
      ...Object.fromEntries(hooks.map((each, at) => [`hook-${at}`, hook(each, { tool: `tell_${at}` })])),
      late: hook(late, { events: ["task.ended"] }),
    },
  }),
);
const env = {
  REDIS_URL: redis.url,
  PARLEY_TOOLS: new URL("tools.ts", import.meta.url).pathname,
  PARLEY_PARTITIONS: "1",
  PARLEY_OUTBOX: "true",
  PARLEY_OUTBOX_LENGTH_MAX: String(kept),
  PARLEY_SECRET: randomBytes(32).toString("hex"),
  PARLEY_SUBSCRIPTIONS_PRIVATE: "true",
  PARLEY_LOG_LEVEL: "error",
};
const [portA = 0, portB = 0] = await freePorts(2);
const frontEndEnv = (port: number) => ({
  ...env,
  PARLEY_PORT: String(port),
  PARLEY_AUTH: "required",
  PARLEY_AUTH_ISSUERS: issuer.url,
  PARLEY_PUBLIC_URL: PUBLIC_URL,
  ...Object.fromEntries(["READS", "ANSWERS", "CALLS"].map((quota) => [`PARLEY_QUOTA_${quota}`, "10000000"])),
});
// They say that they are ready by a line of this level.
const workerEnv = { ...env, PARLEY_WEBHOOKS: webhooksFile, PARLEY_LOG_LEVEL: "info" };
const openFrontEnd = (port: number) => startFrontEnd({ ...frontEndEnv(port), PARLEY_LOG_LEVEL: "info" });
const openWorker = () => startWorkerProcess(workerEnv);

const frontEnds: FrontEnd[] = await Promise.all([openFrontEnd(portA), openFrontEnd(portB)]);
const workers: Launched[] = await Promise.all([openWorker(), openWorker(), openWorker()]);
const ports = [portA, portB];
const clients: Client[] = ports.map((port) => createClient(`http://127.0.0.1:${port}/mcp`, TOGETHER, token));
const problems: string[] = [];
const done = new Map<string, string[]>(Array.from({ length: TOOLS }, (_, at) => [`tell_${at}`, []]));
const kills = { "front end": 0, worker: 0, Redis: 0 };
const tries = { refused: 0 };

/** Until it is acknowledged: a process may be away, or Redis. */
async function again<T>(work: (client: Client) => Promise<T>): Promise<T> {
  for (let at = random.between(0, 1); ; at += 1) {
    try {
      return await work(clients[at % clients.length] as Client);
    } catch (error) {
      tries.refused += 1;
      if (isOver()) throw error;
      await sleep(100);
    }
  }
}

async function live(number: number): Promise<void> {
  const tool = `tell_${number % TOOLS}`;
  const { taskId } = await again((client) => client.call(tool, { number }));
  const reach = async (status: string) => {
    for (let waitMs = 10; ; waitMs = Math.min(waitMs * 2, 500)) {
      if ((await again((client) => client.get(taskId))).status === status) return;
      if (isOver()) throw new Error(`task ${taskId} does not become ${status}`);
      await sleep(waitMs);
    }
  };
  await reach("input_required");
  await again((client) => client.answer(taskId, ANSWERS));
  await reach("completed");
  done.get(tool)?.push(taskId);
}

/** By how many tasks the slowest of those is behind who take what comes. */
const behind = () =>
  Math.max(
    ...hooks.map(({ told }, at) => livedBy(at) - told.length / EVENTS_EACH),
    ...subscribed.map(({ told }, at) => livedBy(at) - told.length),
  );
const livedBy = (at: number) => done.get(`tell_${at}`)?.length ?? 0;

async function produce(): Promise<void> {
  let next = 0;
  const lane = async () => {
    while (next < lives) {
      const number = next;
      next += 1;
      // Who takes what comes must not be further behind than the outbox reaches: that is the bound within which nothing is lost.
      while (behind() * TOOLS * ENTRIES_EACH > kept / 2 && !isOver()) await sleep(100);
      await live(number);
    }
  };
  await Promise.all(Array.from({ length: TOGETHER }, lane));
}

/** One at a time, so that somebody is left; each kind at least once. */
const first = random.shuffled(["worker", "front end", "Redis"] as const);
async function kill(): Promise<void> {
  const what = first.pop() ?? random.weighted({ worker: 4, "front end": 3, Redis: 3 });
  kills[what] += 1;
  switch (what) {
    case "worker": {
      const at = random.between(0, workers.length - 1);
      await workers[at]?.kill();
      await sleep(random.between(0, 1_000));
      workers[at] = await openWorker();
      return;
    }
    case "front end": {
      const at = random.between(0, 1);
      await frontEnds[at]?.kill();
      await sleep(random.between(0, 1_000));
      frontEnds[at] = await openFrontEnd(ports[at] ?? 0);
      return;
    }
    case "Redis":
      return await redis.outage("SIGKILL", random.between(0, 1_500));
  }
}

const stopped = new AbortController();
async function trouble(): Promise<void> {
  // Enough in a short run, and not more than can be recovered from in a long one.
  const everyMs = Math.min(15_000, 2_000 + events / 8);
  // After each killed worker, what it posted waits for half a minute: a short run has time for few.
  for (let left = Math.max(3, Math.floor(events / 4_000)); left > 0 && !stopped.signal.aborted; left -= 1) {
    await sleep(random.between(everyMs / 2, everyMs * 1.5), undefined, { signal: stopped.signal }).catch(() => undefined);
    if (!stopped.signal.aborted) await kill();
  }
}

/** A client that polls the ends of all its tasks, and remembers only its cursor. */
async function poll(cursor: string): Promise<{ readonly taskIds: ReadonlySet<string>; readonly isTruncated: boolean }> {
  const taskIds = new Set<string>();
  let isTruncated = false;
  for (let isLast = false; ;) {
    const isStopped = stopped.signal.aborted;
    const { result } = await again(() => request("events/poll", { name: "task.ended", cursor, maxEvents: 100 }));
    const page = result as unknown as { events: { data: { taskId: string } }[]; cursor: string; hasMore: boolean; truncated: boolean };
    for (const { data } of page.events) taskIds.add(data.taskId);
    isTruncated ||= page.truncated;
    ({ cursor } = page);
    if (page.hasMore) continue;
    if (isLast || isOver()) return { taskIds, isTruncated };
    isLast = isStopped;
    await sleep(500);
  }
}

let turn = 0;
async function request(method: string, params: object) {
  turn += 1;
  const front = { url: `http://127.0.0.1:${ports[turn % 2]}/mcp` } as Front;
  const reply = await rpc(front, method, params, { headers: { authorization: `Bearer ${token}` } });
  if (reply.error) throw new Error(reply.error.message);
  return reply;
}

async function caughtUp(): Promise<void> {
  while (behind() > 0 && !isOver()) await sleep(100);
}

try {
  const start = (await request("events/poll", { name: "task.ended", cursor: null })).result?.["cursor"] as unknown as string;
  for (const [at, { url }] of subscribed.entries()) {
    const delivery = { mode: "webhook", url, secret };
    await request("events/subscribe", { name: "task.ended", arguments: { tool: `tell_${at}` }, delivery, ttlMs: 3_600_000 });
  }
  // Each webhook has its place before anything happens.
  await sleep(3_000);
  const polling = poll(start);
  const troubling = trouble();
  // What fails meanwhile is told where it is awaited.
  for (const each of [polling, troubling]) each.catch(() => undefined);
  await produce();
  const producedIn = seconds();
  // From here on claims of the dead run out, and what is left is told.
  stopped.abort();
  await troubling;
  await caughtUp();

  // The one that was away comes back: another worker goes on at once, and does not wait for the next of its tries.
  for (const [at, worker] of workers.entries()) {
    await worker.stop();
    workers[at] = await openWorker();
  }
  late.refuses = false;
  const missed = () => late.knownAtGap !== undefined;
  while (!missed() && !isOver()) await sleep(100);
  const polled = await polling;
  // What it is told after the gap ends with the newest.
  const newest = [...done.values()].map((ids) => ids.at(-1));
  const hasNewest = () => newest.every((taskId) => late.told.some((each) => each.taskId === taskId && each.type === "task.ended"));
  while (!hasNewest() && !isOver()) await sleep(200);

  for (const [at, each] of hooks.entries()) {
    for (const problem of [...each.problems, ...judge(each.told, { taskIds: done.get(`tell_${at}`) ?? [] })])
      problems.push(`hook-${at}: ${problem}`);
    if (each.knownAtGap !== undefined) problems.push(`hook-${at}: was told of a gap, and was never away for so long`);
  }
  for (const [at, each] of subscribed.entries()) {
    const taskIds = done.get(`tell_${at}`) ?? [];
    for (const problem of [...each.problems, ...judge(each.told, { taskIds, types: ["task.ended"] })])
      problems.push(`subscription ${at}: ${problem}`);
  }
  for (const problem of [...late.problems, ...judge(late.told, { taskIds: [], mayMiss: true })]) problems.push(`late: ${problem}`);
  if (late.knownAtGap !== 0)
    problems.push(
      `late: was told ${late.knownAtGap ?? "nothing of a gap, not even after"} events before it was told that some are missing`,
    );
  if (!hasNewest()) problems.push("late: what followed the gap is not all there");
  const all = [...done.values()].flat();
  const unpolled = all.filter((taskId) => !polled.taskIds.has(taskId));
  if (unpolled.length > 0 && !polled.isTruncated)
    problems.push(`the client that polls missed ${unpolled.length} ends, and was not told so`);
  if (all.length < lives) problems.push(`only ${all.length} of ${lives} tasks were lived in ${minutes} minutes`);

  const sum = (count: (each: Receiver) => number) => receivers.reduce((total, each) => total + count(each), 0);
  const troubled: Record<string, number> = {};
  for (const { counts } of receivers) for (const [name, times] of counts.troubles) troubled[name] = (troubled[name] ?? 0) + times;
  console.log(
    JSON.stringify({
      events: all.length * EVENTS_EACH,
      tasks: all.length,
      seconds: seconds(),
      producedIn,
      kept,
      posts: sum(({ counts }) => counts.posts),
      told: sum(({ told }) => told.length),
      again: sum(({ counts }) => counts.again),
      toldLate: late.told.length,
      kills,
      troubled,
      requestsTriedAgain: tries.refused,
      seed: values.seed,
    }),
  );
  if (first.length > 0 || sum(({ counts }) => counts.again) === 0) problems.push("nothing was done to it, so this shows nothing");
} catch (error) {
  problems.push(error instanceof Error ? (error.stack ?? error.message) : String(error));
} finally {
  stopped.abort();
  for (const client of clients) client.close();
  await Promise.all([...frontEnds, ...workers].map((each) => each.kill()));
  await Promise.all(receivers.map((each) => each.close()));
  await redis.close();
  await issuer.close();
  await rm(directory, { recursive: true, force: true });
}
for (const problem of problems) console.log(`WRONG: ${problem}`);
console.log(problems.length === 0 ? "nothing was lost, changed or overtaken" : `${problems.length} things are wrong`);
if (values.report !== undefined) {
  const numFailedTests = problems.length > 0 ? 1 : 0;
  await writeFile(values.report, JSON.stringify({ numPassedTests: 1 - numFailedTests, numFailedTests, failures: problems.slice(0, 20) }));
}
process.exitCode = problems.length > 0 ? 1 : 0;
