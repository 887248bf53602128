/**
 * 8. Undoing
 *
 * A task may be cancelled, time out or fail after it has booked something. `compensate` undoes that in a last run, which any worker can finish
 * and in which each step runs once. Clients see the end of the task at once; they do not wait for the compensation.
 */
import { ToolError, defineTool } from "@parley/sdk";
import { runTool, startTool } from "@parley/sdk/testing";
import { beforeEach, describe, expect, test } from "vitest";

const booked = new Set<string>();
beforeEach(() => booked.clear());

const retreat = defineTool({
  name: "retreat",
  async run(_args, ctx) {
    for (const what of ["venue", "bus"]) {
      await ctx.step(what, () => {
        booked.add(what);
        return what;
      });
    }
    if (!(await ctx.confirm("keep", { message: "Venue and bus are booked. Keep them?" }))) throw new ToolError("It was not approved.");
    return "Booked.";
  },
  // `done` is in the order in which things were done, and they are undone in reverse.
  async compensate(_args, ctx) {
    for (const { key, value } of ctx.done.toReversed()) await ctx.step(key, () => void booked.delete(String(value)));
  },
});

describe("what was booked", () => {
  test("stays when the tool returns", async () => {
    const run = await runTool(retreat, {}, { answers: { keep: true } });
    expect(run.text).toBe("Booked.");
    expect([...booked]).toEqual(["venue", "bus"]);
  });

  test("is released when the tool throws", async () => {
    const run = await runTool(retreat, {}, { answers: { keep: false } });
    expect(run.text).toBe("It was not approved.");
    expect([...booked]).toEqual([]);
  });

  test("is released when the task is cancelled, even if the worker dies after every record", async () => {
    for (const crashAt of [undefined, "every"] as const) {
      const running = await startTool(retreat, {}, { crashAt });
      expect([...booked]).toEqual(["venue", "bus"]);
      await running.cancel();
      expect(running.task.status).toBe("cancelled");
      expect([...booked]).toEqual([]);
      expect(running.journal.slice(-2)).toEqual(["step:compensation:/bus", "step:compensation:/venue"]);
    }
  });
});
