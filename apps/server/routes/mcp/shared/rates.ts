/** The rate against which each action counts: one table for both families. The rates themselves are settings (docs/limits.md). */
import type { Rated } from "@parley/core";
import type { Action } from "./action.ts";

/** Actions that are not listed are free, because they are answered from memory. */
const RATES: { readonly [Type in Action["type"]]?: Rated } = {
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
  pollEvents: "reads",
  streamEvents: "reads",
  subscribeEvents: "calls",
  unsubscribeEvents: "calls",
  standalone: "reads",
  resumeResult: "reads",
  setLogLevel: "reads",
  subscribe: "reads",
  unsubscribe: "reads",
  updateTask: "answers",
  sendInput: "answers",
  reply: "answers",
};

/** Undefined if the action is free. */
export function rateOf(action: Action): Rated | undefined {
  return action.type === "getTask" && (action.answers ?? []).length > 0 ? "answers" : RATES[action.type];
}
