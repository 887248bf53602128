/** What must not be visible from outside: how the server is built, where it runs, and what it keeps secret. */
import { resolve } from "node:path";

/** Seals requestState in the deployment that is tried. */
export const SECRET = "fuzz-secret-5f0c7be1d2a94e66-never-to-be-seen";

const ROOT = resolve(import.meta.dirname, "../..");

const PATTERNS: Readonly<Record<string, RegExp>> = {
  "a stack trace": /\n\s+at [^\n]+:\d+|\\n\s+at [^\n]+:\d+/,
  "a source position": /\b[\w.-]+\.(?:[cm]?[jt]s|lua):\d+/,
  "a module's path": /node_modules|node:internal|file:\/\/\//,
  "a file's path": /(?:^|["'\s(=])\/(?:home|root|usr|srv|tmp|var|etc|opt|work|app)\/[\w.-]+/,
  "a script hash": /\b[0-9a-f]{40}\b/,
  "Redis' own words": /\b(?:EVALSHA|NOSCRIPT|WRONGTYPE|CROSSSLOT|user_script|ERR Error|ERR value|ReplyError)\b/,
};

/** The first thing in `text` that nobody may see, unless the caller has `said` it. */
export function leakIn(text: string, said = ""): string | undefined {
  if (text.includes(SECRET)) return "the secret";
  if (text.includes(ROOT) && !said.includes(ROOT)) return `the server's directory: ${around(text, text.indexOf(ROOT))}`;
  for (const [what, pattern] of Object.entries(PATTERNS)) {
    const found = pattern.exec(text);
    if (found && !said.includes(found[0].trim())) return `${what}: ${around(text, found.index)}`;
  }
  return undefined;
}

function around(text: string, index: number): string {
  return text.slice(Math.max(0, index - 40), index + 120).replaceAll("\n", "\\n");
}
