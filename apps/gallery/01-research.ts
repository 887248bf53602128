/** The simplest tool: works for a while, reports its progress, and asks nothing. While it sleeps it occupies no worker. */
import { readFile, readdir } from "node:fs/promises";
import { defineTool } from "@parley/sdk";
import { z } from "zod";

export const research = defineTool({
  name: "research",
  title: "Search the gallery",
  description: "Finds the lines in which the gallery's own tools use a word.",
  input: z.object({ word: z.string().min(2).describe("Word to look for, such as elicit") }),
  output: z.object({ word: z.string(), findings: z.array(z.object({ file: z.string(), line: z.int(), text: z.string() })) }),
  annotations: { readOnlyHint: true },
  async run({ word }, ctx) {
    const files = await ctx.step("list", async () =>
      (await readdir(import.meta.dirname)).filter((file) => /^\d\d-[\w-]+\.[jt]s$/.test(file)),
    );
    const findings = [];
    for (const [index, file] of files.entries()) {
      ctx.progress(index, files.length, file);
      findings.push(...(await ctx.step("search", () => search(file, word))));
    }
    ctx.progress(files.length, files.length);
    await ctx.sleep("digest", "2s");
    return { word, findings };
  },
});

async function search(file: string, word: string) {
  const lines = (await readFile(`${import.meta.dirname}/${file}`, "utf8")).split("\n");
  return lines.flatMap((text, index) => (text.includes(word) ? [{ file, line: index + 1, text: text.trim() }] : []));
}
