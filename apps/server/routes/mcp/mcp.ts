import type { Catalogue, JsonObject, Log, Runnable, Services } from "@parley/core";
import type { CallTool, ClientFacts, Encoder, GetPrompt, RequestId } from "@parley/protocol";
import type { Announcements } from "../../announcements.ts";
import type { Limits, Times } from "../../config.ts";
import type { Gate } from "../../gate.ts";
import type { Lifecycle } from "../../lifecycle.ts";
import type { Outlet } from "../../outlet.ts";
import type { RequestStates } from "../../request-state.ts";

/** What every handler works with; one per process. */
export interface Mcp {
  readonly services: Services;
  readonly catalogue: Catalogue;
  readonly encode: Encoder;
  readonly states: RequestStates;
  readonly announcements: Announcements;
  readonly lifecycle: Lifecycle;
  /** Calls that wait for their hidden task. */
  readonly waits: Gate;
  readonly listens: Gate;
  readonly limits: Limits;
  readonly times: Times;
  readonly log: Log;
}

/** One request on its way to its answer. */
export interface Exchange {
  readonly id: RequestId;
  readonly principal: string;
  readonly outlet: Outlet;
}

/** The `result` of the answer, or undefined when nobody is there any more to be answered. Whatever is thrown becomes the error. */
export type Handled = object | undefined;

/** A tools/call or prompts/get, as the three ways of answering it see it. */
export interface Called {
  readonly runnable: Runnable;
  readonly arguments: JsonObject;
  readonly intent: (CallTool | GetPrompt) & ClientFacts;
  readonly encodeResult: (result: JsonObject) => object;
}
