/** Items of lists with everything that this revision has, and a tool's ways as a task. */
import type { Tool } from "@parley/core";
import type { ListItems } from "../../list-items.ts";
import { SESSION_LIST_ITEMS } from "../list-items.ts";

export const listItems: ListItems = {
  ...SESSION_LIST_ITEMS,
  tool: (tool) => ({ ...SESSION_LIST_ITEMS.tool(tool), ...asTask(tool) }),
};

/** Tools that never become tasks say nothing: that is the default (S25 basic/utilities/tasks, "Tool-Level Negotiation"). */
function asTask({ task, annotations }: Tool): object {
  if (task === "never") return {};
  // Proposal #1869 says the same in its own words.
  return { annotations: { ...annotations, taskHint: task === "required" ? "always" : "optional" }, execution: { taskSupport: task } };
}
