/** Work that is deferred until no run is active. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createQuiet } from "./idle-work.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function putOff() {
  const quiet = createQuiet({ afterMs: 20, atLatestMs: 250 });
  const done: string[] = [];
  return { quiet, done, whenQuiet: (name: string) => quiet.whenQuiet(() => void done.push(name)) };
}

test("work is done a moment after the last run has ended", () => {
  const { quiet, done, whenQuiet } = putOff();
  const [first, second] = [quiet.enter(), quiet.enter()];
  whenQuiet("work");
  first();
  first();
  vi.advanceTimersByTime(100);
  expect(done).toEqual([]);
  second();
  vi.advanceTimersByTime(19);
  expect(done).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(done).toEqual(["work"]);
});

test("a run that begins in the meantime comes first", () => {
  const { quiet, done, whenQuiet } = putOff();
  whenQuiet("work");
  vi.advanceTimersByTime(19);
  const leave = quiet.enter();
  vi.advanceTimersByTime(100);
  expect(done).toEqual([]);
  leave();
  vi.advanceTimersByTime(20);
  expect(done).toEqual(["work"]);
});

test("work is done after a while even if the process is never quiet", () => {
  const { quiet, done, whenQuiet } = putOff();
  quiet.enter();
  whenQuiet("one");
  vi.advanceTimersByTime(200);
  whenQuiet("two");
  vi.advanceTimersByTime(49);
  expect(done).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(done).toEqual(["one", "two"]);
  whenQuiet("three");
  vi.advanceTimersByTime(250);
  expect(done).toEqual(["one", "two", "three"]);
});

test("at the end work is done at once, and so is later work", () => {
  const { quiet, done, whenQuiet } = putOff();
  quiet.enter();
  whenQuiet("one");
  quiet.close();
  expect(done).toEqual(["one"]);
  whenQuiet("two");
  expect(done).toEqual(["one", "two"]);
});
