import type { Subscription, SubscriptionLimits, Subscriptions } from "@parley/core";

/** What a front end needs to take subscriptions. */
export interface SubscriptionDesk {
  readonly subscriptions: Subscriptions;
  /** What workers know of their deliveries. */
  load(subscription: Subscription): Promise<object>;
  seal(id: string, text: string): string;
  /** Receivers may be in the deployment's own network, and without TLS. */
  readonly isPrivate: boolean;
  readonly limits: SubscriptionLimits;
}
