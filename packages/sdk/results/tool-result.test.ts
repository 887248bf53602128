import { CallToolResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { ParleyError } from "@parley/core";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { text } from "./content.ts";
import { jsonSchema } from "../schemas/schema.ts";
import { errorResult, structuredResult, toolResult } from "./tool-result.ts";

const block = text("x");
const BASE64 = 'must be base64, such as by Buffer.from(…).toString("base64"), without "data:" before it';

function refusal(error: unknown): unknown {
  if (!(error instanceof ParleyError)) throw error;
  const { code, message, violations } = error;
  return { code, message, violations };
}

describe("a return value becomes a result", () => {
  const kinds = [
    { type: "text", text: "x" },
    { type: "image", data: "", mimeType: "image/png" },
    { type: "audio", data: "", mimeType: "audio/wav" },
    { type: "resource", resource: { uri: "a:b", text: "" } },
    { type: "resource_link", uri: "a:b", name: "b" },
  ];

  test.each<[string, unknown, object]>([
    ["nothing", undefined, { content: [] }],
    ["a text", "x", { content: [{ type: "text", text: "x" }] }],
    ["an empty list", [], { content: [] }],
    ["content of every kind", kinds, { content: kinds }],
    ["a whole result", { content: [block], _meta: { a: 1 }, isError: undefined }, { content: [block], _meta: { a: 1 } }],
  ])("%s", (_what, returned, result) => {
    expect(toolResult("draw", returned)).toStrictEqual(result);
  });

  const neither = "which is neither text, content nor a CallToolResult: give it an output schema to return data";
  test.each<[unknown, string]>([
    [[block, 1], "a list"],
    [[null], "a list"],
    [[{}], "a list"],
    [[{ type: "movie" }], "a list"],
    [{ content: "x" }, "an object"],
    [{ total: 1 }, "an object"],
    [null, "null"],
    [new Map(), "a Map"],
    [new Date(0), "a Date"],
    [7, "a number"],
  ])("but not %j", (returned, what) => {
    expect(() => toolResult("draw", returned)).toThrow(new ParleyError("INVALID_OUTPUT", `tool draw returned ${what}, ${neither}`));
  });

  test.each<[string, object, string]>([
    ["a text without text", { type: "text" }, "/content/1/text must be a string, and is undefined"],
    ["a number as text", { type: "text", text: 4 }, "/content/1/text must be a string, and is a number"],
    ["an image without its type", { type: "image", data: "" }, "/content/1/mimeType must be a string, and is undefined"],
    ["a resource without its content", { type: "resource" }, "/content/1/resource must be an object, and is undefined"],
    ["a list as a resource", { type: "resource", resource: [] }, "/content/1/resource must be an object, and is a list"],
    [
      "a resource without a uri",
      { type: "resource", resource: { text: "" } },
      "/content/1/resource/uri must be a string, and is undefined",
    ],
    [
      "a resource whose text is a number",
      { type: "resource", resource: { uri: "a:b", text: 4 } },
      "/content/1/resource must have a text or a blob, each a string",
    ],
    ["a picture as an address", { type: "image", data: "data:image/png;base64,AQI=", mimeType: "image/png" }, `/content/1/data ${BASE64}`],
    ["a sound as it is", { type: "audio", data: "RIFF\u0000\u00ff", mimeType: "audio/wav" }, `/content/1/data ${BASE64}`],
    [
      "a resource whose bytes are not encoded",
      { type: "resource", resource: { uri: "a:b", blob: "\u00ff" } },
      `/content/1/resource/blob ${BASE64}`,
    ],
    ["annotations in a word", { ...block, annotations: "high" }, "/content/1/annotations must be an object, and is a string"],
    ["too high a priority", { ...block, annotations: { priority: 5 } }, "/content/1/annotations/priority must be a number from 0 to 1"],
    [
      "an unknown audience",
      { ...block, annotations: { audience: ["model"] } },
      '/content/1/annotations/audience must be a list of "user" and "assistant"',
    ],
    [
      "a day as a moment",
      { ...block, annotations: { lastModified: "2026-12-24" } },
      '/content/1/annotations/lastModified must be a moment such as "2026-12-24T19:30:00Z"',
    ],
    ["a link without a name", { type: "resource_link", uri: "a:b" }, "/content/1/name must be a string, and is undefined"],
  ])("but not content that no client can read: %s", (_what, broken, wrong) => {
    const refused = new ParleyError("INVALID_OUTPUT", `tool draw returned content that no client can read: ${wrong}`);
    for (const returned of [[block, broken], { content: [block, broken], isError: true }])
      expect(() => toolResult("draw", returned)).toThrow(refused);
    // The official client refuses the whole result.
    expect(CallToolResultSchema.safeParse({ content: [block, broken] }).success).toBe(false);
  });

  test.each<[object, string]>([
    [{ isError: "true" }, "/isError must be true or false, and is a string"],
    [{ _meta: "late" }, "/_meta must be an object, and is a string"],
    [{ _meta: [1] }, "/_meta must be an object, and is a list"],
  ])("but not a result that no client can read: %j", (part, wrong) => {
    expect(() => toolResult("draw", { content: [block], ...part })).toThrow(
      new ParleyError("INVALID_OUTPUT", `tool draw returned a result that no client can read: ${wrong}`),
    );
  });

  test("but not if it is not plain data", () => {
    expect(() => toolResult("draw", { content: [], _meta: { at: 1n } })).toThrow(
      new ParleyError("NOT_SERIALIZABLE", "the return value of tool draw is not plain data: /_meta/at is a bigint"),
    );
  });
});

describe("data with an output schema", () => {
  const output = z.object({ n: z.int().max(9), note: z.string().default("-") });
  const whole = { n: 1, note: "-" };

  test.each<[string, unknown, object]>([
    ["is structured, and text beside", { n: 1 }, { content: [text('{"n":1,"note":"-"}')], structuredContent: whole }],
    [
      "has the content that the tool gives",
      { content: [block], structuredContent: { n: 1 } },
      { content: [block], structuredContent: whole },
    ],
    [
      "may be that of a result that says it is no failure",
      { content: [block], structuredContent: { n: 1 }, isError: false },
      { content: [block], structuredContent: whole, isError: false },
    ],
    ["may be missing of a failure", { content: [block], isError: true }, { content: [block], isError: true }],
  ])("%s", async (_what, returned, result) => {
    expect(await structuredResult("draw", output, returned)).toStrictEqual(result);
  });

  test("may look like a result, if it has no structured content", async () => {
    const pages = jsonSchema<unknown>({ type: "object", required: ["content"] });
    expect(await structuredResult("draw", pages, { content: [] })).toStrictEqual({
      content: [text('{"content":[]}')],
      structuredContent: { content: [] },
    });
  });

  test("is refused if the schema refuses it", async () => {
    const violations = [{ path: "/n", message: "Too big: expected number to be <=9" }];
    const refused = {
      code: "INVALID_OUTPUT",
      message: "tool draw returned a value that its output schema refuses: /n Too big: expected number to be <=9",
      violations,
    };
    expect(await structuredResult("draw", output, { n: 10 }).catch(refusal)).toStrictEqual(refused);
    expect(await structuredResult("draw", output, { content: [], structuredContent: { n: 10 } }).catch(refusal)).toStrictEqual(refused);
  });

  test("may be an instance whose fields the schema reads", async () => {
    class Drawn {
      get n(): number {
        return 5;
      }
    }
    expect(await structuredResult("draw", z.object({ n: z.int() }), new Drawn())).toMatchObject({ structuredContent: { n: 5 } });
    expect(await structuredResult("draw", jsonSchema<unknown>({}), new Drawn()).catch(refusal)).toMatchObject({
      message: "the return value of tool draw is not plain data: it is a Drawn",
    });
  });

  test("is plain data, before and after validation", async () => {
    const message = (at: string) => `the return value of tool draw is not plain data: ${at}`;
    const anything = jsonSchema<unknown>({});
    expect(await structuredResult("draw", anything, { list: [1n] }).catch(refusal)).toMatchObject({
      message: message("/list/0 is a bigint"),
    });
    const toMap = z.object({ n: z.int() }).transform(({ n }) => new Map([[n, n]]));
    expect(await structuredResult("draw", toMap, { n: 1 }).catch(refusal)).toMatchObject({ message: message("it is a Map") });
  });
});

test("a failure is a text", () => {
  expect(errorResult("gone")).toStrictEqual({ content: [{ type: "text", text: "gone" }], isError: true });
});
