import { createMemorySessions, createMemoryStore, createMemoryWakeUps } from "@parley/core/memory";
import { expect, test, vi } from "vitest";
import { aLife, anAsk, newTaskId } from "../../../../../test/contract/builders.ts";
import { forgetEnded } from "./forget-ended.ts";

const HOUR_MS = 3_600_000;

async function subject() {
  let nowMs = Date.now();
  const clock = { now: () => nowMs };
  const wakeUps = createMemoryWakeUps();
  const store = createMemoryStore({ clock, wakeUps });
  const plain = createMemorySessions({ clock, wakeUps });
  await plain.open({ id: "s", principal: "ann", version: "2025-11-25", capabilities: {} }, HOUR_MS);
  const look = vi.spyOn(store, "summaries");
  const sessions = forgetEnded(plain, {
    store,
    clock: {
      ...clock,
      after: () => () => undefined,
      sleep: async () => undefined,
      idle: async () => undefined,
      afterMicrotasks: () => undefined,
    },
  });
  return { sessions, store, life: aLife(store), look, skip: (ms: number) => (nowMs += ms) };
}

test("a session that is full of calls and tasks removes those that have ended or expired, and only those", async () => {
  const { sessions, life } = await subject();
  const [living, ended, gone] = [await life.create(), await life.create(), newTaskId()];
  await life.cancel(ended);
  for (const taskId of [living, ended, gone]) {
    await sessions.follow("s", taskId, 3);
    await sessions.noteCall("s", taskId, taskId, 3);
  }

  expect(await sessions.follow("s", "new", 3)).toBe("following");
  expect(await sessions.noteCall("s", "new", "new", 3)).toBe("noted");

  expect((await sessions.interests("s")).taskIds).toEqual([living, "new"]);
  expect([...(await sessions.calls("s")).keys()]).toEqual([living, "new"]);
});

test("a session that is full of asks removes those that are no longer open, also of unfinished tasks", async () => {
  const { sessions, life } = await subject();
  const living = await life.parked([anAsk("open"), anAsk("answered")]);
  await life.answer(living, "answered", "4");
  const hold = { sessionId: "s", stream: "standalone", token: "token", nowMs: Date.now(), most: 3 };
  await sessions.holdStream({ ...hold, leaseMs: HOUR_MS, after: 0 });
  const claim = (taskId: string, key: string, event: number) => sessions.claimAsk({ ...hold, taskId, key, refusals: 0, event });
  await claim(living, "open", 1);
  await claim(living, "answered", 2);
  await claim(newTaskId(), "gone", 3);

  expect(await claim(living, "new", 4)).toBe("claimed");

  expect((await sessions.claims("s")).map(({ key }) => key)).toEqual(["open", "new"]);
});

test("a session that is full of asks keeps those of a task whose key is missing: they may be open", async () => {
  const { sessions, store, life } = await subject();
  const [sealed, other] = [await life.parked([anAsk("open")]), await life.parked([anAsk("answered")])];
  await life.answer(other, "answered", "4");
  const hold = { sessionId: "s", stream: "standalone", token: "token", nowMs: Date.now(), most: 2 };
  await sessions.holdStream({ ...hold, leaseMs: HOUR_MS, after: 0 });
  const claim = (taskId: string, key: string, event: number) => sessions.claimAsk({ ...hold, taskId, key, refusals: 0, event });
  await claim(sealed, "open", 1);
  await claim(other, "answered", 2);
  const { load } = store;
  vi.spyOn(store, "load").mockImplementation(async (taskId) => {
    const task = await load(taskId);
    return task && taskId === sealed ? { ...task, asks: [], unreadable: "key_missing" } : task;
  });

  expect(await claim(other, "new", 3)).toBe("claimed");

  expect((await sessions.claims("s")).map(({ key }) => key)).toEqual(["open", "new"]);
});

test("a session that is full of live entries is cleaned up once a second, however often it is tried", async () => {
  const { sessions, life, look, skip } = await subject();
  await sessions.follow("s", await life.create(), 1);
  const tryAgain = () => Promise.all(Array.from({ length: 10 }, () => sessions.follow("s", newTaskId(), 1)));

  expect(new Set(await tryAgain())).toEqual(new Set(["full"]));
  await tryAgain();
  expect(look).toHaveBeenCalledTimes(1);
  skip(1_000);
  await tryAgain();
  expect(look).toHaveBeenCalledTimes(2);
});
