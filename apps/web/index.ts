/** The built pages and the style of all pages, for the front end that serves them. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
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

/** The folder below `PAGES_DIRECTORY` with the script of those pages. */
const SCRIPT_FOLDER = "inbox";

/** The script of the pages that front ends write: its folder, and its file there, whose name carries a digest. Undefined if it is not built. */
export function pagesScript(): { readonly directory: string; readonly file: string } | undefined {
  const directory = join(PAGES_DIRECTORY, SCRIPT_FOLDER);
  const file = existsSync(directory) ? readdirSync(directory).find((name) => name.endsWith(".js")) : undefined;
  return file === undefined ? undefined : { directory, file };
}
