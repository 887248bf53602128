/** A tool with an output: what compiles, what is checked at runtime, and what a client receives. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { ToolError } from "../index.ts";
import { runTool } from "../testing/testing.ts";
import { defineTool } from "./tool.ts";

const output = z.object({ city: z.string(), days: z.number().int().min(1) });
const input = z.object({ city: z.string() });

describe("the return value of a tool with an output", () => {
  test("has the output's type: bare, with its own content, from a generator, or an error", async () => {
    const plain = defineTool({ name: "plain", input, output, run: ({ city }) => ({ city, days: 3 }) });
    const later = defineTool({
      name: "later",
      input,
      output,
      run: async ({ city }, ctx) => ({ city, days: await ctx.step("days", () => 3) }),
    });
    const worded = defineTool({
      name: "worded",
      input,
      output,
      run: ({ city }) => ({ content: [{ type: "text", text: `Three days in ${city}` }], structuredContent: { city, days: 3 } }),
    });
    const generated = defineTool({
      name: "generated",
      input,
      output,
      *run({ city }) {
        const days: number = yield { step: "days", run: () => 3 };
        return { city, days };
      },
    });
    for (const tool of [plain, later, worded, generated]) {
      const run = await runTool(tool, { city: "Graz" });
      expect([tool.name, run.result?.["structuredContent"]]).toEqual([tool.name, { city: "Graz", days: 3 }]);
      expect(run.text).toBe(tool === worded ? "Three days in Graz" : '{"city":"Graz","days":3}');
      // What clients of every revision with outputs receive. An output is validated, so the result is its schema's.
      expect(tool.outputSchema).toMatchObject({ type: "object", required: ["city", "days"] });
    }
    const failing = defineTool({
      name: "failing",
      output,
      run() {
        throw new ToolError("No city.");
      },
    });
    expect((await runTool(failing)).result).toEqual({ content: [{ type: "text", text: "No city." }], isError: true });
  });

  test("of another type does not compile, and is refused at runtime", async () => {
    const wrong = [
      defineTool({
        name: "a-field-of-another-type",
        output,
        // @ts-expect-error Type 'string' is not assignable to type 'number'
        run: () => ({ city: "Graz", days: "3" }),
      }),
      defineTool({
        name: "a-field-is-missing",
        output,
        // @ts-expect-error Property 'days' is missing
        run: async () => ({ city: "Graz" }),
      }),
      defineTool({
        name: "text",
        output,
        // @ts-expect-error Type 'string' is not assignable
        run: () => "three days",
      }),
      defineTool({
        name: "nothing",
        output,
        // @ts-expect-error Type 'void' is not assignable
        async run(_args, ctx) {
          await ctx.sleep("a", "1s");
        },
      }),
      defineTool({
        name: "generated",
        output,
        // @ts-expect-error Type 'string' is not assignable to type 'number'
        *run() {
          yield "a chunk";
          return { city: "Graz", days: "3" };
        },
      }),
      // Types cannot express this.
      defineTool({ name: "refined", output, run: () => ({ city: "Graz", days: 0 }) }),
      // @ts-expect-error Property 'output' is missing
      defineTool({ name: "data-without-an-output", run: () => ({ city: "Graz" }) }),
    ];
    for (const tool of wrong) {
      const run = await runTool(tool);
      expect([tool.name, run.result, run.error?.message ?? run.text]).toEqual([
        tool.name,
        undefined,
        expect.stringMatching(/returned (a value that its output schema refuses|an object, which is neither|nothing)/),
      ]);
    }
  });

  test("is the schema's output, if that differs from its input", async () => {
    const counted = z.object({ days: z.string().transform(Number).pipe(z.number()) });
    const tool = defineTool({ name: "counted", output: counted, run: () => ({ days: "3" }) });
    expect((await runTool(tool)).result?.["structuredContent"]).toEqual({ days: 3 });
    // @ts-expect-error what the schema takes is a text
    defineTool({ name: "counted", output: counted, run: () => ({ days: 3 }) });
  });
});
