/** How soon a question closes, as the server writes it and the script counts on. */

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

/** Filters of the list, by the word in its address: closes within so long. */
export const CLOSES_MS = { hour: HOUR_MS, day: DAY_MS } as const;

export const HASTES = ["soon", "wait", "later"] as const;

/** Class of the mark that says how long is left. */
export function haste(leftMs: number): (typeof HASTES)[number] {
  if (leftMs < HOUR_MS) return "soon";
  return leftMs < DAY_MS ? "wait" : "later";
}
