import { CallToolResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "@parley/core";
import { SESSION_DIALECTS } from "./index.ts";
import { corpus } from "../corpus.fixture.ts";

/** A tool's result as it is stored, and as each revision encodes it. */
interface Case {
  readonly result: JsonObject;
  readonly expect: { readonly [version: string]: JsonObject };
}

const cases = corpus<Case>("corpus/results", import.meta.url);
const facts = { name: "parley", version: "1.2.3", pollInterval: () => 500, listTtlMs: 0, pageSize: 100 };

describe.each(SESSION_DIALECTS.map((dialect) => ({ version: dialect.version, say: dialect.encoder(facts) })))(
  "results of $version",
  ({ version, say }) => {
    test.each(cases)("$why ($file)", ({ result, expect: expected }) => {
      const message = say.callResult(result);
      expect(message).toStrictEqual(expected[version]);
      CallToolResultSchema.parse(message);
    });

    test.each(cases)("are not changed where they are stored: $file", ({ result }) => {
      const before = structuredClone(result);
      say.callResult(result);
      expect(result).toStrictEqual(before);
    });
  },
);

test("messages of prompts hold what content may hold", () => {
  const result: JsonObject = {
    description: "A brief.",
    messages: [
      { role: "user", content: { type: "text", text: "hi", _meta: { x: 1 } } },
      { role: "assistant", content: { type: "resource_link", uri: "test://a", name: "a" } },
    ],
    _meta: { y: 1 },
    resultType: "complete",
  };
  const { resultType: _, ...plain } = result;
  const [newest, middle, oldest] = SESSION_DIALECTS.map((dialect) => dialect.encoder(facts).promptResult(result));
  expect(newest).toStrictEqual(plain);
  expect(middle).toStrictEqual(plain);
  expect(oldest).toStrictEqual({
    description: "A brief.",
    messages: [
      { role: "user", content: { type: "text", text: "hi" } },
      { role: "assistant", content: { type: "text", text: "a: test://a" } },
    ],
    _meta: { y: 1 },
  });
});

describe("what a tool or prompt returns that is not content", () => {
  const oldest = SESSION_DIALECTS.find(({ version }) => version === "2025-03-26");
  if (!oldest) throw new Error("no dialect");
  const say = oldest.encoder(facts);

  test("stays as it is", () => {
    const content = ["text", null, { type: "resource" }, { type: "resource", resource: "test://a" }];
    expect(say.callResult({ content })).toStrictEqual({ content });
    expect(say.callResult({ content: "text" })).toStrictEqual({ content: "text" });
    const messages = ["text", null, { role: "user" }, { role: "user", content: "text" }];
    expect(say.promptResult({ messages })).toStrictEqual({ messages });
    expect(say.promptResult({ messages: "text" })).toStrictEqual({ messages: "text" });
  });

  test("is left out of the text that replaces a link", () => {
    const link = (members: JsonObject): unknown =>
      (say.callResult({ content: [{ type: "resource_link", ...members }] }) as { content: unknown[] }).content[0];
    expect(link({ uri: "test://a" })).toStrictEqual({ type: "text", text: "test://a" });
    expect(link({ title: 1, name: "a" })).toStrictEqual({ type: "text", text: "a" });
    expect(link({ name: "a", uri: "test://a", description: 1 })).toStrictEqual({ type: "text", text: "a: test://a" });
  });
});
