/**
 * Books three things, asks, and releases them if the task fails. `SAGA_LOG` stands for the outside world. The release of the hotel takes until the
 * file `SAGA_GO` is there.
 */
import { existsSync } from "node:fs";
import { appendFile } from "node:fs/promises";
import { setTimeout as wait } from "node:timers/promises";
import { defineTool } from "@parley/sdk";

// oxlint-disable-next-line node/no-process-env -- where the test looks
const { SAGA_LOG = "", SAGA_GO = "" } = process.env;
const note = (line: string) => appendFile(SAGA_LOG, `${line}\n`);

export const saga = defineTool({
  name: "saga",
  async run(_args, ctx) {
    for (const what of ["flight", "hotel", "car"]) await ctx.step(what, ({ idempotencyKey }) => note(`book ${what} ${idempotencyKey}`));
    await ctx.confirm("keep", { message: "Keep it?" });
    return "kept";
  },
  async compensate(_args, ctx) {
    for (const { key } of ctx.done.toReversed()) {
      await ctx.step(key, async ({ idempotencyKey }) => {
        await note(`release ${key} ${idempotencyKey}`);
        while (key === "hotel" && !existsSync(SAGA_GO)) await wait(20);
      });
    }
    await ctx.step("over", () => note("over -"));
  },
});
