/** The port to subscriptions of clients to events, by webhook. Those by poll and stream are nowhere but at the client. */
import type { Caller } from "../callers/caller.ts";
import type { JsonObject } from "../values/json.ts";

export interface Subscription {
  /** Derived from who subscribes to what and where it is posted, so that the same subscription is one. */
  readonly id: string;
  /** As it was when the subscription was made or last renewed. What it may hear is decided by this. */
  readonly caller: Caller;
  /** An OccurrenceType, or the name of an event type that is passed on. */
  readonly type: string;
  readonly arguments: JsonObject;
  readonly url: string;
  /** When it was made (ms), also after it was renewed: one that is made again after its end is another. */
  readonly madeAtMs: number;
  /** A cursor: where it begins. Empty: at now, of an event type that is passed on and cannot continue anywhere else. */
  readonly from: string;
  /** Of an event type that is passed on: nothing that happened before (ms). */
  readonly notBeforeMs?: number;
  /** Sealed, each by itself. The newest first; the one before until it is no longer used. */
  readonly secrets: readonly { readonly sealed: string; readonly untilMs?: number }[];
  readonly expiresAtMs: number;
}

export interface SubscriptionLimits {
  /** Of one principal. */
  readonly own: number;
  readonly all: number;
}

/** All methods throw UNAVAILABLE. */
export interface Subscriptions {
  /** Writes it, unless it is new and there are too many of its principal (`own`), or too many (`all`). */
  put(subscription: Subscription, limits: SubscriptionLimits, nowMs: number): Promise<"kept" | "own" | "all">;
  /** Returns whether it existed. */
  remove(id: string): Promise<boolean>;
  get(id: string, nowMs: number): Promise<Subscription | undefined>;
  /** Those that have not expired. */
  list(nowMs: number): Promise<readonly Subscription[]>;
  /** Differs once one was written or removed. */
  version(): Promise<string>;
}
