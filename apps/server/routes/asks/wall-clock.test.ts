import { expect, test } from "vitest";
import { inZone, toZone } from "./wall-clock.ts";

test.each([
  ["2026-12-24T19:30", "Europe/Berlin", "2026-12-24T18:30:00Z"],
  ["2026-07-01T00:00:07", "Pacific/Kiritimati", "2026-06-30T10:00:07Z"],
  ["2026-07-01T23:59", "Pacific/Pago_Pago", "2026-07-02T10:59:00Z"],
  ["2026-02-28T12:00", "Asia/Kathmandu", "2026-02-28T06:15:00Z"],
  // Shown twice: the first time.
  ["2026-10-25T02:30", "Europe/Berlin", "2026-10-25T00:30:00Z"],
  ["2026-12-24T19:30", "UTC", "2026-12-24T19:30:00Z"],
  // As people type it where the browser has no control for it.
  ["2026-12-24 19:30", "Europe/Berlin", "2026-12-24T18:30:00Z"],
  // Skipped.
  ["2026-03-29T02:30", "Europe/Berlin", undefined],
  ["soon", "Europe/Berlin", undefined],
  // JavaScript would read the last as the first day of 2001, and those before as a day of the month after.
  ["2026-02-30T10:00", "Europe/Berlin", undefined],
  ["2026-11-31T10:00", "UTC", undefined],
  ["1", "Europe/Berlin", undefined],
])("%s in %s is %s", (local, zone, moment) => {
  expect(inZone(local, zone)).toBe(moment);
});

test("every moment is shown and read back as the same, or as the first time that the clock shows it", () => {
  const zones = ["Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe", "UTC"];
  for (const zone of zones) {
    for (let ms = Date.UTC(2026, 0, 1); ms < Date.UTC(2027, 0, 1); ms += 97_777_000) {
      const shown = toZone(ms, zone);
      const read = Date.parse(inZone(shown, zone) ?? "");
      expect(toZone(read, zone)).toBe(shown);
      expect(read).toBeLessThanOrEqual(ms);
    }
  }
});
