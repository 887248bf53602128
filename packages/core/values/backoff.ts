const DAY_MS = 24 * 60 * 60 * 1_000;

/**
 * Wait before the next attempt, in milliseconds: `firstMs`, doubled after each failed attempt, up to a day, or to
 * `firstMs` if that is longer.
 */
export function backoff(firstMs: number, failed: number): number {
  return Math.min(firstMs * 2 ** failed, Math.max(firstMs, DAY_MS));
}
