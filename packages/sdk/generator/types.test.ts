import { expectTypeOf, test } from "vitest";
import { z } from "zod";
import { type FileRef, ask, defineTool, roots, sample, step } from "../index.ts";

test("generators compile, with and without arguments and output; misuse does not", () => {
  const tools = () => [
    defineTool({
      name: "a",
      *run() {
        const name: string = yield { ask: "text", message: "?" };
        yield { emit: "status", message: "x", type: "success" };
        yield "bare";
        return `hi ${name}`;
      },
    }),
    defineTool({
      name: "b",
      input: z.object({ n: z.int() }),
      async *run({ n }, ctx) {
        expectTypeOf(n).toEqualTypeOf<number>();
        const size = yield* ask.number({ message: "?" });
        expectTypeOf(size).toEqualTypeOf<number>();
        const table = yield* step("hold", async () => ({ at: new Date() }));
        expectTypeOf(table).toEqualTypeOf<{ at: string }>();
        await ctx.sleep("x", 1);
        yield [
          { ask: "confirm", message: "?" },
          { step: "x", run: () => 1 },
        ];
        return { success: true };
      },
    }),
    defineTool({
      name: "c",
      output: z.object({ n: z.int() }),
      *run() {
        const color = yield* ask.select({ message: "?", options: ["red", "blue"] });
        expectTypeOf(color).toEqualTypeOf<"red" | "blue">();
        const file = yield* ask.file({ message: "?" });
        const files = yield* ask.file({ message: "?", count: 2 });
        expectTypeOf([file]).toEqualTypeOf<FileRef[]>();
        expectTypeOf(files).toEqualTypeOf<readonly FileRef[]>();
        const key = yield* ask.secret({ message: "?" });
        expectTypeOf(key.reveal).returns.toEqualTypeOf<Promise<string>>();
        const { model } = yield* sample("sum", { messages: [], maxTokens: 9 });
        const [folder] = yield* roots();
        expectTypeOf([model, folder?.uri]).toEqualTypeOf<(string | undefined)[]>();
        yield { checkpoint: true };
        return { n: 1 };
      },
    }),
    defineTool({ name: "d", run() {} }),
    defineTool({ name: "e", async run() {} }),
    defineTool({ name: "f", run: (_, ctx) => `${ctx.taskId}` }),
    // @ts-expect-error no such ask
    defineTool({
      name: "g",
      *run() {
        yield { ask: "txet", message: "?" };
      },
    }),
    // @ts-expect-error an ask has a message
    defineTool({
      name: "h",
      *run() {
        yield { ask: "text" };
      },
    }),
    defineTool({
      name: "i",
      output: z.object({ n: z.int() }),
      // @ts-expect-error the output schema wants a number
      *run() {
        yield "x";
        return { n: "1" };
      },
    }),
  ];
  expectTypeOf(tools).toBeFunction();
});
