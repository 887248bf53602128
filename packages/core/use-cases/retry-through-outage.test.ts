import { expect, test } from "vitest";
import { ParleyError } from "../errors.ts";
import { whileAway } from "./retry-through-outage.ts";

/** Time passes only while `whileAway` sleeps. */
function attempts(failing: (attempt: number) => Error | undefined) {
  let nowMs = 1_000;
  let count = 0;
  const clock = { now: () => nowMs, sleep: async (ms: number) => void (nowMs += ms) };
  const done = whileAway({ clock }, async () => {
    count += 1;
    const error = failing(count);
    if (error) throw error;
    return "written";
  });
  return { done, count: () => count, passedMs: () => nowMs - 1_000 };
}

const away = new ParleyError("UNAVAILABLE", "no answer");

test("a write is tried every half second while Redis is unreachable", async () => {
  const { done, count, passedMs } = attempts((attempt) => (attempt <= 3 ? away : undefined));
  expect(await done).toBe("written");
  expect([count(), passedMs()]).toStrictEqual([4, 1_500]);
});

test("after two minutes it fails with the last error, and not before", async () => {
  const { done, count, passedMs } = attempts(() => away);
  await expect(done).rejects.toBe(away);
  expect([count(), passedMs()]).toStrictEqual([241, 120_000]);
});

test.each([
  ["of another kind", new ParleyError("GRANT_EXPIRED", "gone")],
  ["that is not Parley's", new Error("no")],
  ["that only looks like it", Object.assign(new Error("no"), { code: "UNAVAILABLE" })],
])("an error %s is thrown at once", async (_, error) => {
  const { done, count } = attempts(() => error);
  await expect(done).rejects.toBe(error);
  expect(count()).toBe(1);
});
