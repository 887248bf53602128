/**
 * Who sent a request, from its credentials:
 *
 *   trusted proxy's header ─▶ named by the proxy
 *   Authorization: Bearer ─▶ verified lately? ─▶ API key: by its record ────┐
 *                                            ├─▶ JWT: by its issuer's keys ─┤
 *                                            └─▶ else: by introspection ────┴▶ Caller, remembered for a moment
 *
 * What is remembered is found by the SHA-256 of the token, so a heap dump holds no token that could be used.
 */
import { hash } from "node:crypto";
import type { ApiKeys, Caller, Log } from "@parley/core";
import { API_KEY_TTL_MS, isApiKey, verifyApiKey } from "./api-key.ts";
import { callerOf, type Vouched } from "./claims.ts";
import { bearerToken } from "./credentials.ts";
import { introspect } from "./introspection.ts";
import { isJwt, verifyJwt } from "./jwt.ts";
import { keySet } from "./key-set.ts";
import { type Proxied, proxiedCaller } from "./proxy.ts";
import { recent } from "./recent.ts";
import { refuse } from "./refuse.ts";
import type { IdentitySettings } from "./settings.ts";

export interface Incoming extends Proxied {
  /** With its query. */
  readonly url: string;
}

export interface IdentityPorts {
  readonly log: Log;
  readonly now: () => number;
  readonly elapsedMs: () => number;
  /** Where API keys are looked up; absent: none is accepted. */
  readonly apiKeys?: ApiKeys;
}

export interface Identity {
  /**
   * Throws CREDENTIALS_MISSING, CREDENTIALS_MISPLACED, the errors of tokens and of proxies, and PROVIDER_UNAVAILABLE, PROVIDER_INVALID and
   * OVERLOADED, which say nothing about the credentials.
   */
  identify(request: Incoming): Caller | Promise<Caller>;
  /** How many keys an issuer publishes. Throws PROVIDER_UNAVAILABLE, PROVIDER_INVALID. */
  fetchKeys(issuer: string): Promise<number>;
}

export function createIdentity(settings: IdentitySettings, ports: IdentityPorts): Identity {
  const { now } = ports;
  const { introspection, proxy } = settings;
  const keys = new Map(settings.issuers.map((issuer) => [issuer.name, keySet(issuer, settings, ports)]));
  const introspected = introspection && introspect(settings, introspection, ports);
  const proxied = proxy && proxiedCaller(proxy);
  const verified = recent<Caller>(settings.tokensMax);
  const verifying = new Map<string, Promise<Caller>>();

  async function vouched(token: string): Promise<Vouched> {
    if (isJwt(token)) return await verifyJwt(token, settings, { keys, now });
    if (introspected) return await introspected(token);
    throw refuse(
      "TOKEN_MALFORMED",
      "the token is not a JWT, and no introspection is set up for other tokens (PARLEY_AUTH_INTROSPECTION_URL)",
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
    const caller = await verify(token);
    verified.set(digest, caller, Math.min(caller.expiresAtMs ?? Infinity, now() + ttlMs));
    return caller;
  }

  return {
    identify(request) {
      const token = bearerToken(request);
      if (token === undefined) {
        const named = proxied?.(request);
        if (named) return named;
        throw refuse("CREDENTIALS_MISSING", "this server needs an access token");
      }
      const digest = hash("sha256", token, "base64url");
      const known = verified.get(digest, now());
      if (known) return known;
      // A client that opens ten connections at once is verified once.
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
