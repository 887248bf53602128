/**
 * API keys of machines: `parley_<id>_<secret>`. The id finds the record of the key; the secret has 256 random bits. The prefix lets secret
 * scanners recognize keys that leaked.
 */
import { hash, randomBytes, randomInt, timingSafeEqual } from "node:crypto";
import { type ApiKey, type ApiKeys, type Caller, typedName } from "@parley/core";
import { principalOf } from "./claims.ts";
import { refuse, span } from "./refuse.ts";

const FORM = /^parley_([A-Za-z0-9]{12})_[\w-]{43}$/;
const PREFIX = "parley_";
const ID_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const ID_CHARS = 12;

/** How long a key is accepted after a lookup, and so how long a revoked key may still work. */
export const API_KEY_TTL_MS = 5_000;
/** Longest life of a stream. Its caller must then present the key again, so a revoked key loses its streams by then. */
const STREAM_MS = 3_600_000;

export function newApiKey(): { readonly id: string; readonly key: string; readonly digest: string } {
  const id = Array.from({ length: ID_CHARS }, () => ID_ALPHABET[randomInt(ID_ALPHABET.length)]).join("");
  const key = `${PREFIX}${id}_${randomBytes(32).toString("base64url")}`;
  return { id, key, digest: digestOf(key) };
}

/** Whether the token is meant to be an API key, even if it is truncated or mistyped. */
export function isApiKey(token: string): boolean {
  return token.startsWith(PREFIX);
}

/** Throws TOKEN_MALFORMED, TOKEN_INACTIVE and TOKEN_EXPIRED; UNAVAILABLE if the key cannot be looked up. */
export async function verifyApiKey(token: string, keys: ApiKeys, nowMs: number): Promise<Caller> {
  const [, id] = FORM.exec(token) ?? [];
  if (id === undefined) throw refuse("TOKEN_MALFORMED", "the API key is truncated or mistyped");
  const record = await keys.find(id);
  if (!record || !timingSafeEqual(Buffer.from(record.digest), Buffer.from(digestOf(token)))) {
    throw refuse("TOKEN_INACTIVE", "the API key was revoked, or belongs to another deployment");
  }
  const { expiresAtMs = Infinity } = record;
  if (expiresAtMs <= nowMs) throw refuse("TOKEN_EXPIRED", `the API key ${id} expired ${span(nowMs - expiresAtMs)} ago`);
  return callerOf(record, Math.min(expiresAtMs, nowMs + STREAM_MS));
}

function callerOf({ id, name, tenant, scopes }: ApiKey, expiresAtMs: number): Caller {
  return Object.freeze({
    principal: principalOf([tenant, "api-key", name]),
    tenant,
    scopes,
    authenticatedBy: `api-key:${id}`,
    // People's names do not look like this, so a question for the person Ada does not reach a key named Ada.
    names: Object.freeze([typedName("api-key", name)]),
    groups: Object.freeze([]),
    roles: Object.freeze([]),
    expiresAtMs,
  });
}

/** A fast hash is enough: a key has 256 random bits. */
function digestOf(key: string): string {
  return hash("sha256", key, "base64url");
}
