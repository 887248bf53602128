/** Entries of lists as this revision has them: names alone, no output schemas, no `_meta`. */
import type { Tool } from "@parley/core";
import { ENTRIES, present, without, type Entries, type Entry } from "../../entries.ts";
import { isObject } from "../../json-rpc.ts";

export const entries: Entries = {
  tool: (tool) => ({ ...without(ENTRIES.tool(tool), "title", "outputSchema", "icons", "_meta"), ...titled(tool) }),
  prompt: ({ name, description, arguments: args }) =>
    present({
      name,
      description,
      arguments: args.map((argument) => present({ name: argument.name, description: argument.description, required: argument.required })),
    }),
  resource: (resource) => plain(ENTRIES.resource(resource)),
  template: (template) => plain(ENTRIES.template(template)),
};

/** The one place where this revision has a title. */
function titled({ title, annotations }: Tool): object {
  return title === undefined ? {} : { annotations: { title, ...annotations } };
}

function plain(entry: Entry): Entry {
  const { title: _, annotations, ...rest } = entry;
  return annotations === undefined ? rest : { ...rest, annotations: plainAnnotations(annotations) };
}

/** `lastModified` is newer. */
export function plainAnnotations(annotations: unknown): unknown {
  return isObject(annotations) ? without(annotations, "lastModified") : annotations;
}
