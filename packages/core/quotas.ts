/**
 * What one caller, and its tenant, may take. Only callers that can be told apart are counted: where everybody is the same one, a quota would be
 * one for the whole deployment.
 */
import { type Caller, DEFAULT_TENANT } from "./caller.ts";
import { ParleyError } from "./errors.ts";
import type { CallFacts } from "./task.ts";

/** Requests by what they cost, each counted per second. */
export const RATED = ["calls", "reads", "answers", "sessions"] as const;
export type Rated = (typeof RATED)[number];

export interface Rates {
  /** Takes `count` of what the caller and its tenant may do. Throws QUOTA_EXCEEDED with `data.retryAfterMs`, and takes nothing then. */
  take(caller: Caller, what: Rated, count?: number): Promise<void>;
}

/** Of unfinished tasks: how many, and how many characters callers have put into them as arguments and early replies. */
export interface TaskQuota {
  readonly tasks: number;
  readonly bytes: number;
}

/** A tenant is all of its principals together. */
export type Counted = "principal" | "tenant";
export type TaskQuotas = { readonly [who in Counted]: TaskQuota };

/** What keeps a task from being created. */
export interface Over {
  readonly over: keyof TaskQuota;
  readonly of: Counted;
}

export function isCounted({ authenticatedBy }: Caller): boolean {
  return authenticatedBy !== "nobody";
}

/** Those who share one place in the order of new tasks: a tenant, or a principal where there are no tenants. */
export function shareOf({ principal, tenant = DEFAULT_TENANT }: Pick<CallFacts, "principal" | "tenant">): string {
  return tenant === DEFAULT_TENANT ? `principal:${principal}` : `tenant:${tenant}`;
}

const SAYS: { readonly [kind in keyof TaskQuota]: string } = { tasks: "unfinished tasks", bytes: "characters in unfinished tasks" };
const SETTING: { readonly [kind in keyof TaskQuota]: string } = { tasks: "PARLEY_QUOTA_TASKS", bytes: "PARLEY_QUOTA_BYTES" };

export function quotaExceeded({ over, of }: Over, quotas: TaskQuotas): ParleyError {
  const whose = of === "tenant" ? "the caller's tenant has" : "the caller has";
  return new ParleyError("QUOTA_EXCEEDED", `${whose} as many ${SAYS[over]} as it may: ${quotas[of][over]} (${SETTING[over]})`, {
    data: { retryAfterMs: RETRY_AFTER_MS },
  });
}

/** Tasks end when they end; this is how often it makes sense to look. */
const RETRY_AFTER_MS = 10_000;
