/** List items of this revision, with a tool's task support. */
import type { Tool } from "@parley/core";
import type { ListItems } from "../../list-items.ts";
import { SESSION_LIST_ITEMS } from "../list-items.ts";

export const listItems: ListItems = {
  ...SESSION_LIST_ITEMS,
  tool: (tool) => ({ ...SESSION_LIST_ITEMS.tool(tool), ...asTask(tool) }),
};

/** Empty for tools that never become tasks: that is the default (S25 basic/utilities/tasks, "Tool-Level Negotiation"). */
function asTask({ task, annotations }: Tool): object {
  if (task === "never") return {};
  // Proposal #1869 has its own member for the same.
  return { annotations: { ...annotations, taskHint: task === "required" ? "always" : "optional" }, execution: { taskSupport: task } };
}
