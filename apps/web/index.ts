/** The built playground, and the script and style of the pages that front ends write, for the front end that serves them. build.ts builds them. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Contains index.html and what it loads. */
export const PLAYGROUND_DIRECTORY = join(import.meta.dirname, "dist/play");
/** Contains the script of the pages, whose name has a digest. */
export const SCRIPT_DIRECTORY = join(import.meta.dirname, "dist/pages");

export function isBuilt(): boolean {
  return existsSync(join(PLAYGROUND_DIRECTORY, "index.html"));
}

/** Name of the script. Undefined if it is not built: the pages then work without. */
export const PAGES_SCRIPT: string | undefined = existsSync(SCRIPT_DIRECTORY)
  ? readdirSync(SCRIPT_DIRECTORY).find((name) => name.endsWith(".js"))
  : undefined;

/** The style sheet of the pages that front ends write. The playground shares its tokens. */
export const PAGES_STYLE = ["tokens.css", "pages.css"]
  .map((file) => readFileSync(join(import.meta.dirname, "styles", file), "utf8"))
  .join("\n");
