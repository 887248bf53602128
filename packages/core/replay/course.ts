/**
 * The course of a handler: what it calls, between one settlement and the next.
 *
 *   start ─▶ drain 0 ─▶ (1) ─▶ drain 1 ─▶ (2) ─▶ drain 2 …          (n): the n-th effect settles for the handler
 *
 * A drain is all that the handler does in promise reactions before anything else can happen in the process. Two effects never settle in one
 * drain, so what is called in drain n follows from what settled first, second … n-th and from nothing else, in every run (I11).
 * What a handler does after awaiting something outside ctx happens between the drains, whenever it likes; `at` tells the one from the other.
 */
import type { CalledAt } from "../journal.ts";
import type { Clock } from "../ports.ts";

/** Drains in a row before everybody else in the process has a turn. */
const DRAINS_IN_A_ROW = 200;

export interface Course {
  /** How many effects have settled for the handler. */
  readonly settled: number;
  readonly isInDrain: boolean;
  /** Where a call that is made now is called. */
  at(): CalledAt;
  /** Lets the handler go from its start to the end of drain 0, then calls `drained`. */
  start(handler: () => void): void;
  /** Settles the next effect, lets the handler go to the end of that drain, then calls `drained`. Never called twice at once. */
  settle(settle: () => void): void;
}

export function createCourse(clock: Pick<Clock, "afterMicrotasks" | "idle">, drained: () => void): Course {
  let inARow = 0;

  function drain(work: () => void): void {
    // A drain of its own: reactions that are ready already belong to what came before.
    clock.afterMicrotasks(() => {
      course.isInDrain = true;
      work();
      clock.afterMicrotasks(() => {
        course.isInDrain = false;
        drained();
      });
    });
  }

  // Data and functions, here and in what else a run is made of: an object with getters has a shape of its own in V8, which holds on to the
  // run until the next full collection, and makes slow what looks at it.
  const course = {
    settled: 0,
    isInDrain: false,
    at: () => (course.isInDrain ? String(course.settled) : `${course.settled}o`),
    start: drain,
    settle(settle: () => void) {
      const take = () =>
        drain(() => {
          course.settled += 1;
          settle();
        });
      inARow += 1;
      if (inARow < DRAINS_IN_A_ROW) return take();
      inARow = 0;
      void clock.idle().then(take);
    },
  };
  return course;
}

/** How many effects had settled when it was called. */
export function settledBefore(calledAt: CalledAt): number {
  return Number.parseInt(calledAt, 10);
}

export function isFromOutside(calledAt: CalledAt): boolean {
  return calledAt.includes("o");
}

/** By which items of Promise.all and its like a call was awaited (the Scope port); `""` where nothing tells. */
export function awaitedBy(calledAt: CalledAt): string {
  return calledAt.split(":")[1] ?? "";
}
