/**
 * Which scopes a caller needs for what it wants: one table for both families, looked at before any work is done. What the policy says about the
 * task itself comes on top of it.
 *
 * Lists, `initialize` and other requests about what is served need none: any caller may see it.
 */
import { type Catalogue, SCOPES } from "@parley/core";
import type { Wanted } from "./wanted.ts";

type ScopesOf<Type extends Wanted["type"]> = readonly string[] | ((wanted: Extract<Wanted, { type: Type }>) => readonly string[]);

const { call, read, answer } = SCOPES;

const NEEDED: { readonly [Type in Wanted["type"]]: ScopesOf<Type> } = {
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
  callTool: (wanted) => (repliesIn(wanted) ? [call, answer] : [call]),
  getPrompt: (wanted) => (repliesIn(wanted) ? [call, answer] : [call]),
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
  standalone: [read],
  resumeResult: [read],
  updateTask: [answer],
  sendInput: [answer],
  reply: [answer],
};

function repliesIn({ replies = {} }: { readonly replies?: object }): boolean {
  return Object.keys(replies).length > 0;
}

/** With those that the tool itself declares. */
export function scopesFor(wanted: Wanted, { tools }: Pick<Catalogue, "tools">): readonly string[] {
  // TypeScript does not see that what is found by a type takes what is wanted of that type.
  const needed = NEEDED[wanted.type] as ScopesOf<Wanted["type"]>;
  const scopes = typeof needed === "function" ? (needed as (wanted: Wanted) => readonly string[])(wanted) : needed;
  const declared = wanted.type === "callTool" ? tools.get(wanted.name)?.scopes : undefined;
  return declared === undefined ? scopes : [...scopes, ...declared];
}
