/** Compiles a gallery tool in memory from its edited source, with the modules that the original imports. */
import { readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { join } from "node:path";
import { compileFunction } from "node:vm";
import type { Tool } from "@parley/core";
import type { Edit } from "./edits.ts";

const GALLERY = join(import.meta.dirname, "../../apps/gallery");

/** Throws an Error where what an edit replaces does not stand in the source exactly once. */
export function edited(file: string, changes: Edit["changes"]): string {
  let source = readFileSync(join(GALLERY, file), "utf8");
  for (const [from, to] of changes) {
    const parts = source.split(from);
    if (parts.length !== 2) throw new Error(`${file} has ${JSON.stringify(from)} ${parts.length - 1} times`);
    source = parts.join(to);
  }
  return source;
}

const IMPORT = /^import (?:type )?\{([^}]*)\} from "([^"]+)";$/gm;
const EXPORT = /^export const (\w+) =/gm;

export async function compile(source: string): Promise<Tool> {
  const modules: unknown[] = [];
  for (const [, , name = ""] of source.matchAll(IMPORT)) modules.push(await import(name.startsWith(".") ? join(GALLERY, name) : name));
  let index = 0;
  const script = stripTypeScriptTypes(source)
    .replaceAll(IMPORT, (_all, names: string) => `const {${names.replaceAll(" as ", ": ")}} = modules[${index++}];`)
    .replaceAll(EXPORT, "const $1 = exported.tool =")
    .replaceAll("import.meta.dirname", JSON.stringify(GALLERY));
  const exported: { tool?: Tool } = {};
  compileFunction(`"use strict";\n${script}`, ["modules", "exported"])(modules, exported);
  if (!exported.tool) throw new Error("the edited source exports no tool");
  return exported.tool;
}
