import type { RoomBytes } from "../callers/quotas.ts";

/** How much the store can still take. */
export interface Room {
  /** Whether what is left is kept for tasks that exist. Answers from what was measured last, and never waits. */
  isScarce(): boolean;
  /** How much room there is; undefined if it is not known, or not limited. Answers as `isScarce`. */
  bytes(): RoomBytes | undefined;
}
