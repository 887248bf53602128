import { CallToolResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "@parley/core";
import { SESSION_DIALECTS } from "../index.ts";
import { corpus } from "./corpus.fixture.ts";

/** A tool's result as it is stored, and as each revision says it. */
interface Case {
  readonly result: JsonObject;
  readonly expect: { readonly [version: string]: JsonObject };
}

const cases = corpus<Case>("corpus/results", import.meta.url);
const facts = { name: "parley", version: "1.2.3", pollIntervalMs: 500, listTtlMs: 0, pageSize: 100 };

describe.each(SESSION_DIALECTS.map((dialect) => ({ version: dialect.version, say: dialect.encoder(facts) })))(
  "results of $version",
  ({ version, say }) => {
    test.each(cases)("$why ($file)", ({ result, expect: expected }) => {
      const message = say.callResult(result);
      expect(message).toEqual(expected[version]);
      CallToolResultSchema.parse(message);
    });

    test.each(cases)("are not changed where they are stored: $file", ({ result }) => {
      const before = structuredClone(result);
      say.callResult(result);
      expect(result).toEqual(before);
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
  expect(newest).toEqual(plain);
  expect(middle).toEqual(plain);
  expect(oldest).toEqual({
    description: "A brief.",
    messages: [
      { role: "user", content: { type: "text", text: "hi" } },
      { role: "assistant", content: { type: "text", text: "a: test://a" } },
    ],
    _meta: { y: 1 },
  });
});
