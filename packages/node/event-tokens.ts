/**
 * Tokens with which other systems report events:
 *
 *   <task id>.<key of the event, in base64url>.<HMAC-SHA256 of both, in base64url>
 *
 * Tokens are not stored, and a token that this deployment did not issue is refused without asking the store. The key of the 256-bit signature
 * is derived from the deployment's secrets (PARLEY_SECRET): the first one signs, all of them verify. Removing a secret revokes its tokens.
 */
import { createHmac, createSecretKey, hkdfSync, type KeyObject, timingSafeEqual } from "node:crypto";
import { type EventTokens, ParleyError } from "@parley/core";

/** Path of the route below the deployment's public address. */
export const EVENTS_PATH = "/events";

const MAC_BYTES = 32;
/** Longer than any token of this deployment's task ids and keys. Anything longer is invalid. */
const TOKEN_CHARS_MAX = 8_192;

export interface EventTokensOptions {
  /** Throws a RangeError for an empty list. */
  readonly secrets: readonly string[];
  /** Address at which other systems reach the front ends. Undefined: `tokenOf` throws EVENTS_UNAVAILABLE. */
  readonly publicUrl: string | undefined;
}

export function eventTokens({ secrets, publicUrl }: EventTokensOptions): EventTokens {
  const keys = secrets.map((secret) => createSecretKey(new Uint8Array(hkdfSync("sha256", secret, "", "parley event token", MAC_BYTES))));
  const [newest] = keys;
  if (!newest) throw new RangeError("at least one secret is needed");

  return {
    tokenOf(taskId, key) {
      if (publicUrl === undefined)
        throw new ParleyError(
          "EVENTS_UNAVAILABLE",
          "a tool waits for an event, but this worker does not know the address at which events are reported (set PARLEY_PUBLIC_URL)",
        );
      const token = `${taskId}.${Buffer.from(key).toString("base64url")}.${mac(newest, taskId, key).toString("base64url")}`;
      return { token, url: `${publicUrl}${EVENTS_PATH}/${token}` };
    },
    read(token) {
      if (token.length > TOKEN_CHARS_MAX) return undefined;
      const [taskId = "", name = "", signature = "", ...more] = token.split(".");
      const [key, given] = [Buffer.from(name, "base64url"), Buffer.from(signature, "base64url")];
      // Decoding ignores characters that are not base64url, so one token would have many spellings.
      const isCanonical = key.toString("base64url") === name && given.toString("base64url") === signature;
      if (more.length > 0 || !isCanonical || given.length !== MAC_BYTES) return undefined;
      const named = { taskId, key: key.toString() };
      return keys.some((each) => timingSafeEqual(mac(each, named.taskId, named.key), given)) ? named : undefined;
    },
  };
}

function mac(key: KeyObject, taskId: string, event: string): Buffer {
  return createHmac("sha256", key).update(`${taskId}\n${event}`).digest();
}
