/** The event that follows a poll of an upstream's task, by the upstream's reply. */
import { ProtocolError, SdkError, SdkErrorCode } from "@modelcontextprotocol/client";
import { DEFAULT_SETTINGS } from "@parley/core";
import { describe, expect, test } from "vitest";
import { completed, failure, looked, required } from "./endings.ts";
import { readQuestion } from "../wire/question.ts";
import { readTask, type UpstreamTask } from "../connection/upstream-tasks.ts";
import { aRequest } from "../upstream.fixture.ts";

const judging = {
  request: aRequest(),
  admit: () => ({ key: "question-1", from: "call", digest: "d", request: { type: "roots" }, timeoutMs: 1, id: "" }) as const,
};
const look = (task: Partial<UpstreamTask>) => looked({ taskId: '["session","task"]', status: "input_required", ...task }, judging);

describe("a task that waits for input", () => {
  test.each([
    ["asks nothing", {}, true],
    ["asks something", { inputRequests: { 1: { method: "roots/list" } } }, undefined],
    ["works meanwhile", { status: "working" }, undefined],
    ["tells all of its questions at each look, of which there are none", { taskId: "of 2026-07-28" }, undefined],
  ] as const)("and %s: its question may be lost: %o", (_what, task, isUnheard) => {
    const event = look(task as Partial<UpstreamTask>);
    expect(event.type === "required" && event.task?.isUnheard).toBe(isUnheard);
  });
});

test.each([
  [undefined, ["a", "b"]],
  [[], ["a", "b"]],
  [["a"], ["b"]],
  [["a", "b"], []],
])("of the questions that a task tells at each look, those are asked that were not asked before: %j", (asked, expected) => {
  const round = asked && { responses: {}, task: { id: "t", asked } };
  const inputRequests = { a: { method: "roots/list" }, b: { method: "roots/list" } };
  const event = looked(
    { taskId: "t", status: "input_required", inputRequests },
    { ...judging, request: aRequest({ ...(round && { round }) }) },
  );
  expect(event.type === "required" && event.questions.map(({ id }) => id)).toEqual(expected);
});

test.each([
  [undefined, undefined],
  [{ "parley/waits": true }, true],
  [{ "parley/waits": "yes" }, undefined],
])("a task waits for people whom only its upstream can ask if it says so: %j", (_meta, expected) => {
  const event = looked(readTask({ taskId: "t", status: "working", ...(_meta && { _meta }) }), judging);
  expect(event.type === "required" && event.task?.isWaiting).toBe(expected);
});

test.each([
  [undefined, undefined, undefined],
  ["a", undefined, "a"],
  ["a", "a", undefined],
  ["b", "a", "b"],
  ["x".repeat(1_001), undefined, `${"x".repeat(1_000)}…`],
  ["x".repeat(1_001), `${"x".repeat(1_000)}…`, undefined],
])("the status message of a task is passed on, cut, if it has changed: case %#", (statusMessage, message, expected) => {
  const round = { responses: {}, task: { id: "t", asked: [], ...(message !== undefined && { message }) } };
  const event = looked({ taskId: "t", status: "working", statusMessage }, { ...judging, request: aRequest({ round }) });
  expect(event.type === "required" && event.task?.message).toBe(expected);
});

test.each([
  [undefined, 0, undefined],
  [{ "parley/waits": true }, 0, 0],
  [{ "parley/waits": true }, 5, 5],
  [{ "parley/waits": "yes" }, 0, undefined],
  // Otherwise its people would have their whole time in each of its calls.
  [undefined, 5, 5],
])("a call that is handed over says how long people were waited for, by its %j and its progress: %j", (_meta, waitedMs, expected) => {
  const event = required({ requestState: "s", ...(_meta && { _meta }) }, { ...judging, waitedMs: () => waitedMs });
  expect(event).toEqual({ type: "required", questions: [], state: "s", ...(expected !== undefined && { waitedMs: expected }) });
});

test("a result of an unknown kind is invalid, whether the client or the gateway notices it", () => {
  const invalid = { type: "invalid", message: "answered with a result that MCP does not allow" };
  expect(completed({ resultType: "future", content: [] })).toEqual(invalid);
  expect(failure(new SdkError(SdkErrorCode.UnsupportedResultType, "secret"), judging)).toEqual(invalid);
  expect(completed({ resultType: "complete", content: [] })).toEqual({ type: "result", result: { content: [] } });
});

test("an error that requires visits but names no page is the upstream's error", () => {
  const request = aRequest({ capabilities: { elicitation: { form: true, url: true } } });
  const error = new ProtocolError(-32042, "visit first", { elicitations: [] });
  expect(failure(error, { ...judging, request })).toMatchObject({ type: "error", error: { code: -32042 } });
});

test.each([
  [{ a: null }, /^asked questions that cannot be read$/],
  [null, /^asked questions that cannot be read$/],
  [{ a: 1 }, /^this cannot be asked: \/method must be one of/],
  [
    { a: { method: "evil/create", params: { message: "?", requestedSchema: { type: "object", properties: {} } } } },
    /method must be one of/,
  ],
])("questions that are none are invalid: %j", (inputRequests, message) => {
  const admit = (method: string, params: unknown) => {
    readQuestion(method, params, { settings: DEFAULT_SETTINGS });
    return judging.admit();
  };
  expect(required({ inputRequests }, { ...judging, admit })).toEqual({ type: "invalid", message: expect.stringMatching(message) });
});
