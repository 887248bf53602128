import { describe, expect, test } from "vitest";
import type { Ask } from "../task.ts";
import { alice, anAsk, bob, HOUR, inMemory, mallory, NOW_MS } from "./in-memory.fixture.ts";
import { nextAsk } from "./next-ask.ts";
import { snoozeAsk } from "./snooze-ask.ts";

const forBob: Partial<Ask> = { audience: { to: { people: ["bob"] } } };
const answer = (store: ReturnType<typeof inMemory>["real"], taskId: string, key: string) =>
  store.answer({ taskId, key, digest: `digest of ${key}`, answer: { action: "accept" }, nowMs: NOW_MS, graceMs: 0 });

describe("what a task asks next", () => {
  test("is its first question that this person may answer, other than the one they answered", async () => {
    const { services, put } = inMemory();
    const taskId = await put([anAsk("first"), anAsk("bobs", forBob), anAsk("second"), anAsk("third")]);
    expect(await nextAsk(services, { taskId, key: "first", caller: alice }, 0)).toEqual({ taskId, key: "second" });
    expect(await nextAsk(services, { taskId, key: "first", caller: bob }, 0)).toEqual({ taskId, key: "bobs" });
    expect(await nextAsk(services, { taskId, key: "bobs", caller: bob }, 0)).toBeUndefined();
    expect(await nextAsk(services, { taskId, key: "first", caller: mallory }, 0)).toBeUndefined();
    expect(await nextAsk(services, { taskId: "0-none", key: "first", caller: alice }, 0)).toBeUndefined();
  });

  test("is none that they have put aside, and no request to a client", async () => {
    const { services, put } = inMemory();
    const roots = { request: { type: "roots" } } as const;
    const taskId = await put([anAsk("first"), anAsk("client", roots), anAsk("later", forBob), anAsk("now", forBob)]);
    await snoozeAsk(services, { taskId, key: "later", caller: bob, door: "a page", untilMs: NOW_MS + HOUR / 2 });
    expect(await nextAsk(services, { taskId, key: "other", caller: bob }, 0)).toEqual({ taskId, key: "now" });
    expect(await nextAsk(services, { taskId, key: "first", caller: alice }, 0)).toBeUndefined();
  });

  test("is found in its family: from a child to its parent, and from the parent to a child", async () => {
    const { services, putWithChild } = inMemory();
    const { taskId, child } = await putWithChild([anAsk("own")], [anAsk("size"), anAsk("bobs", forBob)]);
    expect(await nextAsk(services, { taskId: child, key: "size", caller: alice }, 0)).toEqual({ taskId, key: "own" });
    expect(await nextAsk(services, { taskId, key: "own", caller: alice }, 0)).toEqual({ taskId: child, key: "size" });
    expect(await nextAsk(services, { taskId, key: "own", caller: bob }, 0)).toEqual({ taskId: child, key: "bobs" });
  });

  test("is waited for, but no longer than a person waits", async () => {
    const { services, real, put, pass, sleeping } = inMemory();
    const taskId = await put([anAsk("first")]);
    await answer(real, taskId, "first");
    const waiting = nextAsk(services, { taskId, key: "first", caller: alice }, 1_000);
    await pass(999);
    await real.begin({ taskId, run: 2, token: "again", nowMs: NOW_MS, leaseMs: HOUR });
    const asks = [anAsk("second")];
    await real.park({ taskId, token: "again", nowMs: NOW_MS, entries: [], asks, dueAtMs: NOW_MS, attempt: 0, graceMs: 0 });
    expect(await waiting).toEqual({ taskId, key: "second" });
    await answer(real, taskId, "second");
    const late = nextAsk(services, { taskId, key: "second", caller: alice }, 1_000);
    await pass(1_000);
    expect(await late).toBeUndefined();
    expect(sleeping()).toEqual([]);
  });

  test("is not waited for once the task has ended", async () => {
    const { services, real, put } = inMemory();
    const taskId = await put([anAsk("first")]);
    await real.cancel({ taskId, nowMs: NOW_MS, graceMs: 0, by: "alice" } as never);
    expect(await nextAsk(services, { taskId, key: "first", caller: alice }, 1_000)).toBeUndefined();
  });
});
