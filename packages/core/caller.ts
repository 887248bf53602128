/**
 * Who a request comes from, as a front end has authenticated it. It lives as long as its request: what is stored with tasks and sessions is the
 * principal, a text.
 */
export interface Caller {
  /** The owner of the tasks that it creates (I10). Unique over all tenants: no two callers of different tenants share one. */
  readonly principal: string;
  /** Who that is, by whichever client, where the principal is a person by one client (PARLEY_AUTH_PRINCIPAL); absent where the principal says it. */
  readonly person?: string;
  /** Whom the principal belongs to. Callers of different tenants never learn of each other. */
  readonly tenant: string;
  /** What its credentials allow it; empty where there are no credentials. */
  readonly scopes: readonly string[];
  /** What vouches for it: `nobody` for an anonymous one. */
  readonly authenticatedBy: string;
  /** By what people know it: subject, verified address, user name. Questions that are put to people name them so. */
  readonly names: readonly string[];
  readonly groups: readonly string[];
  readonly roles: readonly string[];
  /** The OAuth client that acts for it. */
  readonly client?: string;
  /** When its credentials end, in milliseconds since the Unix epoch; absent for those that do not. */
  readonly expiresAtMs?: number;
}

/** Of one person always the same, regardless of the client: for what nobody may do twice, or for themselves. */
export function personOf({ principal, person }: { readonly principal: string; readonly person?: string }): string {
  return person ?? principal;
}

/** The one principal of a deployment where nobody is told apart. */
export const ANONYMOUS = "anonymous";

/** The tenant of all callers where no other is configured. What is stored leaves it out. */
export const DEFAULT_TENANT = "default";
