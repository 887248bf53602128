/** Who calls a tool in a test, and who answers it. */
import { type Ask, type Audience, type Caller, DEFAULT_TENANT, type Task } from "@parley/core";

/**
 * A person other than the caller, as the identity provider describes them. Without `names`, `groups` or `roles` they
 * have none.
 */
export interface Answerer {
  /** `"somebody else"` by default. The caller is the `principal` of the test's options. */
  readonly principal?: string;
  /** What the identity provider calls them, as `ctx.answeredBy` returns it. */
  readonly name?: string;
  readonly names?: readonly string[];
  readonly groups?: readonly string[];
  readonly roles?: readonly string[];
}

export function caller(principal = "tester"): Caller {
  return { principal, tenant: DEFAULT_TENANT, scopes: [], authenticatedBy: "test", names: [], groups: [], roles: [] };
}

export function answerer({ principal = "somebody else", name, names = [], groups = [], roles = [] }: Answerer): Caller {
  return { ...caller(principal), ...(name !== undefined && { displayName: name }), names, groups, roles };
}

/** Someone who may answer and, with a quorum, has not accepted yet. */
export function answererOf({ call }: Task, { audience, accepted }: Pick<Ask, "audience" | "accepted">): Caller {
  return audience ? answerer(membership(audience, accepted?.acceptances.length ?? 0)) : caller(call.principal);
}

function membership({ to }: Audience, before: number): Answerer {
  const who = before === 0 ? {} : { principal: `somebody else ${before + 1}` };
  if (to === "tenant") return who;
  const { people = [], groups = [], roles = [] } = to;
  return { ...who, names: people.slice(before, before + 1), groups: groups.slice(0, 1), roles: roles.slice(0, 1) };
}
