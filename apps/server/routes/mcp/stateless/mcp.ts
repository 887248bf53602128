import type { JsonObject, Runnable } from "@parley/core";
import type { RequestId } from "@parley/protocol";
import type { CallTool, ClientFacts, Encoder, GetPrompt } from "@parley/protocol/stateless";
import type { FrontEnd } from "../../../front-end/front-end.ts";
import type { RequestStates } from "../../../seals/request-state.ts";
import type { Outlet } from "../../../streams/outlet.ts";

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
