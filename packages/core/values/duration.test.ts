import { describe, expect, test, vi } from "vitest";
import { durationSetting, durationSettingFrom, LONGEST_TIMER_MS, durationOf, parseDuration } from "./duration.ts";

describe("parseDuration", () => {
  test.each([
    [250, 250],
    [0, 0],
    ["250ms", 250],
    ["30s", 30_000],
    ["1.5h", 5_400_000],
    ["0.25s", 250],
    ["10.125 s", 10_125],
    [0.5, 1],
    ["0.5ms", 1],
    ["2d", 172_800_000],
    ["2 days", 172_800_000],
    ["1 hour", 3_600_000],
    ["10 minutes", 600_000],
    [" 5 m ", 300_000],
  ])("reads %j as %d ms", (duration, ms) => {
    expect(parseDuration(duration)).toBe(ms);
  });

  test.each([
    "",
    "soon",
    "5",
    "-3s",
    "1.s",
    "5 S",
    "a 5s",
    "5s!",
    "5  s",
    "5 weeks",
    "1h30m",
    "constructor",
    "1 constructor",
    -1,
    Number.NaN,
    Infinity,
  ])("refuses %j and shows it", (duration) => {
    expect(() => parseDuration(duration)).toThrow(/is not a duration: give milliseconds/);
  });
});

test("a value that is not a duration is shown as it was given", () => {
  const says = 'is not a duration: give milliseconds, or a number with ms, s, m, h or d, such as "30s" or "2 days"';
  expect(() => parseDuration("soon")).toThrow(new RangeError(`"soon" ${says}`));
  expect(() => parseDuration(-1)).toThrow(new RangeError(`-1 ${says}`));
  expect(() => parseDuration(Infinity)).toThrow(new RangeError(`Infinity ${says}`));
  // Not every author has types.
  for (const given of [undefined, null, {}] as never[]) expect(() => parseDuration(given)).toThrow(says);
});

test("the longest timer is the longest that fires in time", () => {
  expect(LONGEST_TIMER_MS).toBe(2_147_483_647);
});

describe("durationSetting", () => {
  test.each([
    ["250ms", 250],
    [" 250 ms ", 250],
    ["0s", 0],
    ["30s", 30_000],
    ["2 days", 172_800_000],
  ])("reads %j as %d ms", (text, ms) => {
    const addIssue = vi.fn();
    expect(durationSetting(text, { addIssue })).toBe(ms);
    expect(addIssue).not.toHaveBeenCalled();
  });

  test.each(["", " ", "-3", "1e3", "0x10", "soon"])("refuses %j and shows it", (text) => {
    const addIssue = vi.fn();
    durationSetting(text, { addIssue });
    expect(addIssue.mock.calls).toEqual([
      [`${JSON.stringify(text)} is not a duration: write a number with ms, s, m, h or d, such as 30s or 2d`],
    ]);
  });

  test.each([
    ["3600", "3600"],
    [" 250 ", "250"],
    ["1.5", "1.5"],
    ["0", "0"],
  ])("refuses %j, which has no unit, and says what to write", (text, amount) => {
    const addIssue = vi.fn();
    expect(durationSetting(text, { addIssue })).toBeNaN();
    expect(addIssue.mock.calls).toEqual([
      [`${JSON.stringify(text)} has no unit: write ${amount}s for seconds, or ${amount} with ms, m, h or d`],
    ]);
  });

  test("reads up to a hundred years and refuses more, which neither Redis nor a date could hold", () => {
    const addIssue = vi.fn();
    expect(durationSetting("36500d", { addIssue })).toBe(3_153_600_000_000);
    expect(addIssue).not.toHaveBeenCalled();
    durationSetting("36501d", { addIssue });
    expect(addIssue).toHaveBeenCalledExactlyOnceWith('"36501d" is too long: give at most 36500d');
  });

  test("has a shortest value where a shorter one would do harm", () => {
    const addIssue = vi.fn();
    const read = durationSettingFrom("1s");
    expect(read("1s", { addIssue })).toBe(1_000);
    expect(addIssue).not.toHaveBeenCalled();
    read("999ms", { addIssue });
    expect(addIssue).toHaveBeenCalledExactlyOnceWith('"999ms" is too short: give at least 1s');
    addIssue.mockClear();
    read("soon", { addIssue });
    expect(addIssue).toHaveBeenCalledExactlyOnceWith(expect.stringContaining("is not a duration"));
  });
});

test.each([1, 999, 1_000, 90_000, 60_000, 3_600_000, 9_000_000, 86_400_000, 31 * 86_400_000])(
  "%d ms in words are read as they were",
  (ms) => {
    expect(parseDuration(durationOf(ms))).toBe(ms);
  },
);

test("words for a duration use the largest unit of which it is a whole number", () => {
  expect([1, 1_500, 90_000, 60_000, 9_000_000, 86_400_000].map(durationOf)).toEqual([
    "1 millisecond",
    "1500 milliseconds",
    "90 seconds",
    "1 minute",
    "150 minutes",
    "1 day",
  ]);
});
