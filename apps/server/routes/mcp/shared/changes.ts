/**
 * What has changed and was not told yet, for a stream that tells of changes until its client leaves. Front ends hold ten thousand of them, most
 * of the time in silence, so nothing waits: what runs, runs while there is something to tell.
 *
 *   wake-up ─▶ add ─▶ tell: read a few, send, at the reader's pace ─▶ silence
 *
 * Adding twice is adding once: a task that changes ten times while the reader takes one message is read once, and what waits in memory never
 * grows beyond what is followed.
 */
import { type Caller, findTask, type Services, type Task } from "@parley/core";

/** Tasks that are read at once. All of them are held in memory until the client has read what is sent, and a task may ask a lot. */
const READ_TOGETHER = 8;

export interface TellChanges<Change> {
  /** The id of the task that is read before the change is told; undefined for a change of something else. */
  taskOf(change: Change): string | undefined;
  /** Called for one change after the other. `task` is undefined when it is gone. */
  tell(change: Change, task: Task | undefined): void | Promise<void>;
  /** Resolves when the reader has taken what was sent. */
  drained(): Promise<void>;
  /** Called with what reading or telling threw. Nothing is told after that. */
  failed(error: unknown): void;
}

export class Changes<Change> {
  readonly #services: Pick<Services, "store">;
  readonly #caller: Caller;
  readonly #telling: TellChanges<Change>;
  readonly #waiting = new Set<Change>();
  #running = false;
  #stopped = false;

  /** Tasks are told as `caller` may see them. */
  constructor(services: Pick<Services, "store">, caller: Caller, telling: TellChanges<Change>) {
    this.#services = services;
    this.#caller = caller;
    this.#telling = telling;
  }

  add(change: Change): void {
    if (this.#stopped) return;
    this.#waiting.add(change);
    if (this.#running) return;
    this.#running = true;
    void this.#run();
  }

  get stopped(): boolean {
    return this.#stopped;
  }

  /** Nothing is told from now on. */
  stop(): void {
    this.#stopped = true;
    this.#waiting.clear();
  }

  async #run(): Promise<void> {
    try {
      while (this.#waiting.size > 0) await this.#tellSome();
    } catch (error) {
      this.stop();
      this.#telling.failed(error);
    } finally {
      this.#running = false;
    }
  }

  async #tellSome(): Promise<void> {
    const taken: Change[] = [];
    for (const change of this.#waiting) {
      taken.push(change);
      this.#waiting.delete(change);
      if (taken.length === READ_TOGETHER) break;
    }
    const tasks = await Promise.all(
      taken.map(async (change) => {
        const taskId = this.#telling.taskOf(change);
        const task = taskId === undefined ? undefined : await findTask(this.#services, { taskId, caller: this.#caller });
        // Nothing can be told of it; who asks for it gets the reason.
        return task?.unreadable ? undefined : task;
      }),
    );
    for (const [index, change] of taken.entries()) {
      if (this.#stopped) return;
      await this.#telling.tell(change, tasks[index]);
      await this.#telling.drained();
    }
  }
}
