import type { Caller } from "@parley/core";
import type { FastifyInstance } from "fastify";
import type { Authenticate } from "../front-end/caller.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Who sent it. Throws outside of an authenticated scope, and for OPTIONS. */
    readonly caller: Caller;
  }
}

const CALLER = Symbol("caller");

/** Gives every request a `caller`, which is nobody until its scope authenticates it. */
export function declareCaller(server: FastifyInstance): void {
  server.decorateRequest(CALLER, undefined);
  server.decorateRequest("caller", {
    getter() {
      const caller = this.getDecorator<Caller | undefined>(CALLER);
      if (!caller) throw new Error(`${this.method} ${this.routeOptions.url ?? "to no route"} is not authenticated`);
      return caller;
    },
  });
}

/**
 * Authenticates every request of a scope, on every route and method, before its body is read. A handler has no other way to a caller than
 * `request.caller`, so a route that is registered elsewhere by mistake fails instead of serving everybody.
 *
 * OPTIONS is left out: browsers ask by it, without credentials, before they let a page call. Its handlers have no caller to act for.
 */
export function authenticated(scope: FastifyInstance, authenticate: Authenticate): void {
  scope.addHook("onRequest", async (request) => {
    if (request.method !== "OPTIONS") request.setDecorator(CALLER, await authenticate(request));
  });
}
