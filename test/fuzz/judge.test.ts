/** Breaks each rule on purpose. A judge that does not notice here would find nothing in a run. */
import { resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { type Expected, judge } from "./judge.ts";
import { SECRET } from "./leaks.ts";
import { REPLY_BYTES_MAX } from "./limits.ts";
import { Broken } from "./rules.ts";
import type { Response } from "./wire/http.ts";
import { readMessages } from "./wire/messages.ts";

function reply(body: object | string, more: Partial<Response> = {}): Response {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const headers = { "content-type": "application/json; charset=utf-8" };
  return { outcome: "complete", status: 200, headers, bytes: text.length, text, messages: readMessages(text), ms: 1, ...more };
}

const result = (value: object = {}) => ({ jsonrpc: "2.0", id: 1, result: value });
const error = (code: number, message = "no", more: object = {}) => ({ jsonrpc: "2.0", id: 1, error: { code, message }, ...more });

/** The rule that the reply breaks. */
function broken(response: Response, expected: Partial<Expected> = {}): string | undefined {
  try {
    judge(response, { kind: "tools/call", changes: [], due: "any", id: 1, said: "", ...expected });
    return undefined;
  } catch (thrown) {
    if (thrown instanceof Broken) return thrown.rule;
    throw thrown;
  }
}

test("a reply as it should be breaks no rule", () => {
  expect(broken(reply(result()), { due: "accepted" })).toBeUndefined();
  expect(broken(reply(error(-32_602)), { due: "refused", codes: [-32_602] })).toBeUndefined();
  expect(broken(reply("", { status: 202, headers: {} }), { due: "accepted" })).toBeUndefined();
  // A batch of lists is large; the error in it is not.
  expect(broken(reply([result(), error(-32_602)], { bytes: REPLY_BYTES_MAX + 1 }), { due: "any" })).toBeUndefined();
});

describe("a reply breaks the rule", () => {
  test.each<[rule: string, Response, Partial<Expected>?]>([
    ["server-error", reply("", { status: 503 })],
    ["server-error", reply(error(-32_603, "Internal error"))],
    ["hang", reply("", { outcome: "timed out", status: 0 })],
    ["dropped", reply("", { outcome: "broken", status: 0 })],
    ["size", reply("", { outcome: "too large" })],
    ["size", reply(error(-32_602), { bytes: REPLY_BYTES_MAX + 1 })],
    ["size", reply([result(), error(-32_602, "x".repeat(REPLY_BYTES_MAX))])],
    ["wrongly-accepted", reply(result()), { due: "refused" }],
    ["wrongly-accepted", reply("", { status: 202, headers: {} }), { due: "refused" }],
    ["wrongly-refused", reply(error(-32_602)), { due: "accepted" }],
    ["wrongly-refused", reply(result({ isError: true })), { due: "accepted" }],
    ["wrongly-refused", reply("", { status: 404 }), { due: "accepted" }],
    ["shape", reply(error(-1))],
    ["shape", reply(error(-32_602, "no", { id: 2 }))],
    ["shape", reply(error(-32_602, "no", { id: null }))],
    ["shape", reply(error(-32_602, "no", { jsonrpc: "1.0" }))],
    ["shape", reply(error(-32_602)), { due: "refused", codes: [-32_600] }],
    ["shape", reply("{", {})],
    ["shape", reply("", { status: 418 })],
    ["leak", reply(result({ text: "Error: no\n    at run (file.js:1:2)" }))],
    ["leak", reply(result({ text: "in store.lua:17" }))],
    ["leak", reply(result({ text: "ENOENT, open '/srv/data/file'" }))],
    ["leak", reply(result({ text: `script ${"0a".repeat(20)}` }))],
    ["leak", reply(result({ text: SECRET }))],
    ["leak", reply(result({ text: resolve(import.meta.dirname, "../../package.json") }))],
    ["leak", reply(result(), { headers: { "x-problem": "node_modules/x" } })],
  ])("%s", (rule, response, expected) => {
    expect(broken(response, expected)).toBe(rule);
  });

  test("but not by what was sent to it", () => {
    expect(broken(reply(result({ uri: "file:///etc/passwd" })), { said: '{"uri":"file:///etc/passwd"}' })).toBeUndefined();
  });
});

test("a tool may say no where its answer is its own affair", () => {
  expect(broken(reply(result({ isError: true })), { due: "accepted", toolMaySayNo: true })).toBeUndefined();
  expect(broken(reply(error(-32_603, "The user declined.")), { due: "accepted", toolMaySayNo: true })).toBeUndefined();
  expect(broken(reply(error(-32_602)), { due: "accepted", toolMaySayNo: true })).toBe("wrongly-refused");
});
