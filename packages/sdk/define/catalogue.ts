/** `catalogue`: collects what a deployment offers. */
import { type Catalogue, compareVersions, type Module, type Prompt, type Resource, type ResourceTemplate, type Tool } from "@parley/core";
import { type Definition, isDefinition, markDefinition } from "./definition.ts";
import { DefinitionError } from "../failures.ts";

/** A definition, a list of sources, or a module with all of its exports. */
export type CatalogueSource = Definition | readonly CatalogueSource[] | { readonly [exported: string]: unknown };

/**
 * The catalogue of all definitions in `sources`: definitions, lists, and modules (`await import(…)`) with their
 * exports, including lists. Of a module, the default export comes first, or its members if it is an object, as
 * `module.exports` is. The others follow by name, because a module does not reveal the order of its source. A definition that occurs twice counts once. The newest of several
 * versions of a tool receives calls, the others run the tasks that were created with them.
 *
 * Throws DefinitionError for two definitions with the same name (and version), and for a source without any.
 */
export function catalogue(...sources: readonly CatalogueSource[]): Catalogue {
  const versions = new Map<string, Tool[]>();
  const prompts = new Map<string, Prompt>();
  const resources = new Map<string, Resource>();
  const templates = new Map<string, ResourceTemplate>();
  const modules = new Map<string, Module>();
  for (const [index, source] of sources.entries()) {
    const definitions = gathered(source);
    if (definitions.length === 0) throw nothingIn(`source ${index + 1}`);
    for (const definition of definitions) {
      if ("kind" in definition) {
        if (definition.kind === "module") addOnce(modules, "module", definition.name, definition);
        else if (definition.kind === "tool") addVersion(versions, definition);
        else addOnce(prompts, "prompt", definition.name, definition);
      } else if ("uriTemplate" in definition) addOnce(templates, "resource template", definition.uriTemplate, definition);
      else addOnce(resources, "resource", definition.uri, definition);
    }
  }
  const tools = new Map([...versions].map(([name, all]) => [name, newestOf(all)]));
  return { tools, prompts, resources, templates: [...templates.values()], ...(modules.size > 0 && { modules: [...modules.values()] }) };
}

export function nothingIn(source: string): DefinitionError {
  return new DefinitionError(`${source} holds no tool, prompt or resource: export what defineTool and its siblings return`);
}

/** In the order in which a catalogue has them. */
export function gathered(source: unknown): readonly Definition[] {
  if (isDefinition(source)) return [source];
  if (Array.isArray(source)) return source.flatMap(gathered);
  if (typeof source !== "object" || source === null) return [];
  return exportsOf(source).flatMap((exported) => (isDefinition(exported) || Array.isArray(exported) ? gathered(exported) : []));
}

function exportsOf(source: object): readonly unknown[] {
  const { default: first, ...others } = source as { readonly [name: string]: unknown };
  const byName = (exported: object) => Object.entries(exported).toSorted(([a], [b]) => (a < b ? -1 : 1));
  // The default export of a CommonJS module is `module.exports`. Node.js finds only some of its members by reading the source.
  const members = typeof first === "object" && first !== null && !isDefinition(first) && !Array.isArray(first) ? byName(first) : [];
  return [first, ...[...members, ...byName(others)].map(([, exported]: [string, unknown]) => exported)];
}

/** Maximum number of versions of a tool: each keeps its code in every process. */
export const VERSIONS_MAX = 32;

function addVersion(known: Map<string, Tool[]>, tool: Tool): void {
  const all = known.get(tool.name) ?? [];
  if (all.includes(tool)) return;
  const { name, version } = tool;
  if (all.some((each) => each.version === version)) {
    const which = version === undefined ? "" : `, version ${version}`;
    throw new DefinitionError(`two definitions of the tool ${name}${which}: give one another name, or another version`);
  }
  if (all.length >= VERSIONS_MAX)
    throw new DefinitionError(`the tool ${name} has more than ${VERSIONS_MAX} versions: remove those that no task has`);
  known.set(name, [...all, tool]);
}

function newestOf(all: readonly Tool[]): Tool {
  const [newest, ...older] = all.toSorted((a, b) => compareVersions(b.version, a.version));
  if (!newest) throw new Error("a tool without a version of it");
  return older.length === 0 ? newest : markDefinition({ ...newest, older });
}

function addOnce<D extends Definition>(known: Map<string, D>, kind: string, name: string, definition: D): void {
  const other = known.get(name);
  if (other !== undefined && other !== definition)
    throw new DefinitionError(`two definitions of the ${kind} ${name}: give one another name`);
  known.set(name, definition);
}
