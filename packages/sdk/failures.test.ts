/** The errors that authors catch, and what the model reads if they do not. */
import { type AskRequest, ParleyError, RpcFailure, ToolError } from "@parley/core";
import { describe, expect, test } from "vitest";
import {
  Cancelled,
  cannotAsk,
  ChildFailed,
  Declined,
  DefinitionError,
  isForModel,
  textForModel,
  throwUnanswered,
  throwUnheard,
  TimedOut,
  Withdrawn,
} from "./failures.ts";

/** Everything in an error: its own members and the message. */
function facts(error: unknown): object {
  const { name, message } = error as Error;
  return { ...(error as object), name, message };
}

function thrownBy(work: () => never): object {
  try {
    work();
  } catch (error) {
    return facts(error);
  }
}

test("a definition error has its cause and its violations if there are any", () => {
  const plain = new DefinitionError("wrong");
  expect(facts(plain)).toStrictEqual({ name: "DefinitionError", message: "wrong" });
  expect("cause" in plain).toBe(false);
  const cause = new Error("why");
  const violations = [{ path: "/a", message: "is wrong" }];
  const full = new DefinitionError("wrong", { cause, violations });
  expect([full.cause, facts(full)]).toStrictEqual([cause, { name: "DefinitionError", message: "wrong", violations }]);
});

describe("an unanswered question", () => {
  test.each([
    ["decline", { name: "Declined", message: 'The user declined to answer "q". The tool stopped there.' }],
    ["cancel", { name: "Cancelled", message: 'The user dismissed the question "q" without answering. The tool stopped there.' }],
    ["timeout", { name: "TimedOut", message: 'The question "q" was not answered in time. The tool stopped there.' }],
    ["withdrawn", { name: "Withdrawn", message: 'The tool withdrew the question "q" before it was answered.' }],
  ] as const)("throws what became of it: %s", (action, error) => {
    expect(thrownBy(() => throwUnanswered("q", { action }))).toStrictEqual({ ...error, ask: "q" });
  });

  test("says how many of the required people had accepted", () => {
    expect(thrownBy(() => throwUnanswered("q", { action: "timeout", accepted: 0, quorum: 2 }))).toStrictEqual({
      name: "TimedOut",
      message: 'Of the 2 people who must accept "q", 0 did in time. The tool stopped there.',
      ask: "q",
      accepted: 0,
      quorum: 2,
    });
  });
});

test("the reason of a decline is told to the model, and not in the message, which may be logged", () => {
  const declined = new Declined("pay", "Too expensive.");
  expect(declined.message).not.toContain("expensive");
  expect(textForModel(declined)).toBe('The user declined to answer "pay". The tool stopped there. They said: Too expensive.');
  expect(textForModel(new Declined("pay"))).toBe('The user declined to answer "pay". The tool stopped there.');
});

test("an unreported event throws its outcome", () => {
  expect(thrownBy(() => throwUnheard("paid", "timeout"))).toStrictEqual({
    name: "TimedOut",
    message: 'The event "paid" was not reported in time. The tool stopped there.',
    ask: "paid",
  });
  expect(thrownBy(() => throwUnheard("paid", "withdrawn"))).toStrictEqual({
    name: "Withdrawn",
    message: 'The tool gave up waiting for "paid".',
    ask: "paid",
  });
});

describe("a client that cannot be asked", () => {
  test.each<[string, object, string, string, object]>([
    ["form", {}, "asks the user to fill in a form", "elicitation", { elicitation: { form: {} } }],
    ["url", {}, "sends the user to a page", "elicitation.url", { elicitation: { url: {} } }],
    ["sampling", { params: {} }, "asks the client's model", "sampling", { sampling: {} }],
    ["sampling", { params: { tools: [] } }, "asks the client's model, with tools", "sampling.tools", { sampling: { tools: {} } }],
    ["sampling", { params: { toolChoice: {} } }, "asks the client's model, with tools", "sampling.tools", { sampling: { tools: {} } }],
    ["roots", {}, "asks for the client's folders", "roots", { roots: {} }],
  ])("is described by the missing capability: %s %j", (type, request, does, capability, requiredCapabilities) => {
    const error = cannotAsk("q", { type, ...request } as AskRequest);
    expect([error.code, error.data, error.message]).toStrictEqual([
      "CAPABILITY_REQUIRED",
      { requiredCapabilities },
      `To continue, the tool ${does} ("q"), and this client cannot be asked that. Call the tool from a client that declares the capability ${capability} and accepts event streams.`,
    ]);
  });
});

test.each<[unknown, boolean]>([
  [new ToolError("no table left"), true],
  [new ToolError("try again", { retryable: true }), false],
  [new Declined("q"), true],
  [new Cancelled("q"), true],
  [new TimedOut("q"), true],
  [new Withdrawn("q"), true],
  [new ChildFailed("key", "tool", "failed", "why"), true],
  [new ParleyError("CAPABILITY_REQUIRED", "cannot"), true],
  [new ParleyError("INVALID_ASK", "wrong"), false],
  [new RpcFailure(-32_000, "gone"), false],
  [Object.assign(new Error("another"), { code: "CAPABILITY_REQUIRED" }), false],
  ["text", false],
])("the model reads %s: %s", (error, isRead) => {
  expect(isForModel(error)).toBe(isRead);
});
