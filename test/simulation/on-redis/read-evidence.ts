/**
 * Lets the simulation's witness see, after the fact, what the evidence says: the same rules judge what happened on Redis.
 *
 * A change counts from when it was sent, if it has happened at all: its consequences come later. One whose sender died before it knew
 * is told from what later runs found. A run counts from when its `begin` was answered.
 */
import type { Answer, AnswerRequest, Entry, KeyedEntry, ParkRequest, Task } from "@parley/core";
import { createProcess, type Process } from "../process.ts";
import type { Effect, Program } from "../program.ts";
import type { Stage } from "../interpret.ts";
import type { Library } from "../library.ts";
import { createWitness, type Job, waitedIn, type Witness, type Work } from "../witness.ts";
import type { Death, Line, Tried } from "./evidence.ts";

/** What handlers read leaves no evidence. */
const NO_LIBRARY: Library = { config: Promise.resolve(), read: () => Promise.resolve() };

export interface Evidence {
  readonly program: Program;
  readonly lines: readonly Line[];
  readonly deaths: readonly Death[];
  /** The task as it was seen last. */
  readonly last: Task | undefined;
  readonly tell?: (line: string) => void;
}

export interface Read {
  readonly witness: Witness;
  readonly runs: number;
  /** Runs that were begun before, by a process that did not end them. */
  readonly takeovers: number;
}

type Sent = Extract<Line, { type: "sent" }>;
type Died = { readonly type: "died"; readonly pid: number };

interface BeganRun {
  readonly token: string;
  readonly run: number;
  readonly at: number;
  readonly journal: ReadonlyMap<string, Entry>;
}

export function readEvidence({ program, lines, deaths, last, tell }: Evidence): Read {
  let now = 0;
  const witness = createWitness({
    program,
    nowMs: () => now,
    wait: () => Promise.resolve(),
    libraryOf: () => NO_LIBRARY,
    draw: () => 0,
    tell,
  });
  const processes = new Map<number, Process>();
  const jobs = new Map<string, Job>();
  const stages = new Map<string, Stage>();
  const tries = new Map<string, Work>();
  const sent = new Map(lines.flatMap((line) => (line.type === "sent" ? [[line.id, line] as const] : [])));
  const replies = new Map(lines.flatMap((line) => (line.type === "replied" ? [[line.id, line.result] as const] : [])));
  const began = lines.flatMap((line, at) => beganRun(line, at, sent));
  let holder: Job | undefined;

  function processOf(pid: number): Process {
    const known = processes.get(pid) ?? createProcess(`process ${pid}`);
    processes.set(pid, known);
    return known;
  }

  /** What the store said, or would have said to a sender that lived; undefined when it did not happen, as far as anybody can tell. */
  function resultOf({ id, name, request }: Sent, at: number): unknown {
    if (replies.has(id)) return replies.get(id);
    // What a run that began later still finds can be of another one in between.
    const next = began.find((run) => run.at > at);
    switch (name) {
      case "park": {
        const { token } = request as unknown as ParkRequest;
        const own = jobs.get(token)?.run ?? Infinity;
        return next && next.run > own ? { type: "parked" } : undefined;
      }
      case "record": {
        const { entries } = request as unknown as { entries: readonly KeyedEntry[] };
        return next && entries.every((written) => holds(next.journal, written)) ? "recorded" : undefined;
      }
      case "answer": {
        const { key, answer } = request as unknown as AnswerRequest;
        const found = answerOf(next?.journal.get(`ask:${key}`));
        return JSON.stringify(found) === JSON.stringify(answer) ? { receipt: "accepted" } : undefined;
      }
      case "finish": {
        const known = lines.some((line) => line.type === "sent" && line.name === "finish" && replies.get(line.id) === "finished");
        const isLast = !lines.slice(at + 1).some((line) => line.type === "sent" && line.name === "finish");
        return last?.outcome && !known && isLast ? "finished" : undefined;
      }
      default:
        return undefined;
    }
  }

  function send(line: Sent, at: number): void {
    const { name, request } = line;
    if (name === "begin") return;
    const result = resultOf(line, at);
    if (result === undefined) return;
    const { asks = [] } = request as unknown as Partial<ParkRequest>;
    witness.observe({ name, request, result, asks: waitedIn(asks) });
    const { token } = request as { token?: string };
    const isEnd = name === "park" ? (result as { type: string }).type !== "refused" : name === "finish" && result === "finished";
    if (isEnd && holder?.token === token) holder = undefined;
    if (name === "cancel") holder = undefined;
  }

  function begin({ token, run, journal }: BeganRun, line: Line, request: Sent["request"]): void {
    const process = processOf(line.pid);
    // The previous holder of the task has lost it by its lease, or else the witness says so.
    const lost = holder?.process;
    const job: Job = {
      id: jobs.size,
      taskId: "",
      process,
      run,
      disturbedBefore: process.disturbed + (lost === process ? 1 : 0),
      token,
      isOver: false,
      trace: undefined,
    };
    jobs.set(token, job);
    witness.holds(job, token);
    const { nowMs, leaseMs } = request as { nowMs: number; leaseMs: number };
    now = nowMs;
    witness.observe({ name: "begin", request, result: { type: "begun" }, asks: [] });
    const entries = [...journal].map(([key, entry]) => ({ key, entry }));
    witness.observe({ name: "record", request: { token, entries, nowMs, leaseMs }, result: "recorded", asks: [] });
    if (lost) lost.disturbed += 1;
    holder = job;
  }

  function tried(line: Tried): void {
    const { path, data, fails, deaf, attempt, idempotencyKey } = line;
    const before = witness.works.length;
    const call = { path, data, fails: fails ?? Infinity, deaf };
    stages
      .get(line.token)
      ?.work(call, { attempt, idempotencyKey, signal: NEVER })
      .catch(() => undefined);
    const work = witness.works.length > before ? witness.works.at(-1) : undefined;
    if (work) tries.set(line.id, work);
  }

  function see(line: Line | Died, at: number): void {
    if (line.type === "died") {
      processOf(line.pid).isAlive = false;
      return;
    }
    switch (line.type) {
      case "sent":
        return send(line, at);
      case "replied": {
        const run = began.find((each) => each.at === at);
        const request = sent.get(line.id)?.request;
        return run && request !== undefined ? begin(run, line, request) : undefined;
      }
      case "unanswered":
        processOf(line.pid).disturbed += 1;
        return;
      case "started": {
        const job = jobs.get(line.token);
        if (job) stages.set(line.token, witness.stageOf(job, line.generation, false));
        return;
      }
      case "called":
        return stages.get(line.token)?.call(line.path, line.what);
      case "saw":
        stages.get(line.token)?.saw(line.path, { op: line.op } as Effect, line.value);
        return;
      case "saw error":
        return stages.get(line.token)?.sawError(line.path, new Error(line.message));
      case "threw":
        stages.get(line.token)?.throws(line.path, line.first);
        return;
      case "tries":
        return tried(line);
      case "tried": {
        const work = tries.get(line.id);
        if (line.how === "aborted") work?.abort();
        else work?.finish();
        return;
      }
      case "over": {
        const job = jobs.get(line.token);
        if (job) job.isOver = true;
        return;
      }
    }
  }

  for (const { line, at } of withDeaths(lines, deaths)) see(line, at);
  return { witness, runs: jobs.size, takeovers: began.length - new Set(began.map(({ run }) => run)).size };
}

/** The evidence says which steps heeded their signals. */
const NEVER = new AbortController().signal;

function beganRun(line: Line, at: number, sent: ReadonlyMap<string, Sent>): BeganRun[] {
  if (line.type !== "replied") return [];
  const change = sent.get(line.id);
  const result = line.result as { type?: string; journal?: [string, Entry][] } | null;
  if (change?.name !== "begin" || result?.type !== "begun") return [];
  const { token, run } = change.request as { token: string; run: number };
  return [{ token, run, at, journal: new Map(result.journal) }];
}

/** Whether the journal has what was written: the same key may have been there before, for a step that had only begun or without its place. */
function holds(journal: ReadonlyMap<string, Entry>, { key, entry: { outcome, place } }: KeyedEntry): boolean {
  const found = journal.get(key);
  return found?.outcome.type === outcome.type && (place === undefined || found.place === place);
}

function answerOf(entry: Entry | undefined): Answer | undefined {
  return entry?.outcome.type === "answer" ? entry.outcome.answer : undefined;
}

/** A process has died when it was killed, and not before its last line. */
function withDeaths(lines: readonly Line[], deaths: readonly Death[]): { line: Line | Died; at: number }[] {
  const diesBefore = new Map<number, Died[]>();
  for (const { pid, atMs } of deaths) {
    const own = lines.findLastIndex((line) => line.pid === pid);
    const later = lines.findIndex((line) => line.atMs > atMs);
    const at = Math.max(own + 1, later < 0 ? lines.length : later);
    diesBefore.set(at, [...(diesBefore.get(at) ?? []), { type: "died", pid }]);
  }
  const died = (at: number) => (diesBefore.get(at) ?? []).map((line) => ({ line, at }));
  return [...lines.flatMap((line, at) => [...died(at), { line, at }]), ...died(lines.length)];
}
