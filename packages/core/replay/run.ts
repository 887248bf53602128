/**
 * What every part of a run has at hand: what the run was given, whether it is over, and how to end it.
 *
 * A part receives it first, and second the other parts that it works with: `createWaits(run, { records, settling })`.
 */
import type { Ending } from "./end.ts";
import type { ReplayRequest } from "./request.ts";

export interface Run extends ReplayRequest {
  readonly ending: Ending;
  /** Aborted when the run is over: timers stop, and work in flight is told to stop. The handler's signal, too. */
  readonly over: AbortSignal;
  /** Ends the run with an error that no `catch` of the handler sees. */
  stop(this: void, error: unknown): void;
  /** Ends the run as diverged. Without arguments: by the calls that are missing now, and the first new thing that the handler did. */
  diverged(this: void, recorded?: string, found?: string): void;
  /** The handler or an effect made progress. */
  touched(this: void): void;
}
