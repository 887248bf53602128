/**
 * What settles for the handler next.
 *
 *   recorded: place 1, 2, 3 … n ──▶ live ──▶ what has come since ──▶ what comes
 *
 *   S1  Recorded effects settle in the order of their places (R2). Until all did, and all that is recorded was called again, nothing new is
 *       done: `live` is not resolved.
 *   S2  What is new is given the next place as it settles, so the order of places is the order in which the handler saw it (I11).
 *   S3  A step's result is written before the handler sees it; results that are ready together are written together.
 *   S4  Wherever something else could have settled instead, the place is written before the next side effect (R3).
 */
import type { Entry, Journal } from "../journal.ts";
import type { Course } from "./course.ts";
import type { Recollection, Recorded } from "./recollection.ts";
import type { Records } from "./records.ts";

export interface Waiting {
  /** Settles the effect for the handler by its entry. */
  readonly settle: (entry: Entry) => void;
  /** Whether the handler has given it up: then a recorded withdrawal may settle. */
  readonly isWithdrawn: () => boolean;
}

interface Due extends Recorded {
  readonly isStep: boolean;
  /** Of a step's result: how far its entry is. */
  writing?: "begun" | "done";
}

export interface Settling {
  /** Resolves when everything recorded was called and has settled. */
  readonly live: Promise<void>;
  isLive(): boolean;
  /** Whether nothing is left that could settle now: a side effect waits for it, so that what is written before it is all there is. */
  isCalm(): boolean;
  calm(): Promise<void>;
  /** Whether something is about to settle, or to be written for it. */
  isBusy(): boolean;
  /** Whether the handler waits for the effect, and nothing has settled it. */
  isWaitedFor(id: string): boolean;
  /** The handler waits for an effect. */
  await(id: string, waiting: Waiting): void;
  /** An effect is to settle by this entry; in the order of the calls. */
  add(due: Recorded & { readonly isStep?: boolean }): void;
  /** Takes back what was added and has not settled. */
  drop(id: string): void;
  /** Settles the next effect if one can. Called whenever something has changed. */
  advance(): void;
  /** To be called at the end of each drain. */
  drained(): void;
  /** Results of steps that nothing was written of: for a run that ends. */
  leftOver(): readonly Recorded[];
  /** What keeps the run from being live, for the message of a divergence. */
  missing(): string;
}

export interface SettlingOptions {
  readonly course: Course;
  readonly recollection: Recollection;
  readonly records: Records;
  readonly journal: Journal;
  readonly isOver: () => boolean;
  /** Whether the run holds its task for sure (P6): behind its lease nothing new settles. */
  readonly isHeld: () => boolean | Promise<boolean>;
  /** What is to settle first once the run is live: what has come since the last run. */
  readonly arrived: () => readonly Recorded[];
}

export function createSettling({ course, recollection, records, journal, isOver, isHeld, arrived }: SettlingOptions): Settling {
  const waiting = new Map<string, Waiting>();
  const due: Due[] = [];
  const { promise: live, resolve: goLive } = Promise.withResolvers<void>();
  let hasGoneLive = false;
  // Drain 0 is on its way.
  let isBusy = true;
  let whenCalm: (() => void)[] = [];

  function isLive(): boolean {
    return hasGoneLive || (recollection.ahead.size === 0 && course.settled >= recollection.settled.length);
  }

  function advance(): void {
    if (isBusy || isOver()) return;
    const place = course.settled + 1;
    const recorded = recollection.settled[place - 1];
    if (recorded) {
      if (isReady(recorded, place)) settle(recorded);
      return;
    }
    if (!isLive()) return;
    if (!hasGoneLive) {
      hasGoneLive = true;
      // What the handler has given up meanwhile stays so.
      const found = arrived().filter(({ id }) => !due.some((each) => each.id === id));
      due.unshift(...found.map((each) => ({ ...each, isStep: false })));
      goLive();
    }
    const next = due[0];
    if (!next) {
      for (const resolve of whenCalm) resolve();
      whenCalm = [];
      return;
    }
    const held = isHeld();
    if (held !== true) {
      void waitForHold(held);
      return;
    }
    if (next.isStep && next.writing !== "done") {
      void writeSteps(place);
      return;
    }
    due.shift();
    if (!next.isStep) {
      if (waiting.size > 1) records.mustBeSaved(); // S4
      records.note({ key: next.id, entry: { ...next.entry, place }, ...(journal.has(next.id) && { known: true as const }) });
      if (isOver()) return;
    }
    settle(next);
  }

  function isReady({ id, entry }: Recorded, place: number): boolean {
    const awaited = waiting.get(id);
    return awaited !== undefined && recollection.isCalledBefore(place) && (entry.withdrawn !== true || awaited.isWithdrawn());
  }

  async function writeSteps(place: number): Promise<void> {
    const behind = due.findIndex(({ isStep }) => !isStep);
    const steps = behind === -1 ? [...due] : due.slice(0, behind);
    isBusy = true;
    for (const step of steps) step.writing = "begun";
    await records.write(steps.map(({ id, entry }, index) => ({ key: id, entry: { ...entry, place: place + index } })));
    for (const step of steps) step.writing = "done";
    isBusy = false;
    advance();
  }

  async function waitForHold(held: boolean | Promise<boolean>): Promise<void> {
    isBusy = true;
    await held;
    isBusy = false;
    advance();
  }

  function settle({ id, entry }: Recorded): void {
    isBusy = true;
    // From here on it has its place: it can no longer be withdrawn.
    const awaited = waiting.get(id);
    waiting.delete(id);
    course.settle(() => {
      if (!isOver()) awaited?.settle(entry);
    });
  }

  function isCalm(): boolean {
    return !isBusy && due.length === 0;
  }

  return {
    live,
    isLive,
    isCalm,
    calm() {
      if (isCalm()) return Promise.resolve();
      return new Promise((resolve) => whenCalm.push(resolve));
    },
    isBusy: () => isBusy || (due.length > 0 && isLive()),
    isWaitedFor: (id) => waiting.has(id),
    await: (id, awaited) => void waiting.set(id, awaited),
    add({ id, entry, isStep = false }) {
      due.push({ id, entry, isStep });
      advance();
    },
    drop(id) {
      const index = due.findIndex((each) => each.id === id);
      if (index !== -1) due.splice(index, 1);
    },
    advance,
    drained() {
      isBusy = false;
      advance();
    },
    leftOver: () => due.filter(({ isStep, writing }) => isStep && writing === undefined),
    missing() {
      if (recollection.ahead.size > 0) return `${[...recollection.ahead].join(", ")} (not called again)`;
      const next = recollection.settled[course.settled];
      return next?.entry.withdrawn ? `the withdrawal of ${next.id}` : "nothing more";
    },
  };
}
