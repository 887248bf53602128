/**
 * The scopes that a caller needs for each action: one table for both families, checked before any work is done. The policy of the task
 * itself is checked afterwards.
 *
 * Lists, `initialize` and other requests about the server need no scope: any caller may see what is served.
 */
import { type Catalogue, SCOPES } from "@parley/core";
import type { Action } from "./action.ts";

type ScopesOf<Type extends Action["type"]> = readonly string[] | ((action: Extract<Action, { type: Type }>) => readonly string[]);

const { call, read, answer } = SCOPES;

const NEEDED: { readonly [Type in Action["type"]]: ScopesOf<Type> } = {
  discover: [],
  ping: [],
  setLogLevel: [],
  listTools: [],
  listPrompts: [],
  listResources: [],
  listTemplates: [],
  complete: [call],
  readResource: [call],
  subscribe: [call],
  unsubscribe: [call],
  callTool: (action) => (hasReplies(action) ? [call, answer] : [call]),
  getPrompt: (action) => (hasReplies(action) ? [call, answer] : [call]),
  cancelTask: [call],
  cancelled: [call],
  resumeCall: [call],
  listen: ({ taskIds, resourceSubscriptions }) => [
    ...(taskIds.length > 0 ? [read] : []),
    ...(resourceSubscriptions.length > 0 ? [call] : []),
  ],
  getTask: ({ answers = [] }) => (answers.length > 0 ? [read, answer] : [read]),
  taskResult: [read],
  listTasks: [read],
  listEvents: [],
  pollEvents: [read],
  streamEvents: [read],
  subscribeEvents: [read],
  unsubscribeEvents: [read],
  standalone: [read],
  resumeResult: [read],
  updateTask: [answer],
  sendInput: [answer],
  reply: [answer],
};

function hasReplies({ replies = {} }: { readonly replies?: object }): boolean {
  return Object.keys(replies).length > 0;
}

/** Includes the scopes that the tool itself declares. */
export function scopesFor(action: Action, { tools }: Pick<Catalogue, "tools">): readonly string[] {
  // TypeScript cannot correlate the entry that is found by a type with the action of that type.
  const needed = NEEDED[action.type] as ScopesOf<Action["type"]>;
  const scopes = typeof needed === "function" ? (needed as (action: Action) => readonly string[])(action) : needed;
  const declared = action.type === "callTool" ? tools.get(action.name)?.scopes : undefined;
  return declared === undefined ? scopes : [...scopes, ...declared];
}
