/**
 * The public keys of one issuer, fetched as needed:
 *
 *   none ──fetch──▶ fresh ──half of ttl: fetch in background──▶ old ──ttl: fetch first──▶ stale ──ttl + stale──▶ none
 *                     ▲                                                                    │ the provider does not answer
 *                     └── a token names an unknown key: one fetch per cooldown ◀───────────┘
 *
 * jose's own remote set drops its keys when they are old and the provider is down, which would fail every request. So jose only handles a given
 * set of keys, and this module decides when to fetch. Whatever callers send, a provider is asked at most once per cooldown.
 */
import { createLocalJWKSet, type CryptoKey, errors, type JSONWebKeySet, type JWSHeaderParameters, type FlattenedJWSInput } from "jose";
import { type Log, ParleyError } from "@parley/core";
import { askProvider } from "./ask-provider.ts";
import { discoverKeys } from "./discover.ts";
import { refuse, shown, span } from "./refuse.ts";
import type { IdentitySettings, Issuer } from "./settings.ts";

/** Cooldown while there are no keys at all. It is shorter, since no caller can be verified until the keys are there. */
const WITHOUT_KEYS_AGAIN_MS = 1_000;

/** Maximum number of keys of one issuer. */
const KEYS_MAX = 100;

/** Fewest bits of an RSA key (RFC 7518, 3.3). jose refuses a shorter one only when it verifies, as if it were a defect. */
const RSA_BITS_MIN = 2_048;

type KeySetSettings = Pick<IdentitySettings, "providerTimeoutMs" | "keysTtlMs" | "keysStaleMs" | "keysCooldownMs" | "allowHttp">;

export interface KeySetPorts {
  readonly log: Log;
  /** A monotonic clock: the age of keys must not change when the system time does. */
  readonly elapsedMs: () => number;
}

export interface KeySet {
  /** Resolves to the key that a token names. Throws TOKEN_KEY_UNKNOWN, PROVIDER_UNAVAILABLE, PROVIDER_INVALID. */
  readonly keyOf: (header: JWSHeaderParameters, token: FlattenedJWSInput) => Promise<CryptoKey>;
  /** Fetches the keys now and resolves to their number, for diagnosis. */
  fetchNow(): Promise<number>;
}

/** Resolves to the key that a token names; undefined if there is none. Throws TOKEN_KEY_UNKNOWN for one that cannot be used. */
type Find = (header: JWSHeaderParameters, token: FlattenedJWSInput) => Promise<CryptoKey | undefined>;

interface Fetched {
  readonly find: Find;
  readonly count: number;
  readonly atMs: number;
}

export function keySet(issuer: Issuer, settings: KeySetSettings, { log, elapsedMs }: KeySetPorts): KeySet {
  const { providerTimeoutMs: timeoutMs, keysTtlMs, keysStaleMs, keysCooldownMs, allowHttp } = settings;
  let url = issuer.jwksUrl;
  let fetched: Fetched | undefined;
  let triedAtMs = -Infinity;
  let failure: ParleyError | undefined;
  let running: Promise<void> | undefined;

  async function fetchKeys(): Promise<void> {
    triedAtMs = elapsedMs();
    // One for all requests of a fetch: callers wait for it, and a provider that is slow at each of four would hold them four times as long.
    const signal = AbortSignal.timeout(timeoutMs);
    try {
      url ??= await discoverKeys({ issuer: issuer.name, timeoutMs, signal, allowHttp });
      const answer = await askProvider({ url, what: `the keys of ${issuer.name}`, timeoutMs, signal });
      const { keys } = answer;
      if (!Array.isArray(keys) || keys.length === 0) throw refuse("PROVIDER_INVALID", `the keys of ${issuer.name}: there are none`);
      if (keys.length > KEYS_MAX) {
        throw refuse("PROVIDER_INVALID", `the keys of ${issuer.name}: there are ${keys.length}, but at most ${KEYS_MAX} are accepted`);
      }
      fetched = { find: localSet(issuer, answer as unknown as JSONWebKeySet), count: keys.length, atMs: elapsedMs() };
      failure = undefined;
      log.info({ issuer: issuer.name, keys: keys.length }, "keys of a provider fetched");
    } catch (error) {
      failure = error instanceof ParleyError ? error : refuse("PROVIDER_INVALID", `the keys of ${issuer.name} cannot be used`, error);
      // Discover the address again next time: it may have changed.
      url = issuer.jwksUrl;
      const left = fetched && Math.max(0, fetched.atMs + keysTtlMs + keysStaleMs - elapsedMs());
      log.warn(
        { issuer: issuer.name, problem: failure.message, ...(left !== undefined && { usableFor: span(left) }) },
        "keys of a provider not fetched",
      );
    } finally {
      running = undefined;
    }
  }

  const isUsable = (keys: Fetched | undefined): keys is Fetched => keys !== undefined && elapsedMs() - keys.atMs <= keysTtlMs + keysStaleMs;

  /** Fetches unless a fetch is running or the last one is within the cooldown. */
  function fetchOnce(): Promise<void> {
    if (running) return running;
    const cooldownMs = isUsable(fetched) ? keysCooldownMs : Math.min(keysCooldownMs, WITHOUT_KEYS_AGAIN_MS);
    if (elapsedMs() - triedAtMs < cooldownMs) return Promise.resolve();
    return (running = fetchKeys());
  }

  /** Resolves to usable keys, or throws the reason why there are none. */
  async function usable(): Promise<Fetched> {
    const ageMs = fetched ? elapsedMs() - fetched.atMs : Infinity;
    // While the provider is known to be down, requests that can do without it do not wait for it.
    if (ageMs > keysTtlMs && !(failure && isUsable(fetched))) await fetchOnce();
    else if (ageMs > keysTtlMs / 2) void fetchOnce();
    if (isUsable(fetched)) return fetched;
    throw failure
      ? refuse(failure.code, failure.message, failure)
      : refuse("PROVIDER_UNAVAILABLE", `the keys of ${issuer.name}: not fetched yet`);
  }

  return {
    async keyOf(header, token) {
      const known = await (await usable()).find(header, token);
      if (known) return known;
      // The address that is known may still serve the keys of the time before they moved.
      url = issuer.jwksUrl;
      await fetchOnce();
      const published = await (await usable()).find(header, token);
      if (published) return published;
      // While the provider does not answer, its current keys are unknown, so the token may be good and is not refused as bad.
      if (failure) throw refuse(failure.code, `${failure.message}; the token names a key that is not known yet`, failure);
      throw refuse("TOKEN_KEY_UNKNOWN", `the issuer publishes no key ${shown(header.kid)} for ${header.alg}`);
    },
    async fetchNow() {
      await (running ?? (running = fetchKeys()));
      if (failure) throw refuse(failure.code, failure.message, failure);
      return fetched?.count ?? 0;
    },
  };
}

/** Throws PROVIDER_INVALID. */
function localSet(issuer: Issuer, keys: JSONWebKeySet): Find {
  let find: ReturnType<typeof createLocalJWKSet>;
  try {
    find = createLocalJWKSet(keys);
  } catch (error) {
    throw refuse("PROVIDER_INVALID", `the keys of ${issuer.name} are not a JSON Web Key Set`, error);
  }
  return async (header, token) => {
    const { kid, alg } = header;
    try {
      const key = await find(header, token);
      const { modulusLength: bits = RSA_BITS_MIN } = key.algorithm as { readonly modulusLength?: number };
      if (bits >= RSA_BITS_MIN) return key;
      throw refuse("TOKEN_KEY_UNKNOWN", `the key ${shown(kid)} of the issuer has ${bits} bits, and needs at least ${RSA_BITS_MIN}`);
    } catch (error) {
      if (error instanceof ParleyError) throw error;
      if (error instanceof errors.JWKSNoMatchingKey) return undefined;
      if (error instanceof errors.JWKSMultipleMatchingKeys) {
        const named = kid === undefined ? "no key (kid)" : `the key ${shown(kid)}`;
        throw refuse("TOKEN_KEY_UNKNOWN", `the token names ${named}, and several keys of its issuer match`, error);
      }
      throw refuse("TOKEN_KEY_UNKNOWN", `the key ${shown(kid)} of the issuer cannot be used for ${alg}`, error);
    }
  };
}
