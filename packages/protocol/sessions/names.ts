/** Keys in `_meta` for clients with sessions. */

export { RELATED_TASK } from "../related-task.ts";
/** S25 basic/utilities/tasks, "Creating Tasks": text for the model while the task continues. */
export const IMMEDIATE_RESPONSE = "io.modelcontextprotocol/model-immediate-response";
/** Proposal #1869: the open questions of a task, in the answers to tools/call and tasks/get. */
export const PENDING_ELICITATIONS = "io.modelcontextprotocol/pending-elicitations";
/** Proposal #1869: an answer, in the `_meta` of tasks/get. */
export const ELICITATION_RESPONSE = "io.modelcontextprotocol/elicitation-response";
