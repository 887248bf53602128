/** Works for a while, and writes a line to a file when it begins and when it ends. At most two run at once. */
import { appendFile } from "node:fs/promises";
import { setTimeout } from "node:timers/promises";
import { defineTool } from "@parley/sdk";
import { z } from "zod";

export const limited = defineTool({
  name: "limited",
  input: z.object({ file: z.string(), task: z.int(), ms: z.int() }),
  limit: { concurrency: 2, per: ({ file }) => file.slice(-200) },
  async run({ file, task, ms }, ctx) {
    await ctx.step("work", async () => {
      await appendFile(file, `begin ${task}\n`);
      await setTimeout(ms);
      await appendFile(file, `end ${task}\n`);
    });
    return "done";
  },
});
