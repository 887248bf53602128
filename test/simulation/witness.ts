/**
 * Sees what handlers call and are given, what their steps do, and what the store takes; holds all of it to the rules while it happens.
 *
 * A run's *trace* is what its handler called and saw, in order. What somebody outside can see (a try of a step, a question, an end) rests on
 * the trace before it: that much of it is *durable*, and each later run must begin with it.
 */
import type {
  Acceptance,
  AnswerRequest,
  Ask,
  AwaitedEvent,
  Begun,
  ChildEnd,
  CreateRequest,
  Entry,
  EventRequest,
  FinishedStatus,
  Json,
  KeyedEntry,
  Open,
  Outcome,
  Owed,
  ParkRequest,
  StepAttempt,
} from "@parley/core";
import { canonicalJson, split } from "@parley/core";
import { hash, type Stage, type StepCall } from "./interpret.ts";
import type { Library } from "./library.ts";
import type { Process } from "./process.ts";
import { type Effect, hasContention, type Program, seesTheSame } from "./program.ts";
import type { Rule, Violation } from "./rules.ts";

export interface Job {
  readonly id: number;
  readonly taskId: string;
  readonly process: Process;
  readonly run: number;
  /** How often its process had been disturbed before. */
  readonly disturbedBefore: number;
  token: string;
  /** Its use case has returned, or thrown. */
  isOver: boolean;
  trace: Trace | undefined;
}

export interface Trace {
  /** Of the new code. */
  readonly isChanged: boolean;
  /** What `patched` said, by branch and name. */
  readonly decisions: Map<string, boolean>;
  /** Of `ctx.restart`. */
  readonly generation: number;
  readonly events: string[];
  /** What settled, in order. */
  readonly settled: { readonly path: string; readonly value: unknown; readonly error: unknown }[];
  readonly called: Set<string>;
  readonly waiting: Set<string>;
  /** Where an error of the first tries was thrown. */
  readonly thrown: Set<string>;
}

interface Try {
  readonly job: Job;
  readonly attempt: number;
  readonly data: number;
  /** Does not heed its signal. */
  readonly deaf: boolean;
  /** Of a run that was stopped, one that does not heed that in time is left behind. */
  state: "running" | "done" | "failed" | "aborted" | "left";
}

/** For so long a run that was stopped waits for what is in flight (core's HEED_SIGNAL_MS), ms. */
const HEED_MS = 5_000;

interface SeenAnswer {
  readonly action: string;
  readonly content?: { readonly for?: string; readonly body?: { readonly for?: string } };
  readonly accepted?: readonly Acceptance[];
  /** What the handler's own schema drew from it. */
  readonly read?: Json;
}

/** Work of a handler that is on its way somewhere outside. */
export interface Work {
  readonly process: Process;
  readonly what: string;
  finish(): void;
  /** It heeds its signal, and is not done. */
  abort(): void;
}

/** What the store has done. */
interface Happened {
  readonly name: string;
  readonly request: unknown;
  readonly result: unknown;
  /** What a task that has just been parked waits for. */
  readonly asks: readonly Waited[];
}

/** An answer by people, or by another system. */
export type Waited = Ask | AwaitedEvent;

export interface Ended {
  readonly status: FinishedStatus;
  readonly outcome: Outcome | undefined;
  readonly job: Job | undefined;
}

export function createWitness({
  program,
  nowMs,
  wait,
  libraryOf,
  draw,
  tell,
}: {
  readonly program: Program;
  readonly nowMs: () => number;
  /** Something outside that takes its time. */
  readonly wait: (process: Process) => Promise<void>;
  /** What the handlers of a process read. */
  readonly libraryOf: (process: Process) => Library;
  /** Another number each time. */
  readonly draw: () => number;
  readonly tell: ((line: string) => void) | undefined;
}) {
  const isPure = program.kind === "pure" || program.kind === "changed" || program.kind === "patched";
  const isSteady = seesTheSame(program);
  const mayBeTriedAs = program.kind === "outside" ? isCutOff : hasContention(program) ? isPlainToo : () => false;
  /** Decisions that something visible has rested on, by generation, branch and name. */
  const decisions = new Map<string, boolean>();
  const violations: Violation[] = [];
  const works: Work[] = [];
  const tries = new Map<string, Try[]>();
  const keyOfPath = new Map<string, { readonly key: string; readonly isChanged: boolean }>();
  const pathOfKey = new Map<string, { readonly path: string; readonly isChanged: boolean }>();
  const recorded = new Set<string>();
  /** Generation → the longest durable trace. */
  const durable = new Map<number, { readonly events: readonly string[]; length: number }>();
  const thrown = new Map<string, number>();
  const jobs = new Map<string, Job>();
  const accepted = new Map<string, string>();
  const keyOfAsk = new Map<string, string>();
  /** Questions that people were shown, by key, with their text. */
  const shown = new Map<string, string>();
  const open = new Set<string>();
  /** Calls of other tools that are open, by key: the id of the child. */
  const calls = new Map<string, string>();
  /** Questions that two people must accept. */
  const ofTwo = new Set<string>();
  let holder: { readonly job: Job; leaseEndsMs: number } | undefined;
  let dueAtMs = Infinity;
  let ended: Ended | undefined;
  /** The task has ended without its result, and what it has done is to be undone; by then a run may be open that has to let go first. */
  let owed: { isStopping: boolean } | undefined;
  let hasRun = false;
  /** Steps that came to a value, since the handler last began anew. */
  const done = new Set<string>();
  let created = false;
  let results = 0;

  function broke(rule: Rule, what: string): void {
    if (violations.length < 50) violations.push({ rule, what });
    tell?.(`!! ${rule}: ${what}`);
  }

  /** Nothing has happened to the job's worker that would explain a second try. */
  function isUndisturbed({ process, disturbedBefore }: Job): boolean {
    return process.isAlive && process.disturbed === disturbedBefore;
  }

  // ── the handler's side ─────────────────────────────────────────────────────────────────────────────────────────

  function stageOf(job: Job, generation: number, isChanged: boolean): Stage {
    const trace: Trace = {
      isChanged,
      decisions: new Map(),
      generation,
      events: [],
      settled: [],
      called: new Set(),
      waiting: new Set(),
      thrown: new Set(),
    };
    job.trace = trace;

    function add(event: string): void {
      if (job.isOver || !job.process.isAlive) return;
      trace.events.push(event);
      tell?.(`   ${job.process.name} run ${job.run}: ${event}`);
    }

    function work({ path, data, fails, deaf }: StepCall, { attempt, idempotencyKey, signal }: StepAttempt): Promise<Json> {
      if (!job.process.isAlive) return new Promise(() => undefined);
      const before = tries.get(path) ?? [];
      tries.set(path, before);
      tell?.(`   ${job.process.name} run ${job.run}: try ${before.length + 1} of ${path} with key ${idempotencyKey}`);
      judgeTry(job, { path, data, idempotencyKey, isChanged }, before);
      if (generation >= 0) judgeTelling(trace, path);
      if (generation === UNDOING) judgeUndoing(job, path);
      keepDurable(job);
      const own: Try = { job, attempt, data, deaf, state: "running" };
      before.push(own);
      const { promise, resolve, reject } = Promise.withResolvers<Json>();
      const over = (state: Try["state"]) => {
        own.state = state;
        works.splice(works.indexOf(entry), 1);
      };
      const entry: Work = {
        process: job.process,
        what: `step ${path}`,
        finish() {
          if (before.indexOf(own) < fails) {
            over("failed");
            reject(new Error(`failed at ${path}`));
          } else {
            over(own.state === "left" || nowMs() - job.process.stoppedAtMs >= HEED_MS ? "left" : "done");
            resolve({ from: path, result: (results += 1) });
          }
        },
        abort() {
          over("aborted");
          reject(new Error(`aborted at ${path}`));
        },
      };
      works.push(entry);
      const heed = () => {
        if (own.state !== "running") return;
        // One in three was all but done.
        if (hash(path) % 3 === 0) entry.finish();
        else entry.abort();
      };
      if (!deaf) signal.addEventListener("abort", heed, { once: true });
      return promise;
    }

    return {
      isChanged,
      call(path, what) {
        trace.called.add(path);
        if (what.startsWith("ask ") || what.startsWith("event ")) trace.waiting.add(path);
        add(`${path} calls ${what}`);
      },
      saw(path, effect, value) {
        const text = textOf(effect, value);
        trace.waiting.delete(path);
        if (effect.op !== "fact") trace.settled.push({ path, value, error: undefined });
        add(`${path} sees ${text}`);
        if (job.process.isAlive && !job.isOver) judgeSeen(path, effect, value);
        return text;
      },
      sawError(path, error) {
        const text = messageOf(error);
        trace.settled.push({ path, value: undefined, error });
        add(`${path} sees the error ${text}`);
        if (text.startsWith("failed at ") && text !== `failed at ${path}`) broke("mix-up", `${path} was given the failure "${text}"`);
      },
      decided: (name, isNew) => void trace.decisions.set(`${generation} ${name}`, isNew),
      draw,
      work,
      async outside(path, cached) {
        if (cached && job.process.seen.has(path)) return;
        await wait(job.process);
        job.process.seen.add(path);
      },
      library: libraryOf(job.process),
      pause: () => wait(job.process),
      throws(path, first) {
        const times = thrown.get(path) ?? 0;
        if (times >= first || job.isOver) return false;
        thrown.set(path, times + 1);
        trace.thrown.add(path);
        return true;
      },
    };
  }

  interface Tried {
    readonly path: string;
    readonly data: number;
    readonly idempotencyKey: string;
    readonly isChanged: boolean;
  }

  function judgeTry(job: Job, { path, data, idempotencyKey, isChanged }: Tried, before: Try[]): void {
    if (job.isOver) broke("leftover", `a try of ${path} starts after the end of its run`);
    const known = keyOfPath.get(path);
    const other = pathOfKey.get(idempotencyKey);
    // What older code tried and did not record, newer code may come to on another way, or not at all: then its key is free.
    const isComparable = (before: { readonly isChanged: boolean }) => before.isChanged === isChanged;
    const isCut = known !== undefined && mayBeTriedAs(known.key, idempotencyKey) && !recorded.has(path);
    if (known && known.key !== idempotencyKey && isComparable(known) && !isCut)
      broke("key", `${path} is tried with key ${idempotencyKey}, and was with ${known.key}`);
    if (other && other.path !== path && (isComparable(other) || recorded.has(other.path)))
      broke("key", `${path} is tried with the key ${idempotencyKey} of ${other.path}`);
    keyOfPath.set(path, { key: idempotencyKey, isChanged });
    pathOfKey.set(idempotencyKey, { path, isChanged });
    if (isSteady && before.some((each) => each.data !== data)) broke("input", `${path} is tried with other data than before`);
    const running = before.find((each) => each.state === "running" && isUndisturbed(each.job));
    if (running) broke("beside", `${path} is tried in run ${job.run} while its try in run ${running.job.run} is at work`);
    if (recorded.has(path)) broke("repeat", `${path} is tried again after it was recorded`);
    else if (before.some((each) => each.state === "done" && isUndisturbed(each.job)))
      broke("repeat", `${path} is done again without a fault`);
  }

  /** A step may tell another system of an event that was put before it: it must be open by then. */
  function judgeTelling({ events, waiting }: Trace, path: string): void {
    const call = `${path} calls step `;
    for (const event of events) {
      if (event.startsWith(call)) return;
      const [of = ""] = event.split(" calls event ", 1);
      if (of !== event && waiting.has(of) && !keyOfAsk.has(of))
        broke("shown", `${path} is tried, and nobody can tell of the event ${of}, which was put before it`);
    }
  }

  function judgeUndoing(job: Job, path: string): void {
    if (!owed || owed.isStopping) broke("undone", `${path} begins, and nothing is owed yet`);
    if (!done.has(path.slice(undoOf("").length))) broke("undone", `${path} begins, and that was never done`);
    for (const [other, all] of tries) {
      if (all.some((each) => each.state === "running" && each.job !== job && each.job.taskId === job.taskId && isUndisturbed(each.job)))
        broke("undone", `${path} begins while a try of ${other} is at work`);
    }
  }

  function judgeSeen(path: string, effect: Effect, value: unknown): void {
    if (effect.op === "step") {
      const { from } = (value ?? {}) as { from?: string };
      if (from !== path) broke("mix-up", `${path} was given the result of ${from}`);
    }
    if (effect.op === "child") judgeChild(path, value as ChildEnd);
    if (effect.op === "ask" || effect.op === "event") {
      const { read: _, ...answer } = value as SeenAnswer;
      const content = effect.op === "event" ? answer.content?.body : answer.content;
      if (answer.action === "accept" && content?.for !== path) broke("mix-up", `${path} was given the answer to ${content?.for}`);
      if (answer.action === "withdrawn") return;
      const key = keyOfAsk.get(path);
      const was = key === undefined ? undefined : accepted.get(key);
      if (was !== canonicalJson(answer)) broke("answer", `${path} was given ${JSON.stringify(answer)}, accepted was ${was}`);
      if (effect.op === "ask" && effect.quorum && answer.action === "accept") judgeQuorum(path, answer);
    }
  }

  function judgeChild(path: string, end: ChildEnd): void {
    if (end.type !== "result" && end.type !== "error") return;
    if (end.type === "result" && end.result["isError"] !== true && end.result["for"] !== path)
      broke("mix-up", `${path} was given the result of the call at ${JSON.stringify(end.result["for"])}`);
    const was = accepted.get(keyOfAsk.get(path) ?? "");
    if (was !== canonicalJson(end)) broke("answer", `${path} was given ${JSON.stringify(end)}, and its child ended with ${was}`);
  }

  function judgeQuorum(path: string, { accepted: people = [] }: { readonly accepted?: readonly Acceptance[] }): void {
    const different = new Set(people.map(({ by }) => by));
    if (people.length !== 2 || different.size !== 2) broke("answer", `${path} was accepted by ${JSON.stringify(people)}, and two must`);
  }

  const retried = new WeakSet<Job>();

  /**
   * What the run has seen so far can be told from outside. A run that was overtaken may see things in another order, as long as nothing
   * comes of it.
   */
  function keepDurable(job: Job): void {
    const { trace, process, run } = job;
    if (!trace || !process.isAlive) return;
    for (const [name, isNew] of trace.decisions) {
      if ((decisions.get(name) ?? isNew) !== isNew) broke("order", `the patch ${name} is ${isNew} in run ${run}, and was not`);
      decisions.set(name, isNew);
    }
    if (retried.has(job)) return void durable.delete(trace.generation);
    const { events } = trace;
    const known = durable.get(trace.generation) ?? { events: [], length: 0 };
    if (program.kind === "pure") {
      for (let index = 0; index < Math.min(known.length, events.length); index += 1) {
        if (events[index] === known.events[index]) continue;
        broke("order", `event ${index} of run ${run} is "${events[index]}", and was "${known.events[index]}"`);
        durable.delete(trace.generation); // said once
        return;
      }
    }
    if (known.length < events.length) durable.set(trace.generation, { events, length: events.length });
  }

  // ── the store's side ───────────────────────────────────────────────────────────────────────────────────────────

  function wrote(entries: readonly KeyedEntry[]): void {
    for (const { key, entry } of entries) {
      if (key.startsWith("step:")) wroteStep(entry);
      if (key.startsWith("ask:")) open.delete(key.slice("ask:".length));
      if (key.startsWith("ask:")) calls.delete(key.slice("ask:".length));
    }
  }

  function wroteStep({ outcome }: Entry): void {
    if (outcome.type === "value") {
      const { from } = outcome.value as { from: string };
      recorded.add(from);
      if (!from.startsWith(undoOf("")) && !from.startsWith(childOf(""))) done.add(from);
    }
    if (outcome.type === "error" && outcome.message.startsWith("failed at ")) recorded.add(outcome.message.slice("failed at ".length));
  }

  /** `isCut`: its time was over, or its task was cancelled. */
  function endRun(job: Job, how: string, { wroteNothing = false, isCut = false } = {}): void {
    const isStopped = job.process.stop.signal.aborted;
    for (const [path, all] of tries) {
      for (const each of all) {
        if (each.job !== job || each.state !== "running") continue;
        if (each.deaf && (isStopped || isCut)) each.state = "left";
        else if (isUndisturbed(job)) broke("leftover", `run ${job.run} ${how} while a try of ${path} is at work`);
      }
    }
    // What could not be written is seen again, in any order.
    if (!(isStopped && wroteNothing)) keepDurable(job);
    holder = undefined;
  }

  /** `asks`: what people are shown from now on. */
  function parked(job: Job, request: ParkRequest, asks: readonly Waited[]): void {
    // What settles behind the throw of a handler that is tried again is seen by nobody.
    if (request.attempt > 0) retried.add(job);
    const paths = new Map(asks.map((ask) => [pathOf(ask.request), ask.key]));
    open.clear();
    for (const ask of asks) show(ask);
    for (const ask of waitedIn(request.asks)) keyOfAsk.set(pathOf(ask.request), ask.key);
    // A handler that is to be tried again, starts anew or was stopped has let go of its questions; what becomes of them is not for this run to say.
    const isLetGo = request.attempt > 0 || "restart" in request || job.process.stop.signal.aborted;
    const waiting = isLetGo ? undefined : job.trace?.waiting;
    if (isPure && waiting) {
      for (const [path, key] of paths) if (!waiting.has(path)) broke("shown", `${key} of ${path} is asked, and nothing waits for it`);
      for (const path of waiting) {
        const key = keyOfAsk.get(path);
        if (!paths.has(path) && (key === undefined || !accepted.has(key)))
          broke("shown", `${path} waits for an answer, and nobody is asked`);
      }
    }
    endRun(job, "parks", { wroteNothing: request.entries.length === 0 });
  }

  function show(ask: Waited): void {
    open.add(ask.key);
    shown.set(ask.key, questionOf(ask.request));
    if ("audience" in ask && ask.audience?.quorum !== undefined) ofTwo.add(ask.key);
  }

  /** Called for everything that the store has done. */
  function observe({ name, request, result, asks }: Happened): void {
    const {
      token = "",
      nowMs: sentMs = 0,
      leaseMs = 0,
      graceMs = 0,
    } = request as Record<string, never> as {
      token?: string;
      nowMs?: number;
      leaseMs?: number;
      graceMs?: number;
    };
    const job = jobs.get(token);
    switch (name) {
      case "create":
        created = true;
        dueAtMs = nowMs() + graceMs;
        return;
      case "begin":
        if ((result as Begun).type !== "begun" || !job) return;
        if (holder && isUndisturbed(holder.job) && holder.leaseEndsMs > nowMs()) {
          broke("displaced", `run ${job.run} is taken over from ${holder.job.process.name}, which lives and has its lease`);
        }
        holder = { job, leaseEndsMs: sentMs + leaseMs };
        dueAtMs = sentMs + leaseMs;
        hasRun = true;
        if (owed) owed.isStopping = false;
        return;
      case "record":
      case "renew":
        if (result === "refused" || !job) return;
        // Of a task that was cancelled a run writes down what it had in flight, if that is to be undone.
        if (result === "cancelled" && !(owed && holder?.job === job)) return;
        if (name === "record") {
          const { entries, asks: opened = [] } = request as { entries: readonly KeyedEntry[]; asks?: readonly Open[] };
          wrote(entries);
          // Events, which are open before a step can tell anybody of them.
          for (const event of waitedIn(opened)) {
            show(event);
            keyOfAsk.set(pathOf(event.request), event.key);
          }
        }
        holder = { job, leaseEndsMs: sentMs + leaseMs };
        dueAtMs = sentMs + leaseMs;
        return;
      case "park": {
        const { type } = result as { type: string };
        if (type === "refused" || !job) return;
        const park = request as ParkRequest;
        wrote(park.entries);
        if (owed) {
          dueAtMs = owed.isStopping ? sentMs : park.dueAtMs;
          endRun(job, "parks", { isCut: owed.isStopping });
          owed.isStopping = false;
          return;
        }
        if ("restart" in park) done.clear();
        parked(job, park, asks);
        dueAtMs = type === "due" ? sentMs + graceMs : park.dueAtMs;
        return;
      }
      case "finish": {
        if (result === "refused" || !job) return;
        const { entries, outcome, owes } = request as { entries: readonly KeyedEntry[]; outcome: Outcome; owes?: Owed };
        wrote(entries);
        endRun(job, "ends the task", { isCut: codeOf(outcome) === "RUN_TIMEOUT" });
        end({ status: outcome.type === "result" ? "completed" : "failed", outcome, job });
        const isWithout = outcome.type !== "result" || outcome.result["isError"] === true;
        if (program.compensates && isWithout !== (owes !== undefined))
          broke(
            "undone",
            `the task ends with ${JSON.stringify(outcome)}, and what it has done is ${owes === undefined ? "not " : ""}undone`,
          );
        if (owes !== undefined) owe(sentMs);
        return;
      }
      case "settle":
        if (result !== "settled" || !job) return;
        wrote((request as { entries: readonly KeyedEntry[] }).entries);
        endRun(job, "settles");
        owed = undefined;
        dueAtMs = Infinity;
        judgeUndone();
        return;
      case "answer": {
        const { key, answer, quorum } = request as AnswerRequest;
        const { receipt } = result as { receipt: string };
        // One of two who must accept: the question stays, as it does for somebody who looked before another one was counted.
        if (receipt === "overtaken" || (quorum && quorum.missing > 0)) return;
        open.delete(key);
        calls.delete(key);
        if (receipt !== "accepted") return;
        if (accepted.has(key)) broke("answer", `a second answer to ${key} is accepted`);
        accepted.set(key, canonicalJson(quorum ? { ...answer, accepted: quorum.acceptances } : answer));
        if (holder === undefined) dueAtMs = sentMs + graceMs;
        return;
      }
      case "cancel":
        if (result === "cancelled") {
          const stopping = holder;
          end({ status: "cancelled", outcome: undefined, job: undefined });
          if ((request as { owes?: boolean }).owes && hasRun) owe(sentMs, stopping);
        }
        return;
    }
  }

  /** Called for everything that the store has done to a child. Its end is the answer to its parent's call. */
  function observeChild({ name, request, result }: Omit<Happened, "asks">): void {
    const { taskId, token = "" } = request as { taskId: string; token?: string };
    const job = jobs.get(token);
    switch (name) {
      case "create": {
        if (result !== "created") return;
        const { call, parent } = request as CreateRequest;
        const path = call.arguments["path"] as string;
        const { key = "", nowMs: sentMs = 0, leaseMs = 0 } = { key: parent?.open.key, ...parent };
        if (keyOfAsk.has(path)) broke("key", `${path} makes a second child`);
        keyOfAsk.set(path, key);
        calls.set(key, taskId);
        if (holder) holder.leaseEndsMs = sentMs + leaseMs;
        dueAtMs = sentMs + leaseMs;
        return;
      }
      case "record":
      case "park":
        if (job && result !== "refused" && result !== "cancelled") wrote((request as { entries: readonly KeyedEntry[] }).entries);
        return;
      case "finish": {
        if (result === "refused" || !job) return;
        const { entries, outcome, nowMs: sentMs } = request as { entries: readonly KeyedEntry[]; outcome: Outcome; nowMs: number };
        wrote(entries);
        const key = [...calls.keys()].find((each) => calls.get(each) === taskId);
        if (key === undefined) return;
        calls.delete(key);
        accepted.set(key, canonicalJson(outcome));
        if (typeof result === "object") dueAtMs = sentMs;
      }
    }
  }

  /** `stopping`: the run that is open still, until it lets go or its lease ends. */
  function owe(nowMs: number, stopping?: typeof holder): void {
    owed = { isStopping: stopping !== undefined };
    holder = stopping;
    dueAtMs = stopping ? stopping.leaseEndsMs : nowMs;
  }

  function judgeUndone(): void {
    for (const path of done) if (!recorded.has(undoOf(path))) broke("undone", `${path} was done, and is not undone`);
  }

  function end(how: Ended): void {
    if (ended) broke("end", `the task ends as ${how.status}, and had ended as ${ended.status}`);
    ended = how;
    dueAtMs = Infinity;
    holder = undefined;
    open.clear();
    calls.clear();
  }

  return {
    violations,
    works,
    broke,
    stageOf,
    observe,
    observeChild,
    /** Whether a call of another tool is open. */
    hasChildren: () => calls.size > 0,
    /** Ties the writes of a run to its job. */
    holds(job: Job, token: string): void {
      job.token = token;
      jobs.set(token, job);
    },
    shown,
    open,
    ofTwo,
    recorded,
    ended: () => ended,
    /** It has ended, and nothing is owed. */
    isOver: () => ended !== undefined && owed === undefined,
    isCreated: () => created,
    /** When the task must run, as far as the store was told. */
    dueAtMs: () => dueAtMs,
  };
}

/** In place of a generation of the handler. */
export const UNDOING = -1;
export const OF_CHILD = -2;

/** The path of what another tool does, which was called at `path`. */
export function childOf(path: string): string {
  return `child/${path}`;
}

/** The path of what undoes a step. */
export function undoOf(path: string): string {
  return `undo/${path}`;
}

export type Witness = ReturnType<typeof createWitness>;

export function textOf(effect: Pick<Effect, "op">, value: unknown): string {
  if (effect.op === "sleep") return "its end";
  if (effect.op === "fact") return String(value);
  if (effect.op === "child") return `${(value as ChildEnd).type} ${hash(JSON.stringify(value) ?? "")}`;
  return effect.op === "step" ? resultText(value) : `${(value as { action: string }).action} ${hash(JSON.stringify(value) ?? "")}`;
}

/** Of what is open, that which clients and other systems answer. */
export function waitedIn(open: readonly Open[]): readonly Waited[] {
  const { asks, events = [] } = split(open);
  return [...asks, ...events];
}

function questionOf(request: Waited["request"]): string {
  return "message" in request ? request.message : ((request as EventRequest).schema["title"] as string);
}

/** The question names who asks (interpret.ts). */
export function pathOf(request: Waited["request"]): string {
  return questionOf(request).split(" ")[0] ?? "";
}

/** The engine's own word for why a task failed. */
export function codeOf(outcome: Outcome | undefined): string | undefined {
  if (outcome?.type !== "error") return undefined;
  const { code } = (outcome.error.data ?? {}) as { code?: string };
  return code ?? "an error without a code";
}

function resultText(value: unknown): string {
  const { from, result } = (value ?? {}) as { from?: string; result?: number };
  return `${from} ${result}`;
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/**
 * Whether two keys differ only in the number of items that awaited the call. A Promise.all that has failed awaits nothing any more: a step that was
 * tried before that, by a worker that died, and that awaits something outside ctx in the next run, is awaited by fewer items than before. Nothing of
 * the try is in the journal, so no run can know of it.
 */
function isCutOff(one: string, other: string): boolean {
  const [[name, items = ""], [otherName, otherItems = ""]] = [one, other].map((key) => key.split("~")) as [string[], string[]];
  return name === otherName && (items.startsWith(`${otherItems}.`) || otherItems.startsWith(`${items}.`));
}

/**
 * Whether one of the keys is the plain one, and the other one is of an item: an item that has waited for a lock in one run and for nothing in another.
 * What its worker was doing when it died it does again (ADR 24).
 */
function isPlainToo(one: string, other: string): boolean {
  return one.startsWith(`${other}~`) || other.startsWith(`${one}~`);
}
