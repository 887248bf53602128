/** When a question can be put aside until, by the buttons and the field of its form. */
import { HOUR_MS } from "@parley/web/times";
import { expect, test } from "vitest";
import { readerOf } from "../../texts/texts.ts";
import { markup } from "./html.ts";
import { readSnooze, snoozeView } from "./snooze.ts";

/** A Friday, two days before the clocks change. */
const NOW_MS = Date.parse("2026-03-27T09:00:00Z");
const READER = readerOf({ headers: { cookie: "parley-zone=Europe%2FBerlin" } });

const offered = (deadlineMs: number, nowMs = NOW_MS) =>
  [...snoozeView(READER, { action: "", hidden: markup``, nowMs, deadlineMs }).text.matchAll(/value="snooze:(\w+)"|max="([^"]*)"/g)].map(
    ([, choice, max]) => choice ?? max,
  );

test.each<[string, number, readonly string[]]>([
  ["in an hour", NOW_MS + HOUR_MS, []],
  ["a moment later", NOW_MS + HOUR_MS + 1, ["hour"]],
  ["tomorrow at nine", Date.parse("2026-03-28T08:00:00Z"), ["hour", "hours"]],
  ["a second later", Date.parse("2026-03-28T08:00:01Z"), ["hour", "hours", "tomorrow"]],
  ["on Monday at nine, in summer time", Date.parse("2026-03-30T07:00:00Z"), ["hour", "hours", "tomorrow"]],
  ["in a week", NOW_MS + 7 * 24 * HOUR_MS, ["hour", "hours", "tomorrow", "monday"]],
])("of a question that closes %s, only what is before that is offered", (_when, deadlineMs, choices) => {
  expect(offered(deadlineMs).filter((each) => each !== "until" && !/^\d/.test(each ?? ""))).toEqual(choices);
});

test("on a Sunday, the day after is tomorrow, and not Monday as well", () => {
  const nowMs = Date.parse("2026-03-29T12:00:00Z");
  expect(offered(nowMs + 7 * 24 * HOUR_MS, nowMs).filter((each) => each === "tomorrow" || each === "monday")).toEqual(["tomorrow"]);
});

test("the field ends at the deadline, by the clock of the person", () => {
  expect(offered(Date.parse("2026-03-29T12:30:00Z"))).toContain("2026-03-29T14:30");
});

test.each<[Record<string, string>, string | undefined]>([
  [{ action: "snooze:hour" }, "2026-03-27T10:00:00.000Z"],
  [{ action: "snooze:hours" }, "2026-03-27T13:00:00.000Z"],
  [{ action: "snooze:tomorrow" }, "2026-03-28T08:00:00.000Z"],
  [{ action: "snooze:monday" }, "2026-03-30T07:00:00.000Z"],
  [{ action: "snooze:monday", zone: "Pacific/Auckland" }, "2026-03-29T20:00:00.000Z"],
  [{ action: "snooze:until", until: " 2026-03-29T10:00 " }, "2026-03-29T08:00:00.000Z"],
  // Skipped, no day, and no time.
  ...["2026-03-29T02:30", "2026-02-30T10:00", "1", "", "x".repeat(50)].map((until): [Record<string, string>, string] => [
    { action: "snooze:until", until },
    "problem",
  ]),
  [{ action: "snooze:never" }, undefined],
  [{ action: "snooze:" }, undefined],
])("%j is %s", (given, until) => {
  const read = readSnooze(READER, new URLSearchParams({ zone: "Europe/Berlin", ...given }), NOW_MS);
  expect(read && ("problem" in read ? "problem" : new Date(read.untilMs).toISOString())).toBe(until);
});
