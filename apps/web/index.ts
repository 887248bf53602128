/** The directory of the built pages, for the front end that serves them. */
import { existsSync } from "node:fs";
import { join } from "node:path";

/** Contains index.html and what it loads. build.ts writes it; packages and images include it. */
export const PAGES_DIRECTORY = join(import.meta.dirname, "dist");

export function isBuilt(): boolean {
  return existsSync(join(PAGES_DIRECTORY, "index.html"));
}
