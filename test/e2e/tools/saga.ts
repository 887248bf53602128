/** Books three things, asks, and slowly releases them if the task fails. `SAGA_LOG` stands for the outside world. */
import { appendFile } from "node:fs/promises";
import { setTimeout as wait } from "node:timers/promises";
import { defineTool } from "@parley/sdk";

// oxlint-disable-next-line node/no-process-env -- where the test looks
const note = (line: string) => appendFile(process.env["SAGA_LOG"] ?? "", `${line}\n`);

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
        await wait(300);
      });
    }
    await ctx.step("over", () => note("over -"));
  },
});
