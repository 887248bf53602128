import { getEventListeners } from "node:events";
import { describe, expect, test } from "vitest";
import { DEFAULT_SETTINGS } from "../settings.ts";
import { viewOf } from "../callers/policy.ts";
import type { Task } from "../task.ts";
import {
  findTask,
  followTask,
  getOwnTask,
  getSettledTask,
  getTask,
  heardTask,
  isSettled,
  knownTask,
  notFound,
  waitForTask,
} from "./get-task.ts";
import { aCall, alice, anAsk, bob, inMemory, mallory, NOW_MS } from "./in-memory.fixture.ts";

const forBob = anAsk("bobs", { audience: { to: { people: ["bob"] } } });

/** A working task that has just begun. */
async function working(more: Parameters<typeof inMemory>[0] = {}) {
  const subject = inMemory({ settings: { ...DEFAULT_SETTINGS, settleGraceMs: 30 }, ...more });
  const taskId = "0-1";
  await subject.real.create({ taskId, call: aCall(), graceMs: 1_000 });
  return { ...subject, taskId, cancel: () => subject.real.cancel({ taskId, nowMs: NOW_MS, message: "" }) };
}

/** The results so far. */
function watched<T>(work: Promise<T>): { readonly came: T[]; readonly failed: unknown[] } {
  const [came, failed]: [T[], unknown[]] = [[], []];
  work.then(
    (value) => came.push(value),
    (error: unknown) => failed.push(error),
  );
  return { came, failed };
}

describe("a task", () => {
  test("is found by those who may see it, as they may see it", async () => {
    const { services, put, task } = inMemory();
    const taskId = await put([anAsk("size"), forBob]);
    const { asks, ...rest } = await task(taskId);
    expect(await findTask(services, { taskId, caller: alice })).toStrictEqual({ ...rest, asks: [asks[0]], asksOfOthers: [asks[1]] });
    expect(await findTask(services, { taskId, caller: bob })).toStrictEqual({ ...rest, asks: [asks[1]] });
    expect(await findTask(services, { taskId, caller: mallory })).toBeUndefined();
    expect(await findTask(services, { taskId: "0-gone", caller: alice })).toBeUndefined();
    await expect(knownTask(services, { taskId, caller: mallory })).rejects.toMatchObject({
      code: "TASK_NOT_FOUND",
      message: `no task "${taskId}"`,
    });
  });

  test("is known from what was heard to its owner, who then sees what a reader would, and is read for anyone who sees less", async () => {
    const { put, task } = inMemory();
    const mine = await task(await put([anAsk("size")]));
    const shared = await task(await put([anAsk("size"), forBob]));
    const heard = (after: Task) => ({ heard: () => after });
    const asked = (before: Task): Task => ({ ...before, revision: before.revision + 1, asks: [...before.asks, forBob as never] });
    const heardBy = (caller: typeof alice, before: Task) => heardTask(heard(asked(before)), { task: before, caller });
    expect(heardBy(alice, mine)).toMatchObject({ asks: [{ key: "size" }], asksOfOthers: [{ key: "bobs" }] });
    expect(heardBy(bob, mine)).toBeUndefined();
    const seen = viewOf(alice, shared) as Task;
    expect(heardTask(heard(asked(seen)), { task: seen, caller: alice })).toBeUndefined();
    expect(heardTask({ heard: () => undefined }, { task: mine, caller: alice })).toBeUndefined();
  });

  test("that cannot be read is known, but not returned", async () => {
    const { services, put, task } = inMemory();
    const taskId = await put([]);
    const sealed: Task = { ...(await task(taskId)), unreadable: "erased" };
    const unreadable = { ...services, store: { ...services.store, load: async () => sealed } };
    expect(await knownTask(unreadable, { taskId, caller: alice })).toStrictEqual(sealed);
    await expect(getTask(unreadable, { taskId, caller: alice })).rejects.toMatchObject({ code: "CONTENT_ERASED" });
    await expect(getSettledTask(unreadable, { taskId, caller: alice })).rejects.toMatchObject({ code: "CONTENT_ERASED" });
    const wait = { task: sealed, caller: alice, until: () => true, timeoutMs: 1 };
    await expect(waitForTask(unreadable, wait)).rejects.toMatchObject({ code: "CONTENT_ERASED" });
  });

  test("is followed by its owner alone", async () => {
    const { services, put, task } = inMemory();
    const taskId = await put([forBob]);
    expect(await getOwnTask(services, { taskId, caller: alice })).toMatchObject({ id: (await task(taskId)).id });
    await expect(getOwnTask(services, { taskId, caller: bob })).rejects.toMatchObject({
      code: "NOT_PERMITTED",
      message: "only the owner of a task follows it to its result",
    });
  });

  test("that does not exist is named within bounds, without control characters", () => {
    expect(notFound({ taskId: "x".repeat(80) }).message).toBe(`no task "${"x".repeat(80)}"`);
    expect(notFound({ taskId: "x".repeat(81) }).message).toBe(`no task "${"x".repeat(80)}…"`);
    expect(notFound({ taskId: "\u001b[2J" }).message).toBe('no task "\\u001b[2J"');
  });

  test.each([
    ["working", false],
    ["input_required", true],
    ["completed", true],
    ["failed", true],
    ["cancelled", true],
  ] as const)("that is %s is at rest: %s", (status, isIt) => {
    expect(isSettled({ status } as Task)).toBe(isIt);
  });
});

describe("a read that gives a task a moment to settle", () => {
  const ref = { taskId: "0-1", caller: alice };

  test("returns one that has settled, or has worked for longer, as it is", async () => {
    const { services, put, requests, stand, taskId } = await working();
    const resting = await put([anAsk("size")]);
    Object.assign(services.wakeUps, { watch: () => Promise.reject(new Error("watched")) });
    expect(await getSettledTask(services, { ...ref, taskId: resting })).toMatchObject({ status: "input_required" });
    stand(30);
    expect(await getSettledTask(services, ref)).toMatchObject({ status: "working" });
    expect(requests).toStrictEqual([
      ["load", resting],
      ["load", taskId],
    ]);
  });

  test("waits for the rest of the moment, and leaves no timer and no watch", async () => {
    const { services, pass, stand, sleeping } = await working();
    stand(29);
    const { came } = watched(getSettledTask(services, ref));
    await pass(0);
    expect(sleeping()).toStrictEqual([1, 5_000]);
    expect(came).toStrictEqual([]);
    await pass(1);
    expect(came).toMatchObject([{ status: "working" }]);
    expect([sleeping(), services.wakeUps.isWatched("0-1")]).toStrictEqual([[], false]);
  });

  test("ends as soon as the task settles", async () => {
    const { services, real, cancel, pass, sleeping } = await working();
    const { came } = watched(getSettledTask(services, ref));
    await pass(10);
    await real.begin({ taskId: "0-1", run: 1, token: "run", nowMs: NOW_MS + 10, leaseMs: 1_000 });
    await real.report({ taskId: "0-1", token: "run", nowMs: NOW_MS + 10, items: [], message: "half" });
    await pass(10);
    expect([came, sleeping()]).toStrictEqual([[], [10, 4_990]]);
    await cancel();
    await pass(0);
    expect(came).toMatchObject([{ status: "cancelled" }]);
    expect([sleeping(), services.wakeUps.isWatched("0-1")]).toStrictEqual([[], false]);
  });

  test("shows the last state that it saw when the moment is over", async () => {
    const { services, real, pass } = await working();
    const { came } = watched(getSettledTask(services, ref));
    await pass(10);
    await real.begin({ taskId: "0-1", run: 1, token: "run", nowMs: NOW_MS + 10, leaseMs: 1_000 });
    await real.report({ taskId: "0-1", token: "run", nowMs: NOW_MS, items: [], message: "half" });
    await pass(20);
    expect(came).toMatchObject([{ status: "working", message: "half" }]);
  });

  test("reads a task that is already watched once", async () => {
    const { services, requests, pass } = await working();
    await services.wakeUps.watch("0-1", () => undefined);
    const { came } = watched(getSettledTask(services, ref));
    await pass(30);
    expect(came).toMatchObject([{ status: "working" }]);
    expect(requests).toStrictEqual([["load", "0-1"]]);
  });

  test("shows the last state of a task that disappears in the meantime, and finds none if there was none", async () => {
    const { services, pass, wake } = await working();
    const { came } = watched(getSettledTask(services, ref));
    await pass(0);
    Object.assign(services.store, { load: async () => undefined });
    wake("0-1");
    await pass(0);
    expect(came).toMatchObject([{ status: "working" }]);
    await services.wakeUps.watch("0-gone", () => undefined);
    await expect(getSettledTask(services, { taskId: "0-gone", caller: alice })).rejects.toMatchObject({ code: "TASK_NOT_FOUND" });
  });
});

describe("a task that is waited for", () => {
  const cancelled = ({ status }: Task) => status === "cancelled";

  test("is returned once it meets the condition, and leaves no timer and no watch", async () => {
    const { services, task, taskId, cancel, pass, sleeping } = await working();
    const { came } = watched(waitForTask(services, { task: await task(taskId), caller: alice, until: cancelled, timeoutMs: 1_000 }));
    await pass(999);
    expect([came, sleeping()]).toStrictEqual([[], [1, 4_001]]);
    await cancel();
    await pass(0);
    expect(came).toStrictEqual([await task(taskId)]);
    expect([sleeping(), services.wakeUps.isWatched(taskId)]).toStrictEqual([[], false]);
  });

  test("is returned as last seen when it takes too long, and when the wait is aborted", async () => {
    for (const stop of [undefined, new AbortController()]) {
      const { services, task, taskId, pass, sleeping } = await working();
      const before = await task(taskId);
      const { came } = watched(
        waitForTask(services, {
          task: { ...before, revision: 0 },
          caller: alice,
          until: cancelled,
          timeoutMs: 1_000,
          ...(stop && { signal: stop.signal }),
        }),
      );
      await pass(999);
      expect(came).toStrictEqual([]);
      stop?.abort("stop");
      await pass(stop ? 0 : 1);
      expect(came).toStrictEqual([before]);
      expect(sleeping()).toStrictEqual([]);
    }
  });

  test("is returned in time even if the wait could be aborted", async () => {
    const { services, task, taskId, pass } = await working();
    const { signal } = new AbortController();
    const { came } = watched(waitForTask(services, { task: await task(taskId), caller: alice, until: cancelled, timeoutMs: 10, signal }));
    await pass(10);
    expect(came).toHaveLength(1);
  });

  test("is not followed any further than to the condition", async () => {
    const { services, task, taskId } = await working();
    expect(await waitForTask(services, { task: await task(taskId), caller: alice, until: () => true, timeoutMs: 1_000 })).toMatchObject({
      status: "working",
    });
  });
});

describe("a task that is followed", () => {
  function following({ services, taskId }: Awaited<ReturnType<typeof working>>) {
    const stop = new AbortController();
    const seen: string[] = [];
    const all = (async () => {
      for await (const { status, message } of followTask(services, { taskId, caller: alice, signal: stop.signal }))
        seen.push(message ? `${status}: ${message}` : status);
      seen.push("over");
    })();
    return { stop, seen, all };
  }

  test("yields each state once, and ends with the finished one", async () => {
    const subject = await working();
    const { seen, stop } = following(subject);
    await subject.pass(0);
    await subject.real.begin({ taskId: subject.taskId, run: 1, token: "run", nowMs: NOW_MS, leaseMs: 1_000 });
    await subject.real.report({ taskId: subject.taskId, token: "run", nowMs: NOW_MS, items: [], message: "half" });
    await subject.pass(0);
    // Read again, and unchanged.
    await subject.pass(5_000);
    expect(seen).toStrictEqual(["working", "working: half"]);
    await subject.cancel();
    await subject.pass(0);
    expect(seen).toStrictEqual(["working", "working: half", "cancelled", "over"]);
    expect([subject.sleeping(), subject.services.wakeUps.isWatched(subject.taskId)]).toStrictEqual([[], false]);
    expect(getEventListeners(stop.signal, "abort")).toStrictEqual([]);
  });

  test("ends when aborted, at once and without another read", async () => {
    const subject = await working();
    const { seen, stop } = following(subject);
    await subject.pass(0);
    expect(getEventListeners(stop.signal, "abort")).toHaveLength(1);
    stop.abort("stop");
    await subject.pass(0);
    expect(seen).toStrictEqual(["working", "over"]);
    expect(subject.requestsOf("load")).toHaveLength(1);
    expect(subject.services.wakeUps.isWatched(subject.taskId)).toBe(false);

    const late = inMemory();
    const stopped = followTask(late.services, { taskId: "0-1", caller: alice, signal: AbortSignal.abort("stop") });
    expect(await stopped.next()).toStrictEqual({ done: true, value: undefined });
    expect(late.requests).toStrictEqual([]);
  });

  test("ends when it no longer exists", async () => {
    const subject = await working();
    const { seen } = following(subject);
    await subject.pass(0);
    Object.assign(subject.services.store, { load: async () => undefined });
    await subject.pass(5_000);
    expect(seen).toStrictEqual(["working", "over"]);
  });
});
