/**
 * One run on a worker: take the task, replay the handler, write how it ended.
 *
 * Every write carries the token that `begin` issued, and the first refused write ends the run without a trace (I5).
 * If anything here throws (the store is unreachable, the process dies), the run stays open: when its lease expires,
 * the sweep adds it again and another worker takes it over.
 *
 *   overdue-asks.ts   asks whose deadline has passed       write-end.ts     how the run ended
 *   put-back.ts       what this worker cannot run          finish-task.ts   ends with an error
 *   prompt-asks.ts    reminders and escalations
 */
import { boundTo, toolOf } from "../callers/audit.ts";
import { DEFAULT_TENANT } from "../callers/caller.ts";
import { type Catalogue, runnableOf } from "../catalogue.ts";
import { kindOf, ParleyError } from "../errors.ts";
import type { Effects } from "../effects.ts";
import type { Begun, Called, Report, RunRef, RunReport } from "../ports.ts";
import { type FailedStep, replay, type RunEnd } from "../replay.ts";
import { type Answer, isQuestion, type LogLevel, type Open, type Task, type TaskAtWork } from "../task.ts";
import { versionFor } from "./versions.ts";
import { compensateTask, type Work } from "./compensate-task.ts";
import { about, described, finish } from "./finish-task.ts";
import { freshToken } from "./fresh-token.ts";
import { keptAccess } from "./kept-access.ts";
import { unreadableError } from "./get-task.ts";
import { closeOverdueAsks } from "./overdue-asks.ts";
import { promptAsks } from "./prompt-asks.ts";
import { AWAITING_WORKER, missingTool, putBack, withoutVersion } from "./put-back.ts";
import { type Held, leaseRun, type RunLease } from "./run-lease.ts";
import type { Services } from "./services.ts";
import { startChild } from "./start-child.ts";
import { isSuspect, poisoned } from "./suspects.ts";
import { withSlot } from "./take-slot.ts";
import { writeEnd } from "./write-end.ts";

/**
 * A run to do. `isSecondHand`: a worker may have begun it before, so taking it may be a takeover. `calls`: what the task
 * calls, if that is known before the run begins.
 */
export interface DueRun extends RunRef {
  readonly isSecondHand?: boolean;
  readonly calls?: Called;
}

export async function runTask(services: Services, catalogue: Catalogue, ref: DueRun): Promise<RunReport> {
  const { log, observer } = services;
  const taken = await take(services, catalogue, ref);
  if (taken === "deferred") {
    log.debug({ taskId: ref.taskId, run: ref.run }, "run deferred, another suspect is at work");
    return { type: "refused", reason: "deferred" };
  }
  const { begun, token, heldUntilMs, cleared, isOpened } = taken;
  try {
    if (begun.type === "refused") {
      if (begun.reason === "key_missing") await putOff(services, ref);
      else log.debug({ taskId: ref.taskId, run: ref.run, reason: begun.reason }, "run refused");
      return begun;
    }
    const { tenant } = begun.task.call;
    const lease = leaseRun(services, {
      taskId: ref.taskId,
      ...(tenant !== undefined && { tenant }),
      token,
      heldUntilMs,
      progressed: cleared,
      blocked: () => services.suspects?.blocked(ref.taskId),
    });
    let hasStarted = false;
    try {
      if (begun.type === "unreadable") return await endUnreadable(services, begun, lease);
      const run = () => runBegun(services, { catalogue, begun, lease, isOpened, starts: () => void (hasStarted = true) });
      return await (observer?.running(begun, run) ?? run());
    } catch (error) {
      if (!hasStarted) await giveBack(services, ref.taskId, token);
      throw error;
    } finally {
      lease.release();
    }
  } finally {
    cleared();
  }
}

async function endUnreadable(
  services: Services,
  { task, reason }: Extract<Begun, { type: "unreadable" }>,
  lease: RunLease,
): Promise<RunReport> {
  if (task.owed) return await giveUpCompensation(services, task, lease);
  return await finish(services, task, lease, [], unreadableError(task.id, reason));
}

/** The content that compensation needs can no longer be read. */
async function giveUpCompensation({ log }: Services, task: Task, lease: RunLease): Promise<RunReport> {
  if ((await lease.settle([])) === "refused") return { type: "fenced" };
  log.error({ ...about(task), problem: "the content of the task cannot be read" }, "compensation given up");
  return { type: "given-up" };
}

interface Taken {
  readonly begun: Begun;
  readonly token: string;
  readonly heldUntilMs: number;
  readonly cleared: () => void;
  /** Whether the handler's first effect may have been written with `begin`. */
  readonly isOpened: boolean;
}

async function take(
  services: Services,
  catalogue: Catalogue,
  { taskId, run, isSecondHand = false, calls }: DueRun,
): Promise<Taken | "deferred"> {
  const { store, clock, ids, settings, suspects } = services;
  const token = ids.token();
  const opening = run === 1 && calls ? runnableOf(catalogue, calls)?.open?.() : undefined;
  let nowMs = clock.now();
  const begin = async () => {
    nowMs = clock.now();
    try {
      return await store.begin({ taskId, run, token, nowMs, leaseMs: settings.leaseMs, ...(opening && { opening: opening.entries }) });
    } catch (error) {
      await giveBack(services, taskId, token);
      throw error;
    }
  };
  const isSuspected = isSecondHand && suspects !== undefined && isSuspect(await store.load(taskId), run);
  const taken = isSuspected ? await suspects.takeOver(begin) : { begun: await begin(), cleared: () => undefined };
  if (taken === "deferred") return taken;
  if (taken.begun.type === "begun") opening?.begun(taskId, taken.begun.journal);
  return { ...taken, token, heldUntilMs: nowMs + settings.leaseMs, isOpened: opening !== undefined };
}

/**
 * The store may have begun a run that this worker will not do. Left open, it would count as a takeover from a dead
 * worker, and a minute without the store's replicas would fail all tasks that became due in it as poisoned.
 */
async function giveBack({ store, clock }: Services, taskId: string, token: string): Promise<void> {
  await store.release({ taskId, token, nowMs: clock.now() }).catch(() => undefined); // then it is taken over
}

interface RunBegun extends Omit<HeldWork, keyof Work>, Pick<Taken, "isOpened"> {
  /** Called when the handler starts. */
  readonly starts: () => void;
}

async function runBegun(services: Services, { catalogue, begun, lease, isOpened, starts }: RunBegun): Promise<RunReport> {
  const { task, takeovers } = begun;
  const { settings, log } = services;
  if (takeovers > 0) log.warn({ taskId: task.id, run: task.run, takeovers }, "task taken over from a worker that fell silent");
  if (task.owed) {
    return await compensateTask(services, catalogue, task.owed, {
      begun,
      lease,
      work(work) {
        starts();
        return replayHandler(services, { ...work, catalogue, begun, lease });
      },
    });
  }
  if (takeovers > settings.takeoversMax) {
    const error = poisoned("this task", takeovers, services.suspects?.hasBlocked(task.id) === true);
    return await finish(services, task, lease, [], error);
  }
  const { journal, asks: left } = await closeOverdueAsks(services, begun, lease);
  const asks = await promptAsks(services, task, left);
  const newest = runnableOf(catalogue, task.call);
  if (!newest) return await putBack(services, { begun, asks, lease, missing: missingTool(task) });
  const own = newest.kind === "tool" ? versionFor(newest, task.call) : newest;
  const runnable = own ?? (await withoutVersion(services, { begun, asks, lease, newest }));
  if ("type" in runnable) return runnable;
  if (task.message?.startsWith(AWAITING_WORKER) === true) await lease.report({ items: [], message: "Running again." });

  const handler = (effects: Effects) => runnable.run(task.call.arguments, effects);
  const fail = (error: unknown) => finish(services, task, lease, [], error);
  return await withSlot(services, { runnable, begun, asks, lease, fail }, async () => {
    if (isOpened && lease.signal.aborted) {
      // Parked, the task would say for good that its first effect may have begun.
      await giveBack(services, task.id, lease.token);
      return { type: "fenced" };
    }
    starts();
    const end = await replayHandler(services, {
      catalogue,
      runnable,
      handler,
      begun: { ...begun, task: withThreads(task, asks) },
      journal,
      lease,
    });
    return await writeEnd(services, { runnable, newest, begun, asks, lease, end });
  });
}

/** So that a run that parks knows which reminders are over. */
function withThreads(task: TaskAtWork, asks: readonly Open[]): TaskAtWork {
  const prompted = new Map(asks.filter(isQuestion).map((ask) => [ask.key, ask]));
  return { ...task, asks: task.asks.map((ask) => prompted.get(ask.key) ?? ask) };
}

/** How long a run whose key this worker lacks is left to other workers, and to the operator. */
const KEY_RETRY_MS = 15_000;

/** With jitter, because all tasks that need the missing key become due together. */
async function putOff({ store, clock, ids, log }: Services, { taskId, run }: RunRef): Promise<void> {
  const nowMs = clock.now();
  log.warn({ taskId, run }, "no key for the task's content, run delayed");
  await store.postpone({ taskId, nowMs, dueAtMs: Math.ceil(nowMs + KEY_RETRY_MS * (0.75 + ids.random() / 2)) });
}

interface HeldWork extends Work {
  readonly catalogue: Catalogue;
  readonly begun: Held;
  readonly lease: RunLease;
}

/** Replays the handler within its time limit. */
async function replayHandler(
  services: Services,
  { catalogue, runnable, handler, begun: { task, journalSize }, journal, lease, compensation }: HeldWork,
): Promise<RunEnd> {
  const { clock, scope, digest, validate, wakeUps, settings, files } = services;
  const done = clock.after(runnable.settings.runTimeoutMs, () => lease.stop("timeout"));
  try {
    return await replay({
      task,
      journal,
      // A task that failed because its journal was full still has room for its compensation.
      journalSize: compensation ? 0 : journalSize,
      handler,
      ...(runnable.isSequential && { isSequential: true }),
      ...(compensation && { compensation }),
      signal: lease.signal,
      settings,
      ports: {
        clock,
        scope,
        digest: (text) => digest(text, task.id),
        validate,
        record: (entries, asks) => lease.record(entries, asks),
        tokenOf: (key) => tokenOf(services, task, key),
        startChild: (open, request) => startChild(services, catalogue, { task, lease, open, request }),
        isHeld: lease.isHeld,
        deposit: (key) => openDeposit(services, task, key),
        accessToken: services.oauth && ((key, refused) => freshToken(services, { taskId: task.id, key, refused })),
        kept: keptAccess(services, task),
        openFile: files && ((id) => files.open(task.id, id)),
        stepFailed: (failure) => logFailedStep(services, task, failure),
        async report(report) {
          if (settings.logTools) logItems(services, task, report.items);
          await lease.report(report);
        },
        answeredEarly: (ask, answer) => noteEarly(services, task, { ask, answer }),
        announce: (announcement) => wakeUps.announce(announcement),
      },
    });
  } finally {
    done();
  }
}

function tokenOf({ eventTokens }: Services, { id }: Task, key: string): { readonly token: string; readonly url: string } {
  if (!eventTokens) throw new ParleyError("EVENTS_UNAVAILABLE", "this worker issues no event tokens");
  return eventTokens.tokenOf(id, key);
}

async function openDeposit({ deposits }: Services, { id }: Task, key: string): Promise<string> {
  if (!deposits) throw new ParleyError("DEPOSIT_UNREADABLE", "this worker cannot read the deposits of pages");
  return await deposits.open(id, key);
}

/**
 * Audits an answer that came with the call, when the tool asks for it. A worker that dies before it has recorded the
 * answer leaves a record nevertheless, and the next run another one.
 */
function noteEarly(services: Services, { id, call }: TaskAtWork, { ask, answer }: { readonly ask: Open; readonly answer: Answer }): void {
  const { principal, tenant = DEFAULT_TENANT } = call;
  void services.audit?.note({
    principal,
    ...(tenant !== DEFAULT_TENANT && { tenant }),
    door: "with the call",
    action: "answer",
    taskId: id,
    ...toolOf(call),
    ...boundTo(services, id, call, ask),
    did: answer.action,
    verdict: "accepted",
  });
}

/** A ToolError is the tool's answer; anything else may be something to fix. */
function logFailedStep({ log }: Services, task: Task, { error, isLast, ...failure }: FailedStep): void {
  const fields = { ...about(task), ...failure, ...described(task, error) };
  if (!isLast) log.info(fields, "step failed, will be retried");
  else if (kindOf(error) === "tool") log.info(fields, "step failed");
  else log.warn(fields, "step failed");
}

/**
 * Copies what the tool logs for its client into the operator's log. Only if the deployment asks for it, because it is
 * content.
 */
function logItems({ log }: Services, task: Task, items: Report["items"]): void {
  for (const item of items) {
    if (item.type !== "log") continue;
    const { level, data, logger } = item;
    log[LOGGED_AS[level]]({ ...about(task), level, ...(logger !== undefined && { logger }), data }, "tool log");
  }
}

const LOGGED_AS: { readonly [level in LogLevel]: keyof Services["log"] } = {
  debug: "debug",
  info: "info",
  notice: "info",
  warning: "warn",
  error: "error",
  critical: "error",
  alert: "error",
  emergency: "error",
};
