import { expect, test } from "vitest";
import { reportLines } from "./report.ts";
import { standingLine } from "./standing.ts";

const NOW_MS = Date.UTC(2026, 10, 29, 12);
const NONE = { asked: 0, approved: 0, refused: 0, expired: 0, closed: 0, withdrawn: 0, void: 0, quick: 0, people: [], waiting: 0 };
const linesOf = (rules: Parameters<typeof reportLines>[0]["rules"], isMoreWaiting = false) => [
  ...reportLines({ rules, isMoreWaiting, sinceMs: 0 }, { days: 7, nowMs: NOW_MS }),
];

test("a report says in words how each rule is used", () => {
  const rule = {
    ...NONE,
    rule: "deletes-need-a-colleague",
    asked: 42,
    approved: 38,
    refused: 1,
    expired: 1,
    void: 2,
    yes: 38 / 39,
    medianMs: 3_100,
    p90Ms: 240_000,
    quick: 30,
    people: [{ principal: "bob\u001B[2J", approved: 30, refused: 0 }],
    waiting: 2,
    oldest: { taskId: "0-abc", askedAtMs: NOW_MS - 3 * 3_600_000 },
  };
  expect(linesOf([rule])).toEqual([
    "Calls that waited for approval, the last 7 days (UTC)",
    "",
    "deletes-need-a-colleague: 42 calls asked, 38 approved, 1 refused, 1 expired; 2 approved too late, because something had changed",
    "  decided: half within 4 seconds, 90 % within 4 minutes; 97 % yes, 30 of them within 5 seconds",
    "  by:      bob (30 yes, 0 no)",
    "  waiting: 2, the oldest was asked 3 hours ago (task 0-abc)",
  ]);
});

test("a rule on which nobody decided has one line, and no rule at all has a sentence", () => {
  expect(linesOf([{ ...NONE, rule: "quiet", asked: 1, withdrawn: 1 }]).slice(2)).toEqual([
    "quiet: 1 call asked, 0 approved, 0 refused, 1 withdrawn",
  ]);
  expect(linesOf([])).toEqual(["no call has waited for approval in the last 7 days"]);
});

test("a standing approval is one line: whose, of which tool, by whom, and what is left", () => {
  const about = { rule: "deletes", title: "Deleting", tool: "files_delete", principal: "ada", by: "bob", grantedAtMs: NOW_MS };
  expect(standingLine({ id: "a1", ...about, untilMs: NOW_MS + 3 * 86_400_000, uses: 5, left: 2 }, NOW_MS)).toBe(
    "a1  calls of files_delete by ada, approved by bob (rule deletes): 2 of 5 left, until 2026-12-02T12:00:00Z, in 3 days",
  );
});
