import { createValidator } from "@parley/node";
import { describe, expect, test } from "vitest";
import { readReply, readReplyByShape } from "./reply.ts";
import type { AskRequest } from "./task.ts";

const validate = createValidator();
const requests: readonly AskRequest[] = [
  { type: "form", message: "?", schema: { type: "object", properties: { n: { type: "number" } } } },
  { type: "url", message: "?", url: "https://example.com/" },
  { type: "sampling", params: { messages: [], maxTokens: 1 } },
  { type: "roots" },
];
const completion = { role: "assistant", content: { type: "text", text: "Paris." }, model: "m" };

describe("a client's reply", () => {
  test.each(requests)("to $type may say no, in the same words for every kind", (request) => {
    for (const action of ["decline", "cancel"] as const) {
      expect(readReply(request, { action, content: { n: 1 }, _meta: {} }, validate)).toEqual({ ok: true, answer: { action } });
      expect(readReplyByShape({ action, content: { n: 1 }, _meta: {} })).toEqual([{ action }]);
    }
  });

  test.each(requests)("to $type is known again by its shape, once nobody knows what was asked", (request) => {
    const replies = [
      { action: "accept" },
      { action: "accept", content: {} },
      { action: "accept", content: { n: 1, surplus: "x" } },
      { action: "accept", content: 5 },
      { action: "decline", content: 5 },
      { ...completion, surplus: 1, _meta: {} },
      { roots: [], surplus: 1 },
    ];
    for (const reply of replies) {
      const read = readReply(request, reply, validate);
      if (read.ok) expect(readReplyByShape(reply)).toContainEqual(read.answer);
    }
    expect(readReplyByShape(5)).toEqual([]);
  });

  test.each(requests)("to $type is never read as what only the server writes", (request) => {
    for (const action of ["timeout", "unavailable", "reply", "closed", "ACCEPT", "", null, ["cancel"], { cancel: true }]) {
      for (const reply of [{ action }, { action, content: { n: 1 } }, { action, result: {} }, { action, result: { action } }]) {
        expect(readReply(request, reply, validate)).toMatchObject({ ok: false });
        expect(readReplyByShape(reply)).toEqual([]);
      }
    }
  });

  test("to a form whose pattern takes long is refused by its length before any pattern is tried, at twice the limit and one beyond", () => {
    const mail = { type: "string", pattern: "^[^@]+@[^@]+\\.[^@]+$", maxLength: 100 };
    const request: AskRequest = {
      type: "form",
      message: "?",
      schema: { type: "object", properties: { "a/b": mail, free: { type: "string" } } },
    };
    const given = (content: Record<string, unknown>) => ({ action: "accept", content });
    let judged = 0;
    const counting: typeof validate = (schema, value) => ((judged += 1), validate(schema, value));
    expect(readReply(request, given({ "a/b": "@".repeat(201) }), counting)).toEqual({
      ok: false,
      violations: [{ path: "/content/a~1b", message: "must have at most 100 characters" }],
    });
    expect(judged).toBe(0);
    expect(readReply(request, given({ "a/b": "@".repeat(200) }), counting)).toMatchObject({
      violations: [{ path: "/content/a~1b" }, { path: "/content/a~1b" }],
    });
    expect(readReply(request, given({ "a/b": "a@b.c", free: "x".repeat(1_000) }), counting)).toMatchObject({ ok: true });
    expect(readReply(request, given({ "a/b": 5 }), counting)).toMatchObject({ ok: false });
    expect(judged).toBe(3);
  });

  test("to sampling and roots is taken as it is, what travels beside it left out", () => {
    const [, , sampling, roots] = requests;
    if (!sampling || !roots) throw new Error("no request");
    expect(readReply(sampling, { ...completion, _meta: { x: 1 } }, validate)).toEqual({
      ok: true,
      answer: { action: "reply", result: completion },
    });
    expect(readReply(roots, { roots: [{ uri: "file:///a" }] }, validate)).toMatchObject({ ok: true, answer: { action: "reply" } });
    expect(readReply(sampling, { action: "accept", content: {} }, validate)).toMatchObject({ ok: false });
    expect(readReply(roots, { action: "accept" }, validate)).toMatchObject({ ok: false });
  });
});
