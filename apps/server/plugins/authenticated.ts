import { type Caller, type Log, ParleyError } from "@parley/core";
import type { FastifyInstance } from "fastify";
import type { Authenticate } from "../front-end/caller.ts";
import type { ProtectedResource } from "../front-end/protected-resource.ts";
import type { Account, Visitors } from "../front-end/visitors.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Throws outside an authenticated scope, and for OPTIONS. */
    readonly caller: Caller;
    /** How the person who opens a page can change who they are. */
    account: Account | undefined;
    /** Where the person who opens a page logs in as an answer requires. */
    again: Visitors["again"];
  }
}

const CALLER = Symbol("caller");

/** Adds `caller`, `account` and `again` to every request. Reading `caller` throws until the request's scope has authenticated the request. */
export function declareCaller(server: FastifyInstance): void {
  server.decorateRequest(CALLER, undefined);
  server.decorateRequest("account", undefined);
  server.decorateRequest("again", undefined);
  server.decorateRequest("caller", {
    getter() {
      const caller = this.getDecorator<Caller | undefined>(CALLER);
      if (!caller) throw new Error(`${this.method} ${this.routeOptions.url ?? "to no route"} is not authenticated`);
      return caller;
    },
  });
}

export interface Authenticated {
  readonly authenticate: Authenticate;
  /** Undefined if callers need no credentials. */
  readonly resource: ProtectedResource | undefined;
  readonly log: Log;
}

/**
 * Authenticates every request of a scope, on every route and method, before its body is read. Handlers get the caller only from
 * `request.caller`, so a route that is registered outside the scope by mistake fails instead of serving everyone. This hook adds
 * WWW-Authenticate to a refusal; the route's error handler writes the rest.
 *
 * OPTIONS is exempt: browsers send it without credentials before they let a page call. Its handlers have no caller.
 */
export function authenticated(scope: FastifyInstance, { authenticate, resource, log }: Authenticated): void {
  scope.addHook("onRequest", async (request, reply) => {
    if (request.method === "OPTIONS") return;
    try {
      request.setDecorator(CALLER, await authenticate(request));
    } catch (error) {
      if (resource && error instanceof ParleyError) {
        log.info({ requestId: request.id, code: error.code, problem: error.message }, "credentials refused");
        const challenge = resource.challenge(request, error);
        if (challenge !== undefined) void reply.header("www-authenticate", challenge);
      }
      throw error;
    }
  });
}

/** Authenticates the visitors of pages, which say who is logged in and where they do so again. */
export function visited(scope: FastifyInstance, { authenticate, account, again }: Visitors, log: Log): void {
  authenticated(scope, { authenticate, resource: undefined, log });
  scope.addHook("onRequest", async (request) => {
    request.account = account?.(request);
    request.again = again;
  });
}
