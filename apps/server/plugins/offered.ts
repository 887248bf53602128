import type { Catalogue, Catalogues } from "@parley/core";
import type { FastifyInstance, FastifyRequest } from "fastify";

declare module "fastify" {
  interface FastifyRequest {
    /** What the caller is offered, read once for this request. Throws outside a scope with a catalogue, and for OPTIONS. */
    readonly catalogue: Catalogue;
  }
}

const CATALOGUE = Symbol("catalogue");

/** Adds `catalogue` to every request. Reading it throws until the request's scope has set it. */
export function declareOffered(server: FastifyInstance): void {
  server.decorateRequest(CATALOGUE, undefined);
  server.decorateRequest("catalogue", {
    getter() {
      const catalogue = this.getDecorator<Catalogue | undefined>(CATALOGUE);
      if (!catalogue) throw new Error(`${this.method} ${this.routeOptions.url ?? "to no route"} has no catalogue`);
      return catalogue;
    },
  });
}

/** Sets the caller's catalogue for every request of an authenticated scope, after the body has arrived. */
export function offered(scope: FastifyInstance, catalogues: Catalogues): void {
  scope.addHook("preHandler", async (request) => {
    if (request.method !== "OPTIONS") request.setDecorator(CATALOGUE, await catalogues.current(request.caller));
  });
}

/** Whether the request's caller is offered a tool or prompt with that name. */
export function isOffered(request: FastifyRequest, name: string): boolean {
  const catalogue = request.getDecorator<Catalogue | undefined>(CATALOGUE);
  return catalogue !== undefined && (catalogue.tools.has(name) || catalogue.prompts.has(name));
}
