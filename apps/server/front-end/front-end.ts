import type { Caller, Log, OccurrenceFeed, PassedOnType, Rates, Services } from "@parley/core";
import type { Announcements } from "../streams/announcements.ts";
import type { Heartbeat } from "../streams/heartbeat.ts";
import type { SubscriptionDesk } from "./subscription-desk.ts";
import type { SharedGate } from "./gate.ts";
import type { Ladder } from "./ladder.ts";
import type { Lifecycle } from "./lifecycle.ts";
import type { Limits, Times } from "./limits.ts";
import type { ProtectedResource } from "./protected-resource.ts";

/** Everything that the handlers of all routes share. One per process. */
export interface FrontEnd {
  readonly services: Services;
  /** Undefined if callers need no credentials, and therefore no scopes. */
  readonly resource: ProtectedResource | undefined;
  readonly announcements: Announcements;
  readonly lifecycle: Lifecycle;
  readonly heartbeat: Heartbeat;
  /** Calls that wait for their task. */
  readonly waits: SharedGate;
  /** Streams that report changes. */
  readonly listens: SharedGate;
  /** Limits what identified callers do per second. */
  readonly rates: Rates;
  readonly ladder: Ladder;
  readonly limits: Limits;
  readonly times: Times;
  readonly pageSize: number;
  readonly log: Log;
  /** What happens, for streams of events; absent without an outbox. */
  readonly occurrences?: OccurrenceFeed;
  /** The event type of an upstream that the caller is offered now. */
  readonly passedOn: (caller: Caller, name: string) => Promise<PassedOnType | undefined>;
  /** Takes subscriptions to events; absent if nothing is posted to clients. */
  readonly desk?: SubscriptionDesk;
  /** The address of a question's page, on which people log in; absent if the address alone opens it. */
  readonly urlOf?: (taskId: string, key: string) => string;
}
