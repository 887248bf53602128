import { ANONYMOUS, type Caller } from "@parley/core";
import type { Identity } from "@parley/identity";
import type { FastifyRequest } from "fastify";

/**
 * Identifies the caller from the headers and the connection; the body has not been read yet. `plugins/authenticated.ts` calls it once per
 * request. The error it throws becomes the response: the caller sees the message of an error with a `statusCode` below 500.
 */
export type Authenticate = (request: FastifyRequest) => Caller | Promise<Caller>;

const ANONYMOUS_CALLER: Caller = Object.freeze({
  principal: ANONYMOUS,
  tenant: "default",
  scopes: Object.freeze([]),
  authenticatedBy: "nobody",
  names: Object.freeze([]),
  groups: Object.freeze([]),
  roles: Object.freeze([]),
});

/** Treats all callers as one. For a server that only its own machine, or a gateway that authenticates, can reach. */
export const anonymous: Authenticate = () => ANONYMOUS_CALLER;

/** Takes the caller from the access token, the API key, or the headers of a trusted proxy. */
export function byCredentials({ identify }: Identity): Authenticate {
  return ({ raw }) => identify({ rawHeaders: raw.rawHeaders, url: raw.url ?? "/", address: raw.socket.remoteAddress });
}
