/**
 * Who may use what of an upstream (`access` in the file). Whoever may not use something is not offered it: no list has it, and a call of it is answered
 * like a call of something that does not exist, at every door, because every door looks it up in what its caller is offered.
 */
import { type Caller, isNamed, lackedScopes } from "@parley/core";
import type { AccessRule, Upstream } from "../config/upstreams.ts";

/** What a caller may use of an upstream: undefined is everything. */
export type Allowed = readonly AccessRule[] | undefined;

export function allowedTo(caller: Caller, { access }: Pick<Upstream, "access">): Allowed {
  return access?.filter((rule) => isFor(caller, rule));
}

/** `name` is the upstream's own, without the prefix. */
export function mayUse(allowed: Allowed, name: string): boolean {
  return allowed === undefined || allowed.some(({ covers }) => covers(name));
}

/** Whether nothing is kept from the caller, including what has no name here. */
export function mayUseAll(allowed: Allowed): boolean {
  return allowed === undefined || allowed.some(({ coversAll }) => coversAll);
}

/** All of the scopes, and one of the people, groups and roles, as far as the rule names any. */
function isFor({ authenticatedBy, scopes, names, groups, roles }: Caller, rule: AccessRule): boolean {
  const { people, groups: wantedGroups, roles: wantedRoles, scopes: needed } = rule;
  if (lackedScopes(scopes, needed).length > 0) return false;
  if (people.length + wantedGroups.length + wantedRoles.length === 0) return true;
  // Callers that cannot be told apart are nobody in particular.
  if (authenticatedBy === "nobody") return false;
  return isNamed(people, names) || wantedGroups.some((group) => groups.includes(group)) || wantedRoles.some((role) => roles.includes(role));
}
