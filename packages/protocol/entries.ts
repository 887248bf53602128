/** What is served, as entries of the four lists: each member that any revision has. Older revisions leave out what they do not know. */
import type { Catalogue, Prompt, Resource, ResourceTemplate, Tool } from "@parley/core";
import { page } from "./page.ts";

export type Entry = { readonly [member: string]: unknown };

export interface Entries {
  tool(tool: Tool): Entry;
  prompt(prompt: Prompt): Entry;
  resource(resource: Resource): Entry;
  template(template: ResourceTemplate): Entry;
}

/** Schemas go out word for word. */
export const ENTRIES: Entries = {
  tool: ({ name, title, description, inputSchema, outputSchema, annotations, icons, meta }) =>
    present({ name, title, description, inputSchema, outputSchema, annotations, icons, _meta: meta }),
  prompt: ({ name, title, description, arguments: args }) =>
    present({
      name,
      title,
      description,
      arguments: args.map((argument) =>
        present({ name: argument.name, title: argument.title, description: argument.description, required: argument.required }),
      ),
    }),
  resource: ({ uri, name, title, description, mimeType, size, annotations }) =>
    present({ uri, name, title, description, mimeType, size, annotations }),
  template: ({ uriTemplate, name, title, description, mimeType, annotations }) =>
    present({ uriTemplate, name, title, description, mimeType, annotations }),
};

/** One page of each list, in the catalogue's order. Throws ParleyError INVALID_CURSOR. */
export interface Lists {
  toolList(catalogue: Catalogue, cursor?: string): object;
  promptList(catalogue: Catalogue, cursor?: string): object;
  resourceList(catalogue: Catalogue, cursor?: string): object;
  templateList(catalogue: Catalogue, cursor?: string): object;
}

export function lists(entries: Entries, size: number): Lists {
  return {
    toolList({ tools }, cursor) {
      const { items, ...rest } = page([...tools.values()], { key: ({ name }) => name, size, cursor });
      return { tools: items.map(entries.tool), ...rest };
    },
    promptList({ prompts }, cursor) {
      const { items, ...rest } = page([...prompts.values()], { key: ({ name }) => name, size, cursor });
      return { prompts: items.map(entries.prompt), ...rest };
    },
    resourceList({ resources }, cursor) {
      const { items, ...rest } = page([...resources.values()], { key: ({ uri }) => uri, size, cursor });
      return { resources: items.map(entries.resource), ...rest };
    },
    templateList({ templates }, cursor) {
      const { items, ...rest } = page(templates, { key: ({ uriTemplate }) => uriTemplate, size, cursor });
      return { resourceTemplates: items.map(entries.template), ...rest };
    },
  };
}

/** What a server declares of these lists: nothing that is not there. */
export function servedCapabilities({ prompts, resources, templates }: Catalogue): Entry {
  const completes = [...templates, ...[...prompts.values()].flatMap((prompt) => prompt.arguments)].some(
    (item) => item.complete !== undefined,
  );
  return {
    tools: { listChanged: true },
    ...(prompts.size > 0 ? { prompts: { listChanged: true } } : {}),
    ...(resources.size > 0 || templates.length > 0 ? { resources: { listChanged: true, subscribe: true } } : {}),
    ...(completes ? { completions: {} } : {}),
    logging: {},
  };
}

const COMPLETIONS_MAX = 100;

/** The member `completion` of an answer to completion/complete: the first 100 values, and whether there are more. */
export function completionOf(values: readonly string[]): object {
  return { values: values.slice(0, COMPLETIONS_MAX), total: values.length, hasMore: values.length > COMPLETIONS_MAX };
}

/** Without the members that are undefined, as they would be after JSON. */
export function present(entry: Entry): Entry {
  return Object.fromEntries(Object.entries(entry).filter(([, value]) => value !== undefined));
}

export function without(entry: Entry, ...members: readonly string[]): Entry {
  return Object.fromEntries(Object.entries(entry).filter(([member]) => !members.includes(member)));
}
