import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { defineTool } from "@parley/sdk";
import type { RecordedTask } from "@parley/sdk/replay";
import { startTool } from "@parley/sdk/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startReplayThread } from "./replay-thread.ts";

const SDK = pathToFileURL(join(import.meta.dirname, "../../../packages/sdk/index.ts")).href;
/** Longer than a replay that finishes takes on any machine. */
const BUSY_MS = 8_000;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "parley-replay-"));
});
afterAll(() => rm(folder, { recursive: true }));

const tool = defineTool({
  name: "ship",
  async run(_args, ctx) {
    await ctx.step("hold", () => 1);
    await ctx.confirm("go", { message: "Go?" });
    return "gone";
  },
});

async function waiting(): Promise<RecordedTask> {
  return await (await startTool(tool)).exported();
}

/** Writes a module with a tool of this name and body. */
async function moduleOf(body: string, file = "tools.mjs"): Promise<string> {
  const path = join(folder, file);
  await writeFile(
    path,
    `import { defineTool } from ${JSON.stringify(SDK)};\nexport default defineTool({ name: "ship", async run(_args, ctx) {\n${body}\n} });\n`,
  );
  return path;
}

const SAME = `console.log("heard"); await ctx.step("hold", () => process.exit(7)); await ctx.confirm("go", { message: "Go?" }); return "gone";`;

describe("a replay in a thread", () => {
  test("reports the result of the replay, also for a tool that the modules do not have", async () => {
    const task = await waiting();
    const thread = await startReplayThread({ tools: [await moduleOf(SAME, "same.mjs")], baseline: undefined, patienceMs: 1_000 });
    expect(await thread.replay(task)).toMatchObject({ verdict: "continues", next: "waits for ask:go" });
    const other = { ...task, call: { ...task.call, name: "gone" } };
    expect(await thread.replay(other)).toMatchObject({ verdict: "diverges", reason: "the modules have no tool gone" });
    await thread.close();
  });

  test.each([
    ["loops forever", "for (;;);", /blocked its thread for more than/],
    ["ends its process", "process.exit(3);", /exited the process/],
    [
      "throws in a callback",
      `setTimeout(() => { throw new Error("astray"); }, 1); await new Promise(() => {});`,
      /outside of the handler: astray/,
    ],
  ])("survives code that %s, and continues with the next task", async (_what, trouble, reason) => {
    const task = await waiting();
    const module = await moduleOf(`if (ctx.taskId === "0-bad") { ${trouble} } ${SAME}`, `bad-${trouble.length}.mjs`);
    const thread = await startReplayThread({ tools: [module], baseline: undefined, patienceMs: 100 }, BUSY_MS);
    expect(await thread.replay({ ...task, taskId: "0-bad" })).toMatchObject({ verdict: "unknown", reason: expect.stringMatching(reason) });
    expect(await thread.replay(task)).toMatchObject({ verdict: "continues" });
    await thread.close();
  });

  test("refuses modules that do not load", async () => {
    const broken = join(folder, "broken.mjs");
    await writeFile(broken, "export default {");
    await expect(startReplayThread({ tools: [broken], baseline: undefined, patienceMs: 100 })).rejects.toThrow(
      /broken.mjs" cannot be loaded/,
    );
  });
});
