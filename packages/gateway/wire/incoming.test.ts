import { describe, expect, test } from "vitest";
import { mended, whyUnreadable } from "./incoming.ts";

const read = (text: string): unknown => mended(JSON.parse(text), text);
const RESULT = { content: [{ type: "text", text: "done" }] };

describe("a response that is slightly wrong is read", () => {
  test.each([
    ["null beside its result", '{"jsonrpc":"2.0","id":7,"result":{"content":[]},"error":null}', { result: { content: [] } }],
    ["null members", '{"jsonrpc":"2.0","id":7,"result":{"content":[],"_meta":null,"isError":null}}', { result: { content: [] } }],
    ["an error without a code", '{"jsonrpc":"2.0","id":7,"error":{"message":"boom"}}', { error: { code: -32603, message: "boom" } }],
    ["an error that is a text", '{"jsonrpc":"2.0","id":7,"error":"boom"}', { error: { code: -32603, message: "boom" } }],
    ["a member of its own", '{"jsonrpc":"2.0","id":7,"result":{"content":[]},"ts":1}', { result: { content: [] } }],
    ["no version", '{"id":7,"result":{"content":[]}}', { result: { content: [] } }],
    [
      "no structured content",
      `{"id":7,"result":{"content":${JSON.stringify(RESULT.content)},"structuredContent":null}}`,
      { result: RESULT },
    ],
    [
      "a list beside its text",
      `{"id":7,"result":{"content":${JSON.stringify(RESULT.content)},"structuredContent":[1]}}`,
      { result: RESULT },
    ],
    [
      "a list instead of text",
      '{"id":7,"result":{"content":[],"structuredContent":[1]}}',
      { result: { content: [{ type: "text", text: "[1]" }] } },
    ],
    [
      "a list of 2026",
      '{"id":7,"result":{"resultType":"complete","structuredContent":[1]}}',
      { result: { resultType: "complete", structuredContent: [1] } },
    ],
    [
      "null where it is a value",
      '{"id":7,"result":{"content":[{"type":"text","text":"x","annotations":null}],"structuredContent":{"a":null},"_meta":{"b":null}}}',
      { result: { content: [{ type: "text", text: "x" }], structuredContent: { a: null }, _meta: { b: null } } },
    ],
  ])("with %s", (_what, text, expected) => {
    expect(read(text)).toStrictEqual({ jsonrpc: "2.0", id: 7, ...expected });
  });

  test.each(["1.5", '"-32000"', "9007199254740993", "null"])("with an error whose code is %s", (code) => {
    const text = `{"jsonrpc":"2.0","id":7,"error":{"code":${code},"message":"boom"}}`;
    expect(read(text)).toStrictEqual({ jsonrpc: "2.0", id: 7, error: { code: -32603, message: "boom" } });
  });

  test("also in a batch", () => {
    expect(read('[{"id":7,"result":{"content":[]}}]')).toStrictEqual([{ jsonrpc: "2.0", id: 7, result: { content: [] } }]);
  });
});

describe("a response that cannot be read ends its call", () => {
  test.each([
    ["its result is null", '{"jsonrpc":"2.0","id":7,"result":null}', "without a result"],
    ["it has neither result nor error", '{"jsonrpc":"2.0","id":7}', "without a result"],
    ["a number would be rounded", '{"id":7,"result":{"content":[],"structuredContent":{"id":1234567890123456789}}}', "1234567890123456789"],
  ])("if %s", (_what, text, message) => {
    const { id, error } = read(text) as { id: number; error: { message: string; data: string } };
    expect(id).toBe(7);
    expect(whyUnreadable(error)).toContain(message);
  });

  test("and no upstream can say so itself", () => {
    const { error } = read('{"id":7,"error":{"code":-32603,"message":"no","data":"parley"}}') as { error: { message: string } };
    expect(whyUnreadable(error)).toBeUndefined();
  });
});

test("bounds in the schemas of a list may be rounded", () => {
  const text =
    '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","inputSchema":{"properties":{"n":{"maximum":9223372036854775807}}}}]}}';
  expect(read(text)).toHaveProperty("result.tools");
});

test("a request or notification loses its null members, and nothing in the question's schema", () => {
  expect(read('{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":null}')).toStrictEqual({
    jsonrpc: "2.0",
    method: "notifications/tools/list_changed",
  });
  const schema = { type: "object", properties: { nick: { anyOf: [{ type: "string" }, { type: "null" }], default: null } } };
  const params = { message: "Name?", mode: null, requestedSchema: schema, _meta: null };
  expect(read(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "elicitation/create", params, ts: 1 }))).toStrictEqual({
    jsonrpc: "2.0",
    id: 1,
    method: "elicitation/create",
    params: { message: "Name?", requestedSchema: schema },
  });
});

test("what is no message is left alone", () => {
  for (const given of ["x", 1, null, { jsonrpc: "2.0" }]) expect(mended(given, JSON.stringify(given))).toStrictEqual(given);
});
