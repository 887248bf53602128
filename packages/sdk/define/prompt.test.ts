import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { ParleyError, VIOLATIONS_WANTED } from "@parley/core";
import { DefinitionError, RpcFailure, ToolError, definePrompt } from "../index.ts";
import { decline, runTool, unavailable } from "../testing/testing.ts";

const review = definePrompt({
  name: "review",
  description: "Reviews a file",
  arguments: {
    file: { description: "Path", complete: (value) => ["a.ts", "b.ts"].filter((file) => file.startsWith(value)) },
    tone: { required: false },
  },
  async run(args, ctx) {
    expectTypeOf(args).toEqualTypeOf<{ readonly file: string; readonly tone: string | undefined }>();
    const { focus } = await ctx.elicit("focus", { message: "On what?", schema: z.object({ focus: z.string() }) });
    return `Review ${args.file} for ${focus}, ${args.tone ?? "kindly"}.`;
  },
});

describe("definePrompt", () => {
  test("lists its arguments, required by default, with their completions", async () => {
    const settings = { attempts: 1, backoffMs: 1_000, runTimeoutMs: 300_000 };
    expect({ ...review }).toStrictEqual({
      kind: "prompt",
      name: "review",
      description: "Reviews a file",
      arguments: [
        { name: "file", description: "Path", required: true, complete: expect.any(Function) },
        { name: "tone", required: false },
      ],
      earlyReplies: false,
      settings,
      readArguments: expect.any(Function),
      run: expect.any(Function),
    });
    const titled = definePrompt({
      name: "x".repeat(64),
      title: "T",
      arguments: { a: { title: "A" } },
      earlyReplies: true,
      attempts: 2,
      run: () => "",
    });
    expect({ ...titled }).toStrictEqual({
      kind: "prompt",
      name: "x".repeat(64),
      title: "T",
      arguments: [{ name: "a", title: "A", required: true }],
      earlyReplies: true,
      settings: { ...settings, attempts: 2 },
      readArguments: expect.any(Function),
      run: expect.any(Function),
    });
    expect(await review.arguments[0]?.complete?.("b", {})).toEqual(["b.ts"]);
  });

  test.each<[unknown, string]>([
    ["Rome", "a string"],
    [["Rome", 5], "a list with other values"],
    [{ Rome: true }, "an object"],
  ])("suggests nothing that a client could not read: %j", async (suggested, what) => {
    const travel = definePrompt({ name: "travel", arguments: { to: { complete: () => suggested as never } }, run: () => "" });
    await expect(travel.arguments[0]?.complete?.("R", {})).rejects.toStrictEqual(
      new ParleyError("INVALID_OUTPUT", `prompt travel: complete of to must return a list of strings, and returned ${what}`),
    );
  });

  test.each([undefined, null])("may suggest nothing: %j", async (suggested) => {
    const travel = definePrompt({ name: "travel", arguments: { to: { complete: () => suggested as never } }, run: () => "" });
    expect(await travel.arguments[0]?.complete?.("R", {})).toEqual([]);
  });

  test("asks like a tool, and returns messages", async () => {
    const run = await runTool(review, { file: "a.ts" }, { answers: { focus: { focus: "races" } } });
    expect(run.result).toEqual({
      description: "Reviews a file",
      messages: [{ role: "user", content: { type: "text", text: "Review a.ts for races, kindly." } }],
    });
  });

  test.each([
    [{}, [{ path: "/file", message: "is required" }]],
    [{ file: 1 }, [{ path: "/file", message: "must be a string" }]],
    [{ file: "a", size: "1" }, [{ path: "/size", message: "is not an argument of this prompt" }]],
    [
      { tone: 1, size: 1 },
      [
        { path: "/file", message: "is required" },
        { path: "/tone", message: "must be a string" },
        { path: "/size", message: "is not an argument of this prompt" },
      ],
    ],
  ])("refuses %j", async (args, violations) => {
    expect(await review.readArguments(args)).toStrictEqual({ ok: false, violations });
    await expect(runTool(review, args)).rejects.toMatchObject({ code: "INVALID_ARGUMENTS", violations });
  });

  test("accepts only declared arguments, and reports a bounded number of others", async () => {
    expect(await review.readArguments({ file: "a.ts" })).toStrictEqual({ ok: true, args: { file: "a.ts" } });
    const many = await review.readArguments(Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`n${index}`, "x"])));
    expect(many.ok ? [] : many.violations).toHaveLength(VIOLATIONS_WANTED);
  });

  test.each(["", "a b", "x".repeat(65), "ü", undefined as never])("has a valid name, and not %j", (name) => {
    expect(() => definePrompt({ name, run: () => "" })).toThrow(
      new DefinitionError(`prompt name ${JSON.stringify(name)} is not allowed: use 1 to 64 of A-Z a-z 0-9 _ - . /`),
    );
  });

  test("has readable run options", () => {
    expect(() => definePrompt({ name: "odd", attempts: 0, run: () => "" })).toThrow(
      "prompt odd: attempts is 0 and must be a whole number from 1",
    );
  });

  const message = { role: "user", content: { type: "text", text: "x" } } as const;
  const refused = (what: string) => ({
    message: `prompt tell returned ${what}, which is neither text, messages nor a GetPromptResult`,
    data: { code: "INVALID_OUTPUT" },
  });

  test.each<[string, unknown, object]>([
    ["a text", "x", { result: { description: "D", messages: [message] } }],
    ["messages", [message], { result: { description: "D", messages: [message] } }],
    ["a whole result", { messages: [message] }, { result: { description: "D", messages: [message] } }],
    ["a result with a description of its own", { description: "E", messages: [] }, { result: { description: "E", messages: [] } }],
    ["null", null, { error: refused("null") }],
    ["a number", 7, { error: refused("a number") }],
    ["an object", {}, { error: refused("an object") }],
    ["messages that are not a list", { messages: "x" }, { error: refused("an object") }],
    [
      "something that is not plain data",
      { messages: [], at: 1n },
      { error: { message: "the return value of prompt tell is not plain data: /at is a bigint" } },
    ],
  ])("returns %s", async (_what, returned, end) => {
    const { result, error } = await runTool(definePrompt({ name: "tell", description: "D", run: () => returned as string }));
    expect({ result, error }).toMatchObject(end);
  });

  test.each<[unknown, string]>([
    ["x", " must be an object, and is a string"],
    [{ role: "system", content: { type: "text", text: "x" } }, '/role must be "user" or "assistant"'],
    [{ role: "user", content: "x" }, "/content must be an object, and is a string"],
    [{ role: "user", content: { type: "movie" } }, "/content/type must be one of text, image, audio, resource, resource_link"],
    [{ role: "user", content: { type: "text" } }, "/content/text must be a string, and is undefined"],
  ])("returns no message that a client could not read: %j", async (broken, problem) => {
    const tell = definePrompt({ name: "tell", run: () => [message, broken] as never });
    const run = await runTool(tell);
    expect(run.error).toMatchObject({
      message: `prompt tell returned a message that no client can read: /messages/1${problem}`,
      data: { code: "INVALID_OUTPUT" },
    });
  });

  test.each<[string, object, string]>([
    ["without run", { run: undefined }, " has no run: give the function that returns its text"],
    ["whose description is a number", { description: 5 }, ": description must be a string"],
    ["with a word for a switch", { earlyReplies: "no" }, ": earlyReplies must be true or false"],
    ["with a list of arguments", { arguments: ["city"] }, ': arguments must be an object, such as { city: { description: "…" } }'],
    [
      "with a schema for arguments",
      { arguments: z.object({ city: z.string() }) },
      ': arguments are all strings: name them, such as { city: { description: "…" } }, in place of a schema',
    ],
    ["with a word for an argument", { arguments: { city: "string" } }, ": arguments.city must be an object"],
    ["with no facts of an argument", { arguments: { city: null } }, ": arguments.city must be an object"],
    ["with a word for required", { arguments: { city: { required: "yes" } } }, ": arguments.city.required must be true or false"],
    ["with a list of completions", { arguments: { city: { complete: ["Rome"] } } }, ": arguments.city.complete must be a function"],
  ])("a prompt %s is refused when the module loads", (_what, part, message) => {
    expect(() => definePrompt({ name: "wrong", run: () => "", ...part } as never)).toThrow(new DefinitionError(`prompt wrong${message}`));
  });

  test("passes on errors that are not for the model", async () => {
    const broken = definePrompt({
      name: "broken",
      run() {
        throw new RpcFailure(-32_001, "gone");
      },
    });
    expect((await runTool(broken)).error).toStrictEqual({ code: -32_001, message: "gone" });
  });

  test("fails the request where a tool would have a result with isError", async () => {
    const declined = await runTool(review, { file: "a.ts" }, { answers: { focus: decline } });
    expect(declined.error).toEqual({ code: -32_603, message: 'The user declined to answer "focus". The tool stopped there.' });
    const unaskable = await runTool(review, { file: "a.ts" }, { answers: { focus: unavailable } });
    expect(unaskable.error).toMatchObject({ code: -32_603, message: expect.stringContaining("declares the capability elicitation") });
    const failing = definePrompt({
      name: "failing",
      run() {
        throw new ToolError("no such file");
      },
    });
    expect((await runTool(failing)).error).toEqual({ code: -32_603, message: "no such file" });
  });
});
