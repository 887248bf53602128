/** Entries of lists with everything that this revision has, and a tool's ways as a task. */
import type { Tool } from "@parley/core";
import type { Entries } from "../../entries.ts";
import { SESSION_ENTRIES } from "../entries.ts";

export const entries: Entries = {
  ...SESSION_ENTRIES,
  tool: (tool) => ({ ...SESSION_ENTRIES.tool(tool), ...asTask(tool) }),
};

/** Tools that never become tasks say nothing: that is the default (S25 basic/utilities/tasks, "Tool-Level Negotiation"). */
function asTask({ task, annotations }: Tool): object {
  if (task === "never") return {};
  // Proposal #1869 says the same in its own words.
  return { annotations: { ...annotations, taskHint: task === "required" ? "always" : "optional" }, execution: { taskSupport: task } };
}
