/** How much the store can still take. */
export interface Room {
  /** Whether what is left is kept for tasks that exist. Answers from what was measured last, and never waits. */
  isScarce(): boolean;
}
