/**
 * Which of the tasks under which a worker died is the one that kills?
 *
 * A worker that dies takes all its runs along, and each of them counts a takeover, the guilty one and its neighbours alike. So from the second
 * takeover in a row on a task is a suspect, and in one process at most one suspect is at work:
 *
 *   S1  While one is, no other is taken over here. It is left to the sweep, which adds it again each second, here or elsewhere. It is not
 *       begun, so it holds no slot, and if the process dies again its count has not grown.
 *   S2  It is cleared when its count ends (it recorded something, or its run ended), and by time: a machine that failed twice must not
 *       make a hundred long runs wait for each other.
 *
 * If the worker dies again, it was the suspect's doing, or that of a task which has not been taken over so often: the neighbours' counts stand
 * still, and the guilty one reaches `takeoversMax` alone.
 */
import type { Begun, Clock } from "../ports.ts";
import type { Task } from "../task.ts";

/** From this takeover in a row on. */
const SUSPECT_FROM = 2;

/** What ends its worker mostly does so in seconds. */
const ALONE_MS = 30_000;

export interface Suspects {
  /** Calls `begin`, or says `deferred` while another suspect is at work. */
  takeOver(begin: () => Promise<Begun>): Promise<TakenOver | "deferred">;
}

export interface TakenOver {
  readonly begun: Begun;
  /** To be called when the task is no suspect any more. */
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
