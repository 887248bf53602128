/**
 * Who a request comes from, as a front end has authenticated it. It lives as long as its request: what is stored with tasks and sessions is the
 * principal, a text.
 */
export interface Caller {
  /** The owner of the tasks that it creates, and the only one who may see them (I10). */
  readonly principal: string;
  /** Whom the principal belongs to. Callers of different tenants never learn of each other. */
  readonly tenant: string;
  /** What its credentials allow it; empty where there are no credentials. */
  readonly scopes: readonly string[];
  /** What vouches for it: `nobody` for an anonymous one. */
  readonly authenticatedBy: string;
  /** What its issuer calls it: subject, verified email, preferred_username. For deciding who may answer. */
  readonly names: readonly string[];
  readonly groups: readonly string[];
  readonly roles: readonly string[];
  /** The OAuth client that it uses, by its id. */
  readonly client?: string;
  /** Until when its credentials are accepted; undefined: for ever. */
  readonly expiresAtMs?: number;
}
