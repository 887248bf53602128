/** Wall clocks of time zones, as the control `datetime-local` reads and writes them: `2026-12-24T19:30`. */

import { isMoment } from "@parley/web/form";
import { DAY_MS } from "@parley/web/times";

/** What a clock in that zone shows at that moment, to the second. */
export function toZone(ms: number, zone: string): string {
  const parts = new Intl.DateTimeFormat("en-CA", {
    timeZone: zone,
    calendar: "iso8601",
    hourCycle: "h23",
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
  }).formatToParts(ms);
  const part = (type: Intl.DateTimeFormatPartTypes) => parts.find((each) => each.type === type)?.value ?? "";
  return `${part("year").padStart(4, "0")}-${part("month")}-${part("day")}T${part("hour")}:${part("minute")}:${part("second")}`;
}

/**
 * The moment at which a clock in that zone shows this, in UTC. Of two, which a clock that is set back shows twice, the earlier one. Undefined
 * for a time that it skips, and for what is no time.
 */
export function inZone(local: string, zone: string): string | undefined {
  if (!isMoment(`${local}Z`)) return undefined;
  const asUtc = Date.parse(`${local}Z`);
  const wanted = new Date(asUtc).toISOString().slice(0, 19);
  // Zones are at most 14 hours from UTC. A change of clocks lies between these offsets or beside them.
  const offsets = [-DAY_MS, 0, DAY_MS].map((around) => Date.parse(`${toZone(asUtc + around, zone)}Z`) - (asUtc + around));
  const moments = offsets.map((offset) => asUtc - offset).filter((ms) => toZone(ms, zone) === wanted);
  return moments.length === 0 ? undefined : new Date(Math.min(...moments)).toISOString().replace(".000Z", "Z");
}
