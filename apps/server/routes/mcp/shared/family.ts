import type { FastifyReply, FastifyRequest } from "fastify";
import type { ServerFacts } from "@parley/protocol";
import type { FrontEnd } from "../../../front-end/front-end.ts";
import type { StateKeys } from "../../../seals/state-keys.ts";
import type { OutletOptions } from "../../../streams/outlet.ts";

/** What a family of revisions is built from. */
export interface FamilyDeps {
  readonly frontEnd: FrontEnd;
  readonly facts: ServerFacts;
  readonly keys: StateKeys;
  readonly outletOptions: OutletOptions;
}

/** The revisions of one kind behind the endpoint. Each handler has answered, or answers on its own, when it resolves. */
export interface Family {
  post(request: FastifyRequest, reply: FastifyReply): Promise<void>;
  get(request: FastifyRequest, reply: FastifyReply): Promise<void>;
  delete(request: FastifyRequest, reply: FastifyReply): Promise<void>;
}
