/** By what each request costs its caller is counted: one table for both families. How much there may be of each is a setting (docs/limits.md). */
import type { Rated } from "@parley/core";
import type { Wanted } from "./wanted.ts";

/** What is not named is free: it is answered from memory. */
const RATED_AS: { readonly [Type in Wanted["type"]]?: Rated } = {
  complete: "calls",
  readResource: "calls",
  callTool: "calls",
  getPrompt: "calls",
  cancelTask: "calls",
  cancelled: "calls",
  resumeCall: "reads",
  listen: "reads",
  getTask: "reads",
  taskResult: "reads",
  listTasks: "reads",
  standalone: "reads",
  resumeResult: "reads",
  subscribe: "reads",
  unsubscribe: "reads",
  updateTask: "answers",
  sendInput: "answers",
  reply: "answers",
};

/** Undefined for what is free. */
export function rateOf(wanted: Wanted): Rated | undefined {
  return wanted.type === "getTask" && (wanted.answers ?? []).length > 0 ? "answers" : RATED_AS[wanted.type];
}
