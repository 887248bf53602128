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
import type { Begun, Clock } from "../ports.ts";
import type { Task } from "../task.ts";

/** Number of consecutive takeovers that makes a task a suspect. */
const SUSPECT_FROM = 2;

/** A task that kills its worker mostly does so within seconds. */
const ALONE_MS = 30_000;

export interface Suspects {
  /** Calls `begin`, or returns `deferred` while another suspect is running. */
  takeOver(begin: () => Promise<Begun>): Promise<TakenOver | "deferred">;
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

  return {
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
