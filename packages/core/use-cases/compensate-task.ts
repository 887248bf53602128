/**
 * Compensation: the last run of a task that ended without its result, in which its tool undoes its work
 * (Runnable.compensate).
 *
 *   cancelled · failed · out of time ─▶ owed ─▶ last run ─▶ settled
 *                                        ▲          │ threw, died, or this worker lacks the tool
 *                                        └──────────┘ retried a bounded number of times, then given up and logged
 *
 * Clients see the task as ended from the start and nothing of its compensation (I1). The run has its own journal
 * beside the task's: each of its steps succeeds once, and failed ones are retried with the run. While compensation is
 * owed, the task is due and does not expire (I7).
 */
import { type Catalogue, type EndedWithout, type Runnable, runnableOf } from "../catalogue.ts";
import { codeOf, ParleyError } from "../errors.ts";
import { type Entry, isOfCompensation, type Journal, type KeyedEntry } from "../journal.ts";
import type { RunReport } from "../ports.ts";
import type { ReplayRequest, RunEnd } from "../replay.ts";
import { byArrival, type Recorded } from "../replay/recorded-calls.ts";
import { isFinal } from "../replay/steps.ts";
import type { Effects } from "../effects.ts";
import type { JsonObject, Owed } from "../task.ts";
import { versionFor } from "./versions.ts";
import { about, described } from "./finish-task.ts";
import { retryAfterMs } from "./put-back.ts";
import type { Held, RunLease } from "./run-lease.ts";
import type { Services } from "./services.ts";
import { poisoned } from "./suspects.ts";

export interface LastRun {
  readonly begun: Held;
  readonly lease: RunLease;
  /** Replays the handler within its time limit. */
  readonly work: (work: Work) => Promise<RunEnd>;
}

/** A handler to replay. */
export interface Work extends Pick<ReplayRequest, "compensation"> {
  readonly runnable: Runnable;
  readonly journal: Journal;
  readonly handler: (effects: Effects) => Promise<JsonObject>;
}

const HOUR = 60 * 60 * 1_000;

export async function compensateTask(services: Services, catalogue: Catalogue, owed: Owed, run: LastRun): Promise<RunReport> {
  const { begun, lease } = run;
  const { task, attempt, takeovers, journal } = begun;
  const { settings, log } = services;
  const fields = { ...about(task), why: owed };
  if (takeovers > settings.takeoversMax) {
    const error = poisoned("this compensation", takeovers, services.suspects?.hasBlocked(task.id) === true);
    return await giveUp(services, run, fields, error);
  }
  const newest = runnableOf(catalogue, task.call);
  // Only the code that did the work knows how to undo it.
  const runnable = newest?.kind === "tool" ? versionFor(newest, task.call) : newest;
  const compensate = runnable?.compensate?.bind(runnable);
  if (!runnable || !compensate) return await leaveToOthers(services, run, fields);

  const { past, own } = apart(journal);
  const isLastTry = attempt + 1 >= settings.compensationAttempts;
  const ended: EndedWithout = { why: owed, done: doneOf(past) };
  const end = await run.work({
    runnable,
    journal: own,
    async handler(effects) {
      await compensate(task.call.arguments, effects, ended);
      return {};
    },
    compensation: { isLastTry },
  });
  switch (end.type) {
    case "returned": {
      const settled = await lease.settle(end.entries);
      if (settled === "refused") return { type: "fenced" };
      log.info(fields, "task compensated");
      return { type: "compensated" };
    }
    case "threw":
      return await failed(services, run, { fields, error: end.error, entries: end.entries, isLastTry });
    case "aborted":
      return await stoppedBy(services, run, { fields, entries: end.entries, isLastTry });
    case "diverged":
      // The compensation failed before it reached its recorded steps, so another attempt may succeed.
      if (end.thrown) return await failed(services, run, { fields, error: end.thrown.error, entries: [], isLastTry });
      return await giveUp(services, run, fields, end.error);
    case "parked":
    case "restarted":
      if (end.type === "parked" && end.isAgain) return await again(services, run, end.entries);
      return await giveUp(services, run, fields, new ParleyError("MISPLACED_EFFECT", "a compensation cannot ask questions or restart"));
  }
}

interface Failed {
  readonly fields: object;
  readonly error: unknown;
  readonly entries: readonly KeyedEntry[];
  readonly isLastTry: boolean;
}

async function failed(services: Services, run: LastRun, { fields, error, entries, isLastTry }: Failed): Promise<RunReport> {
  const isHopeless = isFinal(error) && codeOf(error) !== "RUN_TIMEOUT";
  if (isLastTry || isHopeless) return await giveUp(services, run, fields, error);
  const { clock, log } = services;
  const { attempt } = run.begun;
  log.warn({ ...fields, attempt: attempt + 1, ...described(run.begun.task, error) }, "compensation failed, will be retried");
  const dueAtMs = Math.ceil(clock.now() + Math.min(1_000 * 2 ** attempt, HOUR));
  const parked = await run.lease.park({ entries, asks: [], attempt: attempt + 1, dueAtMs });
  return { type: parked.type === "refused" ? "fenced" : "retrying" };
}

async function stoppedBy(services: Services, run: LastRun, stopped: Omit<Failed, "error">): Promise<RunReport> {
  const { lease } = run;
  const why = lease.stoppedBy();
  if (why === "timeout") {
    return await failed(services, run, {
      ...stopped,
      error: new ParleyError("RUN_TIMEOUT", "the compensation worked longer than the tool's runTimeout"),
    });
  }
  if (why === "draining") await again(services, run, stopped.entries);
  return { type: "fenced" };
}

/** Another run goes on at once: this attempt has not failed. */
async function again({ clock }: Services, { lease, begun }: LastRun, entries: readonly KeyedEntry[]): Promise<RunReport> {
  const parked = await lease.park({ entries, asks: [], attempt: begun.attempt, dueAtMs: clock.now() });
  return { type: parked.type === "refused" ? "fenced" : "retrying" };
}

/** During a rolling deployment another worker may have the tool, or a version of it that compensates. */
async function leaveToOthers(services: Services, run: LastRun, fields: object): Promise<RunReport> {
  const { task, attempt } = run.begun;
  const { settings, clock, log } = services;
  const waitedMs = clock.now() - task.updatedAtMs;
  if (waitedMs > settings.missingToolTimeoutMs) {
    const code = task.call.kind === "tool" ? "TOOL_NOT_FOUND" : "PROMPT_NOT_FOUND";
    return await giveUp(services, run, fields, new ParleyError(code, `no worker compensates the ${task.call.kind} ${task.call.name}`));
  }
  log.warn(fields, "no such compensation on this worker, task put back");
  const dueAtMs = Math.ceil(clock.now() + retryAfterMs(settings, waitedMs));
  const parked = await run.lease.park({ entries: [], asks: [], attempt, dueAtMs });
  return { type: parked.type === "refused" ? "fenced" : "unserved" };
}

async function giveUp({ log }: Services, { begun, lease }: LastRun, fields: object, error: unknown): Promise<RunReport> {
  const settled = await lease.settle([]);
  if (settled === "refused") return { type: "fenced" };
  log.error({ ...fields, attempt: begun.attempt + 1, ...described(begun.task, error) }, "compensation given up");
  return { type: "given-up" };
}

/** Separates the task's journal from that of its compensation. */
function apart(journal: Journal): { readonly past: Journal; readonly own: Journal } {
  const [past, own] = [new Map<string, Entry>(), new Map<string, Entry>()];
  for (const [key, entry] of journal) (isOfCompensation(key) ? own : past).set(key, entry);
  return { past, own };
}

/** Steps with a result: first those that settled for the handler, then those that completed after its run had ended. */
export function doneOf(past: Journal): EndedWithout["done"] {
  return [...past]
    .filter(([key, { outcome }]) => key.startsWith("step:") && outcome.type === "value")
    .map(([id, entry]) => ({ id, entry }))
    .toSorted(inOrder)
    .map(({ id, entry: { outcome } }) => ({
      key: id.slice("step:".length),
      ...(outcome.type === "value" && outcome.value !== undefined && { value: outcome.value }),
    }));
}

function inOrder(a: Recorded, b: Recorded): number {
  const [first, second] = [a.entry.place, b.entry.place];
  if (first === undefined && second === undefined) return byArrival(a, b);
  return (first ?? Infinity) - (second ?? Infinity);
}
