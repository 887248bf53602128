import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Catalogue } from "@parley/core";
import { catalogue, type CatalogueSource } from "./catalogue.ts";
import { DefinitionError } from "./failures.ts";

/**
 * The catalogue of the named modules: a path (`./tools.ts`, `/srv/tools/index.js`, from the working directory) or a package's name.
 *
 * Throws DefinitionError that names the module when one cannot be loaded or holds no definition.
 */
export async function loadCatalogue(modules: readonly string[]): Promise<Catalogue> {
  return catalogue(...(await Promise.all(modules.map(load))));
}

async function load(name: string): Promise<CatalogueSource> {
  const specifier = /^[./]/.test(name) || name.endsWith(".ts") || name.endsWith(".js") ? pathToFileURL(resolve(name)).href : name;
  try {
    return (await import(specifier)) as CatalogueSource;
  } catch (cause) {
    const problem = cause instanceof Error ? cause.message : String(cause);
    throw new DefinitionError(`tool module ${JSON.stringify(name)} cannot be loaded: ${problem}`, { cause });
  }
}
