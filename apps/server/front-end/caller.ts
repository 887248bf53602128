import { ANONYMOUS, type Caller } from "@parley/core";
import type { Identity } from "@parley/identity";
import type { FastifyRequest } from "fastify";

/**
 * Says who a request comes from, by its headers and its connection: its body has not been read. Called once for each request, by
 * plugins/authenticated.ts. What it throws is the answer: an error with a `statusCode` below 500 is shown to the caller.
 */
export type Authenticate = (request: FastifyRequest) => Caller | Promise<Caller>;

const ANYBODY: Caller = Object.freeze({
  principal: ANONYMOUS,
  tenant: "default",
  scopes: Object.freeze([]),
  authenticatedBy: "nobody",
  names: Object.freeze([]),
  groups: Object.freeze([]),
  roles: Object.freeze([]),
});

/** Every caller is the same one: for a server that only its own machine, or a gateway that authenticates, can reach. */
export const anonymous: Authenticate = () => ANYBODY;

/** Every caller is the one that their access token, or a trusted proxy, names. */
export function byCredentials({ identify }: Identity): Authenticate {
  return ({ raw }) => identify({ rawHeaders: raw.rawHeaders, url: raw.url ?? "/", address: raw.socket.remoteAddress });
}
