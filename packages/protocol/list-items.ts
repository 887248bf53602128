/** Items of the four lists, with every member that any revision has. Older revisions leave out members that they lack. */
import type { Catalogue, Prompt, Resource, ResourceTemplate, Tool } from "@parley/core";
import { page } from "./page.ts";
import type { ServerFacts } from "./server-facts.ts";

export type ListItem = { readonly [member: string]: unknown };

export interface ListItems {
  tool(tool: Tool): ListItem;
  prompt(prompt: Prompt): ListItem;
  resource(resource: Resource): ListItem;
  template(template: ResourceTemplate): ListItem;
}

/** Schemas are sent unchanged. */
export const LIST_ITEMS: ListItems = {
  tool: ({ name, title, description, inputSchema, outputSchema, annotations, icons, meta }) =>
    present({ name, title, description, inputSchema, outputSchema, annotations, icons, _meta: meta }),
  prompt: ({ name, title, description, arguments: args, icons, meta }) =>
    present({
      name,
      title,
      description,
      arguments: args.map((argument) =>
        present({ name: argument.name, title: argument.title, description: argument.description, required: argument.required }),
      ),
      icons,
      _meta: meta,
    }),
  resource: ({ uri, name, title, description, mimeType, size, annotations, icons, meta }) =>
    present({ uri, name, title, description, mimeType, size, annotations, icons, _meta: meta }),
  template: ({ uriTemplate, name, title, description, mimeType, annotations, icons, meta }) =>
    present({ uriTemplate, name, title, description, mimeType, annotations, icons, _meta: meta }),
};

/** One page of each list, in the catalogue's order. Throws ParleyError INVALID_CURSOR. */
export interface Lists {
  toolList(catalogue: Catalogue, cursor?: string): object;
  promptList(catalogue: Catalogue, cursor?: string): object;
  resourceList(catalogue: Catalogue, cursor?: string): object;
  templateList(catalogue: Catalogue, cursor?: string): object;
}

export function lists(listItems: ListItems, size: number): Lists {
  return {
    toolList({ tools }, cursor) {
      const { items, ...rest } = page([...tools.values()], { key: ({ name }) => name, size, cursor });
      return { tools: items.map(listItems.tool), ...rest };
    },
    promptList({ prompts }, cursor) {
      const { items, ...rest } = page([...prompts.values()], { key: ({ name }) => name, size, cursor });
      return { prompts: items.map(listItems.prompt), ...rest };
    },
    resourceList({ resources }, cursor) {
      const { items, ...rest } = page([...resources.values()], { key: ({ uri }) => uri, size, cursor });
      return { resources: items.map(listItems.resource), ...rest };
    },
    templateList({ templates }, cursor) {
      const { items, ...rest } = page(templates, { key: ({ uriTemplate }) => uriTemplate, size, cursor });
      return { resourceTemplates: items.map(listItems.template), ...rest };
    },
  };
}

/** The capabilities that a server declares for its lists. A client reads them once: lists without items are left out only if they stay empty. */
export function servedCapabilities({ prompts, resources, templates, unlisted = [], grows = false }: Catalogue): ListItem {
  const hasResources = resources.size > 0 || templates.length > 0 || unlisted.length > 0;
  const completes = [...templates, ...[...prompts.values()].flatMap((prompt) => prompt.arguments)].some(
    (item) => item.complete !== undefined,
  );
  return {
    tools: { listChanged: true },
    ...(prompts.size > 0 || grows ? { prompts: { listChanged: true } } : {}),
    ...(hasResources || grows ? { resources: { listChanged: true, subscribe: true } } : {}),
    ...(completes || grows ? { completions: {} } : {}),
    logging: {},
  };
}

/** For models: how to use this server, and what its upstreams say of themselves. */
export function instructionsOf(
  { instructions: own }: ServerFacts,
  { instructions: ofUpstreams }: Catalogue,
): { readonly instructions?: string } {
  const texts = [own, ofUpstreams].filter((text) => text !== undefined);
  return texts.length === 0 ? {} : { instructions: texts.join("\n\n") };
}

/** Whether calls may become tasks. A client reads it once, so tools that come later count. */
export function mayBecomeTasks({ tools, grows = false }: Catalogue, { givesTasks = true }: Pick<ServerFacts, "givesTasks">): boolean {
  return givesTasks && (tools.size > 0 || grows);
}

const COMPLETIONS_MAX = 100;

/** `completion` in the answer to completion/complete: the first 100 values, and whether there are more. */
export function completionOf(values: readonly string[]): object {
  return { values: values.slice(0, COMPLETIONS_MAX), total: values.length, hasMore: values.length > COMPLETIONS_MAX };
}

/** Removes members that are undefined, as JSON does. */
export function present(item: ListItem): ListItem {
  return Object.fromEntries(Object.entries(item).filter(([, value]) => value !== undefined));
}

export function without(item: ListItem, ...members: readonly string[]): ListItem {
  return Object.fromEntries(Object.entries(item).filter(([member]) => !members.includes(member)));
}
