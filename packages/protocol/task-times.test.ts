import { expect, test } from "vitest";
import { taskTimes } from "./task-times.ts";

test("a task is never shown to have changed before it was created, although the clocks of two machines differ", () => {
  const createdAtMs = Date.UTC(2026, 6, 28, 12);
  const times = (updatedAtMs: number) => taskTimes({ createdAtMs, updatedAtMs, retentionMs: 1 });
  const createdAt = "2026-07-28T12:00:00.000Z";
  expect(times(createdAtMs - 5)).toEqual({ createdAt, lastUpdatedAt: createdAt });
  expect(times(createdAtMs + 5)).toEqual({ createdAt, lastUpdatedAt: "2026-07-28T12:00:00.005Z" });
});
