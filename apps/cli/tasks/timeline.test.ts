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

test("a task that no worker has begun is shown as queued, and a run by its number", () => {
  const shown = (run: number): string =>
    showTimeline({ task: { run, generation: 0 }, nowMs: NOW_MS, asks: [], journal: { entries: 0, settled: 0, lines: [] } }).join("\n");
  expect(shown(0)).toContain("  run      queued: no worker has begun this task; 0 of 0 entries");
  expect(shown(1)).toContain("  run      1; 0 of 0 entries");
});
