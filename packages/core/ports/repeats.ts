/** The port for requests that a client may send again. */

/**
 * What was replied to the requests of one caller that had an idempotency key, so that a client that lost a reply can
 * send its request again: it is done once, and replied to alike. Of each caller the newest REPEATS_MAX are known, for
 * REPEATS_KEPT_MS.
 */
export interface Repeats {
  /**
   * Begins a request. `ended`: it was done before, with this reply. `underway`: it is being done, or the process that
   * did it has died less than REPEATS_LEASE_MS ago. `other`: the key belongs to another request.
   */
  begin(
    request: RepeatedRequest,
  ): Promise<{ readonly type: "begun" | "underway" | "other" } | { readonly type: "ended"; readonly reply: string }>;
  /** Keeps the reply, or without one forgets the request, so that it may be done again. */
  end(request: RepeatedRequest, reply?: string): Promise<void>;
}

export interface RepeatedRequest {
  /** Digests: of the caller, of the idempotency key, and of what is requested. */
  readonly caller: string;
  readonly key: string;
  readonly fingerprint: string;
  readonly nowMs: number;
}

export const REPEATS_MAX = 1_000;
export const REPEATS_KEPT_MS = 24 * 60 * 60_000;
/** Longer than any request works. */
export const REPEATS_LEASE_MS = 60_000;
/** A longer reply is not kept. */
export const REPEATED_REPLY_CHARS = 4_096;
