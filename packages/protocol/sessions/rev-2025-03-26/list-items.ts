/** List items of this revision: names without titles, no output schemas, no `_meta`. */
import type { Tool } from "@parley/core";
import { LIST_ITEMS, present, without, type ListItems, type ListItem } from "../../list-items.ts";
import { isObject } from "../../json-rpc.ts";

export const listItems: ListItems = {
  tool: (tool) => ({ ...without(LIST_ITEMS.tool(tool), "title", "outputSchema", "icons", "_meta"), ...titled(tool) }),
  prompt: ({ name, description, arguments: args }) =>
    present({
      name,
      description,
      arguments: args.map((argument) => present({ name: argument.name, description: argument.description, required: argument.required })),
    }),
  resource: (resource) => plain(LIST_ITEMS.resource(resource)),
  template: (template) => plain(LIST_ITEMS.template(template)),
};

/** This revision has titles only in a tool's annotations. */
function titled({ title, annotations }: Tool): object {
  return title === undefined ? {} : { annotations: { title, ...annotations } };
}

function plain(item: ListItem): ListItem {
  const { title: _title, icons: _icons, _meta, annotations, ...rest } = item;
  return annotations === undefined ? rest : { ...rest, annotations: plainAnnotations(annotations) };
}

/** `lastModified` was added later. */
export function plainAnnotations(annotations: unknown): unknown {
  return isObject(annotations) ? without(annotations, "lastModified") : annotations;
}
