import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from "node:crypto";
import type { StateKeys } from "./state-keys.ts";

/** Signs values that pass through clients, so that only this deployment can create them. */
export interface Signatures {
  /** Returns 22 characters of base64url. */
  sign(text: string): string;
  verify(text: string, signature: string): boolean;
}

/** 128 bits cannot be guessed. Signatures are short because every event of a stream carries one. */
const BYTES = 16;

export function signatures({ signing }: StateKeys): Signatures {
  // Created once, because creating a key object takes four times as long as signing.
  const keys = signing.map((bytes) => createSecretKey(bytes));
  const [newest] = keys;
  if (!newest) throw new RangeError("at least one signing key is needed");
  return {
    sign: (text) => mac(newest, text).toString("base64url"),
    verify(text, signature) {
      const given = Buffer.from(signature, "base64url");
      // Decoding skips invalid characters, so without this check one signature would have many spellings.
      if (given.length !== BYTES || given.toString("base64url") !== signature) return false;
      return keys.some((key) => timingSafeEqual(mac(key, text), given));
    },
  };
}

function mac(key: KeyObject, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest().subarray(0, BYTES);
}
