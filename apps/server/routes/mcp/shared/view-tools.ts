import type { Catalogue } from "@parley/core";
import type { Ladder } from "../../../front-end/ladder.ts";

/** Takes what a person answers in the view. Hosts offer it to the view and not to the model. */
export const ANSWER_TOOL = "parley_answer";

/** The tools that the view calls. A tool of the deployment with the same name hides one of them. */
export function viewTools({ tools }: Catalogue, { taskTool, asksTool }: Ladder): { readonly answer?: string; readonly wait?: string } {
  return {
    // Without the asks tool, no answer counts that may be a model's.
    ...(asksTool !== undefined && !tools.has(ANSWER_TOOL) && { answer: ANSWER_TOOL }),
    ...(taskTool !== undefined && !tools.has(taskTool) && { wait: taskTool }),
  };
}
