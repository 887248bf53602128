import { describe, expect, test } from "vitest";
import { cancelTask } from "./cancel-task.ts";
import { alice, anAsk, bob, inMemory, mallory, NOW_MS } from "./in-memory.fixture.ts";

describe("a cancellation", () => {
  test("ends the task with its fact, once", async () => {
    const { services, put, task, requestsOf, logged, runs } = inMemory();
    const taskId = await put([anAsk("size")]);
    expect(await cancelTask(services, { taskId, caller: alice, door: "a door" })).toBe("cancelled");
    expect(await cancelTask(services, { taskId, caller: alice })).toBe("finished");
    const audit = { principal: "alice", action: "cancel", taskId, tool: "tool subject" };
    const request = { taskId, nowMs: NOW_MS, message: "Cancelled by the client.", owes: false };
    expect(requestsOf("cancel")).toStrictEqual([
      { ...request, audit: { ...audit, door: "a door" } },
      { ...request, audit },
    ]);
    expect(logged).toStrictEqual(["cancelled", "finished"].map((became) => ["info", "cancellation received", { taskId, became }]));
    expect(runs).toStrictEqual([]);
    expect(await task(taskId)).toMatchObject({ status: "cancelled", message: "Cancelled by the client.", asks: [] });
  });

  test("gives its reason, and leaves a compensation to a tool that has one", async () => {
    const { services, put, task } = inMemory();
    const taskId = await put([], { compensates: true });
    await cancelTask(services, { taskId, caller: alice, reason: "No longer needed." });
    expect(await task(taskId)).toMatchObject({ status: "cancelled", message: "No longer needed.", owed: "cancelled" });
  });

  test("of a child makes its parent run", async () => {
    const { services, putWithChild, logged, runs } = inMemory();
    const { taskId, child } = await putWithChild([], [anAsk("date")]);
    expect(await cancelTask(services, { taskId: child, caller: alice })).toBe("cancelled");
    expect(runs).toStrictEqual([{ taskId, run: 2, cause: "answered", share: "principal:alice" }]);
    expect(logged).toStrictEqual([["info", "cancellation received", { taskId: child, became: "cancelled" }]]);
  });

  test("of a task that has just ended finds it finished", async () => {
    const { services, put, logged } = inMemory({ replace: () => ({ cancel: async () => "unknown" }) });
    const taskId = await put([]);
    expect(await cancelTask(services, { taskId, caller: alice })).toBe("finished");
    expect(logged).toStrictEqual([["info", "cancellation received", { taskId, became: "unknown" }]]);
  });

  test("belongs to the owner, does not read content, and is recorded if the policy forbids it", async () => {
    const { services, put, requestsOf, real, facts } = inMemory();
    const taskId = await put([anAsk("size", { audience: { to: { people: ["bob"] } } })]);
    await expect(cancelTask(services, { taskId, caller: bob })).rejects.toMatchObject({
      code: "NOT_PERMITTED",
      message: "only the owner of a task cancels it",
    });
    await expect(cancelTask(services, { taskId, caller: mallory })).rejects.toMatchObject({ code: "TASK_NOT_FOUND" });
    expect(requestsOf("cancel")).toStrictEqual([]);
    expect(facts).toStrictEqual([{ principal: "bob", action: "cancel", taskId, tool: "tool subject", verdict: "forbidden" }]);
    const load = async (id: string) => {
      const task = await real.load(id);
      return task && { ...task, unreadable: "key_missing" as const };
    };
    const sealed = { ...services, store: { ...services.store, load } };
    expect(await cancelTask(sealed, { taskId, caller: alice })).toBe("cancelled");
  });
});
