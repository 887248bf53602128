/**
 * 12. Testing
 *
 * `@parley/sdk/testing` runs a tool on the same engine as in production, without a server and without waiting. You have seen `runTool`, which
 * answers from a script, and `startTool`, which lets a test decide what happens when. This file shows what else they can do.
 */
import { seenBy } from "@parley/protocol/testing";
import { ToolError, defineTool } from "@parley/sdk";
import { runTool, startTool } from "@parley/sdk/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";

const done: string[] = [];

const release = defineTool({
  name: "release",
  input: z.object({ version: z.string() }),
  async run({ version }, ctx) {
    await ctx.step("build", () => void done.push(`build ${version}`));
    const approval = ctx.elicit("approve", {
      message: `Release ${version}?`,
      schema: z.object({ approved: z.boolean() }),
      to: { groups: ["release"] },
      not: "caller",
      timeout: "2 days",
    });
    const { approved } = await approval;
    if (!approved) throw new ToolError("It was not approved.");
    await ctx.sleep("tonight", "6 hours");
    await ctx.step("publish", () => void done.push(`publish ${version}`));
    return `Released ${version}.`;
  },
});

test("a worker may die after any record: nothing is left out, and nothing is done twice", async () => {
  const answers = { approve: { approved: true } };
  const { journal } = await runTool(release, { version: "1" }, { answers });
  for (let record = 1; record <= journal.length; record += 1) {
    done.length = 0;
    const run = await runTool(release, { version: "1" }, { answers, crashAt: record });
    expect(run.text).toBe("Released 1.");
    expect(done).toEqual(["build 1", "publish 1"]);
  }
});

describe("time and people", () => {
  test("are set by the test", async () => {
    const running = await startTool(release, { version: "2" });
    await running.advance("47 hours");
    // To a client, the task of others does not exist. The kit says why.
    await expect(running.answer({ approve: { approved: true } }, { groups: ["design"] })).rejects.toThrow("is for other people");
    await running.answer({ approve: { approved: true } }, { groups: ["release"] });
    expect(running.task.status).toBe("working");
    await running.advance("6 hours");
    expect(running.text).toBe("Released 2.");
  });

  test("include the deadline of the question", async () => {
    const running = await startTool(release, { version: "3" });
    await running.advance("2 days");
    expect(running.result).toMatchObject({ isError: true });
  });
});

test("a script can read the question before it answers", async () => {
  const run = await runTool(
    release,
    { version: "4" },
    { answers: { approve: ({ request }) => ({ approved: "message" in request && request.message === "Release 4?" }) } },
  );
  expect(run.text).toBe("Released 4.");
});

test("a question without an answer in the script is an error that shows the question", async () => {
  await expect(runTool(release, { version: "5" })).rejects.toThrow('the tool asks "approve" and the script has no answer: Release 5?');
});

test("a test can see what a client receives, in each revision of MCP", async () => {
  const asking = defineTool({
    name: "asking",
    run: async (_args, ctx) => String(await ctx.number("size", { message: "How many?", default: 2 })),
  });
  const running = await startTool(asking);
  const field = (version: string) =>
    (seenBy(version, running) as unknown as { params: { requestedSchema: { properties: { value: object } } } }[])[0]?.params.requestedSchema
      .properties.value;
  expect(field("2025-11-25")).toEqual({ type: "number", title: "Size", default: 2 });
  // Forms of this revision have no defaults for numbers, so the description states it.
  expect(field("2025-06-18")).toEqual({ type: "number", title: "Size", description: "Default: 2." });
});
