/** Durations with units, as authors and settings write them: `"30s"`, `"2 days"`. */
const UNIT_MS = {
  ms: 1,
  millisecond: 1,
  milliseconds: 1,
  s: 1_000,
  second: 1_000,
  seconds: 1_000,
  m: 60_000,
  minute: 60_000,
  minutes: 60_000,
  h: 3_600_000,
  hour: 3_600_000,
  hours: 3_600_000,
  d: 86_400_000,
  day: 86_400_000,
  days: 86_400_000,
} as const;

type Unit = keyof typeof UNIT_MS;

/** A number with its unit: `"30s"`, `"1.5h"`, `"2 days"`. */
export type DurationText = `${number}${Unit}` | `${number} ${Unit}`;

/** Milliseconds as a number, or a number with its unit: `250`, `"30s"`, `"1.5h"`, `"2 days"`. */
export type Duration = number | DurationText;

const DURATION = /^(\d+(?:\.\d+)?) ?([a-z]+)$/;

/**
 * The longest timer of the platform: it counts in 31 bits (HTML, "timers"), and Node.js fires a longer one at once.
 * Wait for configurable durations with `Clock.sleep`, which has no such limit, or cap them at this.
 */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The duration in whole milliseconds. Throws a RangeError that shows the given value and the accepted forms. */
export function parseDuration(duration: Duration | string): number {
  if (typeof duration === "number") {
    if (Number.isFinite(duration) && duration >= 0) return Math.round(duration);
  } else if (typeof duration === "string") {
    const [, amount, unit = ""] = DURATION.exec(duration.trim()) ?? [];
    if (Object.hasOwn(UNIT_MS, unit)) return Math.round(Number(amount) * UNIT_MS[unit as Unit]);
  }
  throw new RangeError(
    `${typeof duration === "number" ? duration : (JSON.stringify(duration) ?? String(duration))} is not a duration: give milliseconds, or a number with ms, s, m, h or d, such as "30s" or "2 days"`,
  );
}

/** Whole milliseconds in the largest unit of which they are a whole number, as parseDuration reads them: `15 minutes`, `1 day`. */
export function durationOf(ms: number): DurationText {
  const unit = (["day", "hour", "minute", "second"] as const).find((each) => ms % UNIT_MS[each] === 0) ?? "millisecond";
  const count = ms / UNIT_MS[unit];
  return count === 1 ? `${count} ${unit}` : `${count} ${unit}s`;
}

/** Longer settings are mistakes. Added to the time, they would leave the numbers that Redis and dates can hold. */
const SETTING_MAX_DAYS = 36_500;

/**
 * parseDuration for settings, which must have a unit: of `3600`, the operator may mean seconds. For zod's `transform`: a
 * problem is added to the schema instead of thrown.
 */
export function durationSetting(text: string, schema: { addIssue(problem: string): void }): number {
  const amount = text.trim();
  if (/^\d+(?:\.\d+)?$/.test(amount)) {
    schema.addIssue(`${JSON.stringify(text)} has no unit: write ${amount}s for seconds, or ${amount} with ms, m, h or d`);
    return Number.NaN;
  }
  try {
    const ms = parseDuration(text);
    if (ms > SETTING_MAX_DAYS * UNIT_MS.day) schema.addIssue(`${JSON.stringify(text)} is too long: give at most ${SETTING_MAX_DAYS}d`);
    return ms;
  } catch {
    schema.addIssue(`${JSON.stringify(text)} is not a duration: write a number with ms, s, m, h or d, such as 30s or 2d`);
    return Number.NaN;
  }
}

/** durationSetting for settings that do harm when they are shorter. */
export function durationSettingFrom(min: DurationText): typeof durationSetting {
  return (text, schema) => {
    const ms = durationSetting(text, schema);
    if (ms < parseDuration(min)) schema.addIssue(`${JSON.stringify(text)} is too short: give at least ${min}`);
    return ms;
  };
}
