import { expect, test } from "vitest";
import { ownAnswers } from "./own-answers.ts";

test("a page that is open for a year remembers the newest answers, and only the tasks of the last minute", () => {
  let nowMs = 0;
  const own = ownAnswers(() => nowMs);
  for (let each = 0; each < 20_000; each += 1) {
    nowMs += 10_000;
    own.gave(`task-${each}`);
    own.close(`task-${each}/ask`);
  }
  expect(own.size()).toBe(500 + 6);
  expect(["task-19999/ask", "task-19500/ask", "task-19499/ask"].map(own.isClosed)).toEqual([true, true, false]);
});

test("a task may ask on for a minute after an answer, and after the last of several", () => {
  let nowMs = 5;
  const own = ownAnswers(() => nowMs);
  expect([own.isAnyLately(), own.isLately("a"), own.gaveAtMs("a")]).toEqual([false, false, 0]);
  own.gave("a");
  nowMs += 30_000;
  own.gave("b");
  nowMs += 29_999;
  expect([own.isLately("a"), own.isLately("b"), own.gaveAtMs("a")]).toEqual([true, true, 5]);
  nowMs += 1;
  expect([own.isLately("a"), own.isLately("b"), own.isAnyLately()]).toEqual([false, true, true]);
  nowMs += 30_000;
  expect([own.isAnyLately(), own.isLately("b")]).toEqual([false, false]);
});

test("a question that is this person's again is told of, and one that is closed again is as new", () => {
  const own = ownAnswers(() => 0);
  own.close("a");
  own.reopen("a");
  expect(own.isClosed("a")).toBe(false);
  own.close("a");
  for (let each = 0; each < 499; each += 1) own.close(`${each}`);
  own.close("a");
  own.close("one more");
  expect(["a", "0", "1"].map(own.isClosed)).toEqual([true, false, true]);
});
