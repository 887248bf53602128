/**
 * The reason for aborting a wait that is over. `abort()` without a reason creates an exception with a stack trace,
 * which costs more than most waits.
 */
export const OVER = "over";
