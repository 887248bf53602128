/** What a worker does about those that died, and when the others have taken it for dead itself. */
import { afterEach, expect, test, vi } from "vitest";
import { createBackground } from "../unawaited-work.ts";
import { becomeMember, type DeadProcess } from "./membership.ts";

const log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
afterEach(() => void vi.useRealTimers());

/** A worker whose beats find what is given, in turn: whether it is a member, and who is dead. */
async function worker(beats: readonly { readonly isMember?: boolean; readonly dead?: readonly DeadProcess[] }[]) {
  vi.useFakeTimers();
  const left = [...beats];
  let now = left[0] ?? {};
  const done: string[] = [];
  const open = new Set(["one"]);
  const look = vi.fn(async () => undefined);
  const members = {
    id: "this",
    async beat() {
      now = left.shift() ?? {};
      return now.isMember ?? true;
    },
    takeDead: async () => now.dead ?? [],
    forgetDead: async ({ process }: DeadProcess) => void done.push(`forget ${process}`),
    leave: async () => ({ process: "this", untilMs: 0, calls: [] }),
  };
  const tasks = {
    after: async () => undefined,
    settle: async () => undefined,
    async withdraw(taskId: string) {
      if (taskId === "away") throw new Error("its part of Redis is away");
      done.push(`withdraw ${taskId}`);
    },
    refused: async () => undefined,
    async drop(taskId: string) {
      open.delete(taskId);
      done.push(`drop ${taskId}`);
    },
    look,
  };
  const membership = await becomeMember({
    members,
    calls: { taskIds: () => [...open] },
    tasks,
    background: createBackground(log),
    onGivenUp: () => done.push("given up"),
    log,
  });
  return { membership, done, look, open, beat: () => vi.advanceTimersByTimeAsync(2_000) };
}

test("a worker that was given up ends the calls that it has then, and none that it makes afterwards", async () => {
  const { done, open, beat } = await worker([{ isMember: false }, {}, { isMember: false }, {}]);
  await beat();
  expect(done).toEqual([]);
  await beat();
  expect(done).toEqual(["given up", "drop one"]);
  open.add("two");
  await beat();
  await beat();
  expect(done).toEqual(["given up", "drop one"]);
});

test("of the calls of a dead worker, those that may be repeated keep their questions", async () => {
  const calls = [
    { taskId: "lost", isFinal: true },
    { taskId: "repeatable", isFinal: false },
  ];
  const { done, beat } = await worker([{}, { dead: [{ process: "other", untilMs: 1, calls }] }]);
  await beat();
  expect(done).toEqual(["withdraw lost", "forget other"]);
});

test("a dead worker whose task cannot be reached keeps no other from starting, nor from looking after the rest", async () => {
  const dead = ["away", "lost"].map((taskId) => ({ process: `of ${taskId}`, untilMs: 1, calls: [{ taskId, isFinal: true }] }));
  const { done, look, beat } = await worker([{ dead }, {}]);
  await beat();
  expect(done).toEqual(["withdraw lost", "forget of lost"]);
  expect(look).toHaveBeenCalledTimes(2);
});
