import type { Actor } from "../audit.ts";
import type { Caller } from "../caller.ts";
import { ParleyError } from "../errors.ts";
import { OVER } from "../over.ts";
import { may, viewOf } from "../policy.ts";
import { isFinished, type Task, type Unreadable } from "../task.ts";
import type { Services } from "./services.ts";
import { watchTask } from "./watch-task.ts";

/** A task, and who asks for it. */
export interface TaskRef extends Actor {
  readonly taskId: string;
}

/** The task as it is now and as the caller may see it, also where what was said in it cannot be read; undefined where knownTask throws. */
export async function findTask({ store }: Pick<Services, "store">, { taskId, caller }: TaskRef): Promise<Task | undefined> {
  const task = await store.load(taskId);
  return task && viewOf(caller, task);
}

/** As findTask. Throws TASK_NOT_FOUND alike for unknown, expired and foreign tasks, so that ids cannot be probed (I10). */
export async function knownTask(services: Services, ref: TaskRef): Promise<Task> {
  const task = await findTask(services, ref);
  if (!task) throw notFound(ref);
  return task;
}

/** As knownTask. Throws CONTENT_KEY_MISSING, CONTENT_ERASED or CONTENT_DAMAGED where what was said in the task cannot be read. */
export async function getTask(services: Services, ref: TaskRef): Promise<Task> {
  return readable(await knownTask(services, ref));
}

/** As getTask, for what is the owner's alone. Throws NOT_PERMITTED for one who is only asked something. */
export async function getOwnTask(services: Services, ref: TaskRef): Promise<Task> {
  const task = await getTask(services, ref);
  if (!may(ref.caller, "follow", task)) throw new ParleyError("NOT_PERMITTED", "only the owner of a task follows it to its result");
  return task;
}

/**
 * As getTask, but a task that became due a moment ago is given `settleGraceMs` to come to rest. Clients poll right after create and
 * answer; one that read `working` then would sleep for a whole poll interval.
 */
export async function getSettledTask(services: Services, ref: TaskRef): Promise<Task> {
  // A task that is watched from before is read once until it changes; any other is worth a watch only if it is about to change.
  if (!services.wakeUps.isWatched(ref.taskId)) {
    const task = await getTask(services, ref);
    if (graceLeftMs(services, task) <= 0) return task;
  }
  const over = new AbortController();
  const done = new AbortController();
  let last: Task | undefined;
  try {
    for await (const task of followTask(services, { ...ref, signal: over.signal })) {
      const leftMs = graceLeftMs(services, known(task, ref));
      if (leftMs <= 0) return task;
      if (!last) void services.clock.sleep(leftMs, done.signal).then(() => over.abort(OVER));
      last = task;
    }
  } finally {
    done.abort(OVER);
  }
  return known(last, ref);
}

/** For how long a read should wait for the task; 0 or less for one that is at rest, or works for longer than a moment. */
function graceLeftMs({ clock, settings }: Services, task: Task): number {
  return isSettled(task) ? 0 : settings.settleGraceMs - (clock.now() - task.updatedAtMs);
}

function known(task: Task | undefined, ref: TaskRef): Task {
  if (!task) throw notFound(ref);
  return readable(task);
}

/** The same for a task that there never was and for one that is not the caller's. */
export function notFound({ taskId }: Pick<TaskRef, "taskId">): ParleyError {
  return new ParleyError("TASK_NOT_FOUND", `no task ${printable(taskId)}`);
}

/** For those who know that the task is the caller's. */
export function readable(task: Task): Task {
  if (task.unreadable) throw unreadableError(task.id, task.unreadable);
  return task;
}

export function unreadableError(taskId: string, why: Unreadable): ParleyError {
  return new ParleyError(UNREADABLE[why], `what was said in the task ${taskId} ${SAID_OF[why]}`);
}

const UNREADABLE = { key_missing: "CONTENT_KEY_MISSING", erased: "CONTENT_ERASED", damaged: "CONTENT_DAMAGED" } as const;
const SAID_OF = { key_missing: "cannot be read now", erased: "was erased", damaged: "is damaged" } as const;

/** At rest: finished, or waiting for a person. */
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

/** Waits for the task to become what `until` asks for; returns the last state seen when that takes too long or `signal` is aborted. */
export async function waitForTask(services: Services, { task, caller, until, timeoutMs, signal }: WaitForTask): Promise<Task> {
  const timeout = new AbortController();
  const stop = signal ? AbortSignal.any([signal, timeout.signal]) : timeout.signal;
  const done = new AbortController();
  void services.clock.sleep(timeoutMs, done.signal).then(() => timeout.abort(OVER));
  let last = task;
  try {
    for await (const seen of followTask(services, { taskId: task.id, caller, signal: stop })) {
      last = readable(seen);
      if (until(seen)) break;
    }
  } finally {
    done.abort(OVER);
  }
  return last;
}

export interface FollowTask extends TaskRef {
  readonly signal: AbortSignal;
}

/**
 * The task's states as they change, the present one first; states that pass between two reads are left out. Ends after the finished
 * state, when the task is gone or the caller may see it no more, or when `signal` is aborted.
 */
export async function* followTask(services: Services, { signal, ...ref }: FollowTask): AsyncGenerator<Task, void, void> {
  const watch = await watchTask(services, ref.taskId);
  signal.addEventListener("abort", watch.wake);
  try {
    let revision = 0;
    while (!signal.aborted) {
      const task = await findTask(services, ref);
      if (!task) return;
      if (task.revision !== revision) {
        revision = task.revision;
        yield task;
        if (isFinished(task.status)) return;
      }
      await watch.next(revision);
    }
  } finally {
    watch.close();
    signal.removeEventListener("abort", watch.wake);
  }
}

/** An id from a client in a message: bounded, and without control characters. */
function printable(id: string): string {
  return JSON.stringify(id.length > 80 ? `${id.slice(0, 80)}…` : id);
}
