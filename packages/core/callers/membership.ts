/**
 * Groups and roles that a caller had when a call was made. Kept with the task only where a rule may ask for them, since workers see no credentials.
 * Too many are not kept in part: a condition such as "is not in contractors" would hold for what was left out.
 */
import type { Membership } from "../task.ts";
import type { Caller } from "./caller.ts";

/** Of all names together, written as JSON. Every read of such a task reads past them. */
export const MEMBERSHIP_CHARS_MAX = 8_000;

export function membershipOf({ groups, roles }: Pick<Caller, "groups" | "roles">): Membership {
  return JSON.stringify([groups, roles]).length > MEMBERSHIP_CHARS_MAX ? "too many" : { groups, roles };
}
