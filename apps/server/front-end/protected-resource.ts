/**
 * This server as an OAuth 2.1 resource server: its metadata, and the challenge in its refusals.
 *
 * Source: RFC 9728; RFC 6750, 3; specification 2026-07-28, basic/authorization.
 */
import { type Caller, CLIENT_SCOPES, type ErrorCode, lackedScopes, ParleyError, SCOPES } from "@parley/core";
import type { FastifyRequest } from "fastify";

export interface ProtectedResourceSettings {
  /** URL of the MCP endpoint. If undefined, it is derived from the request's Host header. */
  readonly url: string | undefined;
  readonly authorizationServers: readonly string[];
  /** Prepended to the scopes that clients read. */
  readonly scopePrefix: string;
}

export interface ProtectedResource {
  /** Paths below METADATA_PATH at which the metadata is served: those that clients guess, and the one that challenges name. */
  readonly paths: readonly string[];
  metadata(request: FastifyRequest): object;
  /** The WWW-Authenticate header of a refusal. Undefined if other credentials would not help. */
  challenge(request: FastifyRequest, refused: ParleyError): string | undefined;
}

/** Followed by the path of the resource (RFC 9728, 3). */
export const METADATA_PATH = "/.well-known/oauth-protected-resource";
/** Scopes for the provider alone, of which no resource has its own (OpenID Connect Core 1.0, 5.4). */
const OPENID_SCOPES: ReadonlySet<string> = new Set(["openid", "profile", "email", "address", "phone"]);
/** A client requests it if it wants a refresh token. A resource server should not (SEP-2207). */
const OFFLINE = "offline_access";
/** A scope that may appear in a challenge (RFC 6749, 3.3). A provider may put anything into its tokens. */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+$/;
/** Longest list of a token's scopes that a challenge repeats. Some proxies refuse headers larger than 4 kB. */
const HELD_CHARS = 2_000;
/** Longest error_description. The body has the whole message. */
const DESCRIPTION_CHARS = 300;

export function protectedResource({ url, authorizationServers, scopePrefix }: ProtectedResourceSettings): ProtectedResource {
  const prefixed = (scopes: readonly string[]) => scopes.map((scope) => (OPENID_SCOPES.has(scope) ? scope : scopePrefix + scope));
  // trusted-callers.ts has checked the Host. TLS ends at a proxy, so `https` can only come from PARLEY_PUBLIC_URL.
  const resourceOf = ({ headers }: FastifyRequest) => url ?? `http://${headers.host}/mcp`;

  return {
    paths: [...new Set(["/", "/mcp", ...(url === undefined ? [] : [new URL(url).pathname])])],
    metadata: (request) => ({
      resource: resourceOf(request),
      // Without an issuer, only API keys are accepted, and clients cannot log in.
      ...(authorizationServers.length > 0 && { authorization_servers: authorizationServers }),
      scopes_supported: prefixed(CLIENT_SCOPES),
      bearer_methods_supported: ["header"],
      resource_name: "Parley",
    }),
    challenge(request, { code, message, data }) {
      const error = OAUTH_ERRORS[code];
      if (error === undefined) return undefined;
      // If every Host is served, the Host header may not be a valid host name. The challenge then names no address.
      const at = URL.parse(resourceOf(request));
      const scopes = data?.["scopes"];
      const parameters = {
        ...(at && { resource_metadata: `${at.origin}${METADATA_PATH}${at.pathname}` }),
        scope: prefixed(Array.isArray(scopes) ? scopes : CLIENT_SCOPES).join(" "),
        ...(error !== "" && { error, error_description: printable(message) }),
      };
      return `Bearer ${Object.entries(parameters)
        .map(([name, value]) => `${name}="${value}"`)
        .join(", ")}`;
    },
  };
}

/** RFC 6750, 3.1. A caller that sent no credentials receives no error code, only where to get a token. */
const OAUTH_ERRORS: { readonly [code in ErrorCode]?: string } = {
  CREDENTIALS_MISSING: "",
  CREDENTIALS_MISPLACED: "invalid_request",
  TOKEN_TOO_LARGE: "invalid_token",
  TOKEN_MALFORMED: "invalid_token",
  TOKEN_ALGORITHM_REFUSED: "invalid_token",
  TOKEN_ISSUER_UNKNOWN: "invalid_token",
  TOKEN_KEY_UNKNOWN: "invalid_token",
  TOKEN_SIGNATURE_INVALID: "invalid_token",
  TOKEN_EXPIRED: "invalid_token",
  TOKEN_NOT_YET_VALID: "invalid_token",
  TOKEN_AUDIENCE_REFUSED: "invalid_token",
  TOKEN_CLAIM_INVALID: "invalid_token",
  TOKEN_INACTIVE: "invalid_token",
  PROXY_NOT_TRUSTED: "invalid_token",
  SCOPE_INSUFFICIENT: "insufficient_scope",
};

/** Replaces the characters that RFC 6750 does not allow in a description. */
function printable(message: string): string {
  return message
    .replaceAll('"', "'")
    .replace(/[^\x20-\x5b\x5d-\x7e]/g, "?")
    .slice(0, DESCRIPTION_CHARS);
}

/**
 * Throws SCOPE_INSUFFICIENT if the caller's scopes do not cover `needed`. The error names the scopes to request: those that the caller
 * lacks, and those that it has, because some clients drop them otherwise. For a call it names every scope that a client needs to finish the
 * call: a client that may call but not answer would wait forever.
 */
export function requireScopes({ scopes: held }: Caller, needed: readonly string[], what: string): void {
  const lacked = lackedScopes(held, needed);
  if (lacked.length === 0) return;
  const through = needed.includes(SCOPES.call) ? lackedScopes(held, CLIENT_SCOPES) : [];
  const kept = held.filter((scope) => SCOPE.test(scope) && scope !== OFFLINE);
  const scopes = [...new Set([...(kept.join(" ").length > HELD_CHARS ? [] : kept), ...lacked, ...through])];
  throw new ParleyError(
    "SCOPE_INSUFFICIENT",
    `${what} needs the scope ${lacked.join(" and ")}; the token has ${held.join(" ") || "none"}`,
    {
      data: { scopes },
    },
  );
}
