import { describe, expect, test } from "vitest";
import { declareUnavailable } from "./declare-unavailable.ts";
import { alice, anAsk, inMemory, mallory, NOW_MS } from "./in-memory.fixture.ts";

describe("the declaration that a client cannot be asked", () => {
  const unavailable = { action: "unavailable" };

  test("is recorded with the task, as an answer to its question, in the caller's name", async () => {
    const { services, requestsOf, put } = inMemory();
    const taskId = await put([anAsk("other"), anAsk("size")]);
    const declare = () => declareUnavailable(services, { taskId, caller: alice, door: "a session", key: "size" });
    expect(await declare()).toStrictEqual({ type: "accepted" });
    expect(await declare()).toStrictEqual({ type: "duplicate" });
    const graceMs = services.settings.graceMs;
    expect(requestsOf("answer")).toStrictEqual([
      {
        taskId,
        key: "size",
        digest: "digest of size",
        answer: unavailable,
        nowMs: NOW_MS,
        graceMs,
        audit: expect.objectContaining({ principal: "alice", door: "a session", did: "unavailable" }),
      },
      { taskId, key: "size", answer: unavailable, nowMs: NOW_MS, graceMs },
    ]);
  });

  test("is recorded with the child whose question the task shows, and nowhere if there is no such child", async () => {
    const { services, requestsOf, putWithChild, task } = inMemory();
    const { taskId, child } = await putWithChild([], [anAsk("date")]);
    const declare = (key: string) => declareUnavailable(services, { taskId, caller: alice, key });
    expect(await declare("book:date")).toStrictEqual({ type: "accepted" });
    expect(await declare("book:date")).toStrictEqual({ type: "duplicate" });
    expect(requestsOf("answer")).toMatchObject([
      { taskId: child, key: "date", answer: unavailable },
      { taskId: child, key: "date", answer: unavailable },
    ]);
    expect(await declare("room:date")).toStrictEqual({ type: "unknown" });
    expect((await task(taskId)).asks).toStrictEqual([]);
  });

  test("is for callers who may see the task", async () => {
    const { services, put } = inMemory();
    const taskId = await put([anAsk("size")]);
    await expect(declareUnavailable(services, { taskId, caller: mallory, key: "size" })).rejects.toMatchObject({ code: "TASK_NOT_FOUND" });
  });
});
