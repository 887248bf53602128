/** Runs many cases, on this thread or on several, and adds up what they found. */
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import type { Rule } from "./rules.ts";
import { simulateSeed } from "./simulate.ts";

export interface RunRequest {
  readonly cases: number;
  readonly seed: number;
  readonly threads: number;
  /** Others are not looked at. */
  readonly rules: readonly Rule[];
  /** End at the first failing case. */
  readonly stop: boolean;
}

interface Watch {
  /** Receives a line with the seeds that are done, now and then. */
  readonly progress?: (line: string) => void;
  /** Ends the run after the case that it is at. The cases that are done count. */
  readonly signal?: AbortSignal;
}

interface Totals {
  cases: number;
  /** Their seeds, the first and the last of each thread. */
  seeds: string[];
  runs: number;
  deaths: number;
  choices: number;
  /** How often tasks of a kind ended so. */
  ends: Record<string, number>;
  found: Partial<Record<Rule, { cases: number; seeds: number[] }>>;
}

export interface Summary extends Totals {
  readonly seconds: number;
  readonly casesPerSecond: number;
}

const SEEDS_KEPT = 5;
const PROGRESS_EVERY = 5_000;

export async function runCases(request: RunRequest, watch: Watch = {}): Promise<Summary> {
  const startMs = performance.now();
  const totals = request.threads > 1 ? await inThreads(request, watch) : await inThisThread(request, watch);
  const seconds = (performance.now() - startMs) / 1_000;
  return { ...totals, seconds: Math.round(seconds * 10) / 10, casesPerSecond: Math.round(totals.cases / seconds) };
}

async function inThisThread({ cases, seed, rules, stop }: RunRequest, { progress, signal }: Watch): Promise<Totals> {
  const totals = none();
  for (let number = 0; number < cases && !signal?.aborted; number += 1) {
    const { program, violations, choices, facts } = await simulateSeed(seed + number);
    totals.cases += 1;
    totals.runs += facts.runs;
    totals.deaths += facts.deaths;
    totals.choices += choices.length;
    const end = `${program.kind} ${facts.status}`;
    totals.ends[end] = (totals.ends[end] ?? 0) + 1;
    const broken = new Set(violations.map(({ rule }) => rule).filter((rule) => rules.includes(rule)));
    for (const rule of broken) {
      const found = (totals.found[rule] ??= { cases: 0, seeds: [] });
      found.cases += 1;
      if (found.seeds.length < SEEDS_KEPT) found.seeds.push(seed + number);
    }
    if (stop && broken.size > 0) break;
    if (totals.cases % PROGRESS_EVERY === 0)
      progress?.(`seeds ${seed} to ${seed + number}, broken: ${Object.keys(totals.found).join(", ") || "nothing"}`);
  }
  if (totals.cases > 0) totals.seeds.push(`${seed} to ${seed + totals.cases - 1}`);
  return totals;
}

async function inThreads(request: RunRequest, watch: Watch): Promise<Totals> {
  const each = Math.ceil(request.cases / request.threads);
  const parts = Array.from({ length: request.threads }, (_, index) => {
    const cases = Math.min(each, request.cases - index * each);
    const part: RunRequest = { ...request, threads: 1, cases, seed: request.seed + index * each };
    return inThread(part, watch);
  });
  return (await Promise.all(parts)).reduce(add);
}

function inThread(part: RunRequest, { progress, signal }: Watch): Promise<Totals> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL(import.meta.url), { workerData: part });
    worker.on("message", (message: string | Totals) => (typeof message === "string" ? progress?.(message) : resolve(message)));
    worker.once("error", reject);
    signal?.addEventListener("abort", () => worker.postMessage("stop"), { once: true });
  });
}

function none(): Totals {
  return { cases: 0, seeds: [], runs: 0, deaths: 0, choices: 0, ends: {}, found: {} };
}

function add(one: Totals, other: Totals): Totals {
  const ends = { ...one.ends };
  for (const [end, times] of Object.entries(other.ends)) ends[end] = (ends[end] ?? 0) + times;
  const found = { ...one.found };
  for (const [rule, { cases, seeds }] of Object.entries(other.found) as [Rule, { cases: number; seeds: number[] }][]) {
    const known = found[rule];
    found[rule] = { cases: (known?.cases ?? 0) + cases, seeds: [...(known?.seeds ?? []), ...seeds].slice(0, SEEDS_KEPT) };
  }
  return {
    cases: one.cases + other.cases,
    seeds: [...one.seeds, ...other.seeds],
    runs: one.runs + other.runs,
    deaths: one.deaths + other.deaths,
    choices: one.choices + other.choices,
    ends,
    found,
  };
}

if (!isMainThread && parentPort && workerData) {
  const port = parentPort;
  const stopped = new AbortController();
  port.once("message", () => stopped.abort());
  const watch: Watch = { progress: (line) => port.postMessage(line), signal: stopped.signal };
  void inThisThread(workerData as RunRequest, watch).then((totals) => {
    port.postMessage(totals);
    port.close();
  });
}
