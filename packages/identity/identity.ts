/**
 * Identifies the caller of a request by its credentials:
 *
 *   trusted proxy's header ─▶ caller named by the proxy
 *   Authorization: Bearer ─▶ in cache? ─▶ API key: by its record ────┐
 *                                     ├─▶ JWT: by its issuer's keys ─┤
 *                                     └─▶ other: by introspection ───┴▶ Caller, cached for a moment
 *
 * The cache is keyed by the SHA-256 of tokens, so that a heap dump contains no usable token.
 */
import { hash } from "node:crypto";
import { type ApiKeys, type Caller, type Log, ParleyError } from "@parley/core";
import { API_KEY_TTL_MS, isApiKey, verifyApiKey } from "./api-key.ts";
import { callerOf, type Vouched } from "./claims.ts";
import { bearerToken } from "./credentials.ts";
import { introspect } from "./introspection.ts";
import { isJwt, verifyJwt } from "./jwt.ts";
import { keySet } from "./key-set.ts";
import { type Proxied, proxiedCaller } from "./proxy.ts";
import { recent } from "./expiring-cache.ts";
import { refuse } from "./refuse.ts";
import type { IdentitySettings } from "./settings.ts";

export interface Incoming extends Proxied {
  /** Including the query. */
  readonly url: string;
}

export interface IdentityPorts {
  readonly log: Log;
  readonly now: () => number;
  readonly elapsedMs: () => number;
  /** Looks up API keys; absent: no API key is accepted. */
  readonly apiKeys?: ApiKeys;
}

export interface Identity {
  /**
   * Throws CREDENTIALS_MISSING, CREDENTIALS_MISPLACED and the errors of tokens and proxies. PROVIDER_UNAVAILABLE, PROVIDER_INVALID and
   * OVERLOADED are also possible; they do not mean that the credentials are bad.
   */
  identify(request: Incoming): Caller | Promise<Caller>;
  /** Fetches an issuer's keys now and resolves to their number. Throws PROVIDER_UNAVAILABLE, PROVIDER_INVALID. */
  fetchKeys(issuer: string): Promise<number>;
}

/**
 * What a provider said about an opaque token, and would say again in a moment. A token that is not valid yet soon is; a provider that does not
 * answer has said nothing.
 */
const LASTING: ReadonlySet<string> = new Set([
  "TOKEN_INACTIVE",
  "TOKEN_MALFORMED",
  "TOKEN_ISSUER_UNKNOWN",
  "TOKEN_AUDIENCE_REFUSED",
  "TOKEN_CLAIM_INVALID",
  "TOKEN_EXPIRED",
]);

export function createIdentity(settings: IdentitySettings, ports: IdentityPorts): Identity {
  const { now } = ports;
  const { introspection, proxy } = settings;
  const keys = new Map(settings.issuers.map((issuer) => [issuer.name, keySet(issuer, settings, ports)]));
  const introspected = introspection && introspect(settings, introspection, ports);
  const proxied = proxy && proxiedCaller(proxy);
  const verified = recent<Caller>(settings.tokensMax);
  /** Opaque tokens that the provider was asked about and does not vouch for. Apart, so that garbage displaces no token that is good. */
  const refused = recent<ParleyError>(settings.tokensMax);
  const verifying = new Map<string, Promise<Caller>>();

  async function vouched(token: string): Promise<Vouched> {
    if (isJwt(token)) return await verifyJwt(token, settings, { keys, now });
    if (introspected) return await introspected(token);
    throw refuse(
      "TOKEN_MALFORMED",
      "the token is not a JWT, and introspection is not set up for other tokens (PARLEY_AUTH_INTROSPECTION_URL)",
    );
  }

  async function verify(token: string): Promise<Caller> {
    if (!isApiKey(token)) return callerOf(await vouched(token), settings);
    if (!settings.apiKeys || !ports.apiKeys) throw refuse("TOKEN_MALFORMED", "API keys are not accepted here (PARLEY_AUTH_API_KEYS)");
    return await verifyApiKey(token, ports.apiKeys, now());
  }

  function ttlOf(token: string): number {
    if (isApiKey(token)) return API_KEY_TTL_MS;
    return isJwt(token) ? settings.tokensTtlMs : (introspection?.ttlMs ?? 0);
  }

  async function verifyAndRemember(token: string, digest: string): Promise<Caller> {
    const ttlMs = ttlOf(token);
    const isIntrospected = !isApiKey(token) && !isJwt(token);
    const caller = await verify(token).catch((error: unknown) => {
      if (isIntrospected && error instanceof ParleyError && LASTING.has(error.code)) refused.set(digest, error, now() + ttlMs);
      throw error;
    });
    verified.set(digest, caller, Math.min(caller.expiresAtMs ?? Infinity, now() + ttlMs));
    return caller;
  }

  return {
    identify(request) {
      const token = bearerToken(request);
      if (token === undefined) {
        const named = proxied?.(request);
        if (named) return named;
        throw refuse("CREDENTIALS_MISSING", "this server requires an access token");
      }
      const digest = hash("sha256", token, "base64url");
      const known = verified.get(digest, now());
      if (known) return known;
      const refusal = refused.get(digest, now());
      // A new error: the other one has the stack of another request.
      if (refusal) throw refuse(refusal.code, refusal.message, refusal);
      // Concurrent requests with the same token, such as ten connections of one client, share one verification.
      const running = verifying.get(digest) ?? verifyAndRemember(token, digest).finally(() => verifying.delete(digest));
      verifying.set(digest, running);
      return running;
    },
    async fetchKeys(issuer) {
      const set = keys.get(issuer);
      if (!set) throw refuse("TOKEN_ISSUER_UNKNOWN", `${JSON.stringify(issuer)} is not in PARLEY_AUTH_ISSUERS`);
      return await set.fetchNow();
    },
  };
}
