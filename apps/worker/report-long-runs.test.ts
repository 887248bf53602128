import { expect, test } from "vitest";
import { longRuns } from "./report-long-runs.ts";
import type { RunAtWork } from "./runs-at-work.ts";

test("a run is reported when it is long, and again whenever its time has doubled; others are not", () => {
  const run = (taskId: string, tool: string, startedAtMs: number): RunAtWork => ({ taskId, tool, startedAtMs, run: 2, isOver: false });
  const active = new Set([run("slow", "report", 0), run("also", "report", 500), run("asks", "upstream's", 0)]);
  const lines: object[] = [];
  let nowMs = 0;
  const look = longRuns({
    active,
    reportMs: 1_000,
    counts: ({ tool }) => tool === "report",
    log: { warn: (fields, message) => void lines.push({ ...fields, message }) },
    elapsedMs: () => nowMs,
  });
  const at = (ms: number) => {
    nowMs = ms;
    lines.length = 0;
    look();
    return lines.map((line) => ({ ...line }));
  };
  const line = (taskId: string, forMs: number) => ({ taskId, run: 2, tool: "report", forMs, message: "run still active" });
  expect(at(999)).toEqual([]);
  expect(at(1_000)).toEqual([line("slow", 1_000)]);
  expect(at(1_500)).toEqual([line("also", 1_000)]);
  expect(at(1_999)).toEqual([]);
  expect(at(2_000)).toEqual([line("slow", 2_000)]);
  active.delete([...active][1]!);
  expect(at(9_000)).toEqual([line("slow", 9_000)]);
  expect(at(15_999)).toEqual([]);
  expect(at(16_000)).toEqual([line("slow", 16_000)]);
});
