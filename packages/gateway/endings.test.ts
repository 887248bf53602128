/** The event that follows a poll of an upstream's task, by the upstream's reply. */
import { describe, expect, test } from "vitest";
import { looked } from "./endings.ts";
import type { UpstreamTask } from "./upstream-tasks.ts";
import { aRequest } from "./upstream.fixture.ts";

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
