/**
 * Refuses requests for names that this server does not go by, and from web pages that it does not know: what guards a server on localhost
 * against DNS rebinding. Trusted pages get the CORS headers that they need.
 *
 * Source: specification 2026-07-28, basic/transports/streamable-http, "Security" (403 for an invalid Origin is a MUST).
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { invalidRequest } from "@parley/protocol";
import { sendJson } from "../streams/outlet.ts";

export interface TrustedCallers {
  /** `name`, for any port, or `name:port`; `*` for all. IPv6 addresses in brackets. */
  readonly allowedHosts: readonly string[];
  /** `scheme://name`, for any port, or with a port; `*` for all. */
  readonly allowedOrigins: readonly string[];
}

export function trustedCallers(app: FastifyInstance, { allowedHosts, allowedOrigins }: TrustedCallers): void {
  const isHost = matcher(allowedHosts);
  const isOrigin = matcher(allowedOrigins);

  app.addHook("onRequest", (request, reply, done) => {
    const { host, origin } = request.headers;
    if (host === undefined || !isHost(host)) {
      refuse(reply, `the Host ${quoted(host)} is not served here (PARLEY_ALLOWED_HOSTS)`);
    } else if (origin !== undefined && !isOrigin(origin)) {
      refuse(reply, `the Origin ${quoted(origin)} is not trusted (PARLEY_ALLOWED_ORIGINS)`);
    } else {
      if (origin !== undefined) void reply.header("access-control-allow-origin", origin).header("vary", "origin");
      done();
    }
  });

  // Asked by browsers before they let a page call.
  app.options("/mcp", (request: FastifyRequest, reply: FastifyReply) => {
    const wanted = request.headers["access-control-request-headers"];
    void reply
      .code(204)
      .header("access-control-allow-methods", "POST")
      .header("access-control-max-age", "600")
      .headers(wanted === undefined ? {} : { "access-control-allow-headers": wanted })
      .send();
  });
}

function refuse(reply: FastifyReply, problem: string): void {
  sendJson(reply, 403, invalidRequest(problem).message);
}

/** Compares without case, as names of hosts are. */
function matcher(allowed: readonly string[]): (given: string) => boolean {
  const known = new Set(allowed.map((item) => item.toLowerCase()));
  if (known.has("*")) return () => true;
  return (given) => {
    const name = given.toLowerCase();
    return known.has(name) || known.has(name.replace(/:\d+$/, ""));
  };
}

function quoted(text: string | undefined): string {
  return text === undefined ? "(none)" : JSON.stringify(text.slice(0, 100));
}
