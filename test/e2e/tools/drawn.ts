/** A tool whose schemas draw ids and a time. Every run writes what it reads to the given file. */
import { randomUUID } from "node:crypto";
import { appendFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { defineTool } from "@parley/sdk";
import { z } from "zod";

const drawing = z.object({
  file: z.string(),
  slowMs: z.number().default(0),
  id: z.string().default(() => randomUUID()),
  at: z.iso
    .datetime()
    .transform((text) => new Date(text))
    .default(() => new Date()),
});

const answering = z
  .object({ go: z.boolean(), draw: z.string().optional() })
  .transform(({ go, draw }) => ({ go, draw: draw ?? randomUUID() }));

function note(file: string, seen: object): void {
  appendFileSync(file, `${JSON.stringify(seen)}\n`);
}

export const drawn = defineTool({
  name: "drawn",
  input: drawing,
  async run({ file, slowMs, id, at }, ctx) {
    note(file, { id, at });
    await ctx.step("slow", async () => {
      note(file, { id, at });
      await sleep(slowMs);
    });
    const { draw } = await ctx.elicit("go", { message: "Go?", schema: answering });
    note(`${file}.answer`, { draw });
    await ctx.step("slow-again", async () => {
      note(`${file}.answer`, { draw });
      await sleep(slowMs);
    });
    return await ctx.call(drawnBelow, { file });
  },
});

/** The same for a tool that is called by a tool. */
export const drawnBelow = defineTool({
  name: "drawn-below",
  input: drawing,
  async run({ file, id, at }, ctx) {
    note(`${file}.child`, { id, at });
    await ctx.sleep("pause", "3s");
    return "done";
  },
});
