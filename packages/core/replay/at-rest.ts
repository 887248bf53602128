/**
 * Watches for the moment at which the handler is at rest: a whole turn of the event loop has passed without activity.
 *
 *   live, nothing in flight    the run parks if anything is open (R4)
 *   records still ahead        if the handler waits for ctx alone, nothing can change any more: the run looks again, at growing intervals, and has
 *                              diverged when its patience runs out (R2). If it waits for something outside, that may take all the time of the run.
 *                              It may also be a lock that one item holds and another has to take first, since what they read came in another order
 *                              than before. Nothing tells the one from the other but letting it go on: what the first item waits for settles out
 *                              of turn. If that makes a call come at once that should have come before, the items wait for one another, and the
 *                              run is refused (C6). If not, or if what it waits for is open or new and so cannot settle, the run is thrown away.
 *                              The next one may read in the recorded order again. It waits longer, so that what is slow comes in the end
 *   neither                    the handler awaits something outside ctx, and the next activity starts the watch again
 */
import type { Divergence } from "./divergence.ts";
import type { Line } from "./line.ts";
import type { Recollection } from "./recollection.ts";
import type { Run } from "./run.ts";
import { aside } from "./running-code.ts";
import type { Settling } from "./settling.ts";

/**
 * By how much the patience is multiplied for a handler that awaits something outside ctx. A value that was cached when the journal was written may have
 * to be fetched this time.
 */
const PATIENCE_OUTSIDE = 12;

/** Intervals between two looks at a run with records ahead: each is twice as long as the one before, up to the maximum. */
const LOOK_FIRST_MS = 10;
const LOOK_MAX_MS = 1_000;

export interface Rest {
  /** The handler or an effect made progress. */
  touched(): void;
}

export interface RestOptions {
  readonly settling: Settling;
  readonly recollection: Pick<Recollection, "isAheadOutside">;
  readonly line: Pick<Line, "isTraced" | "awaitsOutside" | "hasOutsideBeside" | "isAtGate">;
  readonly divergence: Pick<Divergence, "isLikely">;
  /** Whether an effect is in flight, or a short sleep runs on this worker. */
  readonly isAtWork: () => boolean;
  /** Parks the run if anything is open. */
  readonly park: () => void;
  /** Ends the run, to be continued by one whose line is traced. */
  readonly traceFirst: () => void;
  /** How long the handler may wait for what may be a lock of its own. */
  readonly lockWaitMs: () => number;
  /** Ends the run, to be continued by one that waits longer. */
  readonly startOver: () => void;
}

export function createRest(
  run: Run,
  { settling, recollection, line, divergence, isAtWork, park, traceFirst, lockWaitMs, startOver }: RestOptions,
): Rest {
  const { settings, ending, over, diverged } = run;
  const { clock } = run.ports;
  const { isOver } = ending;
  let activity = 0;
  let isWatching = false;

  async function watch(): Promise<void> {
    isWatching = true;
    let stuckAtMs: number | undefined;
    /** Since when it has waited for ctx alone. */
    let insideAtMs: number | undefined;
    let lookMs = LOOK_FIRST_MS;
    let seen = activity;
    for (;;) {
      await clock.idle();
      // While the engine is busy, its next settlement touches again.
      if (isOver() || settling.isBusy()) break;
      // Any activity since the last look restarts the patience: the run makes progress, however slowly.
      if (activity !== seen) {
        seen = activity;
        stuckAtMs = undefined;
        insideAtMs = undefined;
        continue;
      }
      if (settling.isOutOfTurn()) {
        if (!settling.settleOutOfTurn()) startOver();
        break;
      }
      if (settling.isLive()) {
        if (!isAtWork()) park();
        break;
      }
      // A function that nobody awaits counts only where it may make the next recorded call.
      const isOutside = line.awaitsOutside() || (recollection.isAheadOutside() && line.hasOutsideBeside());
      // A handler that has done nothing new may take all the time of the run to reach its recorded calls. One that has skipped a recorded patch
      // is older code, and must not keep the worker that long.
      const hasAllTime = isOutside && !divergence.isLikely();
      // The recorded calls may come behind what it awaits outside, so that nothing but the time of the run ends it.
      const isOpenEnded = hasAllTime || (isOutside && recollection.isAheadOutside());
      const mayComeOfLock = isOutside && (settling.isHolding() || (isOpenEnded && settling.isAwaited()));
      if (hasAllTime && !mayComeOfLock) break;
      const nowMs = clock.now();
      stuckAtMs ??= nowMs;
      // What it awaited outside has come at the end of a long time, and what follows from it is about to be done: that time does not count.
      insideAtMs = isOutside ? undefined : (insideAtMs ?? nowMs);
      const { divergenceWaitMs } = settings;
      const isInsideTooLong = insideAtMs !== undefined && nowMs - insideAtMs >= divergenceWaitMs;
      // A handler that awaits something outside ctx gets more time: a false alarm would fail a sound task.
      const isStuckTooLong = nowMs - stuckAtMs >= divergenceWaitMs * PATIENCE_OUTSIDE;
      if (mayComeOfLock && line.isAtGate() && nowMs - stuckAtMs >= lockWaitMs()) {
        if (!settling.settleOutOfTurn()) startOver();
        break;
      }
      if (!isOpenEnded && (isInsideTooLong || isStuckTooLong)) {
        if (line.isTraced) diverged();
        // Only a traced line knows what the handler waits for.
        else traceFirst();
        break;
      }
      await clock.sleep(lookMs, over);
      lookMs = Math.min(2 * lookMs, LOOK_MAX_MS);
    }
    isWatching = false;
  }

  return {
    touched() {
      activity += 1;
      // Code of the handler may have called this. What the watch waits for is not what the handler does (line.ts).
      if (!isWatching && !isOver()) void aside(watch);
    },
  };
}
