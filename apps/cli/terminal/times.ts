/** Formats times for people: how long ago, or how long until, in one unit. */
const UNITS = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1_000],
] as const;

const words = new Intl.RelativeTimeFormat("en", { numeric: "always" });

/** `3 minutes ago`, `in 2 days`. A unit is used from two of it on, so that 90 minutes are not shown as one hour. */
export function relative(atMs: number, nowMs: number): string {
  const ms = atMs - nowMs;
  const [unit, size] = UNITS.find(([, each]) => Math.abs(ms) >= 2 * each) ?? (["second", 1_000] as const);
  const count = Math.trunc(ms / size);
  return count === 0 ? "now" : words.format(count, unit);
}

const lengths = (unit: string) => new Intl.NumberFormat("en", { style: "unit", unit, unitDisplay: "long", maximumFractionDigits: 1 });

/** `3 minutes`, `0.4 seconds`, in the same units. */
export function duration(ms: number): string {
  const [unit, size] = UNITS.find(([, each]) => ms >= 2 * each) ?? (["second", 1_000] as const);
  return lengths(unit).format(unit === "second" ? ms / size : Math.trunc(ms / size));
}

/** `2026-11-23T00:49:12Z, 3 minutes ago`. */
export function moment(atMs: number, nowMs: number): string {
  return `${new Date(atMs).toISOString().replace(/\.\d+Z$/, "Z")}, ${relative(atMs, nowMs)}`;
}
