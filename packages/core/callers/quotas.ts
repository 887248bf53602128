/**
 * What one caller, and its tenant, may use. Only callers that can be told apart are counted; otherwise a quota would
 * apply to the whole deployment.
 */
import type { Caller } from "./caller.ts";
import { ParleyError } from "../errors.ts";

/** Classes of requests by cost, each counted per second. */
export const RATED = ["calls", "reads", "answers", "sessions"] as const;
export type Rated = (typeof RATED)[number];

/** How many requests of each kind. */
export type RatedCounts = { readonly [what in Rated]?: number };

export interface Rates {
  /**
   * Takes requests of every kind from the rates of the caller and its tenant. Throws QUOTA_EXCEEDED with
   * `data.retryAfterMs`, and then takes none of any kind.
   */
  take(caller: Caller, counts: RatedCounts): Promise<void>;
}

export interface TaskQuota {
  /** Unfinished tasks. */
  readonly tasks: number;
  /** Bytes in unfinished tasks: arguments and early replies, answers, what was recorded. */
  readonly bytes: number;
  /** The same with what finished tasks keep: outcomes, messages, and 500 bytes each. Absent: no limit. */
  readonly stored?: number;
}

/** A tenant counts all of its principals together. */
export type Counted = "principal" | "tenant";
export type TaskQuotas = { readonly [who in Counted]: TaskQuota };

/** The quota that keeps a task from being created. */
export interface Over {
  readonly over: keyof TaskQuota;
  readonly of: Counted;
}

export function isCounted({ authenticatedBy }: Caller): boolean {
  return authenticatedBy !== "nobody";
}

const SAYS: { readonly [kind in keyof TaskQuota]-?: string } = {
  tasks: "unfinished tasks",
  bytes: "bytes in unfinished tasks",
  stored: "bytes in tasks, finished ones included",
};
const SETTING: { readonly [kind in keyof TaskQuota]-?: string } = {
  tasks: "PARLEY_QUOTA_TASKS",
  bytes: "PARLEY_QUOTA_BYTES",
  stored: "PARLEY_QUOTA_STORED",
};

export function quotaExceeded({ over, of }: Over, quotas: TaskQuotas): ParleyError {
  const whose = of === "tenant" ? "the caller's tenant has" : "the caller has";
  return new ParleyError("QUOTA_EXCEEDED", `${whose} reached the maximum of ${quotas[of][over]} ${SAYS[over]} (${SETTING[over]})`, {
    data: { retryAfterMs: RETRY_AFTER_MS },
  });
}

/** Places free up when tasks, calls or streams end, which cannot be predicted; retrying more often is not useful. */
export const RETRY_AFTER_MS = 10_000;
