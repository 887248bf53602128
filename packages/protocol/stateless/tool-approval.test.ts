import type { Task } from "@parley/core";
import { describe, expect, test } from "vitest";
import { rev20260728 } from "./rev-2026-07-28/index.ts";

const FACTS = { name: "parley", version: "1", pollInterval: () => 500, listTtlMs: 60_000, pageSize: 100 };
const says = rev20260728.encoder({ ...FACTS, toolApproval: true });
const silent = rev20260728.encoder(FACTS);
const AUTHORIZATION = "io.modelcontextprotocol/authorization";
const PENDING = { reason: "insufficient_authorization", remediation: "available", remediationHints: [{ type: "task" }] };

const ask = (about: object) => ({
  key: "a",
  digest: "d",
  askedAtMs: 1,
  deadlineMs: 2,
  onTimeout: "cancel",
  request: { type: "form", message: "?", schema: { type: "object", properties: {} }, about },
});
const task = (more: object) =>
  ({
    id: "0-t",
    status: "working",
    revision: 1,
    run: 1,
    generation: 0,
    updatedAtMs: 1,
    asks: [],
    call: {
      kind: "tool",
      name: "t",
      principal: "ann",
      capabilities: { elicitation: { form: true } },
      createdAtMs: 1,
      retentionMs: 1,
      hidden: false,
    },
    ...more,
  }) as unknown as Task;
const metaOf = (said: object) => (said as { _meta?: Record<string, unknown> })._meta?.[AUTHORIZATION];

describe("tasks/get", () => {
  test.each<[string, object, object | undefined]>([
    ["works", {}, undefined],
    ["asks others for approval", { status: "input_required", asksOfOthers: [ask({ isApproval: true })] }, PENDING],
    ["asks its own caller for approval", { status: "input_required", asks: [ask({ isApproval: true })] }, PENDING],
    ["asks something else", { status: "input_required", asks: [ask({})], asksOfOthers: [ask({ priority: "high" })] }, undefined],
    ["has ended", { status: "cancelled", asksOfOthers: [ask({ isApproval: true })] }, undefined],
  ])("of a task that %s says whether it waits for approval, where the setting is on", (_, more, expected) => {
    const of = task(more);
    expect(metaOf(says.detailedTask(of, of.call))).toEqual(expected);
    expect(metaOf(silent.detailedTask(of, of.call))).toBeUndefined();
  });
});

test("the extension is declared beside that of tasks, where the setting is on", () => {
  const tool = { kind: "tool", name: "t", task: "optional" };
  const catalogue = { tools: new Map([["t", tool]]), prompts: new Map(), resources: new Map(), templates: [] } as never;
  const extensionsOf = (said: object) => (said as { capabilities: { extensions?: object } }).capabilities.extensions;
  expect(extensionsOf(says.discover(catalogue))).toEqual({
    "io.modelcontextprotocol/tasks": {},
    "io.modelcontextprotocol/tool-approval": {},
  });
  expect(extensionsOf(silent.discover(catalogue))).toEqual({ "io.modelcontextprotocol/tasks": {} });
});
