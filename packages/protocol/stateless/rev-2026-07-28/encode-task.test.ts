import { readdirSync, readFileSync } from "node:fs";
import {
  CallToolResultV2Schema,
  CancelTaskResultV2Schema,
  CreateTaskResultV2Schema,
  GetTaskResultV2Schema,
  TaskStatusNotificationV2Schema,
  UpdateTaskResultV2Schema,
} from "@modelcontextprotocol/ext-tasks/core/v2";
import { describe, expect, test } from "vitest";
import type { Task } from "@parley/core";
import { rev20260728 } from "./index.ts";

/** Each case is a file in corpus/tasks: a task as core stores it, and the complete messages about it. */
interface Case {
  readonly file: string;
  readonly why: string;
  readonly task: Task;
  readonly expect: { readonly create: object; readonly get: object; readonly notification: object };
}

const folder = new URL("corpus/tasks/", import.meta.url);
const cases = readdirSync(folder).map((file): Case => ({
  file,
  ...(JSON.parse(readFileSync(new URL(file, folder), "utf8")) as Omit<Case, "file">),
}));
const say = rev20260728.encoder({ name: "parley", version: "1.2.3", pollInterval: () => 500, listTtlMs: 60_000, pageSize: 100 });

describe("the corpus of tasks", () => {
  test.each(cases)("$why ($file)", ({ task, expect: expected }) => {
    expect({
      create: say.createTaskResult(task),
      get: say.detailedTask(task, task.call),
      notification: say.taskNotification(task, { subscriptionId: 12, ...task.call }),
    }).toStrictEqual(expected);
  });

  test.each(cases)("the extension's own schemas accept every message: $file", ({ task }) => {
    CreateTaskResultV2Schema.parse(say.createTaskResult(task));
    GetTaskResultV2Schema.parse(say.detailedTask(task, task.call));
    TaskStatusNotificationV2Schema.parse(say.taskNotification(task, { subscriptionId: "s", ...task.call }));
    if (task.status === "completed") CallToolResultV2Schema.parse((say.detailedTask(task, task.call) as { result: unknown }).result);
  });

  test("has every status", () => {
    expect(new Set(cases.map(({ task }) => task.status))).toStrictEqual(
      new Set(["working", "input_required", "completed", "failed", "cancelled"]),
    );
  });
});

test("an update and a cancellation are acknowledged by nothing but the acknowledgement", () => {
  const acknowledgement = say.acknowledgement();
  expect(acknowledgement).toStrictEqual({
    resultType: "complete",
    _meta: { "io.modelcontextprotocol/serverInfo": { name: "parley", version: "1.2.3" } },
  });
  UpdateTaskResultV2Schema.parse(acknowledgement);
  CancelTaskResultV2Schema.parse(acknowledgement);
});

test("an update tells in _meta what became of each answer, so that who lost a race knows", () => {
  const acknowledgement = say.acknowledgement(
    new Map([
      ["name", { type: "accepted" }],
      ["size", { type: "late" }],
    ]),
  );
  expect(acknowledgement).toMatchObject({ resultType: "complete", _meta: { "parley/receipts": { name: "accepted", size: "late" } } });
  UpdateTaskResultV2Schema.parse(acknowledgement);
});

test("a completed task without a result is a defect, not a message", () => {
  const { task } = cases.find(({ file }) => file === "completed.json")!;
  const { outcome: _, ...broken } = task;
  expect(() => say.detailedTask(broken, broken.call)).toThrow("is completed but its outcome is absent");
});

test("a task that failed with a code of an earlier revision has another one, when it is read and when it is reported", () => {
  const { task } = cases.find(({ file }) => file === "failed.json")!;
  const error = { code: -32042, message: "visit a page first", data: { elicitations: [] } };
  const failed: Task = { ...task, outcome: { type: "error", error } };
  expect(say.detailedTask(failed, task.call)).toMatchObject({ error: { ...error, code: -32603 } });
  expect(say.taskNotification(failed, { subscriptionId: 12, ...task.call }).params).toMatchObject({ error: { ...error, code: -32603 } });
});

test("an ask called __proto__ is shown like any other", () => {
  const { task } = cases.find(({ file }) => file === "asks-form.json")!;
  const named = { ...task, asks: task.asks.map((ask) => ({ ...ask, key: "__proto__" })) };
  expect(Object.keys((say.detailedTask(named, named.call) as { inputRequests: object }).inputRequests)).toStrictEqual(["__proto__"]);
});
