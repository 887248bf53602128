/** The built playground, and the script and style of the pages that front ends write, for the front end that serves them. build.ts builds them. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const DIST = join(import.meta.dirname, "dist");
const CURRENT = join(DIST, "current");
/** A later build leaves it alone. */
const BUILD = existsSync(CURRENT) ? join(DIST, readFileSync(CURRENT, "utf8")) : DIST;

/** Contains index.html and what it loads. */
export const PLAYGROUND_DIRECTORY = join(BUILD, "play");
/** Contains the script of the pages, whose name has a digest. */
export const SCRIPT_DIRECTORY = join(BUILD, "pages");

export function isBuilt(): boolean {
  return existsSync(join(PLAYGROUND_DIRECTORY, "index.html"));
}

/** Name of the script. Undefined if it is not built: the pages then work without. */
export const PAGES_SCRIPT: string | undefined = existsSync(SCRIPT_DIRECTORY)
  ? readdirSync(SCRIPT_DIRECTORY).find((name) => name.endsWith(".js"))
  : undefined;

const VIEW = join(BUILD, "ask/ask.html");

/** The view of open questions for hosts of MCP Apps, one file. Undefined if it is not built: such hosts then tell their users in words. */
export const ASK_VIEW: string | undefined = existsSync(VIEW) ? readFileSync(VIEW, "utf8") : undefined;

const styleOf = (file: string) => readFileSync(join(import.meta.dirname, "styles", file), "utf8");

/** Colours and type of every page. */
export const TOKENS_STYLE = styleOf("tokens.css");

/** The style sheet of the pages that front ends write. The playground shares its tokens. */
export const PAGES_STYLE = [TOKENS_STYLE, styleOf("pages.css")].join("\n");
