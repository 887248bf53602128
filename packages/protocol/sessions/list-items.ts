/** List items in revisions before 2026. */
import { LIST_ITEMS, without, type ListItems } from "../list-items.ts";

export const SESSION_LIST_ITEMS: ListItems = {
  ...LIST_ITEMS,
  // Structured content is an object before 2026, so an output schema of another type would describe nothing that is sent.
  tool: (tool) => (tool.outputSchema?.["type"] === "object" ? LIST_ITEMS.tool(tool) : without(LIST_ITEMS.tool(tool), "outputSchema")),
};
