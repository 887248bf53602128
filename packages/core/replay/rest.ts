/** Whether the handler has come to rest (R4), or does not come back to what was recorded (R2). */
import type { Clock } from "../ports.ts";
import type { Settings } from "../settings.ts";
import type { Divergence } from "./divergence.ts";
import type { Recollection } from "./recollection.ts";
import type { Settling } from "./settling.ts";

/** What was at hand when it was recorded may have to be fetched now, by a handler that awaits things outside ctx: how much longer it has. */
const PATIENCE_OUTSIDE = 12;

/** How often a run that waits for recorded work to be called again looks: soon at first, then each second. */
const CATCH_UP_FIRST_MS = 10;
const CATCH_UP_MAX_MS = 1_000;

export interface Rest {
  /** Something of ctx has changed. */
  touched(): void;
}

export interface RestOptions {
  readonly clock: Clock;
  readonly settings: Pick<Settings, "divergenceWaitMs">;
  readonly settling: Settling;
  readonly recollection: Pick<Recollection, "hasOutside" | "isAheadOutside">;
  readonly divergence: Pick<Divergence, "isLikely">;
  /** Whether anything of ctx is in flight, or sleeps on this worker. */
  readonly isAtWork: () => boolean;
  readonly isOver: () => boolean;
  /** Aborted when the run is over: timers end. */
  readonly over: AbortSignal;
  readonly park: () => void;
  readonly diverged: () => void;
}

export function createRest(options: RestOptions): Rest {
  const { clock, settings, settling, recollection, divergence, isAtWork, isOver, over, park, diverged } = options;
  let activity = 0;
  let isWatching = false;

  /** Parks the run when it has come to rest (R4), and ends it when it does not come back to what was recorded (R2). */
  async function watch(): Promise<void> {
    isWatching = true;
    let stuckAtMs: number | undefined;
    let lookMs = CATCH_UP_FIRST_MS;
    let seen = activity;
    for (;;) {
      await clock.idle();
      // Everything that continues now touches again when it is done.
      if (isOver() || settling.isBusy()) break;
      // Since the last look, however long ago: a run that comes further has its patience anew.
      if (activity !== seen) {
        seen = activity;
        stuckAtMs = undefined;
        continue;
      }
      if (settling.isLive()) {
        if (!isAtWork()) park();
        break;
      }
      // The handler is busy with work of its own, and has done nothing that was not recorded: it has all the time of the run. One that has
      // passed a recorded decision without a word is older code, and need not keep its worker as long.
      if (!divergence.isLikely()) break;
      stuckAtMs ??= clock.now();
      // A branch that awaits something outside ctx has its time too: a false alarm would fail a sound task.
      const patienceMs = settings.divergenceWaitMs * (recollection.hasOutside() ? PATIENCE_OUTSIDE : 1);
      if (!recollection.isAheadOutside() && clock.now() - stuckAtMs >= patienceMs) {
        diverged();
        break;
      }
      await clock.sleep(lookMs, over);
      lookMs = Math.min(2 * lookMs, CATCH_UP_MAX_MS);
    }
    isWatching = false;
  }

  return {
    touched() {
      activity += 1;
      if (!isWatching && !isOver()) void watch();
    },
  };
}
