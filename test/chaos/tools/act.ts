/** A tool that rules make wait for approval. It leaves a line of evidence for each time that it acts, as chaos.ts does. */
import { randomUUID } from "node:crypto";
import { appendFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { defineTool } from "@parley/sdk";
import { z } from "zod";
import type { Mark } from "../evidence.ts";

export const act = defineTool({
  name: "act",
  input: z.object({ id: z.int(), evidence: z.string(), amount: z.int().min(1).max(1_000), to: z.string().max(40) }),
  async run({ id, evidence, amount, to }, ctx) {
    const run = randomUUID();
    await ctx.step("act", async ({ idempotencyKey }) => {
      const mark: Mark = {
        task: ctx.taskId,
        run,
        mark: "effect",
        name: "act",
        value: JSON.stringify({ id, amount, to }),
        key: idempotencyKey,
      };
      appendFileSync(evidence, `${JSON.stringify(mark)}\n`);
      await sleep(5);
    });
    return `${amount} to ${to}`;
  },
});
