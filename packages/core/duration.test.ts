import { describe, expect, test, vi } from "vitest";
import { durationSetting, parseDuration } from "./duration.ts";

describe("parseDuration", () => {
  test.each([
    [250, 250],
    [0, 0],
    ["250ms", 250],
    ["30s", 30_000],
    ["1.5h", 5_400_000],
    ["2d", 172_800_000],
    ["2 days", 172_800_000],
    ["1 hour", 3_600_000],
    ["10 minutes", 600_000],
    [" 5 m ", 300_000],
  ])("reads %j as %d ms", (duration, ms) => {
    expect(parseDuration(duration)).toBe(ms);
  });

  test.each(["", "soon", "5", "-3s", "5 weeks", "1h30m", "constructor", "1 constructor", -1, Number.NaN, Infinity])(
    "refuses %j and shows it",
    (duration) => {
      expect(() => parseDuration(duration)).toThrow(/is not a duration: give milliseconds/);
    },
  );
});

describe("durationSetting", () => {
  test.each([
    ["250", 250],
    [" 250 ", 250],
    ["0", 0],
    ["30s", 30_000],
  ])("reads %j as %d ms", (text, ms) => {
    const addIssue = vi.fn();
    expect(durationSetting(text, { addIssue })).toBe(ms);
    expect(addIssue).not.toHaveBeenCalled();
  });

  test.each(["", " ", "1.5", "-3", "1e3", "0x10", "soon"])("refuses %j and shows it", (text) => {
    const addIssue = vi.fn();
    durationSetting(text, { addIssue });
    expect(addIssue.mock.calls).toEqual([[expect.stringMatching(/is not a duration: give milliseconds/)]]);
  });
});
