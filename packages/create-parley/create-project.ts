import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";

export interface ProjectOptions {
  readonly language: "ts" | "js";
}

const TEMPLATE = join(import.meta.dirname, "template");

/** npm leaves these out of a package when they have their own names, or takes them for its own. */
const RENAMED: Readonly<Record<string, string>> = {
  gitignore: ".gitignore",
  dockerignore: ".dockerignore",
  npmrc: ".npmrc",
  "mcp.json": ".mcp.json",
  "package.template.json": "package.json",
};

/** Files that only TypeScript needs. */
const TYPESCRIPT_ONLY = new Set(["tsconfig.json"]);

/**
 * Writes the project into `directory`, which is created if it does not exist.
 *
 * Throws when the directory holds anything already besides `.git`, or when its name cannot be the name of a package.
 */
export async function createProject(directory: string, { language }: ProjectOptions): Promise<{ readonly name: string }> {
  const target = resolve(directory);
  const name = packageName(basename(target));
  await mkdir(target, { recursive: true });
  const present = (await readdir(target)).find((file) => file !== ".git");
  if (present !== undefined) throw new Error(`${directory} is not empty (it holds ${present}); choose another directory`);
  const { version } = JSON.parse(await readFile(join(import.meta.dirname, "package.json"), "utf8")) as { version: string };
  const entries = await readdir(TEMPLATE, { recursive: true, withFileTypes: true });
  for (const entry of entries.filter((each) => each.isFile())) {
    const path = join(entry.parentPath, entry.name).slice(TEMPLATE.length + 1);
    if (language === "js" && TYPESCRIPT_ONLY.has(path)) continue;
    const template = await readFile(join(TEMPLATE, path), "utf8");
    const filled = template.replaceAll("{{name}}", name).replaceAll("{{version}}", version);
    const to = join(target, dirname(path), RENAMED[entry.name] ?? (language === "js" ? entry.name.replace(/\.ts$/, ".js") : entry.name));
    await mkdir(dirname(to), { recursive: true });
    await writeFile(to, language === "js" ? inJavaScript(path, filled) : filled);
  }
  return { name };
}

/** As npm wants it: lower case, no spaces. */
function packageName(directoryName: string): string {
  const name = directoryName.toLowerCase().replaceAll(/[\s_]+/g, "-");
  if (/^[a-z0-9][a-z0-9.~-]{0,200}$/.test(name)) return name;
  throw new Error(`${JSON.stringify(directoryName)} cannot be the name of a package; use letters, digits and hyphens`);
}

function inJavaScript(path: string, text: string): string {
  if (path === "package.template.json") {
    const { devDependencies: _, scripts, ...rest } = JSON.parse(text) as { scripts: Record<string, string> } & Record<string, unknown>;
    const { check: __, ...kept } = scripts;
    const named = Object.fromEntries(Object.entries(kept).map(([script, command]) => [script, command.replaceAll(".ts", ".js")]));
    return `${JSON.stringify({ ...rest, scripts: named }, undefined, 2)}\n`.replace("./tools/index.ts", "./tools/index.js");
  }
  // The template's code has no type annotations, so only the names of files differ.
  return text.replaceAll(/(tools\/[\w-]+|tests\/[\w-]+|\.\/[\w-]+|\.test)\.ts\b/g, "$1.js");
}
