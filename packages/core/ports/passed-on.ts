/** Event types of others that are offered here: what happens at an upstream of the gateway. Source: SEP-3415. */
import type { Taker } from "../callers/shares.ts";
import type { JsonObject } from "../values/json.ts";

export interface PassedOnType {
  readonly name: string;
  readonly description?: string;
  /** What a subscription may ask for, as JSON Schema in the words of who publishes it. The publisher validates it. */
  readonly inputSchema: JsonObject;
  readonly payloadSchema: JsonObject;
  readonly meta?: JsonObject;
  /** Throws INVALID_CURSOR, what reads at upstreams throw, and RpcFailure with the publisher's own error. */
  poll(poll: PassedOnPoll): Promise<PassedOnPage>;
}

export interface PassedOnPoll {
  readonly arguments: JsonObject;
  /** Absent: from now on. Then there are no events, and the page says where now is. */
  readonly cursor?: string;
  /** Nothing that is older (ms). */
  readonly maxAgeMs?: number;
  /** At most so many events. */
  readonly limit: number;
  /** Whose place among the reads at upstreams it takes. */
  readonly taker?: Taker;
  /** What another was told a moment ago may be the answer: for whoever polls again and again. */
  readonly isShared?: boolean;
}

export interface PassedOnPage {
  /** Oldest first. */
  readonly events: readonly PassedOnEvent[];
  /** Where to continue; null if the publisher cannot continue anywhere but at now. */
  readonly cursor: string | null;
  /** Something after the cursor is not known any more, was too old, or could not be passed on. */
  readonly isTruncated: boolean;
  readonly isMore: boolean;
  /** When the publisher wants to be polled again (ms), within bounds. */
  readonly nextPollMs: number;
}

export interface PassedOnEvent {
  /** The same for everyone and every time. */
  readonly id: string;
  readonly atMs: number;
  readonly data: JsonObject;
  /** Where to continue after it. */
  readonly cursor: string | null;
}
