/** Why a wait is over, as a reason for `abort`: without one it makes an exception with a stack trace, which is more work than most waits. */
export const OVER = "over";
