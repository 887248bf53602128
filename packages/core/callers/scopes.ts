/**
 * What a caller's credentials may allow. Names are paths: `tools` includes `tools:call` and anything added below it
 * later.
 */
export const SCOPES = {
  /** Call tools, get prompts, read resources, cancel own calls. */
  call: "tools:call",
  /** See the state of tasks, and their questions. */
  read: "tasks:read",
  /** Answer questions. */
  answer: "asks:answer",
  /** See what others do, as an operator: figures of approvals. */
  administer: "admin:read",
} as const;

/** What a client needs to complete a call: a tool may ask, and a caller that may not answer would wait forever. */
export const CLIENT_SCOPES: readonly string[] = [SCOPES.call, SCOPES.read, SCOPES.answer];

/** The needed scopes that the held ones do not cover. */
export function lackedScopes(held: readonly string[], needed: readonly string[]): readonly string[] {
  return needed.filter((scope) => !held.some((each) => each === scope || scope.startsWith(`${each}:`)));
}
