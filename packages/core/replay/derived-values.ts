/**
 * Random numbers and UUIDs that are the same in every run of a task without being recorded.
 *
 * They are derived from the task's secret seed and the key of the effect. A side effect can therefore use one before anything is written, and
 * knowing the task's id does not help to guess it.
 */
import type { Digest } from "../ports.ts";

const BASE64URL = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/** The leading bits of a digest of at least 22 base64url characters. */
function bits(digest: Digest, seed: string, id: string, count: number): bigint {
  let value = 0n;
  let known = 0;
  for (const letter of digest(`${seed} ${id}`)) {
    value = (value << 6n) | BigInt(BASE64URL.indexOf(letter));
    known += 6;
  }
  return value >> BigInt(known - count);
}

/** A number in [0, 1). */
export function derivedRandom(digest: Digest, seed: string, id: string): number {
  return Number(bits(digest, seed, id, 53)) / 2 ** 53;
}

/** A UUID of version 4 (RFC 9562). */
export function derivedUuid(digest: Digest, seed: string, id: string): string {
  const hex = bits(digest, seed, id, 128).toString(16).padStart(32, "0");
  const variant = ((Number.parseInt(hex.charAt(16), 16) & 0b11) | 0b1000).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20)}`;
}
