/**
 * Which effect settles for the handler next.
 *
 *   recorded: place 1, 2, 3 … n ──▶ live ──▶ arrived since the last run ──▶ new
 *
 *   S1  Recorded effects settle in the order of their places (R2). The run is live, and may do something new, once all of them have settled
 *       and every recorded call has been made again.
 *   S2  A new effect gets the next place when it settles, so places are in the order in which the handler saw the settlements (I11).
 *   S3  The result of a step is written before the handler sees it. Results that are ready together are written together. A result that is
 *       `isRecordedLater` settles first and goes out with the next write, at the latest before the next side effect.
 *   S4  If another effect could have settled instead, the place is written before the next side effect (R3). So could one that code calls which is
 *       still reading something outside ctx.
 *   S5  Nothing new settles unless the run is sure to hold its task (R7).
 *
 * `settleOutOfTurn` breaks S1 for a run that is stuck, and never gets live after that.
 */
import type { Entry, Journal } from "../journal.ts";
import type { Course } from "./course.ts";
import type { Recollection } from "./recollection.ts";
import type { Recorded } from "./recorded-calls.ts";
import type { Records } from "./records.ts";

/** An effect that the handler waits for. */
export interface Waiting {
  /** What the handler has been given. */
  readonly promise: object;
  /** Settles the effect for the handler, with its entry. */
  readonly settle: (entry: Entry) => void;
  /** Whether the handler has withdrawn it. A recorded withdrawal settles only then. */
  readonly isWithdrawn: () => boolean;
}

/** An effect that is ready to settle. `isStep`: its entry is written first, unless it is `isLater` (S3). */
interface Due extends Recorded {
  readonly isStep: boolean;
  readonly isLater?: boolean;
  /** How far the write of a step's result has got. */
  writing?: "begun" | "done";
}

export interface Settling {
  /** Resolves when every recorded call was made again and has settled (S1). */
  readonly live: Promise<void>;
  isLive(): boolean;
  /** Whether nothing could settle now. A side effect waits for this, so that everything before it is written. */
  isCalm(): boolean;
  /** Resolves when that is so; it may no longer be by the time the caller continues. */
  calm(): Promise<void>;
  /** Whether an effect is about to settle, or is being written first. */
  isBusy(): boolean;
  /** Whether the handler waits for the effect, and it has no place yet. */
  isWaitedFor(id: string): boolean;
  /** Registers an effect that the handler waits for. */
  await(id: string, waiting: Waiting): void;
  /** Makes an effect ready to settle with this entry. Effects settle in the order in which they were added. */
  add(due: Recorded & Partial<Pick<Due, "isStep" | "isLater">>): void;
  /** Removes an effect that was added and has not settled. */
  drop(id: string): void;
  /** Settles the next effect if one can settle. To be called after every change. */
  advance(): void;
  /** To be called at the end of every drain. */
  drained(): void;
  /** Whether any effect has been called and has not settled. */
  isAwaited(): boolean;
  /** Whether any of them has its outcome, and waits for those before it. */
  isHolding(): boolean;
  /**
   * Settles the first of these, although it is not its turn. Returns whether there was one. The run never gets live, and must be thrown away.
   */
  settleOutOfTurn(): boolean;
  isOutOfTurn(): boolean;
  /** Results of steps whose write has not begun, for a run that ends. */
  leftOver(): readonly Recorded[];
  /** What keeps the run from going live, for the message of a divergence. */
  missing(): string;
}

export interface SettlingOptions {
  readonly course: Course;
  readonly recollection: Recollection;
  readonly records: Records;
  readonly journal: Journal;
  readonly isOver: () => boolean;
  /** Whether the run is sure to hold its task, after a renewal if in doubt (R7). */
  readonly isHeld: () => boolean | Promise<boolean>;
  /** Whether code awaits something outside ctx, after which it may call effects that would settle. */
  readonly mayCallMeanwhile: () => boolean;
  /** What arrived since the last run, which settles first once the run is live. */
  readonly arrived: () => readonly Recorded[];
}

export function createSettling({
  course,
  recollection,
  records,
  journal,
  isOver,
  isHeld,
  mayCallMeanwhile,
  arrived,
}: SettlingOptions): Settling {
  const waiting = new Map<string, Waiting>();
  const due: Due[] = [];
  const { promise: live, resolve: goLive } = Promise.withResolvers<void>();
  let hasGoneLive = false;
  let isOutOfTurn = false;
  // True from the start, until the end of drain 0.
  let isBusy = true;
  let whenCalm: (() => void)[] = [];

  function isLive(): boolean {
    return hasGoneLive || (!isOutOfTurn && recollection.ahead.size === 0 && course.settled >= recollection.settled.length);
  }

  function advance(): void {
    if (isBusy || isOver() || isOutOfTurn) return;
    const place = course.settled + 1;
    const recorded = recollection.settled[place - 1];
    if (recorded) {
      if (isReady(recorded, place)) settle(recorded);
      return;
    }
    if (!isLive()) return;
    if (!hasGoneLive) {
      hasGoneLive = true;
      // An effect that the handler withdrew while it replayed stays withdrawn.
      const since = arrived().filter(({ id }) => !due.some((each) => each.id === id));
      due.unshift(...since.map((each) => ({ ...each, isStep: false })));
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
    if (isWrittenFirst(next) && next.writing !== "done") {
      void writeSteps(place);
      return;
    }
    due.shift();
    if (!isWrittenFirst(next)) {
      if (next.isLater === true) records.mustBeSaved(); // S3
      if (waiting.size > 1 || mayCallMeanwhile()) records.mustBeSaved(); // S4
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
    const firstOther = due.findIndex((each) => !isWrittenFirst(each));
    const steps = firstOther === -1 ? [...due] : due.slice(0, firstOther);
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

  function settle({ id, entry }: Recorded, by = course.settle): void {
    isBusy = true;
    // The effect has its place from here on, and can no longer be withdrawn.
    const awaited = waiting.get(id);
    waiting.delete(id);
    by(() => {
      if (!isOver()) awaited?.settle(entry);
    });
  }

  function held(): Recorded | undefined {
    const arrivedSince = recollection.arrived.filter(({ id }) => waiting.get(id)?.isWithdrawn() === false);
    return [...recollection.settled.slice(course.settled), ...arrivedSince].find(
      ({ id, entry }) => entry.withdrawn !== true && waiting.has(id),
    );
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
    add({ id, entry, isStep = false, isLater = false }) {
      due.push({ id, entry, isStep, isLater });
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
    isAwaited: () => waiting.size > 0,
    isHolding: () => held() !== undefined,
    settleOutOfTurn() {
      isOutOfTurn = true;
      const next = held();
      const awaited = next && waiting.get(next.id);
      if (!next || !awaited) return false;
      // What has arrived since the last run comes after everything that is recorded.
      const place = next.entry.place ?? Number.POSITIVE_INFINITY;
      settle(next, (work) => course.settleOutOfTurn({ place, promise: awaited.promise }, work));
      return true;
    },
    isOutOfTurn: () => isOutOfTurn,
    leftOver: () => due.filter(({ isStep, writing }) => isStep && writing === undefined),
    missing() {
      if (recollection.ahead.size > 0) return `${[...recollection.ahead].join(", ")} (not called again)`;
      const next = recollection.settled[course.settled];
      return next?.entry.withdrawn ? `the withdrawal of ${next.id}` : "nothing more";
    },
  };
}

function isWrittenFirst({ isStep, isLater = false }: Due): boolean {
  return isStep && !isLater;
}
