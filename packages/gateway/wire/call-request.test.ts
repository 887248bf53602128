import type { Answer } from "@parley/core";
import { expect, test } from "vitest";
import { elicited, replied, responses } from "./call-request.ts";

test.each([
  [{ action: "timeout" }, -32000, "timeout"],
  [{ action: "unavailable" }, -32601, "unavailable"],
  [{ action: "withdrawn" }, -32000, "withdrawn"],
] as const)(
  "a question without an answer, %j, is an error of every kind of question: %i, with the reason and what to do",
  (answer, code, reason) => {
    const told = expect.objectContaining({ code, data: { reason, hint: expect.any(String) } });
    for (const read of [elicited, replied]) expect(() => read(answer)).toThrow(told);
  },
);

test.each(["decline", "cancel"] as const)(
  "to %s is an answer to an elicitation, and an error to a request for a model or for folders",
  (action) => {
    expect(elicited({ action })).toEqual({ action });
    expect(elicited({ action: "decline", reason: "No." })).toEqual({ action: "decline", _meta: { "parley/reason": "No." } });
    const data = { reason: "declined", hint: expect.any(String) };
    expect(() => replied({ action })).toThrow(expect.objectContaining({ code: -32000, data }));
  },
);

test("an upstream that does not wait gets each answer as it was given, and `cancel` where there is no word for it", () => {
  const given: Readonly<Record<string, Answer>> = {
    accepted: { action: "accept", content: { ok: true } },
    declined: { action: "decline", reason: "No." },
    cancelled: { action: "cancel" },
    late: { action: "timeout" },
    replied: { action: "reply", result: { roots: [] } },
  };
  expect(responses(given)).toEqual({
    accepted: { action: "accept", content: { ok: true } },
    declined: { action: "decline", _meta: { "parley/reason": "No." } },
    cancelled: { action: "cancel" },
    late: { action: "cancel" },
    replied: { roots: [] },
  });
});
