import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Catalogue } from "@parley/core";
import { catalogue, type CatalogueSource } from "./catalogue.ts";
import { DefinitionError } from "./failures.ts";

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
  return /^[./]/.test(name) || name.endsWith(".ts") || name.endsWith(".js");
}

async function load(name: string): Promise<CatalogueSource> {
  const specifier = isModulePath(name) ? pathToFileURL(resolve(name)).href : name;
  try {
    return (await import(specifier)) as CatalogueSource;
  } catch (cause) {
    const problem = cause instanceof Error ? cause.message : String(cause);
    throw new DefinitionError(`tool module ${JSON.stringify(name)} cannot be loaded: ${problem}`, { cause });
  }
}
