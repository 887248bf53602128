/**
 * What a caller's credentials may allow it. Names are paths: `tools` is `tools:call` and anything added below it later.
 */
export const SCOPES = {
  /** Call tools, get prompts, read resources, cancel what was called. */
  call: "tools:call",
  /** See what becomes of tasks, and what they ask. */
  read: "tasks:read",
  /** Answer what tasks ask. */
  answer: "asks:answer",
  /** See the tasks of others, as an operator. */
  administer: "admin:read",
} as const;

/** What a client needs to see a call through to its end: a tool may ask, and a caller that may not answer would wait forever. */
export const CLIENT_SCOPES: readonly string[] = [SCOPES.call, SCOPES.read, SCOPES.answer];

/** Those of `needed` that `held` does not cover. */
export function lackedScopes(held: readonly string[], needed: readonly string[]): readonly string[] {
  return needed.filter((scope) => !held.some((each) => each === scope || scope.startsWith(`${each}:`)));
}
