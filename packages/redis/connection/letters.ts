/**
 * Long messages between processes. Redis drops a subscriber that has more than some megabytes to read, so a long message is left under a key, and the
 * channel carries where it is. It is encrypted with a key that the channel alone has: no disk of Redis ever has what it says.
 */
import { createCipheriv, createDecipheriv, randomBytes, randomUUID } from "node:crypto";
import { promisify } from "node:util";
import { deflateRaw, inflateRaw } from "node:zlib";
import type { Redis } from "ioredis";
import { reached } from "./unavailable.ts";

/** Longer messages are letters. Characters. */
export const MESSAGE_MAX = 1_048_576;
/** What nobody has read by then is gone: who asked for it asks again. */
const KEPT_MS = 10_000;
/** Of one process at a time. The oldest is taken back for another one. */
export const LETTERS_MAX = 4;
/** Begins what the channel carries. No JSON does. */
const SIGN = "@";
const ALGORITHM = "aes-256-gcm";
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** Of a letter, unpacked: four times the longest read, as UTF-8 may be. */
const BYTES_MAX = 33_554_432;

const [deflate, inflate] = [promisify(deflateRaw), promisify(inflateRaw)];

export interface Letters {
  /** What to send in place of the text: the text itself, if it is short. */
  write(text: string): Promise<string>;
  /** Calls the listener with the text that was written, unless it is gone. */
  read(sent: string, listener: (text: string) => void): void;
}

export function createLetters({ redis, keyOf }: { readonly redis: Redis; readonly keyOf: (id: string) => string }): Letters {
  const written: string[] = [];

  async function fetch(sent: string): Promise<string | undefined> {
    const [id = "", secret = ""] = sent.slice(SIGN.length).split(" ");
    const sealed = await reached(redis.getBuffer(keyOf(id)));
    if (!sealed) return undefined;
    await reached(redis.del(keyOf(id)));
    const decipher = createDecipheriv(ALGORITHM, Buffer.from(secret, "base64url"), sealed.subarray(0, IV_BYTES), {
      authTagLength: TAG_BYTES,
    });
    decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
    const packed = Buffer.concat([decipher.update(sealed.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()]);
    return (await inflate(packed, { maxOutputLength: BYTES_MAX })).toString();
  }

  return {
    async write(text) {
      if (text.length <= MESSAGE_MAX) return text;
      const [id, secret, iv] = [randomUUID(), randomBytes(32), randomBytes(IV_BYTES)];
      const cipher = createCipheriv(ALGORITHM, secret, iv, { authTagLength: TAG_BYTES });
      const packed = await deflate(text, { level: 1 });
      const sealed = Buffer.concat([iv, cipher.update(packed), cipher.final(), cipher.getAuthTag()]);
      written.push(id);
      if (written.length > LETTERS_MAX) await reached(redis.del(keyOf(written.shift() ?? "")));
      await reached(redis.set(keyOf(id), sealed, "PX", KEPT_MS));
      return `${SIGN}${id} ${secret.toString("base64url")}`;
    },
    read(sent, listener) {
      if (!sent.startsWith(SIGN)) return listener(sent);
      // A letter that is gone, or that Redis does not give, is as a message that was lost.
      void fetch(sent).then(
        (text) => text !== undefined && listener(text),
        () => undefined,
      );
    },
  };
}
