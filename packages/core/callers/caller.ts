/**
 * Who a request comes from, as the front end authenticated it. Lives as long as the request; tasks and sessions store
 * only the principal, a string.
 */
import type { Assurance, LoginFacts } from "../task.ts";

export interface Caller {
  /** Owns the tasks that it creates (I10). Unique across all tenants. */
  readonly principal: string;
  /**
   * The person behind the principal, the same through any client and at any issuer (PARLEY_AUTH_PRINCIPAL,
   * PARLEY_AUTH_PERSON). Absent if the principal already identifies the person.
   */
  readonly person?: string;
  /** The tenant of the principal. Callers of different tenants never learn about each other. */
  readonly tenant: string;
  /** What the credentials allow; empty without credentials. */
  readonly scopes: readonly string[];
  /** What established the identity: `nobody` for an anonymous caller. */
  readonly authenticatedBy: string;
  /**
   * Names by which the caller can be asked, with their types (names.ts). Audiences are matched against them.
   */
  readonly names: readonly string[];
  /** What the identity provider calls the person. For people to read, and never compared: two people may have the same. */
  readonly displayName?: string;
  readonly groups: readonly string[];
  readonly roles: readonly string[];
  /** How this request identifies the person; absent for `token`. */
  readonly assurance?: Assurance;
  /** What the provider states of the login behind the credentials; absent for what it does not state. */
  readonly login?: LoginFacts;
  /** The OAuth client that acts for the caller. */
  readonly client?: string;
  /** When the credentials expire, in milliseconds since the Unix epoch; absent if they do not. */
  readonly expiresAtMs?: number;
  /** Whether the login behind the request has been ended since; absent if there is none. Throws UNAVAILABLE. */
  readonly hasLoggedOut?: () => Promise<boolean>;
}

/** How the caller is identified; undefined where people are not identified. */
export function assuranceOf({
  assurance = "token",
  authenticatedBy,
}: Pick<Caller, "assurance" | "authenticatedBy">): Assurance | undefined {
  return authenticatedBy === "nobody" ? undefined : assurance;
}

/** Identifies the same person across clients: for rules about what a person may do only once, or not for themselves. */
export function personOf({ principal, person }: { readonly principal: string; readonly person?: string }): string {
  return person ?? principal;
}

/** The only principal of a deployment that does not tell callers apart. */
export const ANONYMOUS = "anonymous";

/** The tenant of all callers unless another is configured. Not stored with tasks. */
export const DEFAULT_TENANT = "default";
