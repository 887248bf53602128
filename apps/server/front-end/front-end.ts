import type { Log, Rates, Services } from "@parley/core";
import type { Announcements } from "../streams/announcements.ts";
import type { Heartbeat } from "../streams/heartbeat.ts";
import type { Gate, Gates } from "./gate.ts";
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
  /** Calls that wait for their task: of all callers, and of each caller by principal. */
  readonly waits: Gate;
  readonly ownWaits: Gates;
  /** Streams that report changes: of all callers, and of each caller by principal. */
  readonly listens: Gate;
  readonly streams: Gates;
  /** Limits what identified callers do per second. */
  readonly rates: Rates;
  readonly limits: Limits;
  readonly times: Times;
  readonly pageSize: number;
  readonly log: Log;
}
