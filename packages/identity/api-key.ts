/**
 * Keys of machines: `parley_<id>_<secret>`, 256 random bits behind an id by which the record is found. The prefix is for scanners that look for
 * secrets in places where none should be.
 */
import { hash, randomBytes, randomInt, timingSafeEqual } from "node:crypto";
import type { ApiKey, ApiKeys, Caller } from "@parley/core";
import { principalOf } from "./claims.ts";
import { refuse, span } from "./refuse.ts";

const FORM = /^parley_([A-Za-z0-9]{12})_[\w-]{43}$/;
const PREFIX = "parley_";
const ID_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const ID_CHARS = 12;

/** A key that was looked up is taken for so long: one that was revoked works no longer than this. */
export const API_KEY_TTL_MS = 5_000;
/** A stream ends after so long, and its caller comes back with the key: if it was revoked, then at last. */
const STREAM_MS = 3_600_000;

export function newApiKey(): { readonly id: string; readonly key: string; readonly digest: string } {
  const id = Array.from({ length: ID_CHARS }, () => ID_ALPHABET[randomInt(ID_ALPHABET.length)]).join("");
  const key = `${PREFIX}${id}_${randomBytes(32).toString("base64url")}`;
  return { id, key, digest: digestOf(key) };
}

/** Whether it is meant to be one, also if it is cut or misspelt. */
export function isApiKey(token: string): boolean {
  return token.startsWith(PREFIX);
}

/** Throws TOKEN_MALFORMED, TOKEN_INACTIVE and TOKEN_EXPIRED; UNAVAILABLE where keys cannot be looked up. */
export async function verifyApiKey(token: string, keys: ApiKeys, nowMs: number): Promise<Caller> {
  const [, id] = FORM.exec(token) ?? [];
  if (id === undefined) throw refuse("TOKEN_MALFORMED", "the API key is cut or misspelt");
  const found = await keys.find(id);
  if (!found || !timingSafeEqual(Buffer.from(found.digest), Buffer.from(digestOf(token)))) {
    throw refuse("TOKEN_INACTIVE", "the API key was revoked, or is another deployment's");
  }
  const { expiresAtMs = Infinity } = found;
  if (expiresAtMs <= nowMs) throw refuse("TOKEN_EXPIRED", `the API key ${id} expired ${span(nowMs - expiresAtMs)} ago`);
  return callerOf(found, Math.min(expiresAtMs, nowMs + STREAM_MS));
}

function callerOf({ id, name, tenant, scopes }: ApiKey, expiresAtMs: number): Caller {
  return Object.freeze({
    principal: principalOf([tenant, "api-key", name]),
    tenant,
    scopes,
    authenticatedBy: `api-key:${id}`,
    // No person's name looks like this: a question that is put to Ada is not put to a key that is called Ada.
    names: Object.freeze([`api-key:${name}`]),
    groups: Object.freeze([]),
    roles: Object.freeze([]),
    expiresAtMs,
  });
}

/** A key has 256 random bits: nothing is gained by a slow hash. */
function digestOf(key: string): string {
  return hash("sha256", key, "base64url");
}
