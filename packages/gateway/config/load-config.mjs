/**
 * Run as a process of its own by config-module.ts: `node load-config.mjs <file>`. Imports the file and writes its default export to file descriptor 3,
 * as JSON: `{ "value": … }` or `{ "problem": "…" }`.
 */
import { writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const report = (result) => writeFileSync(3, JSON.stringify(result));

try {
  const loaded = await import(pathToFileURL(process.argv[2]).href);
  if (!("default" in loaded)) report({ problem: "has no default export" });
  else report({ value: (typeof loaded.default === "function" ? await loaded.default() : await loaded.default) ?? null });
} catch (error) {
  report({ problem: `cannot be loaded: ${error instanceof Error ? `${error.name}: ${error.message}` : String(error)}` });
}
// The file may have opened something that would keep the process running.
process.exit(0);
