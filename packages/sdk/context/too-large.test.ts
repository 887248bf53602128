/** A value that is far too large is refused before all of it has been read: a list of a hundred megabytes would block the worker for seconds. */
import { describe, expect, test } from "vitest";
import { defineTool } from "../index.ts";
import { runTool } from "../testing/testing.ts";
import type { Context } from "./context.ts";

const ITEMS = 50_000;

/** A list that counts how many of its items were read. */
function counted() {
  let read = 0;
  const item = {
    get text() {
      read += 1;
      return "x".repeat(1_000);
    },
  };
  return { value: Array.from({ length: ITEMS }, () => item), read: () => read };
}

const other = defineTool({ name: "other", run: () => "done" });

describe("a list of 50 MB", () => {
  test.each<[string, (ctx: Context, value: never) => unknown]>([
    ["the result", (_ctx, value) => ({ content: [], structuredContent: { value } })],
    ["the result of step", (ctx, value) => ctx.step("large", () => value)],
    ["the call of other", (ctx, value) => ctx.call(other, { value })],
    ["the restart", (ctx, value) => ctx.restart({ value })],
  ])("is refused as %s after the first of its items", async (what, run) => {
    const { value, read } = counted();
    const large = defineTool({ name: "large", run: async (_args, ctx) => (await run(ctx, value as never)) as never });
    const { text } = await runTool(large, {}, { tools: [other] });
    expect(text).toContain(what);
    expect(text).toContain("more than 1048576 characters of JSON; the limit is 262144");
    expect(read()).toBeLessThan(2_000);
  });

  test.each<[string, (ctx: Context, value: never) => void, object]>([
    ["logged", (ctx, value) => ctx.log("info", value), { type: "log", level: "info", data: "(far more than 262144 characters of JSON)" }],
    [
      "emitted",
      (ctx, value) => ctx.emit("toast", { value }),
      { type: "emit", kind: "toast", data: { cut: "(far more than 262144 characters of JSON)" } },
    ],
  ])("is %s as a text that says so, after the first of its items", async (_how, report, shown) => {
    const { value, read } = counted();
    const large = defineTool({ name: "large", run: async (_args, ctx) => (report(ctx, value as never), "done") });
    const { text, feed } = await runTool(large);
    expect([text, feed]).toEqual(["done", [shown]]);
    expect(read()).toBeLessThan(2_000);
  });

  test("that is one text is logged as its beginning", async () => {
    const large = defineTool({ name: "large", run: async (_args, ctx) => (ctx.log("x".repeat(50_000_000)), "done") });
    const { feed } = await runTool(large);
    expect(feed).toEqual([{ type: "log", level: "info", data: `${"x".repeat(8_192)}…` }]);
  });
});
