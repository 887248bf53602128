/**
 * One chaos run. People run lifecycles while things break. Then everything is repaired, open lifecycles end, a few more run undisturbed,
 * and the remains are compared with what was acknowledged.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { audit, isAtRest } from "./audit.ts";
import { type Client, createClient, type TaskState } from "./client.ts";
import { readEvidence } from "./evidence.ts";
import { type Fault, type FaultWeights, injectFaults } from "./faults.ts";
import { inParallel } from "./in-parallel.ts";
import { startGuard } from "./guard.ts";
import { judge } from "./judge.ts";
import { live } from "./lifecycle.ts";
import { drawPlan } from "./plan.ts";
import { createRandom, type Random } from "./random.ts";
import type { Finding, Story } from "./story.ts";
import { startSystem, type System } from "./system.ts";
import type { Topology } from "../topologies/topology.ts";
import { lateWakeUps } from "./wake-ups.ts";

export interface ChaosOptions {
  readonly seed: number;
  readonly lifecycles: number;
  /** Lifecycles at once. */
  readonly people: number;
  readonly frontEnds: number;
  readonly workers: number;
  readonly weights: FaultWeights;
  /** The run always stops by itself after this long. */
  readonly limitMs: number;
  readonly topology: (directory: string) => Promise<Topology>;
  /** Callers have tokens and content is encrypted, with keys that are replaced meanwhile. */
  readonly guarded: boolean;
  /** Tell each fault, and leave the servers' directory. */
  readonly keep: boolean;
  /** Told what the run is at, now and then. */
  readonly progress: (line: string) => void;
}

export interface ChaosReport {
  readonly seed: number;
  readonly topology: string;
  readonly lifecycles: number;
  readonly acknowledged: number;
  readonly unacknowledged: number;
  readonly answers: number;
  readonly faults: Readonly<Partial<Record<Fault, number>>>;
  readonly effects: number;
  readonly repeatedEffects: number;
  readonly seconds: number;
  readonly findings: readonly Finding[];
}

/** Lived at the end, while nothing is broken. */
const CALM_LIFECYCLES = 20;
const PROGRESS_EVERY = 100;
/** How long what was left undone may take once everything is good again: stalled jobs, leases, retries. */
const REST_MS = 120_000;

export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const directory = await mkdtemp(join(tmpdir(), "parley-chaos-"));
  const topology = await options.topology(directory);
  const guard = options.guarded ? await startGuard(directory) : undefined;
  try {
    const system = await startSystem({ topology, directory, frontEnds: options.frontEnds, workers: options.workers, guard });
    try {
      return await breakAndJudge(system, options);
    } finally {
      await system.close();
    }
  } finally {
    await topology.close();
    await guard?.close();
    if (options.keep) options.progress(`left in ${directory}`);
    else await rm(directory, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function breakAndJudge(system: System, options: ChaosOptions): Promise<ChaosReport> {
  const { seed, lifecycles, people, weights, limitMs, progress } = options;
  const startedAtMs = performance.now();
  const random = createRandom(seed);
  const client = createClient(system.url, {
    timeoutMs: 3_000,
    connections: people * 4,
    ...(system.guard && { token: system.guard.token }),
  });
  const limit = AbortSignal.timeout(limitMs);
  const stories: Story[] = [];
  const taskIds: string[] = [];
  try {
    const enough = new AbortController();
    const tell = options.keep ? progress : () => undefined;
    const breaking = injectFaults(system, { random: random.fork("faults"), weights, taskIds, over: enough.signal, tell });
    await inParallel(people, lifecycles, async (lifecycle) => {
      if (limit.aborted) return;
      const story = await liveOne(system, { client, random, lifecycle, calm: false, over: limit });
      stories.push(story);
      for (const finding of story.wrong) progress(`${finding.rule}: ${finding.where}: ${finding.what}`);
      if (story.taskId !== undefined) taskIds.push(story.taskId);
      if (stories.length % PROGRESS_EVERY === 0) progress(`${stories.length} lifecycles, ${wrongSoFar(stories)} findings`);
    });
    enough.abort();
    const faults = await breaking;
    progress("everything is made good, the rest comes to an end");

    const restAtMs = performance.now() + REST_MS;
    while (!(await isAtRest(system)) && performance.now() < restAtMs) await sleep(500);
    await inParallel(people, CALM_LIFECYCLES, async (each) => {
      const calm = await liveOne(system, {
        client,
        random,
        lifecycle: lifecycles + each,
        calm: true,
        over: limit.aborted ? limit : AbortSignal.timeout(REST_MS),
      });
      stories.push(calm);
    });
    while (!(await isAtRest(system)) && performance.now() < restAtMs + REST_MS) await sleep(500);
    const judged = await judgeAll(system, client, stories);
    const woken = await lateWakeUps(system);
    return {
      ...judged,
      seed,
      topology: system.topology.name,
      lifecycles: stories.length,
      faults: Object.fromEntries(faults),
      seconds: Math.round((performance.now() - startedAtMs) / 1_000),
      findings: [...judged.findings, ...woken, ...processFindings(system)],
    };
  } finally {
    client.close();
  }
}

async function liveOne(
  { evidence }: System,
  { client, random, lifecycle, calm, over }: { client: Client; random: Random; lifecycle: number; calm: boolean; over: AbortSignal },
): Promise<Story> {
  const own = random.fork(`lifecycle ${lifecycle}`);
  return await live(drawPlan(own, lifecycle), { client, random: own, evidence, calm, over });
}

async function judgeAll(system: System, client: Client, stories: readonly Story[]) {
  const evidence = await readEvidence(system.evidence);
  const findings: Finding[] = [];
  let repeatedEffects = 0;
  await inParallel(20, stories.length, async (i) => {
    const story = stories[i];
    if (!story) return;
    const last = story.taskId === undefined ? undefined : await lastLook(client, story.taskId);
    const judged = judge(story, last, evidence.get(story.taskId ?? "") ?? []);
    findings.push(...judged.findings);
    repeatedEffects += judged.repeatedEffects;
  });
  const acknowledged = new Set(stories.flatMap(({ taskId }) => taskId ?? []));
  const stored = await audit(system, acknowledged);
  return {
    findings: [...findings, ...stored.findings],
    acknowledged: acknowledged.size,
    unacknowledged: stored.unacknowledged,
    answers: stories.reduce((sum, { sent }) => sum + sent.filter(({ receipt }) => receipt === "accepted").length, 0),
    effects: [...evidence.values()].flat().filter(({ mark }) => mark === "effect").length,
    repeatedEffects,
  };
}

/** Nothing is broken any more: who does not answer now is asked again for a while, and then taken for lost. */
async function lastLook(client: Client, taskId: string): Promise<TaskState | undefined> {
  for (let attempt = 0; attempt < 60; attempt += 1) {
    const said = await client.get(taskId);
    if (said.type === "done") return said.result;
    if (said.type === "refused") return undefined;
    await sleep(500);
  }
  return undefined;
}

function processFindings({ frontEnds, workers }: System): Finding[] {
  return [...frontEnds, ...workers].flatMap((member): Finding[] => {
    const where = `${member.kind} ${member.index}`;
    const crashed: Finding[] = member.crashed() ? [{ rule: "processes", where, what: "ended by itself" }] : [];
    const diverged = member.lives.flatMap(({ logs }) => logs.filter(({ msg }) => msg === "replay diverged"));
    return [
      ...crashed,
      ...diverged.map((line): Finding => ({ rule: "processes", where, what: `replay diverged: ${String(line["detail"])}` })),
    ];
  });
}

function wrongSoFar(stories: readonly Story[]): number {
  return stories.reduce((sum, { wrong }) => sum + wrong.length, 0);
}
