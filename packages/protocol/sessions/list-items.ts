/** Items of lists as revisions before 2026 allow them. */
import { LIST_ITEMS, without, type ListItems } from "../list-items.ts";

export const SESSION_LIST_ITEMS: ListItems = {
  ...LIST_ITEMS,
  // Structured content is an object before 2026: a schema of anything else would describe what is never sent.
  tool: (tool) => (tool.outputSchema?.["type"] === "object" ? LIST_ITEMS.tool(tool) : without(LIST_ITEMS.tool(tool), "outputSchema")),
};
