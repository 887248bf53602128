import type { JsonObject, Runnable } from "@parley/core";
import type { Retry, Step } from "@parley/protocol";
import type { ClientFacts, StatelessEncoder } from "@parley/protocol/stateless";
import type { Exchange } from "../../../front-end/exchange.ts";
import type { FrontEnd } from "../../../front-end/front-end.ts";
import type { RequestStates } from "../../../seals/request-state.ts";
import type { Outlet } from "../../../streams/outlet.ts";

/** Everything that the handlers of revisions without sessions share. One per process. */
export interface StatelessRoute extends FrontEnd {
  readonly states: RequestStates;
}

/** One request of a revision without sessions. It carries everything that is known about its client. */
export interface StatelessExchange extends Exchange<StatelessEncoder> {
  readonly client: ClientFacts;
  readonly channel: Outlet;
}

/** A tools/call or prompts/get. */
export interface Called extends Pick<Runnable, "kind" | "name">, Step {
  readonly arguments: JsonObject;
  readonly reason: string | undefined;
  readonly retry: Retry;
  readonly idempotencyKey?: string;
  readonly encodeResult: (result: JsonObject) => object;
}
