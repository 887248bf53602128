import { describe, expect, test } from "vitest";
import { CALL_DEPTH_MAX } from "../task.ts";
import { anAsk, inMemory } from "./in-memory.fixture.ts";
import { isOfChild, whereAsked } from "./where-asked.ts";

test.each([
  ["size", false],
  ["book:size", true],
  ["book:room:size", true],
  ["event:paid", false],
  ["call:book", false],
])("%s belongs to a child: %s", (key, isIt) => {
  expect(isOfChild(key)).toBe(isIt);
});

describe("the task that asks a question", () => {
  test("is the task itself for its own questions, without a read of the store", async () => {
    const { services, requests } = inMemory();
    for (const key of ["size", "event:paid"])
      expect(await whereAsked(services, { taskId: "0-1", key })).toStrictEqual({ taskId: "0-1", key });
    expect(requests).toStrictEqual([]);
  });

  test("is named by an open question, and otherwise by the calls on the way down", async () => {
    const { services, requests, putWithChild, task } = inMemory();
    const { taskId, child } = await putWithChild([anAsk("date")], [anAsk("date"), anAsk("time")]);
    const there = { taskId: child, key: "time" };
    expect(await whereAsked(services, { taskId, key: "book:time" }, await task(taskId))).toStrictEqual(there);
    expect(requests).toStrictEqual([]);
    expect(await whereAsked(services, { taskId, key: "book:time" })).toStrictEqual(there);
    expect(requests).toStrictEqual([["child", taskId, "book"]]);
    expect(await whereAsked(services, { taskId, key: "book:room:time" })).toBeUndefined();
    expect(await whereAsked(services, { taskId, key: "other:book:time" })).toBeUndefined();
    expect(requests.slice(1)).toStrictEqual([
      ["child", taskId, "book"],
      ["child", child, "room"],
      ["child", taskId, "other"],
    ]);
  });

  test("is searched as deep as tools may call each other, at the limit and one beyond", async () => {
    const { services, requestsOf } = inMemory({ replace: () => ({ child: async (taskId, key) => `${taskId}/${key}` }) });
    const key = (depth: number) => `${"a:".repeat(depth)}size`;
    expect(await whereAsked(services, { taskId: "0", key: key(CALL_DEPTH_MAX) })).toStrictEqual({ taskId: "0/a/a/a/a/a", key: "size" });
    expect(await whereAsked(services, { taskId: "0", key: key(CALL_DEPTH_MAX + 1) })).toBeUndefined();
    expect(requestsOf("child")).toHaveLength(CALL_DEPTH_MAX);
  });
});
