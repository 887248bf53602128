/**
 * Suspects: tasks that may kill the workers that run them.
 *
 * A worker that dies takes all of its runs along, and each counts a takeover, the guilty one and its neighbours
 * alike. From its second consecutive takeover on a task is a suspect, and each process runs at most one suspect at a
 * time:
 *
 *   S1  While a suspect runs, no other one is taken over in this process. It is left to the sweep, which adds it again
 *       each second, here or elsewhere. Because it does not begin, it holds no slot, and its count does not grow if the
 *       process dies again.
 *   S2  A task stops being a suspect when its count ends (it recorded something, or its run ended), and after a time:
 *       a machine that failed twice must not make a hundred long runs wait for each other.
 *
 * If the worker dies again, the suspect did it, or a task that was not taken over as often. The neighbours' counts
 * stand still, and the guilty task reaches `takeoversMax` alone.
 */
import { ParleyError } from "../errors.ts";
import type { Begun, Clock } from "../ports.ts";
import type { Task } from "../task.ts";

/** Number of consecutive takeovers that makes a task a suspect. */
const SUSPECT_FROM = 2;

/** A task that kills its worker mostly does so within seconds. */
const ALONE_MS = 30_000;

/** A blocked process loses all of its runs at once. */
const BLOCKED_KEPT = 1_000;

export interface Suspects {
  /** Calls `begin`, or returns `deferred` while another suspect is running. */
  takeOver(begin: () => Promise<Begun>): Promise<TakenOver | "deferred">;
  /** Notes that the event loop of this process was blocked until its lease on the task expired. */
  blocked(taskId: string): void;
  /** Whether that happened lately. Other processes' losses are not known here. */
  hasBlocked(taskId: string): boolean;
}

/** The error of a task that is not tried again. `what` was lost: the task, or its compensation. */
export function poisoned(what: string, takeovers: number, isKnownToBlock: boolean): ParleyError {
  const lost = `${takeovers === 1 ? "a worker" : `${takeovers} workers in a row`} lost ${what}`;
  const message = isKnownToBlock
    ? `code blocked the event loop of a worker for longer than its lease (PARLEY_LEASE); ${lost} (PARLEY_TAKEOVERS_MAX)`
    : `${lost}: ${takeovers === 1 ? "it" : "each"} died, or its event loop was blocked for longer than its lease (PARLEY_TAKEOVERS_MAX)`;
  return new ParleyError("POISONED", message);
}

export interface TakenOver {
  readonly begun: Begun;
  /** Call it when the task is no longer a suspect. */
  readonly cleared: () => void;
}

/** Whether beginning the run would make the task a suspect. */
export function isSuspect(task: Task | undefined, run: number): boolean {
  return task !== undefined && task.run === run && (task.takeovers ?? 0) + 1 >= SUSPECT_FROM;
}

export function createSuspects({ sleep }: Pick<Clock, "sleep">): Suspects {
  let atWork: AbortController | undefined;
  const blocked = new Set<string>();

  return {
    blocked(taskId) {
      blocked.add(taskId);
      for (const oldest of blocked) if (blocked.size > BLOCKED_KEPT) blocked.delete(oldest);
    },
    hasBlocked: (taskId) => blocked.has(taskId),
    async takeOver(begin) {
      if (atWork) return "deferred";
      const own = new AbortController();
      atWork = own;
      const cleared = () => {
        if (atWork === own) atWork = undefined;
        own.abort();
      };
      void sleep(ALONE_MS, own.signal).then(cleared);
      try {
        const begun = await begin();
        if (begun.type === "refused") cleared();
        return { begun, cleared };
      } catch (error) {
        cleared();
        throw error;
      }
    },
  };
}
