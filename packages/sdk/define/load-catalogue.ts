import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Catalogue } from "@parley/core";
import { catalogue, gathered, nothingIn } from "./catalogue.ts";
import type { Definition } from "./definition.ts";
import { DefinitionError } from "../failures.ts";
import { syntaxPlace } from "./syntax-place.ts";

/**
 * Loads the catalogue of the named modules: a path (`./tools.ts`, `/srv/tools/index.js`, relative to the working
 * directory) or a package's name.
 *
 * Throws a DefinitionError with the module's name if it cannot be loaded or has no definition.
 */
export async function loadCatalogue(modules: readonly string[]): Promise<Catalogue> {
  return catalogue(...(await Promise.all(modules.map(load))));
}

/** Whether a module is named by its path, and not as a package. */
export function isModulePath(name: string): boolean {
  return /^[./]|\.[cm]?[jt]s$/.test(name);
}

async function load(name: string): Promise<readonly Definition[]> {
  const specifier = isModulePath(name) ? pathToFileURL(resolve(name)).href : name;
  const what = `tool module ${JSON.stringify(name)}`;
  let loaded: unknown;
  try {
    loaded = await import(specifier);
  } catch (cause) {
    const place = cause instanceof Error ? (placeOf(cause) ?? (await hiddenPlace(specifier, cause))) : undefined;
    const why = asCommonJs(cause) ?? (cause instanceof Error ? cause.message : String(cause));
    throw new DefinitionError(`${what} cannot be loaded: ${why}${place === undefined ? "" : ` (${place})`}`, { cause });
  }
  const definitions = gathered(loaded);
  if (definitions.length === 0) throw nothingIn(what);
  return definitions;
}

/** A project of `npm init` says that its files are CommonJS, and Node does not say so. */
function asCommonJs(cause: unknown): string | undefined {
  if (!(cause instanceof SyntaxError) || !/import statement outside a module|Unexpected token 'export'/.test(cause.message))
    return undefined;
  return 'it is written as an ES module, and package.json says that its files are CommonJS: set "type": "module" there, or name the file .mts or .mjs';
}

/** Where an error was thrown, as `/srv/tools/pay.ts:12`. Its message does not say that, and a module may import many others. */
function placeOf({ stack = "" }: Error): string | undefined {
  // Node puts the place of a syntax error in TypeScript before the message.
  const syntax = /^(?:file:\/\/)?(\/.+):(\d+)\n/.exec(stack);
  const frame = stack.split("\n").find((line) => line.includes("file:///") && !line.includes("/node_modules/"));
  const [, file, line] = syntax ?? /file:\/\/(\/.+):(\d+):\d+/.exec(frame ?? "") ?? [];
  return file === undefined ? undefined : `${decodeURI(file)}:${line}`;
}

async function hiddenPlace(specifier: string, cause: Error): Promise<string | undefined> {
  return cause instanceof SyntaxError && specifier.startsWith("file:") ? await syntaxPlace(specifier, cause) : undefined;
}
