/** What is served: server/discover, the four lists, resources, completions (S26 server/*). All lists keep the catalogue's order. */
import type { Catalogue, JsonObject, Prompt, Resource, ResourceContents, ResourceTemplate, Tool } from "@parley/core";
import type { ServerFacts } from "../dialect.ts";
import { page } from "../page.ts";
import { TASKS_EXTENSION, VERSION } from "./names.ts";

interface Saying {
  readonly facts: ServerFacts;
  readonly meta: JsonObject;
}

type Paged = Saying & { readonly cursor: string | undefined };

const COMPLETIONS_MAX = 100;

/** Lists are the same for every caller. */
const PUBLIC = { cacheScope: "public" };

export function discover(catalogue: Catalogue, { facts, meta }: Saying): object {
  const { tools, prompts, resources, templates } = catalogue;
  const completes = [...templates, ...[...prompts.values()].flatMap((prompt) => prompt.arguments)].some(
    (item) => item.complete !== undefined,
  );
  return {
    resultType: "complete",
    supportedVersions: [VERSION],
    capabilities: {
      tools: { listChanged: true },
      ...(prompts.size > 0 ? { prompts: { listChanged: true } } : {}),
      ...(resources.size > 0 || templates.length > 0 ? { resources: { listChanged: true, subscribe: true } } : {}),
      ...(completes ? { completions: {} } : {}),
      logging: {},
      ...(tools.size > 0 ? { extensions: { [TASKS_EXTENSION]: {} } } : {}),
    },
    ...(facts.instructions === undefined ? {} : { instructions: facts.instructions }),
    ttlMs: facts.listTtlMs,
    ...PUBLIC,
    _meta: meta,
  };
}

export function toolList({ tools }: Catalogue, { cursor, ...saying }: Paged): object {
  const { items, nextCursor } = page([...tools.values()], { key: ({ name }) => name, size: saying.facts.pageSize, cursor });
  return list({ tools: items.map(toolEntry) }, nextCursor, saying);
}

export function promptList({ prompts }: Catalogue, { cursor, ...saying }: Paged): object {
  const { items, nextCursor } = page([...prompts.values()], { key: ({ name }) => name, size: saying.facts.pageSize, cursor });
  return list({ prompts: items.map(promptEntry) }, nextCursor, saying);
}

export function resourceList({ resources }: Catalogue, { cursor, ...saying }: Paged): object {
  const { items, nextCursor } = page([...resources.values()], { key: ({ uri }) => uri, size: saying.facts.pageSize, cursor });
  return list({ resources: items.map(resourceEntry) }, nextCursor, saying);
}

export function templateList({ templates }: Catalogue, { cursor, ...saying }: Paged): object {
  const { items, nextCursor } = page(templates, { key: ({ uriTemplate }) => uriTemplate, size: saying.facts.pageSize, cursor });
  return list({ resourceTemplates: items.map(templateEntry) }, nextCursor, saying);
}

function list(entries: object, nextCursor: string | undefined, { facts, meta }: Saying): object {
  return {
    resultType: "complete",
    ...entries,
    ...(nextCursor === undefined ? {} : { nextCursor }),
    ttlMs: facts.listTtlMs,
    ...PUBLIC,
    _meta: meta,
  };
}

/** No `execution`: in this revision the server alone decides what becomes a task. */
function toolEntry({ name, title, description, inputSchema, outputSchema, annotations, icons, meta }: Tool): object {
  return present({ name, title, description, inputSchema, outputSchema, annotations, icons, _meta: meta });
}

function promptEntry({ name, title, description, arguments: args }: Prompt): object {
  return present({
    name,
    title,
    description,
    arguments: args.map((argument) =>
      present({ name: argument.name, title: argument.title, description: argument.description, required: argument.required }),
    ),
  });
}

function resourceEntry({ uri, name, title, description, mimeType, size, annotations }: Resource): object {
  return present({ uri, name, title, description, mimeType, size, annotations });
}

function templateEntry({ uriTemplate, name, title, description, mimeType, annotations }: ResourceTemplate): object {
  return present({ uriTemplate, name, title, description, mimeType, annotations });
}

/** Without the members that are undefined, as they would be after JSON. */
function present(entry: { readonly [key: string]: unknown }): object {
  return Object.fromEntries(Object.entries(entry).filter(([, value]) => value !== undefined));
}

/** Read anew each time: a resource may change at any moment and may differ by caller. */
export function resourceContents(contents: readonly ResourceContents[], meta: JsonObject): object {
  return { resultType: "complete", contents, ttlMs: 0, cacheScope: "private", _meta: meta };
}

export function completion(values: readonly string[], meta: JsonObject): object {
  return {
    resultType: "complete",
    completion: { values: values.slice(0, COMPLETIONS_MAX), total: values.length, hasMore: values.length > COMPLETIONS_MAX },
    _meta: meta,
  };
}
