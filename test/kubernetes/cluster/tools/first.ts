/** The image before an upgrade: a tool in which tasks wait, and one whose runs work for a while. */
import { appendFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { defineTool } from "@parley/sdk";
import { z } from "zod";

const SURE = z.object({ sure: z.boolean() });

export const approve = defineTool({
  name: "approve",
  input: z.object({ what: z.string() }),
  async run({ what }, ctx) {
    const { sure } = await ctx.elicit("sure", { message: `Sure of ${what}?`, schema: SURE });
    return `${what}: ${sure}`;
  },
});

export const toil = defineTool({
  name: "toil",
  input: z.object({ number: z.number() }),
  run: async ({ number }, ctx) => {
    await ctx.step("toil", async () => {
      await appendFile(process.env["TOIL_FILE"] ?? "", `${number}\n`);
      await sleep(15_000);
    });
    return `toiled ${number}`;
  },
});
