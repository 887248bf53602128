/**
 * The tasks whose calls this process holds, between their runs.
 *
 *   run parked ─▶ watched ─▶ cancelled, or ended elsewhere ─▶ dropped
 *                   └▶ the upstream stops waiting for a question ─▶ withdrawn
 */
import { type CallFacts, isFinished, noteEnded, noteRefused, type RunReport, type Services, turnOf, withNobody } from "@parley/core";
import type { Calls, DropReason } from "./calls.ts";
import type { RefusedQuestion } from "./questions.ts";

export interface HeldTasks {
  /** The task's run has ended, or stopped without a report. */
  after(taskId: string, report: RunReport | undefined): Promise<void>;
  /** Closes the task's questions that the upstream no longer waits for. */
  settle(taskId: string): Promise<void>;
  /** Closes the task's questions that are gone. A withdrawal is an answer like any other (I2). */
  withdraw(taskId: string, isGone: (key: string) => boolean): Promise<void>;
  /** Records that a question of the task's upstream was refused, if there is an audit. */
  refused(taskId: string, question: RefusedQuestion): Promise<void>;
  drop(taskId: string, why?: DropReason): Promise<void>;
  /** Looks after the tasks whose run ended without a known outcome, that cannot be watched, or whose questions could not be closed. */
  look(): Promise<void>;
}

export interface HeldTasksDeps {
  readonly calls: Calls;
  readonly services: Pick<Services, "store" | "queue" | "wakeUps" | "clock" | "log" | "settings" | "audit" | "digest">;
  /** Whether a run of the task is in progress here. */
  readonly isAtWork: (taskId: string) => boolean;
  /** Whether that is a call at an upstream. */
  readonly isUpstreams: (call: Pick<CallFacts, "kind" | "name">) => boolean;
  readonly whenQuiet: (work: () => void) => void;
  readonly inBackground: (work: Promise<void>) => void;
}

export function createHeldTasks({ calls, services, isAtWork, isUpstreams, whenQuiet, inBackground }: HeldTasksDeps): HeldTasks {
  const { store, queue, wakeUps, clock, log, settings } = services;
  const watched = new Map<string, Promise<() => void>>();
  /** They may no longer need their call. */
  const unclear = new Set<string>();
  /** Questions of theirs that the upstream has given up are still open, because they could not be closed. */
  const unsettled = new Set<string>();

  /** An answer at once, which brings a run here, needs no watch: whether the task has ended otherwise is looked at in a moment. */
  function watchSoon(taskId: string): void {
    if (watched.has(taskId)) return;
    whenQuiet(() => {
      if (calls.has(taskId) && !isAtWork(taskId)) watch(taskId);
    });
  }

  function watch(taskId: string): void {
    if (watched.has(taskId)) return;
    const watching = wakeUps.watch(taskId, (change) => {
      if (change?.isEnd !== false) inBackground(dropIfFinished(taskId));
    });
    watched.set(taskId, watching);
    watching.then(
      // The task may have ended before the watch began.
      () => inBackground(dropIfFinished(taskId)),
      // A task that cannot be watched is polled.
      () => unclear.add(taskId),
    );
  }

  /** A task that was cancelled while it waited no longer needs its call. */
  async function dropIfFinished(taskId: string): Promise<void> {
    const task = await store.load(taskId);
    if (!isAtWork(taskId) && (!task || isFinished(task.status))) await drop(taskId, "finished");
  }

  async function drop(taskId: string, why?: DropReason): Promise<void> {
    unclear.delete(taskId);
    unsettled.delete(taskId);
    const stop = watched.get(taskId);
    watched.delete(taskId);
    await calls.drop(taskId, why);
    (await stop?.catch(() => undefined))?.();
  }

  /** In a record of its own: the task's last write is the same for every tool. */
  async function noteEnd(taskId: string, code: string | undefined): Promise<void> {
    const task = services.audit && (await store.load(taskId));
    if (task && isUpstreams(task.call)) noteEnded(services, task, code);
  }

  async function settle(taskId: string): Promise<void> {
    const gone = calls.abandoned(taskId);
    // The call may be held no longer.
    if (gone.size === 0) return void unsettled.delete(taskId);
    // Until it has succeeded: a person would answer a question for which nobody waits, and the task has its result only then.
    unsettled.add(taskId);
    const { size } = gone;
    await withdraw(taskId, (key) => gone.has(key));
    // What was given up meanwhile is closed by a settlement of its own, or at the next look.
    if (calls.abandoned(taskId).size === size) unsettled.delete(taskId);
  }

  async function withdraw(taskId: string, isGone: (key: string) => boolean): Promise<void> {
    const task = await store.load(taskId);
    if (!task) return;
    for (const ask of task.asks) {
      const { key, digest } = ask;
      if (!isGone(key)) continue;
      const answer = { action: "withdrawn" } as const;
      const audit = withNobody(services, task, { ask, door: "gateway", did: "withdrawn" });
      const { nextRun } = await store.answer({ taskId, key, digest, answer, nowMs: clock.now(), graceMs: settings.graceMs, ...audit });
      log.info({ taskId, key }, "question of an upstream withdrawn");
      if (nextRun !== undefined) await queue.add({ taskId, run: nextRun, cause: "answered", ...turnOf(task.call) });
    }
  }

  return {
    async after(taskId, report) {
      if (report?.type === "finished") {
        await drop(taskId, "finished");
        return await noteEnd(taskId, report.code);
      }
      if (!calls.has(taskId)) return;
      if (report?.type !== "parked") return void unclear.add(taskId);
      // The upstream holds nothing: the task has everything that came of the call.
      if (!calls.isNeeded(taskId) && calls.abandoned(taskId).size === 0) return await drop(taskId);
      watchSoon(taskId);
      // What the upstream gave up during the run is withdrawn now: until the run parked, the store did not know the question.
      await settle(taskId);
    },
    settle,
    withdraw,
    async refused(taskId, question) {
      const task = services.audit && (await store.load(taskId));
      if (task) noteRefused(services, task, question);
    },
    drop,
    async look() {
      const idle = [...unsettled].filter((taskId) => !isAtWork(taskId));
      // Each by itself: a part of Redis that is away keeps no task of another part waiting.
      const looks = await Promise.allSettled([...[...unclear].map(dropIfFinished), ...idle.map(settle)]);
      for (const look of looks) if (look.status === "rejected") throw look.reason;
    },
  };
}
