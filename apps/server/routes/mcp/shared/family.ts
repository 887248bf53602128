import type { FastifyReply, FastifyRequest } from "fastify";
import type { ServerFacts } from "@parley/protocol";
import type { FrontEnd } from "../../../front-end/front-end.ts";
import type { StateKeys } from "../../../seals/state-keys.ts";
import type { OutletOptions } from "../../../streams/outlet.ts";

/** The parts from which a family is built. */
export interface FamilyDeps {
  readonly frontEnd: FrontEnd;
  readonly facts: ServerFacts;
  readonly keys: StateKeys;
  readonly outletOptions: OutletOptions;
}

/**
 * The handlers of one family of revisions. When a handler resolves, the request is answered, or its answer follows without further calls.
 */
export interface Family {
  post(request: FastifyRequest, reply: FastifyReply): Promise<void>;
  get(request: FastifyRequest, reply: FastifyReply): Promise<void>;
  delete(request: FastifyRequest, reply: FastifyReply): Promise<void>;
}
