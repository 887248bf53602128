import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from "node:crypto";
import type { StateKeys } from "./state-keys.ts";

/** Marks texts that go through a client's hands as ours. */
export interface Signatures {
  /** 22 characters of base64url. */
  sign(text: string): string;
  verify(text: string, signature: string): boolean;
}

/** 128 bits are enough against guessing, and every event of a stream carries a signature. */
const BYTES = 16;

export function signatures({ signing }: StateKeys): Signatures {
  // Once and not per signature: making a key of bytes takes four times as long as signing with it.
  const keys = signing.map((bytes) => createSecretKey(bytes));
  const [newest] = keys;
  if (!newest) throw new RangeError("at least one signing key is needed");
  return {
    sign: (text) => mac(newest, text).toString("base64url"),
    verify(text, signature) {
      const given = Buffer.from(signature, "base64url");
      // Decoding skips what is no base64url: one signature would have many spellings.
      if (given.length !== BYTES || given.toString("base64url") !== signature) return false;
      return keys.some((key) => timingSafeEqual(mac(key, text), given));
    },
  };
}

function mac(key: KeyObject, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest().subarray(0, BYTES);
}
