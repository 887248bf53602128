/**
 * The course of a handler: its settlements, and the drains between them.
 *
 *   start ─▶ drain 0 ─▶ (1) ─▶ drain 1 ─▶ (2) ─▶ drain 2 …          (n): the n-th effect settles for the handler
 *
 * A drain is everything that the handler does in promise reactions before anything else can happen in the process. Two effects never settle
 * in one drain. Calls in drain n therefore depend on the first n settlements and on nothing else, in every run (I11).
 *
 * A handler that has awaited something outside ctx continues between two drains, at a moment that differs from run to run, or in a drain in
 * which it already ran (line.ts). `at` tells its calls from those that follow from the settlement.
 *
 * A run that is stuck may settle effects *out of turn*, to find out what keeps it. It does nothing new after that, and is thrown away (at-rest.ts).
 */
import type { CalledAt } from "../journal.ts";
import type { Clock } from "../ports.ts";
import type { Line } from "./line.ts";

/** Drains in a row before the event loop gets a turn, and with it all other runs of the process. */
const DRAINS_IN_A_ROW = 200;

export interface Course {
  /** How many effects have settled for the handler. */
  readonly settled: number;
  /** What is recorded as the origin of a call made now. `isOutside`: after an await of something outside ctx. */
  at(isOutside: boolean): CalledAt;
  /** Runs the handler to the end of drain 0, then calls `drained`. */
  start(handler: () => void): void;
  /** Settles the next effect and runs the handler to the end of that drain, then calls `drained`. The caller waits for `drained` before it settles again. */
  settle(settle: () => void): void;
  /** The same, for an effect whose turn it is not. `promise`: what the handler has been given for it. */
  settleOutOfTurn(effect: { readonly place: number; readonly promise: object }, settle: () => void): void;
  /** The effect that has settled out of turn and let the code go on that runs now; undefined if none has. */
  outOfTurn(): OutOfTurn | undefined;
}

/** An effect that has settled out of turn. */
export interface OutOfTurn {
  readonly place: number;
  /** Whether the code with that owner may have gone on by itself (line.ts). */
  readonly goesOnByItself: (owner: object) => boolean;
}

export interface CourseOptions {
  readonly clock: Pick<Clock, "afterMicrotasks" | "idle">;
  readonly line: Pick<Line, "drain" | "drained" | "goesOnByItself">;
  /** Called at the end of every drain. */
  readonly drained: () => void;
}

export function createCourse({ clock, line, drained }: CourseOptions): Course {
  let inARow = 0;
  let outOfTurn: OutOfTurn | undefined;

  function drain(work: () => void): void {
    // Reactions that are ready by now belong to what came before, so they run first.
    clock.afterMicrotasks(() => {
      line.drain(work);
      clock.afterMicrotasks(() => {
        outOfTurn = undefined;
        line.drained();
        drained();
      });
    });
  }

  // The parts of a run are plain data and functions. V8 gives every object with getters a shape of its own, which slows down its readers and
  // keeps the run in memory until the next full garbage collection.
  const course = {
    settled: 0,
    at: (isOutside: boolean) => (isOutside ? `${course.settled}o` : String(course.settled)),
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
    settleOutOfTurn: ({ place, promise }: { readonly place: number; readonly promise: object }, settle: () => void) =>
      drain(() => {
        outOfTurn = { place, goesOnByItself: line.goesOnByItself(promise) };
        settle();
      }),
    outOfTurn: () => outOfTurn,
  };
  return course;
}

/** How many effects had settled when the call was made. */
export function settledBefore(calledAt: CalledAt): number {
  return Number.parseInt(calledAt, 10);
}

/** Whether the call was made after an await of something outside ctx. */
export function isFromOutside(calledAt: CalledAt): boolean {
  return calledAt.includes("o");
}

/** The item of a Promise.all that called: `3:1.0`. Undefined for none, and if it was not known. Versions before lines noted it after an await, as `3o:1.0`. */
export function itemOf(calledAt: CalledAt): string | undefined {
  return calledAt.split(":")[1];
}
