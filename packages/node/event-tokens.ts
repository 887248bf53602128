/**
 * Tokens by which other systems tell of events:
 *
 *   <task id>.<key of the event, in base64url>.<HMAC-SHA256 of both, in base64url>
 *
 * Nothing of a token is stored, and one that was not given out here is refused without a look at the store. The signature, 256 bits, is made with a key
 * that is derived from the deployment's secrets (PARLEY_SECRET): the first signs, all verify. A token dies with the secret that signed it.
 */
import { createHmac, createSecretKey, hkdfSync, type KeyObject, timingSafeEqual } from "node:crypto";
import { type EventTokens, ParleyError } from "@parley/core";

/** Below the address at which others reach the deployment. */
export const EVENTS_PATH = "/events";

const MAC_BYTES = 32;
/** The parts are task ids and keys of this deployment's; anything longer is invalid. */
const TOKEN_CHARS_MAX = 8_192;

export interface EventTokensOptions {
  /** Throws a RangeError for an empty list. */
  readonly secrets: readonly string[];
  /** At which front ends are reached from outside; undefined where this process need not say. */
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
          "a tool waits for an event, and this worker does not know where it is told (PARLEY_PUBLIC_URL)",
        );
      const token = `${taskId}.${Buffer.from(key).toString("base64url")}.${mac(newest, taskId, key).toString("base64url")}`;
      return { token, url: `${publicUrl.replace(/\/+$/, "")}${EVENTS_PATH}/${token}` };
    },
    read(token) {
      if (token.length > TOKEN_CHARS_MAX) return undefined;
      const [taskId = "", name = "", signature = "", ...more] = token.split(".");
      const [key, given] = [Buffer.from(name, "base64url"), Buffer.from(signature, "base64url")];
      // Decoding skips what is no base64url: one token would have many spellings.
      const isPlain = key.toString("base64url") === name && given.toString("base64url") === signature;
      if (more.length > 0 || !isPlain || given.length !== MAC_BYTES) return undefined;
      const named = { taskId, key: key.toString() };
      return keys.some((each) => timingSafeEqual(mac(each, named.taskId, named.key), given)) ? named : undefined;
    },
  };
}

function mac(key: KeyObject, taskId: string, event: string): Buffer {
  return createHmac("sha256", key).update(`${taskId}\n${event}`).digest();
}
