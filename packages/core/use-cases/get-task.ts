/** A caller reads a task: at once, when something has changed, when it has settled, or again and again. */
import type { Actor } from "../callers/audit.ts";
import type { Caller } from "../callers/caller.ts";
import { ParleyError } from "../errors.ts";
import { OVER } from "../wait-over.ts";
import { may, viewOf } from "../callers/policy.ts";
import { isFinished, type Task, type Unreadable } from "../task.ts";
import type { Services } from "./services.ts";
import { type TaskWatch, watchTask } from "./watch-task.ts";

/** A task, and the caller that asks for it. */
export interface TaskRef extends Actor {
  readonly taskId: string;
}

/** The task as the caller may see it, even if its content cannot be read; undefined where knownTask throws. */
export async function findTask({ store }: Pick<Services, "store">, { taskId, caller }: TaskRef): Promise<Task | undefined> {
  const task = await store.load(taskId);
  return task && viewOf(caller, task);
}

/**
 * The task as the caller may see it after `watch.next`, given the task as that caller saw it before: known from what was
 * heard, without a read. Nothing was reported in the meantime. Undefined if the task has to be read.
 */
export function heardTask(
  watch: Pick<TaskWatch, "heard">,
  { task, caller }: { readonly task: Task; readonly caller: Caller },
): Task | undefined {
  // Changes apply to what is stored; this caller may have seen less.
  const isAsStored = may(caller, "follow", task) && task.asksOfOthers === undefined && task.asks.every(({ tally }) => tally === undefined);
  const now = watch.heard(task);
  return isAsStored && now ? viewOf(caller, now) : undefined;
}

/**
 * Like findTask. Throws TASK_NOT_FOUND alike for unknown, expired and foreign tasks, so that ids cannot be probed
 * (I10).
 */
export async function knownTask(services: Services, ref: TaskRef): Promise<Task> {
  const task = await findTask(services, ref);
  if (!task) throw notFound(ref);
  return task;
}

/**
 * Like knownTask. Throws CONTENT_KEY_MISSING, CONTENT_ERASED or CONTENT_DAMAGED if the task's content cannot be read.
 */
export async function getTask(services: Services, ref: TaskRef): Promise<Task> {
  return readable(await knownTask(services, ref));
}

/** Like getTask, for the owner only. Throws NOT_PERMITTED for a member of an audience. */
export async function getOwnTask(services: Services, ref: TaskRef): Promise<Task> {
  const task = await getTask(services, ref);
  if (!may(ref.caller, "follow", task)) throw new ParleyError("NOT_PERMITTED", "only the owner of a task follows it to its result");
  return task;
}

/**
 * Like getTask, but waits up to `settleGraceMs` for a task that has just become due. Clients poll right after they
 * create or answer a task; one that then read `working` would sleep for a whole poll interval.
 */
export async function getSettledTask(services: Services, ref: TaskRef): Promise<Task> {
  // A task that is already watched is read once until it changes. Any other is worth watching only if it is about to
  // change.
  if (!services.wakeUps.isWatched(ref.taskId)) {
    const task = await getTask(services, ref);
    if (graceLeftMs(services, task) <= 0) return task;
  }
  const over = new AbortController();
  let stopTimer: (() => void) | undefined;
  let last: Task | undefined;
  try {
    for await (const task of followTask(services, { ...ref, signal: over.signal })) {
      const leftMs = graceLeftMs(services, known(task, ref));
      if (leftMs <= 0) return task;
      stopTimer ??= services.clock.after(leftMs, () => over.abort(OVER));
      last = task;
    }
  } finally {
    stopTimer?.();
  }
  return known(last, ref);
}

/** How long a read should wait for the task; 0 or less if it has settled, or has been working for longer. */
function graceLeftMs({ clock, settings }: Services, task: Task): number {
  return isSettled(task) ? 0 : settings.settleGraceMs - (clock.now() - task.updatedAtMs);
}

function known(task: Task | undefined, ref: TaskRef): Task {
  if (!task) throw notFound(ref);
  return readable(task);
}

/** The same error for a task that never existed and for one that belongs to another caller. */
export function notFound({ taskId }: Pick<TaskRef, "taskId">): ParleyError {
  return new ParleyError("TASK_NOT_FOUND", `no task ${printable(taskId)}`);
}

/** For tasks known to belong to the caller. Throws if the content cannot be read. */
export function readable(task: Task): Task {
  if (task.unreadable) throw unreadableError(task.id, task.unreadable);
  return task;
}

export function unreadableError(taskId: string, why: Unreadable): ParleyError {
  return new ParleyError(UNREADABLE[why], `the content of the task ${taskId} ${UNREADABLE_BECAUSE[why]}`);
}

const UNREADABLE = { key_missing: "CONTENT_KEY_MISSING", erased: "CONTENT_ERASED", damaged: "CONTENT_DAMAGED" } as const;
const UNREADABLE_BECAUSE = { key_missing: "cannot be read now", erased: "was erased", damaged: "is damaged" } as const;

/** Finished, or waiting for a person. */
export function isSettled(task: Task): boolean {
  return isFinished(task.status) || task.status === "input_required";
}

export interface WaitForTask {
  readonly task: Task;
  readonly caller: Caller;
  readonly until: (task: Task) => boolean;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

/** Waits until `until` accepts the task. Returns the last state seen after `timeoutMs`, or when `signal` is aborted. */
export async function waitForTask(services: Services, { task, caller, until, timeoutMs, signal }: WaitForTask): Promise<Task> {
  const timeout = new AbortController();
  const stop = signal ? AbortSignal.any([signal, timeout.signal]) : timeout.signal;
  const stopTimer = services.clock.after(timeoutMs, () => timeout.abort(OVER));
  let last = task;
  try {
    for await (const seen of followTask(services, { taskId: task.id, caller, signal: stop })) {
      last = readable(seen);
      if (until(seen)) break;
    }
  } finally {
    stopTimer();
  }
  return last;
}

export interface FollowTask extends TaskRef {
  readonly signal: AbortSignal;
}

/**
 * Yields the current state and then each change; states between two reads are skipped. Ends after the finished state,
 * when the task no longer exists or the caller may no longer see it, or when `signal` is aborted.
 */
export async function* followTask(services: Services, { signal, ...ref }: FollowTask): AsyncGenerator<Task, void, void> {
  const watch = await watchTask(services, ref.taskId);
  signal.addEventListener("abort", watch.wake);
  try {
    let last: Task | undefined;
    while (!signal.aborted) {
      const task: Task | undefined = (last && heardTask(watch, { task: last, caller: ref.caller })) ?? (await findTask(services, ref));
      if (!task) return;
      if (task.revision !== last?.revision) {
        yield task;
        if (isFinished(task.status)) return;
      }
      last = task;
      await watch.next(task.revision);
    }
  } finally {
    watch.close();
    signal.removeEventListener("abort", watch.wake);
  }
}

/** A client's id for use in a message: bounded, without control characters. */
function printable(id: string): string {
  return JSON.stringify(id.length > 80 ? `${id.slice(0, 80)}…` : id);
}
