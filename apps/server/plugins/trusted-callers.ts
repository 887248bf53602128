/**
 * Refuses requests for host names that this server does not serve, and from web pages that it does not trust. This protects a server on
 * localhost against DNS rebinding. Trusted pages get the CORS headers that clients in browsers need.
 *
 * Source: specification 2026-07-28, basic/transports/streamable-http, "Security" (403 for an invalid Origin is a MUST); RFC 9112, 3.2.
 */
import cors from "@fastify/cors";
import type { FastifyInstance, FastifyReply } from "fastify";
import { invalidRequest } from "@parley/protocol";
import { sendJson } from "../streams/outlet.ts";

export interface TrustedCallers {
  /** `name` for any port, or `name:port`; `*.name` for every name below it; `*` for all. IPv6 addresses are in brackets. */
  readonly allowedHosts: readonly string[];
  /** `scheme://name` for any port, or `scheme://name:port`; `*` for all. */
  readonly allowedOrigins: readonly string[];
}

/** The response headers that a page may read. */
const EXPOSED = ["Mcp-Session-Id", "MCP-Protocol-Version", "Last-Event-ID", "WWW-Authenticate", "Retry-After"];

/** For every scope: refuses several Host headers, and a request line with a host that is not served. */
export function oneHost(server: FastifyInstance, { allowedHosts }: Pick<TrustedCallers, "allowedHosts">): void {
  const isHost = hostMatcher(allowedHosts);
  server.addHook("onRequest", ({ raw }, reply, done) => {
    const { url = "/", rawHeaders } = raw;
    if (hostsIn(rawHeaders) > 1) refuseRpc(reply, 400, "the request has several Host headers: send only one");
    // An absolute address (`POST http://name/mcp`) overrides the Host header, so a proxy may have checked a different name.
    else if (!url.startsWith("/") && !isHost(URL.parse(url)?.host ?? "")) refuseRpc(reply, 403, notServed("address", url));
    else done();
  });
}

/** For a scope whose replies may depend on the Host header. */
export function servedHost(scope: FastifyInstance, { allowedHosts }: Pick<TrustedCallers, "allowedHosts">, refuse = refuseRpc): void {
  const isHost = hostMatcher(allowedHosts);
  scope.addHook("onRequest", ({ headers: { host } }, reply, done) => {
    if (host === undefined || !isHost(host)) refuse(reply, 403, notServed("Host", host));
    else done();
  });
}

/** For a scope that clients call. `refuse`: sends a refusal in the form of that scope. Default: as MCP. */
export async function trustedCallers(
  scope: FastifyInstance,
  { allowedHosts, allowedOrigins }: TrustedCallers,
  refuse = refuseRpc,
): Promise<void> {
  const isOrigin = matcher(allowedOrigins);

  servedHost(scope, { allowedHosts }, refuse);
  scope.addHook("onRequest", (request, reply, done) => {
    const { origin } = request.headers;
    if (origin !== undefined && !isOrigin(origin)) {
      refuse(reply, 403, `the Origin ${quoted(origin)} is not trusted (PARLEY_ALLOWED_ORIGINS)`);
    } else done();
  });

  // Callers that pass the hooks above are trusted. Any request header is allowed, since those of tools (Mcp-Param-*) and of gateways are
  // not known here.
  await scope.register(cors, { origin: true, methods: ["GET", "POST", "DELETE"], exposedHeaders: EXPOSED, maxAge: 600 });
}

function hostsIn(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) if (rawHeaders[index]?.toLowerCase() === "host") count += 1;
  return count;
}

function refuseRpc(reply: FastifyReply, httpStatus: number, problem: string): void {
  sendJson(reply, httpStatus, invalidRequest(problem).message);
}

/** As `matcher`, and knows `*.name`, which Gateways and Ingresses use. */
function hostMatcher(allowed: readonly string[]): (given: string) => boolean {
  const isListed = matcher(allowed);
  const domains = allowed.filter((item) => item.startsWith("*.")).map((item) => item.slice(1).toLowerCase());
  if (domains.length === 0) return isListed;
  return (given) => {
    const name = given.toLowerCase().replace(/:\d+$/, "");
    return isListed(given) || (NAME.test(name) && domains.some((domain) => name.endsWith(domain)));
  };
}

const NAME = /^[a-z0-9][-a-z0-9.]*$/;

/** Ignores case, as host names do. */
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
