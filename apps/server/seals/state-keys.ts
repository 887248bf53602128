/**
 * The keys that seal requestState and sign the ids of a session's asks and events. They are the same in every front end, so that a client
 * can continue at any of them.
 *
 * They are derived from the secrets in PARLEY_SECRET. The first secret seals and all of them open, so a new secret is put first and the old
 * one is kept until its states have expired. Without PARLEY_SECRET, the first front end stores a random secret in Redis and the others use
 * it. Anyone who can read that Redis can read every task anyway.
 */
import { hkdfSync } from "node:crypto";

export interface StateKeys {
  readonly sealing: StateKey;
  readonly byKid: ReadonlyMap<string, Uint8Array>;
  /** Keys for HMAC-SHA256: the first one signs, all of them verify. */
  readonly signing: readonly Uint8Array[];
}

export interface StateKey {
  readonly kid: string;
  /** 32 bytes, for AES-256-GCM. */
  readonly key: Uint8Array;
}

/** Throws a RangeError for an empty list. */
export function stateKeys(secrets: readonly string[]): StateKeys {
  const keys = secrets.map(derive);
  const [sealing] = keys;
  if (!sealing) throw new RangeError("at least one secret is needed");
  return { sealing, byKid: new Map(keys.map(({ kid, key }) => [kid, key])), signing: keys.map(({ signing }) => signing) };
}

function derive(secret: string): StateKey & { readonly signing: Uint8Array } {
  const bytes = (info: string, length: number) => new Uint8Array(hkdfSync("sha256", secret, "", info, length));
  return {
    kid: Buffer.from(bytes("parley requestState kid", 6)).toString("base64url"),
    key: bytes("parley requestState key", 32),
    signing: bytes("parley signing key", 32),
  };
}
