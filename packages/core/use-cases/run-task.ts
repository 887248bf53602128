/**
 * One run, as a worker does it: take the task, replay the handler, write down how it ended.
 *
 * Every write carries the token that `begin` drew; the first one that is refused ends the run without a trace (I5). Anything that throws here
 * (the store is away, the process dies) leaves the task begun: when its lease ends, the sweep adds the same run again and another worker
 * takes it over.
 */
import type { Catalogue, Prompt, Runnable, Tool } from "../catalogue.ts";
import { describeError } from "../describe-error.ts";
import { withoutEventTokens } from "../event-token.ts";
import { kindOf, ParleyError, type ToolError } from "../errors.ts";
import type { Effects } from "../effects.ts";
import { answerOutcome, entryKey, type Journal, type KeyedEntry } from "../journal.ts";
import { defectIdOf, outcomeOf } from "../outcome.ts";
import { OVER } from "../over.ts";
import type { AnswerRecorded, AnswerRequest, Begun, Report, RunRef, RunReport } from "../ports.ts";
import { settling } from "../quorum.ts";
import { type FailedStep, replay, type RunEnd } from "../replay.ts";
import { describeViolations } from "../schema-violation.ts";
import { type JsonObject, type LogLevel, type Open, openOf, type Task } from "../task.ts";
import { compensateTask, owedBy, type Worked } from "./compensate-task.ts";
import { freshToken } from "./fresh-token.ts";
import { unreadableError } from "./get-task.ts";
import { type RunLease, leaseRun } from "./run-lease.ts";
import type { Settings } from "../settings.ts";
import { versionFor } from "../versions.ts";
import type { Services } from "./services.ts";
import { startChild, wakeParent } from "./start-child.ts";
import { isSuspect } from "./suspects.ts";
import { withSlot } from "./take-slot.ts";

/** A run that is to be done. `isSecondHand`: somebody may have begun it before, so that taking it can be a takeover. */
export interface DueRun extends RunRef {
  readonly isSecondHand?: boolean;
}

export async function runTask(services: Services, catalogue: Catalogue, ref: DueRun): Promise<RunReport> {
  const { log, observer } = services;
  const taken = await take(services, ref);
  if (taken === "deferred") {
    log.debug({ taskId: ref.taskId, run: ref.run }, "run deferred, another suspect is at work");
    return { type: "refused", reason: "deferred" };
  }
  const { begun, token, heldUntilMs, cleared } = taken;
  try {
    if (begun.type === "refused") {
      if (begun.reason === "key_missing") await putOff(services, ref);
      else log.debug({ taskId: ref.taskId, run: ref.run, reason: begun.reason }, "run refused");
      return begun;
    }
    const lease = leaseRun(services, { taskId: ref.taskId, token, heldUntilMs, progressed: cleared });
    if (begun.type === "unreadable") {
      try {
        if (begun.task.owed) return await forget(services, begun.task, lease);
        return await finish(services, begun.task, lease, [], unreadableError(ref.taskId, begun.reason));
      } finally {
        lease.release();
      }
    }
    const run = () => runBegun(services, catalogue, begun, lease);
    try {
      return await (observer?.running(begun, run) ?? run());
    } finally {
      lease.release();
    }
  } finally {
    cleared();
  }
}

/** What has to be undone cannot be read any more. */
async function forget({ log }: Services, task: Task, lease: RunLease): Promise<RunReport> {
  if ((await lease.settle([])) === "refused") return { type: "fenced" };
  log.error({ ...about(task), problem: "what was said in the task cannot be read" }, "compensation given up");
  return { type: "given-up" };
}

interface Taken {
  readonly begun: Begun;
  readonly token: string;
  readonly heldUntilMs: number;
  readonly cleared: () => void;
}

async function take(services: Services, { taskId, run, isSecondHand = false }: DueRun): Promise<Taken | "deferred"> {
  const { store, clock, ids, settings, suspects } = services;
  const token = ids.token();
  let nowMs = clock.now();
  const begin = () => {
    nowMs = clock.now();
    return store.begin({ taskId, run, token, nowMs, leaseMs: settings.leaseMs });
  };
  const isSuspected = isSecondHand && suspects !== undefined && isSuspect(await store.load(taskId), run);
  const taken = isSuspected ? await suspects.takeOver(begin) : { begun: await begin(), cleared: () => undefined };
  return taken === "deferred" ? taken : { ...taken, token, heldUntilMs: nowMs + settings.leaseMs };
}

async function runBegun(services: Services, catalogue: Catalogue, begun: Held, lease: RunLease): Promise<RunReport> {
  const { task, takeovers } = begun;
  const { settings, log } = services;
  if (takeovers > 0) log.warn({ taskId: task.id, run: task.run, takeovers }, "task taken over from a worker that fell silent");
  if (task.owed) {
    const describe = (error: unknown) => described(task, error);
    return await compensateTask(services, catalogue, task.owed, {
      begun,
      lease,
      describe,
      work: (run) => work(services, { ...run, catalogue, begun, lease }),
    });
  }
  if (takeovers > settings.takeoversMax) {
    const message = `the worker died under this task ${takeovers} times in a row (PARLEY_TAKEOVERS_MAX)`;
    return await finish(services, task, lease, [], new ParleyError("POISONED", message));
  }
  const { journal, asks } = await closeOverdueAsks(services, begun, lease);
  const newest = task.call.kind === "tool" ? catalogue.tools.get(task.call.name) : catalogue.prompts.get(task.call.name);
  if (!newest) return await putBack(services, { begun, asks, lease, missing: missingTool(task) });
  const own = newest.kind === "tool" ? versionFor(newest, task.call) : newest;
  const runnable = own ?? (await withoutVersion(services, { begun, asks, lease, newest }));
  if ("type" in runnable) return runnable;
  if (task.message?.startsWith(AWAITING_WORKER) === true) await lease.report({ items: [], message: "Running again." });

  const handler = (effects: Effects) => runnable.run(task.call.arguments, effects);
  const fail = (error: unknown) => finish(services, task, lease, [], error);
  return await withSlot(services, { runnable, begun, asks, lease, fail }, async () => {
    const end = await work(services, { catalogue, runnable, handler, begun, journal, lease });
    return await writeEnd(services, { runnable, newest, begun, asks, lease, end });
  });
}

/** How long a run that this worker has no key for is left to others, and to the operator. */
const KEY_RETRY_MS = 15_000;

/** Somewhat later or earlier than others: all tasks of a key that is missing come due together. */
async function putOff({ store, clock, ids, log }: Services, { taskId, run }: RunRef): Promise<void> {
  const nowMs = clock.now();
  log.warn({ taskId, run }, "no key for what the task was told, run put off");
  await store.postpone({ taskId, nowMs, dueAtMs: Math.ceil(nowMs + KEY_RETRY_MS * (0.75 + ids.random() / 2)) });
}

type Held = Extract<Begun, { type: "begun" }>;

const HOUR = 60 * 60 * 1_000;

interface WithoutVersion extends Pick<Ended, "begun" | "asks" | "lease" | "newest"> {}

/** How soon a task is tried again whose version another worker serves: it may come to this one again. */
const PASS_ON_MS = 1_000;

/** This worker lacks the version of the tool that the task is of. What runs it if it has waited for long enough, or else what became of the run. */
async function withoutVersion(services: Services, { begun, asks, lease, newest }: WithoutVersion): Promise<Runnable | RunReport> {
  const { settings, clock, ids, log, serving } = services;
  const { task, attempt } = begun;
  const { name, version = "" } = task.call;
  const fields = { taskId: task.id, [task.call.kind]: name, version };
  const nowMs = clock.now();
  if ((await serving?.isServed(name, version)) === true) {
    log.debug(fields, "another worker serves the task's version, run passed on");
    const dueAtMs = Math.ceil(earliest(nowMs + PASS_ON_MS * (0.5 + ids.random()), asks));
    const parked = await lease.park({ entries: [], asks: [], attempt, dueAtMs });
    return { type: parked.type === "refused" ? "fenced" : "passed_on" };
  }
  const missing = missingVersion(task, settings);
  const waitedMs = waitedFor(task, missing, nowMs);
  if (settings.missingVersion === "fail" || waitedMs <= settings.missingVersionTimeoutMs) {
    const report = await putBack(services, { begun, asks, lease, missing });
    return report.type === "unserved" ? { type: "version_unserved" } : report;
  }
  log.warn({ ...fields, to: newest.version ?? "", waitedMs }, "no worker serves the task's version, task moves to the newest");
  await lease.report({ items: [], version: newest.version ?? "" });
  return newest;
}

function missingVersion({ call: { kind, name, version = "" } }: Task, { missingVersionTimeoutMs }: Settings): Missing {
  return {
    worker: `that serves version ${version} of the ${kind} ${name}`,
    line: "no worker serves the task's version, task put back",
    fields: { version },
    timeoutMs: missingVersionTimeoutMs,
    error: (waitedMs) =>
      new ParleyError("VERSION_NOT_FOUND", `no worker has served version ${version} of the ${kind} ${name} for ${waitedMs} ms`),
  };
}

function messageOf({ worker }: Missing): string {
  return `${AWAITING_WORKER}${worker}.`;
}

/** How long the task has been put back for this. */
function waitedFor(task: Task, missing: Missing, nowMs: number): number {
  return task.message === messageOf(missing) ? nowMs - task.updatedAtMs : 0;
}

/** With it begins the message of every task that was put back. */
const AWAITING_WORKER = "Waiting for a worker ";

/** What this worker lacks for a task. */
interface Missing {
  /** What a worker must have, for the task's message: `that serves the tool book_dinner`. */
  readonly worker: string;
  /** The constant line of the log. */
  readonly line: string;
  readonly fields?: object;
  /** How long it waits; as for a tool that is missing unless said otherwise. */
  readonly timeoutMs?: number;
  /** What ends the task when none has come for so long. */
  readonly error: (waitedMs: number) => ParleyError;
}

function missingTool({ call: { kind, name } }: Task): Missing {
  return {
    worker: `that serves the ${kind} ${name}`,
    line: "no such tool on this worker, task put back",
    error(waitedMs) {
      const code = kind === "tool" ? "TOOL_NOT_FOUND" : "PROMPT_NOT_FOUND";
      return new ParleyError(code, `no worker has served the ${kind} ${name} for ${waitedMs} ms`);
    },
  };
}

/** The task took the new way of a change, and this worker's code does not know the change: it is older. */
function missingPatches({ call: { kind, name } }: Task, patches: readonly string[], error: ParleyError): Missing {
  return {
    worker: `whose ${kind} ${name} knows the patch ${patches.join(", ")}`,
    line: "the task is of newer code than this worker's, task put back",
    fields: { patches },
    error: () => error,
  };
}

interface PutBack {
  readonly begun: Held;
  /** Questions that are still open. */
  readonly asks: readonly Open[];
  readonly lease: RunLease;
  readonly missing: Missing;
}

/** A deployment may be half rolled out: another worker can have what is missing already, or again. Less and less often, and not forever. */
async function putBack(services: Services, { begun: { task, attempt }, asks, lease, missing }: PutBack): Promise<RunReport> {
  const { settings, clock, log } = services;
  const message = messageOf(missing);
  const isNew = task.message !== message;
  const nowMs = clock.now();
  const waitedMs = waitedFor(task, missing, nowMs);
  if (waitedMs > (missing.timeoutMs ?? settings.missingToolTimeoutMs))
    return await finish(services, task, lease, [], missing.error(waitedMs));
  log.warn({ taskId: task.id, [task.call.kind]: task.call.name, ...missing.fields }, missing.line);
  const retryMs = Math.max(settings.missingToolRetryMs, Math.min(waitedMs / 8, HOUR));
  const dueAtMs = Math.ceil(earliest(nowMs + retryMs, asks));
  const parked = await lease.park({ entries: [], asks: [], attempt, dueAtMs, ...(isNew && { message }) });
  return { type: parked.type === "refused" ? "fenced" : "unserved" };
}

/** Open questions keep their deadlines, regardless of what else the task waits for. */
function earliest(dueAtMs: number, asks: readonly Open[]): number {
  return Math.min(dueAtMs, ...asks.map(({ deadlineMs }) => deadlineMs));
}

/** Asks whose deadline has passed are answered with `timeout`, racing against late people like any answer (I2). */
async function closeOverdueAsks(
  services: Services,
  { task, journal: before }: Held,
  lease: RunLease,
): Promise<{ readonly journal: Journal; readonly asks: readonly Open[] }> {
  const { clock, settings } = services;
  const nowMs = clock.now();
  const overdue = openOf(task).filter((ask) => ask.deadlineMs <= nowMs);
  const asks = openOf(task).filter((ask) => ask.deadlineMs > nowMs);
  if (overdue.length === 0) return { journal: before, asks };
  const journal = new Map(before);
  for (const [index, ask] of overdue.entries()) {
    const { key, digest, calledAt, deadlineMs } = ask;
    const answer = { action: "timeout" } as const;
    const timedOut = { taskId: task.id, key, digest, answer, nowMs, graceMs: settings.graceMs, token: lease.token };
    const { receipt, quorum } = await closeOverdue(services, timedOut, ask);
    // Otherwise it was answered at the last moment: that answer is in the store, and the next run, due at once, will see it.
    if (receipt === "accepted" || receipt === "duplicate") {
      const arrived = { atMs: deadlineMs, revision: task.revision + 1 + index };
      journal.set(entryKey("ask", key), { digest, calledAt, outcome: answerOutcome(answer, undefined, quorum?.acceptances), arrived });
    }
  }
  return { journal, asks };
}

/** Of an ask that several must accept: with those who had by then. Who was counted meanwhile is one of them. */
async function closeOverdue(
  { store }: Pick<Services, "store">,
  request: AnswerRequest,
  ask: Open,
): Promise<AnswerRecorded & Pick<AnswerRequest, "quorum">> {
  const quorum = settling(ask);
  if (!quorum) return await store.answer(request);
  const recorded = await store.answer({ ...request, quorum });
  if (recorded.receipt !== "overtaken") return { ...recorded, quorum };
  const now = await store.load(request.taskId);
  const open = now?.asks.find(({ key, digest }) => key === request.key && digest === request.digest);
  return open ? await closeOverdue({ store }, request, open) : { receipt: "late" };
}

interface Work extends Omit<Worked, "compensation"> {
  readonly catalogue: Catalogue;
  readonly begun: Held;
  readonly lease: RunLease;
  readonly compensation?: Worked["compensation"];
}

/** Replays the handler, bounding its time. */
async function work(
  services: Services,
  { catalogue, runnable, handler, begun: { task, journalSize }, journal, lease, compensation }: Work,
): Promise<RunEnd> {
  const { clock, scope, digest, validate, wakeUps, settings, files } = services;
  const done = new AbortController();
  void clock.sleep(runnable.settings.runTimeoutMs, done.signal).then(() => {
    if (!done.signal.aborted) lease.stop("timeout");
  });
  try {
    return await replay({
      task,
      journal,
      // A task that failed since its journal was full has room for what undoes it.
      journalSize: compensation ? 0 : journalSize,
      handler,
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
        openFile: files && ((id) => files.open(task.id, id)),
        stepFailed: (failure) => logFailedStep(services, task, failure),
        async report(report) {
          if (settings.logTools) logItems(services, task, report.items);
          await lease.report(report);
        },
        announce: (announcement) => wakeUps.announce(announcement),
      },
    });
  } finally {
    done.abort(OVER);
  }
}

function tokenOf({ eventTokens }: Services, { id }: Task, key: string): { readonly token: string; readonly url: string } {
  if (!eventTokens) throw new ParleyError("EVENTS_UNAVAILABLE", "this worker gives out no tokens for events");
  return eventTokens.tokenOf(id, key);
}

async function openDeposit({ deposits }: Services, { id }: Task, key: string): Promise<string> {
  if (!deposits) throw new ParleyError("DEPOSIT_UNREADABLE", "this worker reads nothing that was left on pages");
  return await deposits.open(id, key);
}

/** A ToolError is the tool's answer; anything else may have to be fixed. */
function logFailedStep({ log }: Services, task: Task, { error, isLast, ...failure }: FailedStep): void {
  const fields = { ...about(task), ...failure, ...described(task, error) };
  if (!isLast) log.info(fields, "step failed, to be tried again");
  else if (kindOf(error) === "tool") log.info(fields, "step failed");
  else log.warn(fields, "step failed");
}

/** A step that calls another system may fail with the address that it handed over. */
function described({ id }: Task, error: unknown): object {
  return withoutEventTokens(id, describeError(error));
}

/** What the tool logs for its client, for the operator as well: only where the deployment wants it, since it is content. */
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

function about({ id, run, call }: Task): object {
  return { taskId: id, run, [call.kind]: call.name };
}

interface Ended {
  readonly runnable: Runnable;
  /** The version that is called now. */
  readonly newest: Tool | Prompt;
  readonly begun: Held;
  /** Questions that were open before the run and have not passed their deadline. */
  readonly asks: readonly Open[];
  readonly lease: RunLease;
  readonly end: RunEnd;
}

async function writeEnd(services: Services, { runnable, newest, begun, asks, lease, end }: Ended): Promise<RunReport> {
  const { task, attempt } = begun;
  const { clock, log } = services;
  switch (end.type) {
    case "aborted":
      switch (lease.stoppedBy()) {
        case "timeout":
          return await finish(services, task, lease, end.entries, end.diverging ?? runTimeout(runnable));
        // What was in flight is noted for the last run; for a task that is owed none this is refused.
        case "cancelled":
          await lease.park({ entries: end.entries, asks: [], attempt: 0, dueAtMs: clock.now() });
          return { type: "fenced" };
        // Another worker continues at once, and not when the lease has run out.
        case "draining":
          await lease.park({ entries: end.entries, asks: [], attempt, dueAtMs: clock.now() });
          return { type: "fenced" };
        case undefined:
          return { type: "fenced" };
      }
    case "parked": {
      const dueAtMs = earliest(end.wakeAtMs ?? Infinity, end.asks);
      return await park(services, { task, lease, entries: end.entries, asks: end.asks, dueAtMs, attempt: 0 });
    }
    case "threw":
      if (isRetryable(end.error) && attempt + 1 < runnable.settings.attempts) {
        const dueAtMs = earliest(clock.now() + runnable.settings.backoffMs * 2 ** attempt, asks);
        log.warn({ ...about(task), attempt: attempt + 1, ...described(task, end.error) }, "run failed, to be tried again");
        // What is open stays open: the store keeps asks that are not named here.
        const report = await park(services, { task, lease, entries: end.entries, asks: [], dueAtMs, attempt: attempt + 1 });
        return report.type === "parked" ? { type: "retrying" } : report;
      }
      return await finish(services, task, lease, end.entries, end.error);
    case "diverged":
      if (end.patches.length > 0) {
        return await putBack(services, { begun, asks, lease, missing: missingPatches(task, end.patches, end.error) });
      }
      log.error({ ...about(task), ...describeError(end.error) }, "replay diverged");
      return await finish(services, task, lease, [], end.error);
    case "restarted": {
      const read = await runnable.readArguments(end.arguments);
      if (!read.ok) {
        const { violations } = read;
        const message = `the arguments of the restart do not fit ${runnable.kind} ${runnable.name}: ${describeViolations(violations)}`;
        return await finish(services, task, lease, [], new ParleyError("INVALID_ARGUMENTS", message, { violations }));
      }
      const nowMs = clock.now();
      return await park(services, {
        task,
        lease,
        entries: [],
        asks: [],
        attempt: 0,
        dueAtMs: nowMs,
        restart: await renewed(newest, end.arguments, read.args),
      });
    }
    case "returned": {
      const { parent } = task.call;
      const outcome = { type: "result", result: end.result } as const;
      const finished = await lease.finish({ entries: end.entries, outcome, ...(parent && { parent }) });
      if (finished === "refused") return await letGo(services, lease, end.entries);
      await wakeParent(services, finished);
      log.info({ taskId: task.id, run: task.run, status: "completed" }, "task finished");
      return { type: "finished", status: "completed" };
    }
  }
}

/** A new round has nothing recorded: it takes the newest version, if that takes its arguments. */
async function renewed(newest: Runnable, args: JsonObject, kept: JsonObject): Promise<NonNullable<Park["restart"]>> {
  const { version } = newest;
  if (version === undefined) return { arguments: kept };
  const read = await newest.readArguments(args);
  return read.ok ? { arguments: read.args, version } : { arguments: kept };
}

interface Park {
  readonly task: Task;
  readonly lease: RunLease;
  readonly entries: readonly KeyedEntry[];
  readonly asks: readonly Open[];
  readonly dueAtMs: number;
  readonly attempt: number;
  readonly restart?: { readonly arguments: JsonObject; readonly version?: string };
}

async function park(services: Services, { task, lease, ...request }: Park): Promise<RunReport> {
  const parked = await lease.park(request);
  if (parked.type === "refused") return { type: "fenced" };
  if (parked.type === "due") await services.queue.add({ taskId: task.id, run: parked.run, cause: "overtaken" });
  services.log.info({ taskId: task.id, run: task.run, asks: request.asks.length }, request.restart ? "task begins anew" : "task parked");
  return { type: "parked" };
}

async function finish(services: Services, task: Task, lease: RunLease, entries: readonly KeyedEntry[], error: unknown): Promise<RunReport> {
  const { ids, settings, log } = services;
  const defectId = defectIdOf(error, () => ids.uuid());
  const shown = outcomeOf(error, task.call, { defectId, showErrors: settings.showErrors, sizeMax: settings.storedValueMax });
  const outcome = withoutEventTokens(task.id, shown);
  const owes = owedBy(task, error);
  const { parent } = task.call;
  const finished = await lease.finish({ entries, outcome, ...(owes && { owes }), ...(parent && { parent }) });
  if (finished === "refused") return await letGo(services, lease, entries);
  await wakeParent(services, finished);
  const status = outcome.type === "error" ? "failed" : "completed";
  log.warn({ ...about(task), status, defectId, ...described(task, error) }, "task finished with an error");
  return { type: "finished", status, ...(error instanceof ParleyError && { code: error.code }) };
}

/** The task was cancelled in the last moment, or taken over. What was done is noted where it has to be undone. */
async function letGo({ clock }: Services, lease: RunLease, entries: readonly KeyedEntry[]): Promise<RunReport> {
  await lease.park({ entries, asks: [], attempt: 0, dueAtMs: clock.now() });
  return { type: "fenced" };
}

function runTimeout(runnable: Runnable): ParleyError {
  return new ParleyError(
    "RUN_TIMEOUT",
    `${runnable.kind} ${runnable.name} worked longer than ${runnable.settings.runTimeoutMs} ms in one run`,
  );
}

/** ParleyErrors and recorded failures come out the same however often one tries. */
function isRetryable(error: unknown): boolean {
  const kind = kindOf(error);
  return kind === "tool" ? (error as ToolError).retryable : kind === undefined;
}
