/** The built pages and the style of all pages, for the front end that serves them. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Contains index.html and what it loads. build.ts writes it; packages and images include it. */
export const PAGES_DIRECTORY = join(import.meta.dirname, "dist");

export function isBuilt(): boolean {
  return existsSync(join(PAGES_DIRECTORY, "index.html"));
}

/** The style sheet of the pages that front ends write. The playground shares its tokens. */
export const PAGES_STYLE = ["tokens.css", "pages.css"]
  .map((file) => readFileSync(join(import.meta.dirname, "styles", file), "utf8"))
  .join("\n");
