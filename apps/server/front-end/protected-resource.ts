/**
 * What this server says of itself as an OAuth 2.1 resource server: its metadata, and the challenge with which it refuses.
 *
 * Source: RFC 9728; RFC 6750, 3; specification 2026-07-28, basic/authorization.
 */
import { type Caller, CLIENT_SCOPES, type ErrorCode, lackedScopes, ParleyError, SCOPES } from "@parley/core";
import type { FastifyRequest } from "fastify";

export interface ProtectedResourceSettings {
  /** Of the MCP endpoint; undefined: where the client says that it found it. */
  readonly url: string | undefined;
  readonly authorizationServers: readonly string[];
  /** Put before scopes where clients read them. */
  readonly scopePrefix: string;
}

export interface ProtectedResource {
  /** Of resources whose metadata this is, below METADATA_PATH: those that clients try by themselves, and the one that challenges name. */
  readonly paths: readonly string[];
  metadata(request: FastifyRequest): object;
  /** The WWW-Authenticate of a refusal; undefined for what new credentials would not change. */
  challenge(request: FastifyRequest, refused: ParleyError): string | undefined;
}

/** RFC 9728, 3: what follows it is the path of the resource. */
export const METADATA_PATH = "/.well-known/oauth-protected-resource";
/** What may stand in a challenge (RFC 6749, 3.3). A provider may put anything into its tokens. */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+$/;
/** Characters of the scopes that a token has, for a challenge to repeat them: some proxies take no headers beyond 4 kB. */
const HELD_CHARS = 2_000;
/** Characters of an error_description. The message stands in the body as a whole. */
const DESCRIPTION_CHARS = 300;

export function protectedResource({ url, authorizationServers, scopePrefix }: ProtectedResourceSettings): ProtectedResource {
  const prefixed = (scopes: readonly string[]) => scopes.map((scope) => scopePrefix + scope);
  // The Host was judged before (trusted-callers.ts). TLS ends before this server: with https, PARLEY_PUBLIC_URL says so.
  const resourceOf = ({ headers }: FastifyRequest) => url ?? `http://${headers.host}/mcp`;

  return {
    paths: [...new Set(["/", "/mcp", ...(url === undefined ? [] : [new URL(url).pathname])])],
    metadata: (request) => ({
      resource: resourceOf(request),
      // Where only API keys are accepted nobody can log in.
      ...(authorizationServers.length > 0 && { authorization_servers: authorizationServers }),
      scopes_supported: prefixed(CLIENT_SCOPES),
      bearer_methods_supported: ["header"],
      resource_name: "Parley",
    }),
    challenge(request, { code, message, data }) {
      const error = OAUTH_ERRORS[code];
      if (error === undefined) return undefined;
      // Where any Host is served, one that is no name of a host has no address to log in by.
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

/** RFC 6750, 3.1. Who sent no credentials is told no error, only how to get them. */
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

/** What RFC 6750 allows in a description. */
function printable(message: string): string {
  return message
    .replaceAll('"', "'")
    .replace(/[^\x20-\x5b\x5d-\x7e]/g, "?")
    .slice(0, DESCRIPTION_CHARS);
}

/**
 * Throws SCOPE_INSUFFICIENT where the caller's scopes do not cover `needed`. The scopes to ask for are those that it has, since some clients forget
 * them otherwise, and those that it lacks; with a call those that see it through, since a client that may call and not answer waits forever.
 */
export function requireScopes({ scopes: held }: Caller, needed: readonly string[], what: string): void {
  const lacked = lackedScopes(held, needed);
  if (lacked.length === 0) return;
  const through = needed.includes(SCOPES.call) ? lackedScopes(held, CLIENT_SCOPES) : [];
  const kept = held.filter((scope) => SCOPE.test(scope));
  const scopes = [...new Set([...(kept.join(" ").length > HELD_CHARS ? [] : kept), ...lacked, ...through])];
  throw new ParleyError(
    "SCOPE_INSUFFICIENT",
    `${what} needs the scope ${lacked.join(" and ")}; the token has ${held.join(" ") || "none"}`,
    {
      data: { scopes },
    },
  );
}
