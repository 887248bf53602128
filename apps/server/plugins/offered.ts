import type { Catalogue, Catalogues } from "@parley/core";
import type { FastifyInstance, FastifyRequest } from "fastify";

declare module "fastify" {
  interface FastifyRequest {
    /** What is offered to its caller, as of this request. Throws outside of a scope that offers anything, and for OPTIONS. */
    readonly catalogue: Catalogue;
  }
}

const CATALOGUE = Symbol("catalogue");

/** Gives every request a `catalogue`, which is nothing until its scope offers something. */
export function declareOffered(server: FastifyInstance): void {
  server.decorateRequest(CATALOGUE, undefined);
  server.decorateRequest("catalogue", {
    getter() {
      const catalogue = this.getDecorator<Catalogue | undefined>(CATALOGUE);
      if (!catalogue) throw new Error(`${this.method} ${this.routeOptions.url ?? "to no route"} is offered nothing`);
      return catalogue;
    },
  });
}

/** Reads for every request of an authenticated scope, once and when its body is there, what its caller is offered. */
export function offered(scope: FastifyInstance, catalogues: Catalogues): void {
  scope.addHook("preHandler", async (request) => {
    if (request.method !== "OPTIONS") request.setDecorator(CATALOGUE, await catalogues.current(request.caller));
  });
}

/** Whether the request's caller is offered something of that name, to call it. */
export function isOffered(request: FastifyRequest, name: string): boolean {
  const catalogue = request.getDecorator<Catalogue | undefined>(CATALOGUE);
  return catalogue !== undefined && (catalogue.tools.has(name) || catalogue.prompts.has(name));
}
