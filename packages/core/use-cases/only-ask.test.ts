import { describe, expect, test } from "vitest";
import { callKey } from "../task.ts";
import { alice, anAsk, anEvent, HOUR, inMemory, NOW_MS } from "./in-memory.fixture.ts";
import { findOnlyAsk } from "./only-ask.ts";

type Real = ReturnType<typeof inMemory>["real"];

const ref = (taskId: string) => ({ taskId, caller: alice, door: "test" });

async function decline(real: Real, taskId: string, { key, digest }: { readonly key: string; readonly digest: string }) {
  await real.answer({ taskId, key, digest, answer: { action: "decline" }, nowMs: NOW_MS, graceMs: HOUR });
}

/** What is found for a task that asked these, of which `closed` are answered; it also received an event. */
async function found(keys: readonly string[], closed: readonly string[] = []) {
  const { services, real, put } = inMemory();
  const taskId = await put([...keys.map((key) => anAsk(key)), anEvent("paid")]);
  for (const each of [...closed.map((key) => anAsk(key)), anEvent("paid")]) await decline(real, taskId, each);
  return await findOnlyAsk(services, ref(taskId));
}

describe("the only ask of a task", () => {
  test("is the one that is open, or was", async () => {
    expect(await found(["size"])).toStrictEqual({ only: "size", open: ["size"] });
    expect(await found(["size"], ["size"])).toStrictEqual({ only: "size", open: [] });
  });

  test("does not exist if nothing or more was asked, even if one is open", async () => {
    expect(await found([])).toStrictEqual({ open: [] });
    expect(await found(["size", "date"])).toStrictEqual({ open: ["size", "date"] });
    expect(await found(["size", "date"], ["size"])).toStrictEqual({ open: ["date"] });
    expect(await found(["size", "date"], ["size", "date"])).toStrictEqual({ open: [] });
  });

  test("is unknown if the task has called a child, which may have asked, too", async () => {
    const { services, real, putWithChild } = inMemory();
    const asking = await putWithChild([], [anAsk("date")]);
    expect(await findOnlyAsk(services, ref(asking.taskId))).toStrictEqual({ open: ["book:date"] });
    const { taskId, child } = await putWithChild([anAsk("size")], []);
    expect(await findOnlyAsk(services, ref(taskId))).toStrictEqual({ open: ["size"] });
    await decline(real, taskId, { key: callKey("book"), digest: child });
    expect((await real.load(taskId))?.calls).toBeUndefined();
    expect(await findOnlyAsk(services, ref(taskId))).toStrictEqual({ open: ["size"] });
  });

  test("is unknown after a restart, which forgets what was asked before", async () => {
    const { services, real, put } = inMemory();
    const taskId = await put([]);
    const parked = { taskId, nowMs: NOW_MS, entries: [], dueAtMs: NOW_MS + HOUR, attempt: 0, graceMs: HOUR };
    const begin = (run: number, token: string) => real.begin({ taskId, run, token, nowMs: NOW_MS, leaseMs: HOUR });
    await begin(2, "second");
    await real.park({ ...parked, token: "second", asks: [], restart: { arguments: {} } });
    await begin(3, "third");
    await real.park({ ...parked, token: "third", asks: [anAsk("size@1")] });
    expect(await findOnlyAsk(services, ref(taskId))).toStrictEqual({ open: ["size@1"] });
  });
});
