/**
 * One run, as a worker does it: take the task, replay the handler, write down how it ended.
 *
 * Every write carries the token that `begin` drew; the first one that is refused ends the run without a trace (I5). Whatever throws here
 * (the store is away, the process dies) leaves the task begun: when its lease ends, the sweep adds the same run again and somebody takes
 * it over.
 */
import type { Catalogue, Runnable } from "../catalogue.ts";
import { outcomeOf } from "../outcome.ts";
import { entryKey, type Journal, type KeyedEntry } from "../journal.ts";
import { OVER } from "../over.ts";
import type { Begun, Fenced, RunRef, RunReport } from "../ports.ts";
import { replay, type RunEnd } from "../replay.ts";
import { ParleyError } from "../errors.ts";
import type { Task } from "../task.ts";
import type { Services } from "./services.ts";

/** Why a run was stopped before its handler came to an end. */
type Stop = "fenced" | "run_timeout";

export async function runTask(services: Services, catalogue: Catalogue, ref: RunRef): Promise<RunReport> {
  const { store, clock, ids, settings, log } = services;
  const token = ids.token();
  const begun = await store.begin({ ...ref, token, nowMs: clock.now(), leaseMs: settings.leaseMs });
  if (begun.type === "refused") {
    log.debug({ ...ref, reason: begun.reason }, "run refused");
    return begun;
  }
  const goOn = () => runBegun(services, catalogue, begun, { taskId: ref.taskId, token });
  return await (services.observer?.running(begun, goOn) ?? goOn());
}

async function runBegun(services: Services, catalogue: Catalogue, begun: Held, hold: Hold): Promise<RunReport> {
  const runnable =
    begun.task.call.kind === "tool" ? catalogue.tools.get(begun.task.call.name) : catalogue.prompts.get(begun.task.call.name);
  if (!runnable) return await putBack(services, begun.task, hold);

  const journal = await closeOverdueAsks(services, begun, hold);
  const { end, stopped } = await work(services, runnable, { task: begun.task, journal, hold });
  return await writeEnd(services, { runnable, task: begun.task, attempt: begun.attempt, hold, end, stopped });
}

type Held = Extract<Begun, { type: "begun" }>;

interface Hold {
  readonly taskId: string;
  readonly token: string;
}

/** A write by the holder, now. */
function fenced(services: Services, hold: Hold): Fenced {
  return { ...hold, nowMs: services.clock.now() };
}

/** A deployment may be half rolled out: another worker can have the tool already, or again. */
async function putBack(services: Services, task: Task, hold: Hold): Promise<RunReport> {
  services.log.warn({ taskId: task.id, [task.call.kind]: task.call.name }, "no such tool on this worker, task put back");
  const dueAtMs = services.clock.now() + services.settings.missingToolRetryMs;
  const { graceMs } = services.settings;
  const parked = await services.store.park({ ...fenced(services, hold), entries: [], asks: [], attempt: 0, dueAtMs, graceMs });
  return { type: parked.type === "refused" ? "fenced" : "unserved" };
}

/** Asks whose deadline has passed are answered with `timeout`, racing against late people like any answer (I2). */
async function closeOverdueAsks(services: Services, begun: { task: Task; journal: Journal }, hold: Hold): Promise<Journal> {
  const nowMs = services.clock.now();
  const overdue = begun.task.asks.filter((ask) => ask.deadlineMs <= nowMs);
  if (overdue.length === 0) return begun.journal;
  const journal = new Map(begun.journal);
  for (const { key, digest } of overdue) {
    const answer = { action: "timeout" } as const;
    const { receipt } = await services.store.answer({
      taskId: hold.taskId,
      key,
      digest,
      answer,
      nowMs,
      graceMs: services.settings.graceMs,
      token: hold.token,
    });
    // Somebody answered at the last moment: that answer is in the store, and the next run, due at once, will see it.
    if (receipt === "accepted" || receipt === "duplicate")
      journal.set(entryKey("ask", key), { digest, outcome: { type: "answer", answer } });
  }
  return journal;
}

interface Work {
  readonly task: Task;
  readonly journal: Journal;
  readonly hold: Hold;
}

/** Replays the handler, renewing the lease of a long run and bounding its time. */
async function work(
  services: Services,
  runnable: Runnable,
  { task, journal, hold }: Work,
): Promise<{ end: RunEnd; stopped: Stop | undefined }> {
  const { store, clock, ids, digest, validate, events, settings } = services;
  const stop = new AbortController();
  const done = new AbortController();
  let stopped: Stop | undefined;
  const stopFor = (reason: Stop) => {
    stopped ??= reason;
    stop.abort();
  };
  const held = async (write: Promise<string>) => {
    if ((await write) === "refused") stopFor("fenced");
  };

  void clock.sleep(runnable.settings.runTimeoutMs, done.signal).then(() => {
    if (!done.signal.aborted) stopFor("run_timeout");
  });
  void (async () => {
    for (;;) {
      await clock.sleep(settings.renewEveryMs, done.signal);
      if (done.signal.aborted) return;
      // A store that is away fails the writes of the run itself; a run that writes only later must still have its lease by then.
      await held(store.renew({ ...fenced(services, hold), leaseMs: settings.leaseMs })).catch(() => undefined);
    }
  })();

  try {
    const end = await replay({
      task,
      journal,
      handler: (effects) => runnable.run(task.call.arguments, effects),
      signal: stop.signal,
      settings,
      ports: {
        clock,
        ids,
        digest,
        validate,
        record: (entries) => held(store.record({ ...fenced(services, hold), entries, leaseMs: settings.leaseMs })),
        report: (report) => held(store.report({ ...fenced(services, hold), ...report })),
        announce: (announcement) => events.announce(announcement),
      },
    });
    return { end, stopped };
  } finally {
    done.abort(OVER);
  }
}

interface Ended {
  readonly runnable: Runnable;
  readonly task: Task;
  readonly attempt: number;
  readonly hold: Hold;
  readonly end: RunEnd;
  readonly stopped: Stop | undefined;
}

async function writeEnd(services: Services, { runnable, task, attempt, hold, end, stopped }: Ended): Promise<RunReport> {
  switch (end.type) {
    case "aborted":
      if (stopped !== "run_timeout") return { type: "fenced" };
      return await finish(services, task, hold, [], runTimeout(runnable));
    case "parked": {
      const dueAtMs = Math.min(end.wakeAtMs ?? Infinity, ...end.asks.map((ask) => ask.deadlineMs));
      return await park(services, { task, hold, entries: end.entries, asks: end.asks, dueAtMs, attempt: 0 });
    }
    case "threw":
      if (isRetryable(end.error) && attempt + 1 < runnable.settings.attempts) {
        const dueAtMs = services.clock.now() + runnable.settings.backoffMs * 2 ** attempt;
        services.log.warn({ taskId: task.id, attempt: attempt + 1, ...describeError(end.error) }, "run failed, to be tried again");
        // What is open stays open: the store keeps asks that are not named here.
        const report = await park(services, { task, hold, entries: end.entries, asks: [], dueAtMs, attempt: attempt + 1 });
        return report.type === "parked" ? { type: "retrying" } : report;
      }
      return await finish(services, task, hold, end.entries, end.error);
    case "diverged":
      services.log.error({ taskId: task.id, ...describeError(end.error), detail: end.error.message }, "replay diverged");
      return await finish(services, task, hold, [], end.error);
    case "returned": {
      const finished = await services.store.finish({
        ...fenced(services, hold),
        entries: end.entries,
        outcome: { type: "result", result: end.result },
      });
      if (finished === "refused") return { type: "fenced" };
      services.log.info({ taskId: task.id, run: task.run, status: "completed" }, "task finished");
      return { type: "finished", status: "completed" };
    }
  }
}

async function park(
  services: Services,
  {
    task,
    hold,
    entries,
    asks,
    dueAtMs,
    attempt,
  }: Pick<Ended, "task" | "hold"> & { entries: readonly KeyedEntry[]; asks: Task["asks"]; dueAtMs: number; attempt: number },
): Promise<RunReport> {
  const { graceMs } = services.settings;
  const parked = await services.store.park({ ...fenced(services, hold), entries, asks, attempt, dueAtMs, graceMs });
  if (parked.type === "refused") return { type: "fenced" };
  if (parked.type === "due") await services.queue.add({ taskId: hold.taskId, run: parked.run, cause: "answered" });
  services.log.info({ taskId: task.id, run: task.run, asks: asks.length }, "task parked");
  return { type: "parked" };
}

async function finish(services: Services, task: Task, hold: Hold, entries: readonly KeyedEntry[], error: unknown): Promise<RunReport> {
  const outcome = outcomeOf(error, task.call);
  const finished = await services.store.finish({ ...fenced(services, hold), entries, outcome });
  if (finished === "refused") return { type: "fenced" };
  const status = outcome.type === "error" ? "failed" : "completed";
  services.log.warn({ taskId: task.id, run: task.run, status, ...describeError(error) }, "task finished with an error");
  return { type: "finished", status, ...(error instanceof ParleyError && { code: error.code }) };
}

function runTimeout(runnable: Runnable): ParleyError {
  return new ParleyError(
    "RUN_TIMEOUT",
    `${runnable.kind} ${runnable.name} worked longer than ${runnable.settings.runTimeoutMs} ms in one run`,
  );
}

/** ParleyErrors and recorded failures come out the same however often one tries. */
function isRetryable(error: unknown): boolean {
  if (!(error instanceof Error)) return true;
  if (error.name === "ToolError") return "retryable" in error && error.retryable === true;
  return error.name !== "ParleyError" && error.name !== "RpcFailure" && error.name !== "StepFailed";
}

/** What may be logged of an error: its kind and where it came from. Its message can hold what a person answered. */
function describeError(error: unknown): object {
  if (!(error instanceof Error)) return { error: typeof error };
  const code = error instanceof ParleyError ? { code: error.code } : {};
  const frames = error.stack
    ?.split("\n")
    .filter((line) => line.startsWith("    at "))
    .map((line) => line.trim());
  return { error: error.name, ...code, stack: frames };
}
