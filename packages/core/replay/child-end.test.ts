import { expect, test } from "vitest";
import { answerOfChild, childEndOf } from "./child-end.ts";
import type { EntryOutcome } from "../journal.ts";
import { answerOutcome } from "../journal.ts";
import type { Outcome } from "../task.ts";

test.each([
  ["result", { type: "result", result: { content: [] } }],
  ["error", { type: "error", error: { code: -32603, message: "no", data: { a: 1 } } }],
] as const satisfies readonly (readonly [string, Outcome])[])(
  "its parent is told a child's %s as every client would be",
  (_kind, outcome) => {
    const answer = answerOfChild(outcome);
    const { type: _type, ...content } = outcome;
    expect(answer).toStrictEqual({ action: "accept", content });
    expect(childEndOf(answerOutcome(answer, undefined))).toStrictEqual(outcome);
  },
);

const answered = (action: "timeout" | "withdrawn" | "decline"): EntryOutcome => answerOutcome({ action }, undefined);

test.each([
  ["its cancellation", { type: "cancelled" }, { type: "cancelled" }],
  ["the end of its time", answered("timeout"), { type: "timeout" }],
  ["that it is not wanted any more", answered("withdrawn"), { type: "withdrawn" }],
  ["anything else that is not an acceptance", answered("decline"), { type: "withdrawn" }],
  ["an acceptance of nothing", answerOutcome({ action: "accept" }, undefined), { type: "error", error: undefined }],
] as const)("a parent's journal tells it %s", (_what, outcome, end) => {
  expect(childEndOf(outcome)).toStrictEqual(end);
});
