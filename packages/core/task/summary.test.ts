import { describe, expect, test } from "vitest";
import { PROBLEM_CHARS, problemOf, summaryOf } from "./summary.ts";
import type { JsonObject, Outcome, Task } from "../task.ts";

const facts = { principal: "alice", hidden: false, createdAtMs: 1, retentionMs: 3 };
const call = { ...facts, kind: "tool", name: "subject", capabilities: {} } as const;
const task: Task = { id: "0-1", call, status: "working", revision: 1, run: 0, generation: 0, updatedAtMs: 2, asks: [] };
const short = { id: "0-1", ...facts, status: "working", updatedAtMs: 2 };

describe("the summary of a task", () => {
  test("has what a list shows, and omits what is absent", () => {
    expect(summaryOf(task)).toStrictEqual(short);
    expect(summaryOf({ ...task, outcome: { type: "result", result: {} } })).toStrictEqual(short);
  });

  test("has its tenant, its time, its message and its problem if present", () => {
    const outcome: Outcome = { type: "error", error: { code: 1, message: "" } };
    const full: Task = { ...task, call: { ...call, tenant: "acme" }, expiresAtMs: 4, message: "", outcome };
    expect(summaryOf(full)).toStrictEqual({ ...short, tenant: "acme", expiresAtMs: 4, message: "", problem: "" });
  });
});

const no = (content: unknown): Outcome => ({ type: "result", result: { isError: true, content } as JsonObject });
const text = (said: unknown) => ({ type: "text", text: said });

describe("the problem", () => {
  test.each([
    ["a result that succeeded has none", { type: "result", result: { content: [text("fine")], isError: false } }, undefined],
    ["a result that does not say has none", { type: "result", result: { content: [text("fine")] } }, undefined],
    ["a failed call has its message", { type: "error", error: { code: 1, message: "broken" } }, "broken"],
    ["a result that failed has its first text", no([text("closed"), text("later")]), "closed"],
    ["something that is not a text is passed over", no([null, "text", 7, { type: "image", text: "x" }, text(7), text("closed")]), "closed"],
    ["a result without a text has an empty one", no([{ type: "image" }]), ""],
    ["a result without content has an empty one", no(undefined), ""],
    ["content that is not a list has an empty one", no({ length: 1, 0: text("x") }), ""],
  ] as const)("%s", (_what, outcome, problem) => {
    expect(problemOf(outcome as Outcome)).toBe(problem);
  });

  test("is cut to the length that lists keep", () => {
    const long = "x".repeat(PROBLEM_CHARS + 1);
    expect(problemOf({ type: "error", error: { code: 1, message: long } })).toBe("x".repeat(1_000));
    expect(problemOf(no([text(long)]))).toBe("x".repeat(1_000));
  });
});
