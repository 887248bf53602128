/** Signatures of Standard Webhooks (standardwebhooks.com): `v1,` and an HMAC over id, time and body. */
import { createHmac, createSecretKey, type KeyObject } from "node:crypto";

const SECRET = /^whsec_([A-Za-z0-9+/]+={0,2})$/;

/** Undefined unless it is `whsec_` and 24 to 64 bytes in base64. */
export function keyOfSecret(secret: string): KeyObject | undefined {
  const key = Buffer.from(SECRET.exec(secret)?.[1] ?? "", "base64");
  return key.length >= 24 && key.length <= 64 ? createSecretKey(key) : undefined;
}

/** One signature for each key, separated by spaces: a receiver accepts either while a secret is replaced. */
export function signatureOf(
  keys: readonly KeyObject[],
  { id, seconds, body }: { readonly id: string; readonly seconds: number; readonly body: string },
): string {
  return keys.map((key) => `v1,${createHmac("sha256", key).update(`${id}.${seconds}.${body}`).digest("base64")}`).join(" ");
}
