/**
 * Grants that outlive their tasks: a person consents once, for all tasks of the same principal at the same upstream. One
 * record holds the tokens, and every task reads it, so that no task renews with a refresh token that another one has
 * already used.
 */

/** The longest time for which an unused grant may be kept. */
export const GRANT_KEPT_MAX_MS = 366 * 24 * 60 * 60 * 1_000;
/** Maximum number of grants of one principal. One more replaces the one that would end first. */
export const GRANTS_MAX = 100;

export interface GrantOwner {
  /** Unique across tenants and issuers. Never the anonymous principal. */
  readonly principal: string;
  /** Absent for the default tenant. */
  readonly tenant?: string | undefined;
}

export interface GrantRef extends GrantOwner {
  /** Digest of upstream, address, provider and scopes. If one of them differs, it is another grant. */
  readonly id: string;
}

/** The purpose of a grant, for people and auditors. */
export interface GrantAbout {
  readonly upstream: string;
  readonly provider: string;
  readonly scopes: readonly string[];
}

export interface KeptGrant {
  /** The id of the consent. A later consent for the same grant has another id. */
  readonly consent: string;
  /** The tokens, as JSON. */
  readonly text: string;
}

/** A grant as its owner sees it, without its tokens. */
export interface ListedGrant {
  readonly id: string;
  readonly consent: string;
  readonly about: GrantAbout;
  readonly keptAtMs: number;
  readonly usedAtMs: number;
  readonly endsAtMs: number;
}

export interface RevokedGrant {
  readonly about: GrantAbout;
  /** The tokens, as JSON. Undefined if this process cannot open them. */
  readonly text: string | undefined;
}

/**
 * Why a grant was removed: the provider ended it, the upstream refused it, its question was settled in another way, or
 * it cannot be opened.
 */
export type GrantEnd = "ended" | "refused" | "overtaken" | "unreadable";

/**
 * The grants of all principals, sealed, for all front ends and workers. Every method throws UNAVAILABLE, and
 * CONTENT_KEY_MISSING while the content key is missing.
 */
export interface KeptGrants {
  /** Keeps a grant for `ttlMs` in place of an earlier one. Resolves to the id of the consent. `taskId` is the task that asked. */
  keep(
    ref: GrantRef,
    kept: { readonly text: string; readonly about: GrantAbout; readonly ttlMs: number; readonly taskId: string },
  ): Promise<string>;
  /**
   * Resolves to undefined if no grant is kept. Each use starts the grant's time again. `taskId` is given by a task that
   * begins to use the grant, which is audited.
   *
   * A grant that no process can open, because it was moved or damaged or its content key was erased, is removed. A
   * grant that another secret has sealed is left alone, since other processes may open it; its time does not start
   * again, so that it ends if none of them does.
   */
  use(ref: GrantRef, use: { readonly ttlMs: number; readonly taskId?: string }): Promise<KeptGrant | undefined>;
  /** Replaces `before` with `text`. Returns false if something else is stored by now, or nothing. */
  replace(ref: GrantRef, before: KeptGrant, text: string): Promise<boolean>;
  /** Removes this consent, unless a later one has replaced it. */
  remove(ref: GrantRef, consent: string, why: GrantEnd): Promise<void>;
  /** The owner's grants; those that end first come first. */
  list(owner: GrantOwner): Promise<readonly ListedGrant[]>;
  /**
   * Removes this consent because somebody withdraws it. Resolves to undefined if it is not kept, or a later one has
   * replaced it. `door`: see AuditFact.
   */
  revoke(ref: GrantRef, consent: string, door?: string): Promise<RevokedGrant | undefined>;
}
