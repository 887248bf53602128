import { expect, test } from "vitest";
import { RunStopped, stopped, type StopReason } from "./run-stopped.ts";

test.each<[StopReason, string]>([
  ["cancelled", "the task was cancelled by its client"],
  ["timeout", "the run took longer than the tool's runTimeout"],
  ["failed", "another branch of the tool failed"],
  ["ended", "the tool has ended"],
  ["lost", "this worker no longer holds the task"],
  ["draining", "the worker is shutting down"],
])("a step that is stopped is told why: %s", (why, message) => {
  const reason = stopped(why);
  expect(reason).toBeInstanceOf(RunStopped);
  expect([reason.name, reason.why, reason.message]).toStrictEqual(["RunStopped", why, message]);
  // One object for each reason: a stack trace for every run would cost more than most steps.
  expect(stopped(why)).toBe(reason);
});
