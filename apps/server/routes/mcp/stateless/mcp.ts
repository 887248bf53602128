import type { Catalogue, JsonObject, Log, Runnable, Services } from "@parley/core";
import type { RequestId } from "@parley/protocol";
import type { CallTool, ClientFacts, Encoder, GetPrompt } from "@parley/protocol/stateless";
import type { Announcements } from "../../../streams/announcements.ts";
import type { Limits, Times } from "../../../config.ts";
import type { Gate } from "../../../front-end/gate.ts";
import type { Heartbeat } from "../../../streams/heartbeat.ts";
import type { Lifecycle } from "../../../front-end/lifecycle.ts";
import type { Outlet } from "../../../streams/outlet.ts";
import type { RequestStates } from "../../../seals/request-state.ts";

/** What the handlers of every dialect work with; one per process. */
export interface FrontEnd {
  readonly services: Services;
  readonly catalogue: Catalogue;
  readonly announcements: Announcements;
  readonly lifecycle: Lifecycle;
  readonly heartbeat: Heartbeat;
  /** Calls that wait for their task. */
  readonly waits: Gate;
  /** Streams that tell of changes. */
  readonly listens: Gate;
  readonly limits: Limits;
  readonly times: Times;
  readonly pageSize: number;
  readonly log: Log;
}

/** What the handlers of 2026-07-28 work with. */
export interface Mcp extends FrontEnd {
  readonly encode: Encoder;
  readonly states: RequestStates;
}

/** One request on its way to its answer. */
export interface Exchange {
  readonly id: RequestId;
  readonly principal: string;
  readonly outlet: Outlet;
}

/**
 * The `result` of the answer, undefined when nobody is there any more to be answered, or STREAMING when the stream goes on by itself.
 * Whatever is thrown becomes the error.
 */
export type Handled = object | undefined | typeof STREAMING;

export const STREAMING = Symbol("streaming");

/** A tools/call or prompts/get, as the three ways of answering it see it. */
export interface Called {
  readonly runnable: Runnable;
  readonly arguments: JsonObject;
  readonly intent: (CallTool | GetPrompt) & ClientFacts;
  readonly encodeResult: (result: JsonObject) => object;
}
