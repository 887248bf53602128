import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { ToolError, definePrompt } from "./index.ts";
import { decline, runTool, unavailable } from "./testing.ts";

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
  test("lists its arguments, required unless said otherwise, with their suggestions", async () => {
    expect(review.arguments).toMatchObject([
      { name: "file", description: "Path", required: true },
      { name: "tone", required: false },
    ]);
    expect(await review.arguments[0]?.complete?.("b", {})).toEqual(["b.ts"]);
  });

  test("asks like a tool, and gives messages", async () => {
    const run = await runTool(review, { file: "a.ts" }, { answers: { focus: { focus: "races" } } });
    expect(run.result).toEqual({
      description: "Reviews a file",
      messages: [{ role: "user", content: { type: "text", text: "Review a.ts for races, kindly." } }],
    });
  });

  test.each([
    [{}, "/file", "is required"],
    [{ file: 1 }, "/file", "must be a string"],
    [{ file: "a", size: "1" }, "/size", "is not an argument of this prompt"],
  ])("refuses %j", async (args, path, message) => {
    await expect(runTool(review, args)).rejects.toMatchObject({ code: "INVALID_ARGUMENTS", violations: [{ path, message }] });
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
