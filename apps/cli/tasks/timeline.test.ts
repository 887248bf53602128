import { expect, test } from "vitest";
import type { TimelineAsk } from "@parley/core/timeline";
import { showTimeline } from "./timeline.ts";

const NOW_MS = Date.parse("2026-11-23T09:00:00Z");
const of = (ask: Partial<TimelineAsk>): string => {
  const open = {
    key: "release",
    type: "form",
    askedAtMs: NOW_MS,
    deadlineMs: NOW_MS + 60_000,
    onTimeout: "error",
    isPutToOthers: true,
    ...ask,
  };
  const task = { run: 2, generation: 0 };
  return showTimeline({ task, nowMs: NOW_MS, asks: [open], journal: { entries: 0, settled: 0, lines: [] } }).join("\n");
};

test("a question with a quorum shows how many people have accepted it, and whether the caller is one of them", () => {
  expect(of({ accepted: 0, quorum: 2, mine: false })).toContain("question  release  open, asked of others, accepted by 0 of 2 people\n");
  expect(of({ accepted: 1, quorum: 2, mine: true, isPutToOthers: false })).toContain("open, accepted by 1 of 2 people, you among them\n");
});

test("a question without a quorum shows no number of people", () => {
  expect(of({ isPutToOthers: false })).toContain("question  release  open\n");
  expect(of({ isPutToOthers: false, refusals: 3 })).toContain("question  release  open, 3 answers refused\n");
});

test("a question shows what happened and what comes next while nobody answers, and nothing of it otherwise", () => {
  expect(of({})).not.toContain("also");
  const upcoming = [{ what: "escalated" as const, atMs: NOW_MS + 7_200_000, to: { people: ["sam\u001b[2J"] } }];
  expect(of({ remindedAtMs: NOW_MS - 120_000, upcoming })).toMatch(/\n {21}also {5}reminded 2 minutes ago · in 2 hours also asked: sam$/);
});

test("a task that no worker has begun is shown as queued, and a run by its number", () => {
  const shown = (run: number): string =>
    showTimeline({ task: { run, generation: 0 }, nowMs: NOW_MS, asks: [], journal: { entries: 0, settled: 0, lines: [] } }).join("\n");
  expect(shown(0)).toContain("  run      queued: no worker has begun this task; 0 of 0 entries");
  expect(shown(1)).toContain("  run      1; 0 of 0 entries");
});

test("a question that is over says how it ended, who answered, and when", () => {
  const common = {
    state: "settled" as const,
    taskId: "0-a",
    tool: "pay",
    owner: { principal: "ann", isCaller: true },
    history: [],
    comments: [],
  };
  const bob = { principal: "b0b", name: "bob@example.com", isCaller: false };
  const at = new Date(NOW_MS - 120_000).toISOString();
  const ends = new Map([
    ["a", { ...common, key: "a", end: "accepted" as const, by: bob, at }],
    ["b", { ...common, key: "b", end: "declined" as const, by: { principal: "ann", isCaller: true }, reason: "too\u001b dear" }],
    [
      "c",
      {
        ...common,
        key: "c",
        end: "accepted" as const,
        by: bob,
        acceptedBy: [
          { ...bob, at },
          { principal: "eve", isCaller: false, at },
        ],
      },
    ],
    ["d", { ...common, key: "d", end: "timed_out" as const }],
  ]);
  const lines = [...ends.keys(), "e"].map((name, index) => ({ kind: "ask", name, place: index + 1, state: "recorded" as const }));
  const journal = { entries: lines.length, settled: lines.length, lines };
  expect(showTimeline({ task: { run: 2, generation: 0 }, nowMs: NOW_MS, asks: [], journal }, ends).slice(1)).toEqual([
    "        1  question  a  answered by bob@example.com  2026-11-23T08:58:00Z, 2 minutes ago",
    "        2  question  b  declined by you: too dear",
    "        3  question  c  answered by bob@example.com, eve",
    "        4  question  d  its deadline passed",
    "        5  question  e  recorded",
  ]);
});
