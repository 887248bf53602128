/** Runs programs on Redis: real store, real queue, real worker processes, which are killed while people answer. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import {
  answerTask,
  type Ask,
  type AwaitedEvent,
  createTask,
  DEFAULT_SETTINGS,
  isFinished,
  type Json,
  type JsonObject,
  type Log,
  ParleyError,
  receiveEvent,
  type Services,
  type Task,
} from "@parley/core";
import { createScope, createValidator, eventTokens, sha256Digest, systemClock } from "@parley/node";
import { connectRedis } from "@parley/redis";
import { createRandom, type Random } from "../../chaos/random.ts";
import { inParallel } from "../../chaos/in-parallel.ts";
import { type Launched, startWorkerProcess } from "../../support/processes.ts";
import { generate } from "../generate.ts";
import { judge } from "../judge.ts";
import type { Program } from "../program.ts";
import type { Violation } from "../rules.ts";
import { withStrays } from "../strays.ts";
import { readDeaths, readLines, writeDeath } from "./evidence.ts";
import { readEvidence } from "./read-evidence.ts";
import { CALLER, PEOPLE } from "../world.ts";
import { toolOf } from "./tool.ts";
import { pathOf } from "../witness.ts";
import { watchStore } from "./watch-store.ts";

export interface RunOnRedis {
  readonly url: string;
  /** Of all keys. */
  readonly prefix: string;
  readonly programs: readonly Seeded[];
  /** Tasks at once. */
  readonly atOnce: number;
  /** Whether workers die. */
  readonly kills: boolean;
  /** Leaves the evidence where it is. */
  readonly keep?: boolean;
}

export interface Seeded {
  readonly seed: number;
  readonly program: Program;
}

export interface RedisReport {
  readonly tasks: number;
  readonly runs: number;
  readonly tries: number;
  readonly deaths: number;
  /** Runs that another process began again, since theirs had died. */
  readonly takeovers: number;
  /** How often tasks of a kind ended so. */
  readonly ends: Readonly<Record<string, number>>;
  readonly directory: string;
  readonly found: readonly Found[];
  /** What workers said last that ended although nobody killed them. */
  readonly crashes: readonly string[];
}

export interface Found extends Violation {
  readonly seed: number;
  readonly taskId: string;
}

const WORKERS = 2;
/** What takes a minute in the simulation takes three seconds here. */
const TIME_SCALE = 20;
/** A run that was killed begins again after 5 to 8 seconds, and may be killed again. */
const PATIENCE_MS = 300_000;
/** How long workers are still killed once the last program has started. */
const TROUBLE_MS = 10_000;
/** By these workers give out tokens of events, and the driver knows them. */
const SECRET = "of the simulation and of nothing else at all";
const PUBLIC_URL = "https://parley.test";
const TOKENS = eventTokens({ secrets: [SECRET], publicUrl: PUBLIC_URL });
const WORKER_ENV = {
  PARLEY_LEASE: "1s",
  PARLEY_RENEW_EVERY: "300ms",
  PARLEY_GRACE: "300ms",
  PARLEY_INLINE_SLEEP_MAX: "50ms",
  PARLEY_TAKEOVERS_MAX: "1000",
  PARLEY_SHOW_ERRORS: "true",
  PARLEY_SECRET: SECRET,
  PARLEY_PUBLIC_URL: PUBLIC_URL,
};
const TOOL = join(import.meta.dirname, "tool.ts");
const WORKER = "test/simulation/on-redis/worker.ts";
const silent: Log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

/** The programs of the seeds from `seed` that can be run here, where no new code is deployed. */
export function programsFrom(seed: number, count: number): Seeded[] {
  const programs: Seeded[] = [];
  for (let each = seed; programs.length < count; each += 1) {
    const program = generate(String(each));
    if (program.kind !== "changed" && program.kind !== "patched") programs.push({ seed: each, program: inHaste(program) });
  }
  return programs;
}

/** The same program with shorter sleeps and deadlines, of one tool with all the time it wants, which undoes nothing: nobody cancels here, and few programs fail. */
function inHaste(program: Program): Program {
  const hasten = (key: string, value: unknown): unknown => {
    if ((key === "ms" || key === "timeoutMs") && typeof value === "number") return Math.ceil(value / TIME_SCALE);
    if (key === "compensates" || key === "hurried") return undefined;
    return key === "op" && value === "child" ? "step" : value;
  };
  return JSON.parse(JSON.stringify(program, hasten)) as Program;
}

export async function runOnRedis(request: RunOnRedis): Promise<RedisReport> {
  const { url, prefix, programs, atOnce } = request;
  const directory = await mkdtemp(join(tmpdir(), "parley-simulation-"));
  const backend = await connectRedis({ url, prefix }, { log: silent });
  const services: Services = {
    store: watchStore(backend.store, directory).store,
    queue: backend.queue,
    wakeUps: backend.wakeUps,
    ids: backend.ids,
    clock: { ...systemClock, now: backend.now },
    scope: createScope(),
    digest: sha256Digest,
    validate: createValidator(),
    log: silent,
    settings: { ...DEFAULT_SETTINGS, graceMs: 300 },
    eventTokens: TOKENS,
  };
  const workers = await startWorkers(request, directory);
  const lived: Lived[] = [];
  try {
    await inParallel(atOnce, programs.length, async (index) => {
      const seeded = programs[index];
      if (index === programs.length - 1) setTimeout(workers.leave, TROUBLE_MS).unref();
      if (seeded) lived.push(await live(services, seeded, directory));
    });
  } finally {
    await workers.close();
    await backend.close();
  }
  const report = { ...(await judgeAll(lived, directory)), crashes: workers.crashes };
  if (!request.keep) await rm(directory, { recursive: true });
  return report;
}

// ── workers ────────────────────────────────────────────────────────────────────────────────────────────────────────

interface Workers {
  readonly crashes: readonly string[];
  /** No more of them are killed. */
  leave(): void;
  close(): Promise<void>;
}

async function startWorkers({ url, prefix, programs, kills }: RunOnRedis, directory: string): Promise<Workers> {
  const env = { ...WORKER_ENV, REDIS_URL: url, PARLEY_PREFIX: prefix, PARLEY_TOOLS: TOOL, SIMULATION_EVIDENCE: directory };
  const start = () => startWorkerProcess(env, WORKER);
  const workers = await Promise.all(Array.from({ length: WORKERS }, start));
  const over = new AbortController();
  const crashes: string[] = [];

  function watch(worker: Launched): void {
    const hasEnded = !isRunning(worker.pid) && !readDeaths(directory).some(({ pid }) => pid === worker.pid);
    if (hasEnded)
      crashes.push(
        worker.logs
          .slice(-20)
          .map((line) => JSON.stringify(line))
          .join("\n"),
      );
  }

  async function killNow(worker: Launched): Promise<void> {
    watch(worker);
    writeDeath(directory, worker.pid);
    await worker.kill();
  }

  /** One place of a worker: who is killed there is followed by another one. */
  async function killAgainAndAgain(place: number): Promise<void> {
    const random = createRandom(`deaths ${programs[0]?.seed} ${place}`);
    while (!over.signal.aborted) {
      await sleep(random.between(300, 2_500), undefined, { signal: over.signal }).catch(() => undefined);
      const worker = workers[place];
      if (over.signal.aborted || !worker) return;
      if (random.chance(0.7) && isRunning(worker.pid)) {
        process.kill(worker.pid, "SIGUSR2");
        await sleep(random.between(100, 600));
      }
      await killNow(worker);
      workers[place] = await start();
    }
  }
  const killing = kills ? Promise.all(workers.map((_, place) => killAgainAndAgain(place))) : Promise.resolve();
  return {
    crashes,
    leave: () => over.abort(),
    async close() {
      over.abort();
      await killing;
      await Promise.all(workers.map(killNow));
    },
  };
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

// ── one task ───────────────────────────────────────────────────────────────────────────────────────────────────────

interface Lived extends Seeded {
  readonly taskId: string;
  readonly last: Task | undefined;
}

async function live(services: Services, seeded: Seeded, directory: string): Promise<Lived> {
  const { seed, program } = seeded;
  const random = createRandom(`answers ${seed}`);
  const { id: taskId } = await createTask(services, toolOf(program), {
    caller: CALLER,
    arguments: { program: program as unknown as Json, directory },
    capabilities: { elicitation: { form: true, url: true } },
    hidden: false,
  });
  const giveUpAtMs = Date.now() + PATIENCE_MS;
  const answered = new Map<string, JsonObject>();
  let last: Task | undefined;
  while (Date.now() < giveUpAtMs) {
    last = await services.store.load(taskId);
    if (!last || isFinished(last.status)) break;
    const open = last.asks.filter(() => random.chance(0.6));
    const [ofTwo, ofOne] = [open.filter(isOfTwo), open.filter((ask) => !isOfTwo(ask))];
    for (const { key, request } of ofTwo) await answer(services, taskId, [[key, drawReply(random, pathOf(request))]], random.pick(PEOPLE));
    for (const { key, request } of last.events ?? []) if (random.chance(0.6)) await tell(services, taskId, key, drawBody(random, request));
    const replies = ofOne.map(({ key, request }): [string, JsonObject] => [key, drawReply(random, pathOf(request))]);
    const old = random.chance(0.1) ? [...answered].slice(-1) : [];
    for (const [key, reply] of replies) answered.set(key, reply);
    // Answers to several questions come together, one after the other, or twice.
    if (random.chance(0.5)) await answer(services, taskId, [...old, ...replies]);
    else for (const each of random.shuffled([...old, ...replies])) await answer(services, taskId, [each]);
    await sleep(random.between(20, 160));
  }
  return { ...seeded, taskId, last };
}

type Replies = readonly (readonly [key: string, reply: JsonObject])[];

async function answer(services: Services, taskId: string, replies: Replies, caller = CALLER): Promise<void> {
  if (replies.length > 0) await answerTask(services, { taskId, caller, replies: Object.fromEntries(replies) });
}

async function tell(services: Services, taskId: string, key: string, body: JsonObject): Promise<void> {
  const { token } = TOKENS.tokenOf(taskId, key);
  // Too late, or of no form: its sender is told so.
  await receiveEvent(services, { token, body }).catch((error: unknown) => {
    if (!(error instanceof ParleyError)) throw error;
  });
}

function isOfTwo({ audience }: Ask): boolean {
  return audience?.quorum !== undefined;
}

function drawBody(random: Random, request: AwaitedEvent["request"]): JsonObject {
  return { drawn: random.between(1, 1_000_000), for: pathOf(request) };
}

function drawReply(random: Random, path: string): JsonObject {
  if (random.chance(0.05)) return { action: "accept", content: "of no form" };
  // In canonical order, as the store gives it back.
  return random.chance(0.15) ? { action: "decline" } : { action: "accept", content: { drawn: random.between(1, 1_000_000), for: path } };
}

// ── the verdict ────────────────────────────────────────────────────────────────────────────────────────────────────

async function judgeAll(lived: readonly Lived[], directory: string): Promise<Omit<RedisReport, "crashes">> {
  const found: Found[] = [];
  const ends: Record<string, number> = {};
  const deaths = readDeaths(directory);
  let runs = 0;
  let tries = 0;
  let takeovers = 0;
  for (const { seed, program, taskId, last } of lived) {
    const lines = readLines(directory, taskId);
    const { witness, runs: own, takeovers: taken } = readEvidence({ program, lines, deaths, last });
    if (!last || !isFinished(last.status)) witness.broke("end", `the task is ${last?.status} after ${PATIENCE_MS} ms`);
    // What the ideal handler leaves unheard is no finding.
    const violations = await withStrays(
      () => judge(program, witness),
      () => undefined,
    );
    for (const violation of violations) found.push({ ...violation, seed, taskId });
    runs += own;
    takeovers += taken;
    tries += lines.filter(({ type }) => type === "tries").length;
    const end = `${program.kind} ${last?.status}`;
    ends[end] = (ends[end] ?? 0) + 1;
  }
  return {
    tasks: lived.length,
    runs,
    tries,
    deaths: new Set(deaths.map(({ pid }) => pid)).size - WORKERS,
    takeovers,
    ends,
    directory,
    found,
  };
}
