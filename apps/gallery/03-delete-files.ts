/** A destructive action behind a confirmation that lists the files. Exactly these are deleted, even if more files match when the answer arrives. */
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { defineTool } from "@parley/sdk";
import { z } from "zod";
import { galleryDir } from "./config.ts";

export const deleteFiles = defineTool({
  name: "delete_files",
  title: "Delete files",
  description: "Deletes files with an extension from the gallery's sandbox, after the user has seen the list.",
  input: z.object({
    ending: z
      .string()
      .regex(/^\.[A-Za-z0-9]+$/)
      .default(".tmp")
      .describe("Extension, such as .tmp"),
  }),
  annotations: { destructiveHint: true },
  async run({ ending }, ctx) {
    const files = await ctx.step("list", () => sandboxFiles(ending));
    if (files.length === 0) return `The sandbox has no files that end in ${ending}.`;
    const isSure = await ctx.confirm("confirm", {
      message: `Delete these ${files.length} files?\n${files.map((file) => `  ${file}`).join("\n")}`,
      destructive: true,
      submitLabel: "Delete them",
      cancelLabel: "Keep them",
      timeout: "1 day",
      default: false,
      onDecline: "default",
      onCancel: "default",
      onTimeout: "default",
    });
    if (!isSure) return "Nothing was deleted.";
    for (const file of files) await ctx.step("delete", () => rm(galleryDir("sandbox", file), { force: true }));
    return `Deleted ${files.join(", ")}.`;
  },
});

/** Returns names, not paths, so that only files in the sandbox can be deleted. Creates the sandbox with some files if it does not exist. */
async function sandboxFiles(ending: string): Promise<string[]> {
  if ((await mkdir(galleryDir("sandbox"), { recursive: true })) !== undefined) {
    for (const file of ["draft.tmp", "cache.tmp", "thesis.txt"]) await writeFile(galleryDir("sandbox", file), `${file}\n`);
  }
  const entries = await readdir(galleryDir("sandbox"), { withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && entry.name.endsWith(ending))
    .map(({ name }) => name)
    .toSorted();
}
