import { createValidator } from "@parley/node";
import { describe, expect, test } from "vitest";
import { isOnPage, readReply, readReplyByShape } from "./reply.ts";
import type { AskRequest, EventRequest, JsonObject } from "../task.ts";

const validate = createValidator();
const form: AskRequest = { type: "form", message: "?", schema: { type: "object", properties: { n: { type: "number" } } } };
const url: AskRequest = { type: "url", message: "?", url: "https://example.com/" };
const sampling: AskRequest = { type: "sampling", params: { messages: [], maxTokens: 1 } };
const roots: AskRequest = { type: "roots" };
const requests = [form, url, sampling, roots];
const completion = { role: "assistant", content: { type: "text", text: "Paris." }, model: "m" };

describe("a client's reply", () => {
  test.each(requests)("to $type may decline, in the same words for every kind", (request) => {
    for (const action of ["decline", "cancel"] as const) {
      expect(readReply(request, { action, content: { n: 1 }, _meta: {} }, validate)).toEqual({ ok: true, answer: { action } });
      expect(readReplyByShape({ action, content: { n: 1 }, _meta: {} })).toEqual([{ action }]);
    }
  });

  test.each(requests)("to $type may say why it declines, within a bound", (request) => {
    const declined = { action: "decline", reason: "Too expensive." };
    for (const reply of [
      { action: "decline", reason: " Too expensive.\n" },
      { action: "decline", _meta: { "parley/reason": "Too expensive." } },
    ]) {
      expect(readReply(request, reply, validate)).toEqual({ ok: true, answer: declined });
      expect(readReplyByShape(reply)).toEqual([declined]);
    }
    for (const reason of [null, 5, {}, "", "  "]) {
      expect(readReply(request, { action: "decline", reason }, validate)).toEqual({ ok: true, answer: { action: "decline" } });
    }
    expect(readReply(request, { action: "decline", reason: "x".repeat(1_000) }, validate)).toMatchObject({ ok: true });
    expect(readReply(request, { action: "decline", reason: "x".repeat(1_001) }, validate)).toMatchObject({
      violations: [{ path: "/reason", message: "must have at most 1000 characters" }],
    });
    expect(readReplyByShape({ action: "decline", reason: "x".repeat(1_001) })).toEqual([]);
  });

  test.each(requests)("to $type is recognised by its shape, once the question is no longer known", (request) => {
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

  test.each(requests)("to $type is never read as an action that only the server writes", (request) => {
    for (const action of ["timeout", "unavailable", "reply", "closed", "ACCEPT", "", null, ["cancel"], { cancel: true }]) {
      for (const reply of [{ action }, { action, content: { n: 1 } }, { action, result: {} }, { action, result: { action } }]) {
        expect(readReply(request, reply, validate)).toMatchObject({ ok: false });
        expect(readReplyByShape(reply)).toEqual([]);
      }
    }
  });

  test("to a form with a slow pattern is refused by its length before any pattern is tried", () => {
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

  test("to a form without required fields may have no content, and one to a page has none", () => {
    const accepted = (content?: JsonObject) => ({ ok: true, answer: { action: "accept", ...(content && { content }) } });
    expect(readReply(form, { action: "accept" }, validate)).toStrictEqual(accepted({}));
    expect(readReply(url, { action: "accept" }, validate)).toStrictEqual(accepted());
    expect(readReply(url, { action: "accept", content: { n: 1 } }, validate)).toStrictEqual(accepted());
  });

  test("to a form may have empty texts or nulls for fields that were left empty, and is recognised again with them", () => {
    const request: AskRequest = {
      type: "form",
      message: "?",
      schema: {
        type: "object",
        properties: { name: { type: "string" }, mail: { type: "string", format: "email" }, age: { type: "integer" } },
        required: ["name"],
      },
    };
    const kept = (content: JsonObject) => ({ ok: true, answer: { action: "accept", content } });
    const read = (content: JsonObject) => readReply(request, { action: "accept", content }, validate);
    expect(read({ name: "Ada", mail: "", age: "" })).toStrictEqual(kept({ name: "Ada" }));
    expect(readReplyByShape({ action: "accept", content: { name: "Ada", mail: "", age: "" } })).toContainEqual(
      kept({ name: "Ada" }).answer,
    );
    // So does null, beside an empty text that is meant.
    expect(read({ name: "", mail: null, age: null })).toStrictEqual(kept({ name: "" }));
    expect(readReplyByShape({ action: "accept", content: { name: "", mail: null } })).toContainEqual(kept({ name: "" }).answer);
    expect(read({ name: null, mail: null })).toMatchObject({ ok: false });
    expect(
      readReply({ ...request, schema: { type: "object", properties: {} } }, { action: "accept", content: null }, validate),
    ).toStrictEqual(kept({}));
    // A text may be empty if the form says nothing else.
    expect(read({ name: "" })).toStrictEqual(kept({ name: "" }));
    expect(read({ name: "", mail: "" })).toMatchObject({ ok: false, violations: [{ path: "/content/mail" }] });
    expect(read({ name: "Ada", mail: "", age: "old" })).toMatchObject({ ok: false });
  });

  test("to sampling and roots is taken as it is, without the message's metadata", () => {
    expect(readReply(sampling, { ...completion, _meta: { x: 1 } }, validate)).toEqual({
      ok: true,
      answer: { action: "reply", result: completion },
    });
    expect(readReply(roots, { roots: [{ uri: "file:///a" }] }, validate)).toMatchObject({ ok: true, answer: { action: "reply" } });
    expect(readReply(sampling, { action: "accept", content: {} }, validate)).toMatchObject({ ok: false });
    expect(readReply(roots, { action: "accept" }, validate)).toMatchObject({ ok: false });
  });
});

describe("a reply of the wrong shape is refused with its violations", () => {
  const { role, content, model } = completion;
  const wrong = (path: string, message: string) => ({ path, message });

  test.each(requests)("to $type: not an object", (request) => {
    for (const reply of [undefined, null, 5, "accept", [], [{ action: "accept" }]])
      expect(readReply(request, reply, validate)).toStrictEqual({ ok: false, violations: [wrong("", "must be an object")] });
  });

  test.each<[string, AskRequest, unknown, ReturnType<typeof wrong>[]]>([
    ["no action", form, {}, [wrong("/action", "must be one of accept, decline, cancel")]],
    ["an unknown action", form, { action: "ok" }, [wrong("/action", "must be one of accept, decline, cancel")]],
    ["content that is a text", form, { action: "accept", content: "5" }, [wrong("/content", "must be an object with the form's fields")]],
    ["content that is a list", form, { action: "accept", content: [] }, [wrong("/content", "must be an object with the form's fields")]],
    ["a field of another type", form, { action: "accept", content: { n: "5" } }, [wrong("/content/n", "must be a number")]],
    [
      "a completion without anything",
      sampling,
      {},
      [wrong("/role", "is required"), wrong("/content", "is required"), wrong("/model", "is required")],
    ],
    ["somebody else's words", sampling, { role: "system", content, model }, [wrong("/role", 'must be one of "user", "assistant"')]],
    ["a model that is a number", sampling, { role, content, model: 5 }, [wrong("/model", "must be a text")]],
    ["a reason that is a number", sampling, { ...completion, stopReason: 5 }, [wrong("/stopReason", "must be a text")]],
    [
      "content of a completion that is a text",
      sampling,
      { role, content: "Paris.", model },
      [wrong("/content", "must be an object or a list")],
    ],
    ["a block without a type", sampling, { role, content: {}, model }, [wrong("/content/type", "is required")]],
    [
      "a block among several whose type is a number",
      sampling,
      { role, content: [content, { type: 5 }], model },
      [wrong("/content/1/type", "must be a text")],
    ],
    ["no roots", roots, {}, [wrong("/roots", "is required")]],
    ["roots that are not a list", roots, { roots: {} }, [wrong("/roots", "must be a list")]],
    ["a root that is a text", roots, { roots: ["file:///a"] }, [wrong("/roots/0", "must be an object")]],
    ["a root without a uri", roots, { roots: [{ uri: "file:///a" }, { name: "b" }] }, [wrong("/roots/1/uri", "is required")]],
    ["a uri that is a number", roots, { roots: [{ uri: 5 }] }, [wrong("/roots/0/uri", "must be a text")]],
    ["a root's name that is a number", roots, { roots: [{ uri: "file:///a", name: 5 }] }, [wrong("/roots/0/name", "must be a text")]],
  ])("%s", (_, request, reply, violations) => {
    expect(readReply(request, reply, validate)).toStrictEqual({ ok: false, violations });
  });

  test.each<[string, AskRequest, JsonObject]>([
    ["a person's own words", sampling, { ...completion, role: "user", stopReason: "endTurn" }],
    ["several blocks", sampling, { role, content: [content, content], model }],
    ["no block", sampling, { role, content: [], model }],
    ["no root", roots, { roots: [] }],
    ["roots with a name", roots, { roots: [{ uri: "file:///a", name: "a" }, { uri: "file:///b" }] }],
  ])("and one that MCP allows is accepted: %s", (_, request, result) => {
    expect(readReply(request, result, validate)).toStrictEqual({ ok: true, answer: { action: "reply", result } });
  });

  test("with unusable content counts as a bare acceptance", () => {
    expect(readReplyByShape({ action: "accept", content: 5 })).toStrictEqual([{ action: "accept" }]);
  });
});

describe("the length of a string is checked before the schema", () => {
  const given = (properties: JsonObject | undefined, content: JsonObject) => {
    const request: AskRequest = { type: "form", message: "?", schema: { type: "object", ...(properties && { properties }) } };
    return readReply(request, { action: "accept", content }, validate);
  };
  const text = "x".repeat(21);
  const accepted = (content: JsonObject) => ({ ok: true, answer: { action: "accept", content } });

  test("if the field has a pattern and a limit, under the field's own name", () => {
    expect(given({ "a~b/c": { type: "string", pattern: "^y", maxLength: 10 } }, { "a~b/c": text })).toStrictEqual({
      ok: false,
      violations: [{ path: "/content/a~0b~1c", message: "must have at most 10 characters" }],
    });
  });

  test("and not if one of them is missing: then only the validator decides", () => {
    expect(given({ a: { type: "string", maxLength: 10 } }, { a: text })).toStrictEqual({
      ok: false,
      violations: [{ path: "/content/a", message: "must have at most 10 characters" }],
    });
    expect(given({ a: { type: "string", pattern: "^x+$" } }, { a: text })).toStrictEqual(accepted({ a: text }));
    expect(given({ a: true }, { a: text })).toStrictEqual(accepted({ a: text }));
    expect(given(undefined, { a: text })).toStrictEqual(accepted({ a: text }));
  });
});

test.each<[string, boolean, AskRequest | EventRequest]>([
  ["a page of Parley's own", true, { type: "url", message: "?", url: "", page: { kind: "secret" } }],
  ["a page whose end an event tells", true, { type: "url", message: "?", url: "https://example.com/", completedBy: "event" }],
  ["any other page", false, url],
  ["a form", false, form],
  ["an event", false, { type: "event", schema: {} }],
])("an accept of %s says only that the person agreed to go: %s", (_, is, request) => {
  expect(isOnPage({ request })).toBe(is);
});
