/**
 * What one caller, and its tenant, may use. Only callers that can be told apart are counted; otherwise a quota would
 * apply to the whole deployment.
 */
import { type Caller, DEFAULT_TENANT } from "./caller.ts";
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

/** How much the store can still take. All nodes together, by the one that is fullest. */
export interface RoomBytes {
  readonly free: number;
  readonly all: number;
}

/**
 * Bytes that the tasks of one share may keep while so much of the store's memory is free. The less is free, the less anyone may take, so that
 * who comes finds room, as with places (shares.ts). It is half of theirs, because keys and indexes take memory that is not counted: a share alone
 * stops at five sixths of all, and six that each take what they can stop before new calls are refused.
 */
function partOf({ free, all }: RoomBytes): number {
  return Math.floor((28 * free ** 2) / all);
}

/** The quotas, and no more than the caller's share may keep of the room that there is. Callers without a tenant are shares of their own. */
export function quotasIn(quotas: TaskQuotas, { tenant }: Pick<Caller, "tenant">, room: RoomBytes | undefined): TaskQuotas {
  if (!room) return quotas;
  const within = (quota: TaskQuota): TaskQuota => ({ ...quota, stored: Math.min(quota.stored ?? Infinity, partOf(room)) });
  return { principal: within(quotas.principal), tenant: tenant === DEFAULT_TENANT ? quotas.tenant : within(quotas.tenant) };
}

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

/** `quotas`: those that applied. `set`: those of the settings. */
export function quotaExceeded({ over, of }: Over, quotas: TaskQuotas, set = quotas): ParleyError {
  const whose = of === "tenant" ? "the caller's tenant has" : "the caller has";
  const limit = quotas[of][over];
  const why = limit === set[of][over] ? SETTING[over] : "its part of the memory of Redis, which is filling up";
  return new ParleyError("QUOTA_EXCEEDED", `${whose} reached the maximum of ${limit} ${SAYS[over]} (${why})`, {
    data: { retryAfterMs: RETRY_AFTER_MS },
  });
}

/** Places free up when tasks, calls or streams end, which cannot be predicted; retrying more often is not useful. */
export const RETRY_AFTER_MS = 10_000;
