import {
  CallToolResultV1Schema,
  CancelTaskResultV1Schema,
  CreateTaskResultV1Schema,
  GetTaskResultV1Schema,
  ListTasksResultV1Schema,
  TaskStatusNotificationV1Schema,
} from "@modelcontextprotocol/ext-tasks/core/v1";
import { CreateTaskResultSchema, GetTaskResultSchema, TaskStatusNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, test } from "vitest";
import { RpcFailure, summaryOf, type Json, type Task } from "@parley/core";
import { corpus } from "../../corpus.fixture.ts";
import { rev20251125, taskFinished } from "./index.ts";

/** A task as core stores it, and the complete messages about it. */
interface Case {
  readonly task: Task;
  readonly expect: {
    readonly create: object;
    readonly get: object;
    readonly listed: object;
    readonly cancelled: object;
    readonly inputSent: object;
    readonly notification: object;
    /** One of the two, once the task has ended. */
    readonly result?: object;
    readonly error?: object;
  };
}

const cases = corpus<Case>("corpus/tasks", import.meta.url);
const { tasks } = rev20251125.encoder({ name: "parley", version: "1.2.3", pollInterval: () => 500, listTtlMs: 60_000, pageSize: 100 });
if (!tasks) throw new Error("2025-11-25 has tasks");
const say = tasks;

function endOf(task: Task): { readonly result?: object; readonly error?: object } {
  try {
    return { result: say.taskResult(task) };
  } catch (error) {
    if (!(error instanceof RpcFailure)) return {};
    const { code, message, data } = error;
    return { error: { code, message, ...(data === undefined ? {} : { data }) } };
  }
}

describe("the corpus of tasks", () => {
  test.each(cases)("$why ($file)", ({ task, expect: expected }) => {
    expect({
      create: say.createTaskResult(task, task.call.capabilities),
      get: say.task(task, task.call.capabilities),
      listed: (say.taskList({ tasks: [summaryOf(task)] }, task.call.capabilities) as { tasks: object[] }).tasks[0],
      cancelled: say.cancelledTask(task, task.call.capabilities),
      inputSent: say.inputSent(true, task, task.call.capabilities),
      notification: say.taskStatus(task, task.call.capabilities),
      ...endOf(task),
    }).toStrictEqual(expected);
  });

  test.each(cases)("the official schemas accept every message: $file", ({ task }) => {
    CreateTaskResultV1Schema.parse(say.createTaskResult(task, task.call.capabilities));
    CreateTaskResultSchema.parse(say.createTaskResult(task, task.call.capabilities));
    GetTaskResultV1Schema.parse(say.task(task, task.call.capabilities));
    GetTaskResultSchema.parse(say.task(task, task.call.capabilities));
    GetTaskResultV1Schema.parse(say.inputSent(false, task, task.call.capabilities));
    ListTasksResultV1Schema.parse(say.taskList({ tasks: [summaryOf(task), summaryOf(task)], nextCursor: "c" }, task.call.capabilities));
    CancelTaskResultV1Schema.parse(say.cancelledTask(task, task.call.capabilities));
    TaskStatusNotificationV1Schema.parse(say.taskStatus(task, task.call.capabilities));
    TaskStatusNotificationSchema.parse(say.taskStatus(task, task.call.capabilities));
    const { result } = endOf(task);
    if (result) CallToolResultV1Schema.parse(result);
  });

  test("has every status", () => {
    expect(new Set(cases.map(({ task }) => task.status))).toStrictEqual(
      new Set(["working", "input_required", "completed", "failed", "cancelled"]),
    );
  });
});

const taskOf = (file: string): Task => {
  const found = cases.find((one) => one.file === `${file}.json`);
  if (!found) throw new Error(`no case ${file}`);
  return found.task;
};

test.each([
  [{}, "working"],
  [{ elicitation: { form: false, url: false } }, "working"],
  [{ elicitation: { form: false, url: true } }, "input_required"],
  [{ sampling: { tools: false } }, "input_required"],
  [{ roots: true }, "input_required"],
])("a list says of a task that waits for somebody, to a client that declares %j: %s", (capabilities, status) => {
  expect(say.taskList({ tasks: [summaryOf(taskOf("asks-form"))] }, capabilities)).toMatchObject({ tasks: [{ status }] });
});

test("a page of tasks has a cursor while there are more", () => {
  expect(say.taskList({ tasks: [], nextCursor: "c" }, {})).toStrictEqual({ tasks: [], nextCursor: "c" });
  expect(say.taskList({ tasks: [] }, {})).toStrictEqual({ tasks: [] });
});

test("a late answer is reported, with the task", () => {
  expect(say.inputSent(false, taskOf("working"), {})).toMatchObject({ accepted: false, taskId: "786512e2", status: "working" });
});

test("the result of a task that still works is a defect, and so is one that is missing", () => {
  expect(() => say.taskResult(taskOf("working"))).toThrow("it has no result yet");
  const { outcome: _, ...broken } = taskOf("completed");
  expect(() => say.taskResult(broken)).toThrow("its outcome is absent");
});

test("a task that was cancelled without a message has no result either", () => {
  const { message: _, ...silent } = taskOf("cancelled");
  expect(endOf(silent)).toStrictEqual({ error: { code: -32602, message: "the task was cancelled and has no result" } });
});

test("a tool that says no without a text has failed with the last message of its task", () => {
  const task = taskOf("completed-is-error-silent");
  for (const content of [undefined, "text", [{ type: "image", data: "" }], [{ type: "text", text: 5 }], [null]] as Json[]) {
    const outcome = { type: "result", result: { isError: true, content } } as const;
    expect(say.task({ ...task, outcome }, {})).toMatchObject({ status: "failed", statusMessage: "reading" });
  }
});

test("a status message has at most 1,000 characters", () => {
  const saying = (message: string) => say.task({ ...taskOf("working"), message }, {});
  expect(saying("m".repeat(1_000))).toMatchObject({ statusMessage: "m".repeat(1_000) });
  expect(saying("m".repeat(1_001))).toMatchObject({ statusMessage: "m".repeat(1_000) });
});

test("a task ends once, and a second attempt to end it learns how it ended", () => {
  expect(taskFinished(taskOf("completed"))).toMatchObject({
    code: "TASK_FINISHED",
    message: "Cannot cancel task: already in terminal status 'completed'",
  });
  expect(taskFinished(taskOf("completed-is-error")).message).toContain("'failed'");
});

test("an unfinished task promises what would be left if it ended with its last change", () => {
  const task = taskOf("working");
  const changed = { ...task, updatedAtMs: task.call.createdAtMs + 5_000 };
  expect(say.task(changed, {})).toMatchObject({ ttl: 3_605_000 });
});
