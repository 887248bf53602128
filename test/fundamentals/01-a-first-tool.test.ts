/**
 * 1. A first tool
 *
 * A tool is a function with a name. `input` describes its arguments, `run` does the work, and what `run` returns is the result. A tool that asks
 * nothing is an ordinary function.
 *
 * Read these files in order; they take about ten minutes. Each explains one idea, and each is a test that you can run:
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
    // The tool worked, and its answer is no. The model reads this text.
    if (one === undefined) throw new ToolError(`There is no ${dish} on the menu.`);
    return `${dish} for ${guests}: ${one * guests} €`;
  },
});

test("what a tool returns is its result", async () => {
  const run = await runTool(price, { dish: "soup", guests: 4 });
  expect(run.text).toBe("soup for 4: 24 €");
});

test("arguments are validated before the tool runs, and defaults are filled in", async () => {
  expect((await runTool(price, { dish: "fish" })).text).toBe("fish for 1: 19 €");
  await expect(runTool(price, { dish: "fish", guests: 0 })).rejects.toThrow("/guests");
});

test("a ToolError becomes a result with isError: the call itself succeeded", async () => {
  const run = await runTool(price, { dish: "duck" });
  expect(run.task.status).toBe("completed");
  expect(run.result).toMatchObject({ isError: true, content: [{ text: "There is no duck on the menu." }] });
});

// With `output`, a tool returns data. Clients receive it as structured content, and as text for those that cannot read structured content.
const menu = defineTool({
  name: "menu",
  output: z.object({ dishes: z.array(z.object({ dish: z.string(), euros: z.number() })) }),
  run: () => ({ dishes: [...MENU].map(([dish, euros]) => ({ dish, euros })) }),
});

test("returned data is validated against the output schema", async () => {
  const run = await runTool(menu);
  expect(run.result?.["structuredContent"]).toEqual({
    dishes: [
      { dish: "soup", euros: 6 },
      { dish: "fish", euros: 19 },
    ],
  });
});
