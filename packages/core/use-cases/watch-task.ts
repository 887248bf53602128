import type { Clock, StreamNews, TaskChange } from "../ports.ts";
import type { Task } from "../task.ts";
import type { Services } from "./services.ts";

/**
 * A task's wake-ups as something to wait for. Read the task after the watch began, and again after each `next`: no
 * change is missed.
 */
export interface TaskWatch {
  /**
   * Resolves when something may have changed since the last call: after a wake-up, `wake`, or five seconds without
   * either. Given the revision at which the task was last read, wake-ups for that revision and earlier ones do not
   * count.
   */
  next(readAt?: number): Promise<void>;
  /**
   * Returns the task after all changes that were heard since it was read, given the task as a store loaded it.
   * Undefined if it has to be read, because something may have been missed.
   */
  heard(task: Task): Task | undefined;
  /** Returns what other streams have told since the last look, as far as that was heard. */
  news(): readonly StreamNews[];
  wake(): void;
  close(): void;
}

/** Bounds the cost of a lost wake-up. */
const REREAD_MS = 5_000;

/** Resolves once no later change of the task can be missed. The task need not exist yet. */
export async function watchTask({ wakeUps, clock }: Pick<Services, "wakeUps" | "clock">, taskId: string): Promise<TaskWatch> {
  const ear = createEar(clock);
  const close = await wakeUps.watch(taskId, ear.hear);
  // The first read sees all earlier changes.
  ear.forget();
  return { next: ear.next, heard: ear.heard, news: ear.news, wake: ear.wake, close };
}

/** How long the wake-up of the creation may take to arrive once the subscription is confirmed. */
const PROOF_MS = 2;
const RETRY_MS = 1_000;

/**
 * Watches a task that the caller is about to create, without waiting for the subscription: it takes place while the task
 * is created, which saves a round trip. The task is known as it was created, at revision 1.
 *
 * The wake-ups show which of the two the store did first. Creating a task sends one as well, so a front end that hears anything was
 * subscribed in time, and later wake-ups arrive after it. If nothing is heard, changes may have been missed, and `next` has
 * the task read once. If the subscription fails, it is tried again; until then the task is read every five seconds.
 */
export function watchNewTask({ wakeUps, clock }: Pick<Services, "wakeUps" | "clock">, taskId: string): TaskWatch {
  const ear = createEar(clock);
  let isOver = false;
  let leave: () => void = () => undefined;
  let stopTimer: () => void = () => undefined;
  let isProven = false;
  let proof: Promise<void> | undefined;
  const subscribed = subscribe();

  async function subscribe(): Promise<void> {
    while (!isOver) {
      try {
        leave = await wakeUps.watch(taskId, (change) => {
          isProven = true;
          ear.hear(change);
        });
        if (isOver) leave();
        return;
      } catch {
        await passing(RETRY_MS);
      }
    }
  }

  async function prove(): Promise<void> {
    await subscribed;
    await passing(PROOF_MS);
    if (!isProven) ear.hear();
  }

  /** Never resolves once the watch is closed, and then nothing holds what awaits it. */
  async function passing(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      if (!isOver) stopTimer = clock.after(ms, resolve);
    });
  }

  return {
    async next(readAt) {
      if (!isProven) proof ??= prove();
      await ear.next(readAt);
    },
    heard: ear.heard,
    news: ear.news,
    wake: ear.wake,
    close() {
      isOver = true;
      stopTimer();
      leave();
    },
  };
}

interface Ear extends Pick<TaskWatch, "next" | "heard" | "news" | "wake"> {
  /** Without a change: anything may have happened. */
  readonly hear: (change?: TaskChange) => void;
  readonly forget: () => void;
}

/** A task that changes more often between two looks is read. */
const CHANGES_MAX = 16;

function createEar(clock: Clock): Ear {
  /** The highest revision of wake-ups since the last `next`; infinite if unknown. */
  let heard = 0;
  /** The changes since the last look; undefined if some are unknown. */
  let changes: TaskChange[] | undefined = [];
  let told: readonly StreamNews[] = [];
  let onHeard: () => void = () => undefined;

  function wake(): void {
    heard = Infinity;
    onHeard();
  }

  function forget(): void {
    heard = 0;
    changes = [];
  }

  return {
    hear(change) {
      if (change?.news) {
        told = [...told, change.news].slice(-CHANGES_MAX);
        // Whoever replied or cancelled changes the task as well.
        return change.news.type === "resumed" ? wake() : undefined;
      }
      changes = change && changes && changes.length < CHANGES_MAX ? [...changes, change] : undefined;
      if (!change) return wake();
      heard = Math.max(heard, change.revision);
      onHeard();
    },
    news() {
      const all = told;
      told = [];
      return all;
    },
    wake,
    forget,
    heard(task) {
      const all = changes?.filter(({ revision }) => revision > task.revision) ?? [];
      changes = [];
      if (all.length === 0) return undefined;
      return all.reduce<Task | undefined>((before, { apply }) => before && apply?.(before), task);
    },
    async next(readAt = 0) {
      if (heard <= readAt) {
        await new Promise<void>((resolve) => {
          const stopTimer = clock.after(REREAD_MS, resolve);
          onHeard = () => {
            if (heard <= readAt) return;
            stopTimer();
            resolve();
          };
        });
      }
      heard = 0;
    },
  };
}
