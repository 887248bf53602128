/**
 * Refuses requests for names that this server does not go by, and from web pages that it does not know: what guards a server on localhost
 * against DNS rebinding. Pages that it knows get the CORS headers that clients in browsers need.
 *
 * Source: specification 2026-07-28, basic/transports/streamable-http, "Security" (403 for an invalid Origin is a MUST); RFC 9112, 3.2.
 */
import cors from "@fastify/cors";
import type { FastifyInstance, FastifyReply } from "fastify";
import { invalidRequest } from "@parley/protocol";
import { sendJson } from "../streams/outlet.ts";

export interface TrustedCallers {
  /** `name`, for any port, or `name:port`; `*` for all. IPv6 addresses in brackets. */
  readonly allowedHosts: readonly string[];
  /** `scheme://name`, for any port, or with a port; `*` for all. */
  readonly allowedOrigins: readonly string[];
}

/** What a page may read of a reply beside its body. */
const EXPOSED = ["Mcp-Session-Id", "MCP-Protocol-Version", "Last-Event-ID", "WWW-Authenticate", "Retry-After"];

/** For every scope: the request names one host, and a host in the request line is one that is served. */
export function oneHost(server: FastifyInstance, { allowedHosts }: Pick<TrustedCallers, "allowedHosts">): void {
  const isHost = matcher(allowedHosts);
  server.addHook("onRequest", ({ raw }, reply, done) => {
    const { url = "/", rawHeaders } = raw;
    if (hostsIn(rawHeaders) > 1) refuse(reply, 400, "the request has several Host headers: send only one");
    // An absolute address (`POST http://name/mcp`) overrules the Host header, so a proxy may have judged another name than that.
    else if (!url.startsWith("/") && !isHost(URL.parse(url)?.host ?? "")) refuse(reply, 403, notServed("address", url));
    else done();
  });
}

/** For a scope whose replies may depend on the name by which it is called. */
export function servedHost(scope: FastifyInstance, { allowedHosts }: Pick<TrustedCallers, "allowedHosts">): void {
  const isHost = matcher(allowedHosts);
  scope.addHook("onRequest", ({ headers: { host } }, reply, done) => {
    if (host === undefined || !isHost(host)) refuse(reply, 403, notServed("Host", host));
    else done();
  });
}

/** For a scope that clients call. */
export async function trustedCallers(scope: FastifyInstance, { allowedHosts, allowedOrigins }: TrustedCallers): Promise<void> {
  const isOrigin = matcher(allowedOrigins);

  servedHost(scope, { allowedHosts });
  scope.addHook("onRequest", (request, reply, done) => {
    const { origin } = request.headers;
    if (origin !== undefined && !isOrigin(origin)) {
      refuse(reply, 403, `the Origin ${quoted(origin)} is not trusted (PARLEY_ALLOWED_ORIGINS)`);
    } else done();
  });

  // Callers that come this far are trusted. Any header may be sent, since a tool's own (Mcp-Param-*) and a gateway's are not known here.
  await scope.register(cors, { origin: true, methods: ["GET", "POST", "DELETE"], exposedHeaders: EXPOSED, maxAge: 600 });
}

function hostsIn(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) if (rawHeaders[index]?.toLowerCase() === "host") count += 1;
  return count;
}

function refuse(reply: FastifyReply, httpStatus: number, problem: string): void {
  sendJson(reply, httpStatus, invalidRequest(problem).message);
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

function notServed(what: string, given: string | undefined): string {
  return `the ${what} ${quoted(given)} is not served here (PARLEY_ALLOWED_HOSTS)`;
}

function quoted(text: string | undefined): string {
  return text === undefined ? "(none)" : JSON.stringify(text.slice(0, 100));
}
