/**
 * 1. A first tool
 *
 * A tool is a function with a name. `input` says which arguments it takes, `run` does the work, and what `run` returns is the result.
 * Nothing here is special to waiting yet: a tool that asks nobody is an ordinary function.
 *
 * These files are meant to be read in their order, in about ten minutes. Each is one idea, and each runs:
 * `npx vitest run --project unit test/fundamentals`.
 */
import { ToolError, defineTool } from "@parley/sdk";
import { runTool } from "@parley/sdk/testing";
import { expect, test } from "vitest";
import { z } from "zod";

const MENU = new Map([
  ["soup", 6],
  ["fish", 19],
]);

const price = defineTool({
  name: "price",
  description: "Says what a dish costs.",
  input: z.object({ dish: z.string().min(1), guests: z.int().min(1).default(1) }),
  run({ dish, guests }) {
    const one = MENU.get(dish);
    // The tool did its work, and the answer is no: the model reads this text.
    if (one === undefined) throw new ToolError(`There is no ${dish} on the menu.`);
    return `${dish} for ${guests}: ${one * guests} €`;
  },
});

test("what a tool returns is its result", async () => {
  const run = await runTool(price, { dish: "soup", guests: 4 });
  expect(run.text).toBe("soup for 4: 24 €");
});

test("arguments are judged before the tool runs, and defaults are filled in", async () => {
  expect((await runTool(price, { dish: "fish" })).text).toBe("fish for 1: 19 €");
  await expect(runTool(price, { dish: "fish", guests: 0 })).rejects.toThrow("/guests");
});

test("a ToolError is a result that says so, not a crash", async () => {
  const run = await runTool(price, { dish: "duck" });
  expect(run.task.status).toBe("completed");
  expect(run.result).toMatchObject({ isError: true, content: [{ text: "There is no duck on the menu." }] });
});

// With `output` a tool returns data. Clients get it as structured content, and as text where they cannot read that.
const menu = defineTool({
  name: "menu",
  output: z.object({ dishes: z.array(z.object({ dish: z.string(), euros: z.number() })) }),
  run: () => ({ dishes: [...MENU].map(([dish, euros]) => ({ dish, euros })) }),
});

test("data is checked against what the tool has promised", async () => {
  const run = await runTool(menu);
  expect(run.result?.["structuredContent"]).toEqual({
    dishes: [
      { dish: "soup", euros: 6 },
      { dish: "fish", euros: 19 },
    ],
  });
});
