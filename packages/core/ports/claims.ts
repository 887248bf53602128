/** The port for work that only one process may do at a time. */

/**
 * Leases on names, for work that only one process may do at a time. Each claim expires after its `ms`, so a process
 * that dies blocks nothing.
 */
export interface Claims {
  /** Returns true if `holder` has the claim, now for `ms`. */
  take(name: string, holder: string, ms: number): Promise<boolean>;
  /** Returns true if anybody has the claim. */
  isTaken(name: string): Promise<boolean>;
  /** Releases the claim if `holder` still has it. */
  release(name: string, holder: string): Promise<void>;
}
