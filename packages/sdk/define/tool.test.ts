import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { type JsonObject, VIOLATIONS_WANTED } from "@parley/core";
import {
  Cancelled,
  Declined,
  DefinitionError,
  RpcFailure,
  type Schema,
  StepFailed,
  TimedOut,
  ToolError,
  type ToolReturn,
  defineTool,
  jsonSchema,
} from "../index.ts";
import { type Reply, cancel, decline, runTool, timeout } from "../testing/testing.ts";

function caught(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  throw new Error("nothing was thrown");
}

describe("a tool's listing", () => {
  test("is what the author wrote", () => {
    const tool = defineTool({
      name: "shop/add_item",
      title: "Add an item",
      description: "Adds an item to the basket.",
      input: z.object({ item: z.string(), count: z.int().min(1).default(1) }),
      output: z.object({ total: z.number() }),
      annotations: { idempotentHint: true },
      icons: [{ src: "https://shop.example/icon.png", sizes: ["48x48"] }],
      task: "required",
      askFirst: true,
      earlyReplies: true,
      needs: { elicitation: { form: true, url: false } },
      attempts: 3,
      backoff: "2s",
      runTimeout: "1 minute",
      retention: "2 hours",
      keepContent: true,
      run: () => ({ total: 1 }),
    });
    expect(tool).toMatchObject({
      kind: "tool",
      title: "Add an item",
      inputSchema: {
        type: "object",
        properties: { item: { type: "string" }, count: { type: "integer", minimum: 1, default: 1 } },
        required: ["item"],
      },
      outputSchema: { type: "object", properties: { total: { type: "number" } }, required: ["total"] },
      annotations: { idempotentHint: true },
      icons: [{ src: "https://shop.example/icon.png", sizes: ["48x48"] }],
      task: "required",
      askFirst: true,
      earlyReplies: true,
      needs: { elicitation: { form: true, url: false } },
      settings: { attempts: 3, backoffMs: 2_000, runTimeoutMs: 60_000, retentionMs: 7_200_000, keepContent: true },
    });
    expect(tool.inputSchema).not.toHaveProperty("$schema");
  });

  test("has sensible defaults", () => {
    const tool = defineTool({ name: "plain", run: () => "" });
    expect({ ...tool }).toStrictEqual({
      kind: "tool",
      name: "plain",
      task: "optional",
      askFirst: false,
      earlyReplies: false,
      needs: {},
      inputSchema: { type: "object", properties: {}, additionalProperties: false },
      settings: { attempts: 1, backoffMs: 1_000, runTimeoutMs: 300_000 },
      readArguments: expect.any(Function),
      run: expect.any(Function),
    });
  });

  const nameless = "is not allowed: use 1 to 64 of A-Z a-z 0-9 _ - . /";
  const versionless = "is not allowed: use 1 to 32 of A-Z a-z 0-9 _ - . +";
  const scopeless = 'is not allowed: use 1 to 128 printable characters without space, " and \\';

  test.each<[string, object, string]>([
    ["a name with a space", { name: "a b" }, `tool name "a b" ${nameless}`],
    ["a name that is too long", { name: "x".repeat(65) }, `tool name "${"x".repeat(65)}" ${nameless}`],
    ["a tool without a name", { name: undefined }, `tool name undefined ${nameless}`],
    ["a tool without run", { run: undefined }, "tool wrong has no run: give the function that does its work"],
    ["a description that is a number", { description: 5 }, "tool wrong: description must be a string"],
    ["a word for a switch", { earlyReplies: "false" }, "tool wrong: earlyReplies must be true or false"],
    ["a word for another switch", { keepContent: "false" }, "tool wrong: keepContent must be true or false"],
    ["another switch", { askFirst: "no" }, "tool wrong: askFirst must be true or false"],
    ["an unknown word", { task: "requird" }, 'tool wrong: task must be "never", "optional" or "required"'],
    ["one scope that is no list", { scopes: "pay" }, "tool wrong: scopes must be a list"],
    ["one icon that is no list", { icons: { src: "x" } }, "tool wrong: icons must be a list"],
    ["a capability that is a word", { needs: "roots" }, "tool wrong: needs must be an object, such as { roots: true }"],
    ["a compensation that is no function", { compensate: "undo" }, "tool wrong: compensate must be a function"],
    ["a version that is a number", { version: 2 }, "tool wrong: version must be a string"],
    ["a hint that is a word", { annotations: { readOnlyHint: "yes" } }, "tool wrong: annotations.readOnlyHint must be true or false"],
    ["annotations that are a word", { annotations: "readOnly" }, "tool wrong: annotations must be an object"],
    ["meta that is a list", { meta: ["x"] }, "tool wrong: meta must be an object"],
    ["an icon that is an address", { icons: ["https://x.example/i.png"] }, "tool wrong: icons[0] must be an object"],
    [
      "an icon without an address",
      { icons: [{ src: "x" }, { mimeType: "image/png" }] },
      "tool wrong: icons[1].src must be a string, the picture's address",
    ],
    ["an icon for another theme", { icons: [{ src: "x", theme: "sepia" }] }, 'tool wrong: icons[0].theme must be "light" or "dark"'],
    [
      "an unknown capability",
      { needs: { elicitaton: true } },
      "tool wrong: needs.elicitaton is not known: a client can be asked elicitation, sampling and roots",
    ],
    ["capabilities in a list", { needs: ["roots"] }, "tool wrong: needs must be an object, such as { roots: true }"],
    ["a capability as MCP writes it", { needs: { elicitation: { form: {} } } }, "tool wrong: needs.elicitation.form must be true or false"],
    ["elicitation that is true", { needs: { elicitation: true } }, "tool wrong: needs.elicitation must be an object"],
    [
      "elicitation of nothing",
      { needs: { elicitation: {} } },
      "tool wrong: needs.elicitation needs neither form nor url: write { form: true }, { url: true } or both",
    ],
    ["sampling that is true", { needs: { sampling: true } }, "tool wrong: needs.sampling must be an object"],
    ["roots as MCP writes them", { needs: { roots: {} } }, "tool wrong: needs.roots must be true or false"],
    ["a limit for each name of an argument", { limit: { concurrency: 1, per: "account" } }, "tool wrong: limit.per must be a function"],
    ["a scope that is a number", { scopes: [5] }, `tool wrong: the scope 5 ${scopeless}`],
    [
      "input that is no schema",
      { input: { city: z.string() } },
      "the input of tool wrong must be a schema, such as z.object({ … }) or jsonSchema({ … })",
    ],
    ["output that is no schema", { output: [] }, "the output of tool wrong must be a schema, such as z.object({ … }) or jsonSchema({ … })"],
    ["a version with a space", { version: "1 2" }, `tool wrong: the version "1 2" ${versionless}`],
    ["a version that is too long", { version: "1".repeat(33) }, `tool wrong: the version "${"1".repeat(33)}" ${versionless}`],
    [
      "input that is not an object",
      { input: z.string() },
      "the input of tool wrong must be an object, since MCP calls tools with named arguments",
    ],
    [
      "input whose alternatives are none",
      { input: jsonSchema({ anyOf: [{ type: "object" }], type: "array" }) },
      "the input of tool wrong must be an object, since MCP calls tools with named arguments",
    ],
    [
      "a destructive tool with early replies",
      { earlyReplies: true, annotations: { destructiveHint: true } },
      "tool wrong: earlyReplies cannot be combined with destructiveHint: the answer would confirm something that the person was never shown",
    ],
    ["attempts below one", { attempts: 0 }, "tool wrong: attempts is 0 and must be a whole number from 1"],
    ["half an attempt", { attempts: 1.5 }, "tool wrong: attempts is 1.5 and must be a whole number from 1"],
    [
      "a timeout that is not a duration",
      { runTimeout: "soon" },
      'tool wrong: "soon" is not a duration: give milliseconds, or a number with ms, s, m, h or d, such as "30s" or "2 days"',
    ],
    ["a scope without a character", { scopes: ["fine", ""] }, `tool wrong: the scope "" ${scopeless}`],
    ["a scope with a space", { scopes: ["a b"] }, `tool wrong: the scope "a b" ${scopeless}`],
    ["a scope with a quote", { scopes: ['a"b'] }, `tool wrong: the scope "a\\"b" ${scopeless}`],
    ["a scope with a backslash", { scopes: ["a\\b"] }, `tool wrong: the scope "a\\\\b" ${scopeless}`],
    ["a scope beyond ASCII", { scopes: ["ü"] }, `tool wrong: the scope "ü" ${scopeless}`],
    ["a scope that is too long", { scopes: ["x".repeat(129)] }, `tool wrong: the scope "${"x".repeat(129)}" ${scopeless}`],
  ])("%s is refused when the module loads", (_what, part, message) => {
    const refused = caught(() => defineTool({ name: "wrong", run: () => "", ...part }));
    expect(refused).toBeInstanceOf(DefinitionError);
    expect((refused as Error).message).toBe(message);
  });

  test("keeps the reason for a refused duration", () => {
    const { cause } = caught(() => defineTool({ name: "wrong", retention: "soon" as "1s", run: () => "" })) as Error;
    expect(cause).toBeInstanceOf(RangeError);
  });

  test.each<[string, object, RegExp]>([
    ["input", { input: z.object({ at: z.date() }) }, /^the input of tool wrong has no JSON Schema: /],
    ["output", { output: z.object({ at: z.map(z.string(), z.string()) }) }, /^the output of tool wrong has no JSON Schema: /],
    ["annotations", { annotations: { more: () => "x" } }, /^the annotations of tool wrong is not plain data: \/more is a function$/],
    ["icons", { icons: [{ src: "x", sizes: [1n] }] }, /^an icon of tool wrong is not plain data: \/sizes\/0 is a bigint$/],
    ["meta", { meta: { later: () => "x" } }, /^the meta of tool wrong is not plain data: \/later is a function$/],
  ])("names the place of what MCP cannot represent: %s", (_what, part, message) => {
    expect(() => defineTool({ name: "wrong", ...part, run: () => "" })).toThrow(message);
  });

  test("accepts limits up to their maximum", () => {
    const scopes = ["!#[]^~", "x".repeat(128)];
    const tool = defineTool({
      name: "x".repeat(64),
      version: "1.0_a-B+2",
      meta: { own: 1 },
      scopes,
      attempts: 1,
      annotations: { destructiveHint: true },
      run: () => "",
    });
    expect({ ...tool }).toMatchObject({ name: "x".repeat(64), version: "1.0_a-B+2", meta: { own: 1 }, scopes });
    expect(tool.scopes).not.toBe(scopes);
  });

  test.each(["anyOf", "oneOf", "allOf"])("adds the root type that MCP requires to alternatives by %s", (keyword) => {
    const input = jsonSchema({ [keyword]: [{ type: "object" }] });
    expect(defineTool({ name: "find", input, run: () => "" }).inputSchema).toStrictEqual({
      type: "object",
      [keyword]: [{ type: "object" }],
    });
  });

  test("refuses alternatives that are not a list", () => {
    const anything: Schema = { "~standard": { ...jsonSchema({})["~standard"], jsonSchema: { input: () => ({}), output: () => ({}) } } };
    expect(() => defineTool({ name: "find", input: anything, run: () => "" })).toThrow("the input of tool find must be an object");
  });

  test("adds the root type that MCP requires to a union of objects", () => {
    const input = z.discriminatedUnion("by", [
      z.object({ by: z.literal("id"), id: z.int() }),
      z.object({ by: z.literal("name"), name: z.string() }),
    ]);
    expect(defineTool({ name: "find", input, run: () => "" }).inputSchema["type"]).toBe("object");
  });
});

describe("arguments", () => {
  const tool = defineTool({
    name: "add",
    input: z.object({ n: z.int(), by: z.int().default(2), label: z.string().trim().optional() }),
    run(args) {
      expectTypeOf(args).toEqualTypeOf<{ n: number; by: number; label?: string | undefined }>();
      return JSON.stringify(args);
    },
  });

  test("reach the handler with defaults and transforms", async () => {
    expect((await runTool(tool, { n: 1, label: " x " })).text).toBe('{"n":1,"by":2,"label":"x"}');
  });

  test("that violate the schema start nothing", async () => {
    await expect(runTool(tool, { n: "one" })).rejects.toMatchObject({ code: "INVALID_ARGUMENTS", violations: [{ path: "/n" }] });
  });

  test("are refused by a tool that takes none, with a bounded list", async () => {
    const none = defineTool({ name: "none", run: () => "" });
    const message = "is not known: the tool takes no arguments";
    expect(await none.readArguments({})).toStrictEqual({ ok: true, args: {} });
    expect(await none.readArguments({ n: 1, m: 2 })).toStrictEqual({
      ok: false,
      violations: [
        { path: "/n", message },
        { path: "/m", message },
      ],
    });
    const many = await none.readArguments(Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`n${index}`, 1])));
    expect(many.ok ? [] : many.violations).toHaveLength(VIOLATIONS_WANTED);
  });

  test("that are large are first checked for their shape, and once", async () => {
    const judged: unknown[] = [];
    const large = defineTool({
      name: "large",
      input: z.object({ list: z.array(z.int()) }).refine((args) => judged.push(args)),
      run: () => "",
    });
    const list = Array.from({ length: 1_000 }, (_, index) => index);
    expect(await large.readArguments({ list: [...list, "x"] })).toStrictEqual({
      ok: false,
      violations: [{ path: "/list/1000", message: "must be a whole number" }],
    });
    expect(judged).toStrictEqual([]);
    expect(await large.readArguments({ list })).toStrictEqual({ ok: true, args: { list } });
    expect(judged).toStrictEqual([{ list }]);
  });

  test("have the type given to jsonSchema", () => {
    defineTool({
      name: "typed",
      input: jsonSchema<{ region?: string }>({ type: "object" }),
      run(args) {
        expectTypeOf(args).toEqualTypeOf<{ region?: string }>();
        return "";
      },
    });
  });
});

describe("results", () => {
  const output = z.object({ total: z.number().max(10), note: z.string().default("none") });

  test.each<[string, JsonObject, () => ToolReturn | Promise<ToolReturn>]>([
    ["a text", { content: [{ type: "text", text: "done" }] }, () => "done"],
    ["content", { content: [{ type: "text", text: "done" }] }, () => [{ type: "text", text: "done" }]],
    ["a whole result", { content: [], _meta: { a: 1 }, isError: true }, async () => ({ content: [], _meta: { a: 1 }, isError: true })],
    ["nothing", { content: [] }, () => undefined],
  ])("%s becomes MCP's result", async (_what, result, run) => {
    expect((await runTool(defineTool({ name: "tool", run }))).result).toEqual(result);
  });

  test("data is checked, completed by the schema, and sent both structured and as text", async () => {
    const tool = defineTool({ name: "tool", output, run: () => ({ total: 3 }) });
    expect((await runTool(tool)).result).toEqual({
      content: [{ type: "text", text: '{"total":3,"note":"none"}' }],
      structuredContent: { total: 3, note: "none" },
    });
  });

  test("data may come with content chosen by the author", async () => {
    const tool = defineTool({
      name: "tool",
      output,
      run: () => ({ content: [{ type: "text", text: "three" }], structuredContent: { total: 3 } }),
    });
    expect((await runTool(tool)).result).toEqual({
      content: [{ type: "text", text: "three" }],
      structuredContent: { total: 3, note: "none" },
    });
  });

  test("a result with isError needs no data", async () => {
    const tool = defineTool({ name: "tool", output, run: () => ({ content: [{ type: "text", text: "no" }], isError: true }) });
    expect((await runTool(tool)).result).toEqual({ content: [{ type: "text", text: "no" }], isError: true });
  });

  test("data that the output schema refuses fails the call with its place", async () => {
    const run = await runTool(defineTool({ name: "tool", output, run: () => ({ total: 11 }) }));
    expect(run.task.status).toBe("failed");
    expect(run.error).toMatchObject({
      message: expect.stringMatching(/^tool tool returned a value that its output schema refuses: \/total /),
      data: { code: "INVALID_OUTPUT" },
    });
  });

  test("data without an output schema is refused with advice", async () => {
    const run = await runTool(defineTool({ name: "tool", run: () => ({ total: 3 }) as unknown as string }));
    expect(run.error).toMatchObject({ message: expect.stringMatching(/give it an output schema/), data: { code: "INVALID_OUTPUT" } });
  });

  test("data that JSON cannot represent fails the call with its place", async () => {
    const anything = jsonSchema<unknown>({});
    const run = await runTool(defineTool({ name: "tool", output: anything, run: () => ({ list: [1n] }) }));
    expect(run.error).toMatchObject({
      message: "the return value of tool tool is not plain data: /list/0 is a bigint",
      data: { code: "NOT_SERIALIZABLE" },
    });
  });

  test("the return type follows the output schema", () => {
    defineTool({ name: "tool", output, run: () => ({ total: 1 }) });
    // @ts-expect-error the schema wants a number
    defineTool({ name: "tool", output, run: () => ({ total: "1" }) });
    // @ts-expect-error data needs an output schema
    defineTool({ name: "tool", run: () => ({ total: 1 }) });
  });
});

describe("a tool's errors", () => {
  const throwing = (error: unknown, attempts = 1) => {
    let runs = 0;
    const tool = defineTool({
      name: "tool",
      attempts,
      run() {
        runs += 1;
        throw error;
      },
    });
    return async () => ({ run: await runTool(tool), runs });
  };

  test("a ToolError becomes a result that the model reads, without a retry", async () => {
    const { run, runs } = await throwing(new ToolError("no table left"), 3)();
    expect(run.result).toEqual({ content: [{ type: "text", text: "no table left" }], isError: true });
    expect(runs).toBe(1);
  });

  test.each([new Error("socket closed"), new ToolError("try again", { retryable: true })])(
    "%s is tried again, then becomes a result",
    async (error) => {
      const { run, runs } = await throwing(error, 3)();
      expect(run.result).toMatchObject({ isError: true, content: [{ text: error.message }] });
      expect(runs).toBe(3);
    },
  );

  test("an RpcFailure fails the call with its code", async () => {
    const { run } = await throwing(new RpcFailure(-32_001, "gone", { id: 1 }))();
    expect(run.task.status).toBe("failed");
    expect(run.error).toEqual({ code: -32_001, message: "gone", data: { id: 1 } });
  });

  let starts = 0;
  const asking = defineTool({
    name: "asking",
    attempts: 3,
    async run(_args, ctx) {
      starts += 1;
      await ctx.elicit("confirm", { message: "Sure?", schema: z.object({ ok: z.boolean() }), timeout: "1 hour" });
      return "done";
    },
  });

  test.each<[Reply, string]>([
    [decline, 'The user declined to answer "confirm". The tool stopped there.'],
    [cancel, 'The user dismissed the question "confirm" without answering. The tool stopped there.'],
    [timeout, 'The question "confirm" was not answered in time. The tool stopped there.'],
  ])("an unanswered question that is not caught ends with a clear sentence: %s", async (reply, sentence) => {
    starts = 0;
    const run = await runTool(asking, {}, { answers: { confirm: reply } });
    expect(starts).toBe(2); // a person's no is no reason to try again
    expect(run.result).toEqual({ content: [{ type: "text", text: sentence }], isError: true });
  });

  test("each kind has an error of its own", () => {
    for (const Kind of [Declined, Cancelled, TimedOut]) expect(new Kind("x")).toMatchObject({ name: Kind.name, ask: "x" });
    expect(new StepFailed("x", "y")).toBeInstanceOf(Error);
  });
});
