/**
 * The keys under which requestState is sealed and the ids of a session's questions and events are signed: the same in every front end, so
 * that a client can continue at any of them.
 *
 * They are derived from secrets. The operator gives one or several (PARLEY_SECRET: the first seals, all open, so a new one is put in front
 * and the old one kept until its states have expired). When none is given, the first front end puts a random one into Redis and every other
 * one finds it there; anybody who can read that Redis can read every task anyway.
 */
import { hkdfSync } from "node:crypto";

export interface StateKeys {
  readonly sealing: StateKey;
  readonly byKid: ReadonlyMap<string, Uint8Array>;
  /** For HMAC-SHA256: the first signs, all verify. */
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
