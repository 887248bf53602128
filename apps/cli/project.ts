/** What the project of the working directory says about itself, in its package.json: `"parley": { "tools": "./tools/index.ts" }`. */
import { readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { isModulePath } from "@parley/sdk";

/**
 * The tool modules that the nearest package.json names, as PARLEY_TOOLS would from `directory`; undefined if it names none. Throws an Error if what it
 * says is no list of modules.
 */
export function projectTools(directory: string): string | undefined {
  const file = nearest(directory);
  if (file === undefined) return undefined;
  const given = toolsIn(file);
  if (given === undefined) return undefined;
  const modules: readonly unknown[] = Array.isArray(given) ? given : [given];
  const isModule = (module: unknown): module is string => typeof module === "string" && module.trim() !== "" && !module.includes(",");
  if (modules.length === 0 || !modules.every(isModule))
    throw new Error(`${file}: "parley.tools" must be a module such as "./tools.ts", or a list of them`);
  const from = (module: string) => {
    const path = relative(directory, resolve(dirname(file), module));
    return path.startsWith("..") ? path : `./${path}`;
  };
  return modules.map((module) => (isModulePath(module) ? from(module) : module)).join(",");
}

function nearest(directory: string): string | undefined {
  for (let at = resolve(directory); ; at = dirname(at)) {
    const file = join(at, "package.json");
    if (textOf(file) !== undefined) return file;
    if (dirname(at) === at) return undefined;
  }
}

function toolsIn(file: string): unknown {
  try {
    return (JSON.parse(textOf(file) ?? "{}") as { parley?: { tools?: unknown } | null } | null)?.parley?.tools;
  } catch {
    return undefined; // npm says what is wrong with it, and nothing here depends on it.
  }
}

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}
