/**
 * The changes that a stream has not reported yet. A front end holds ten thousand such streams, and most of them are silent, so no loop
 * waits for changes: the loop runs only while there is something to report.
 *
 *   wake-up ─▶ add ─▶ report: read a few tasks, send, at the client's pace ─▶ idle
 *
 * Adding a change twice has the effect of adding it once. A task that changes ten times while the client reads one message is read once,
 * and the set never holds more than the stream follows.
 */
import { type Caller, findTask, OVER, type Services, type Task } from "@parley/core";
import { unlessAway } from "./unless-redis-away.ts";

/** How many tasks are read at once. */
const TASKS_AT_ONCE = 8;

/**
 * How long tasks that were read stay in memory while the client does not read the message before theirs. After that they are dropped and
 * read again in their turn: a task may have a megabyte of content, and thousands of clients may read nothing.
 */
const HOLD_MS = 100;

/** How long a stream waits before it tries again if Redis did not answer. */
const AGAIN_MS = 1_000;

export interface ChangeReporter<Change> {
  /** The id of the task to read before the change is reported. Undefined if the change is not about a task. */
  taskOf(change: Change): string | undefined;
  /**
   * Called for one change at a time. `task` is undefined if it no longer exists or cannot be read. Called again for the change, with the
   * task as it then is, if it throws UNAVAILABLE.
   */
  report(change: Change, task: Task | undefined): void | Promise<void>;
  /** Resolves once the client has read what was sent. */
  drained(): Promise<void>;
  /** Called if reading or reporting throws anything other than UNAVAILABLE. Nothing is reported afterwards. */
  failed(error: unknown): void;
}

export class Changes<Change> {
  readonly #services: Pick<Services, "store" | "clock">;
  readonly #caller: Caller;
  readonly #reporter: ChangeReporter<Change>;
  readonly #waiting = new Set<Change>();
  #running = false;
  #stopped = false;

  /** Tasks are read as `caller` may see them. */
  constructor(services: Pick<Services, "store" | "clock">, caller: Caller, reporter: ChangeReporter<Change>) {
    this.#services = services;
    this.#caller = caller;
    this.#reporter = reporter;
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

  /** Discards all changes. Nothing is reported from now on. */
  stop(): void {
    this.#stopped = true;
    this.#waiting.clear();
  }

  async #run(): Promise<void> {
    try {
      while (this.#waiting.size > 0) await this.#reportSome();
    } catch (error) {
      this.stop();
      this.#reporter.failed(error);
    } finally {
      this.#running = false;
    }
  }

  async #reportSome(): Promise<void> {
    const taken: Change[] = [];
    for (const change of this.#waiting) {
      taken.push(change);
      this.#waiting.delete(change);
      if (taken.length === TASKS_AT_ONCE) break;
    }
    const tasks = await unlessAway(() => Promise.all(taken.map((change) => this.#read(change))));
    if (!tasks) return await this.#tryAgain(taken);
    for (const [index, change] of taken.entries()) {
      if (this.#stopped) return;
      const rest = taken.slice(index + 1);
      if (!(await this.#report(change, tasks[index]))) return await this.#tryAgain([change, ...rest]);
      const drained = this.#reporter.drained();
      if (rest.length > 0 && !(await this.#isSoon(drained))) {
        this.#putBack(rest);
        tasks.length = 0;
        await drained;
        return;
      }
      await drained;
    }
  }

  /** False if Redis does not answer now. */
  async #report(change: Change, task: Task | undefined): Promise<boolean> {
    const reported = await unlessAway(async () => {
      await this.#reporter.report(change, task);
      return true;
    });
    return reported === true;
  }

  async #tryAgain(changes: readonly Change[]): Promise<void> {
    this.#putBack(changes);
    await this.#services.clock.sleep(AGAIN_MS);
  }

  async #read(change: Change): Promise<Task | undefined> {
    const taskId = this.#reporter.taskOf(change);
    const task = taskId === undefined ? undefined : await findTask(this.#services, { taskId, caller: this.#caller });
    // A task whose content cannot be read is not reported. A client that asks for it gets the reason.
    return task?.unreadable ? undefined : task;
  }

  /** Whether the client reads the message within `HOLD_MS`. */
  async #isSoon(drained: Promise<void>): Promise<boolean> {
    const done = new AbortController();
    try {
      return await Promise.race([drained.then(() => true), this.#services.clock.sleep(HOLD_MS, done.signal).then(() => false)]);
    } finally {
      done.abort(OVER);
    }
  }

  /** Puts changes back before those that arrived later. */
  #putBack(changes: readonly Change[]): void {
    if (this.#stopped) return;
    const later = [...this.#waiting];
    this.#waiting.clear();
    for (const change of [...changes, ...later]) this.#waiting.add(change);
  }
}
