/**
 * The keys that wrap data keys. Parley never stores them: they come from the environment, from a file, or stay within a key management service
 * that wraps and unwraps by itself.
 *
 * A ring has several, so that one can follow another: the first wraps, every one unwraps.
 */
import { createCipheriv, createDecipheriv, createSecretKey, hash, type KeyObject, randomBytes } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import type { Log } from "@parley/core";

/** The port. An adapter for a key management service has its `keyId` be the name of the key and its version. */
export interface KeyRing {
  /** `context` is bound to what is wrapped: it must be given again to unwrap. Throws when no key can be had. */
  wrap(dataKey: Buffer, context: string): Promise<WrappedKey>;
  /** Undefined when the ring does not have that key, or what was wrapped does not open with it. */
  unwrap(wrapped: WrappedKey, context: string): Promise<Buffer | undefined>;
  /** The id of the key that wraps. */
  currentKeyId(): Promise<string>;
}

export interface WrappedKey {
  /** Names the key that wrapped it. Without spaces. */
  readonly keyId: string;
  /** Without spaces. */
  readonly wrapped: string;
}

/** Of every data key. */
export const DATA_KEY_BYTES = 32;
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Keys in a ring: one to wrap, and those that came before. */
export const RING_KEYS_MAX = 32;

interface RingKey {
  readonly id: string;
  readonly key: KeyObject;
}

/**
 * Keys of 32 bytes in base64, base64url or hex, separated by commas or line breaks; what follows a # in a line is a comment. Throws a
 * TypeError that names the key by its place and never shows any of it.
 */
export function parseKeys(text: string): readonly RingKey[] {
  const keys = text
    .split("\n")
    .map((line) => line.replace(/#.*/, ""))
    .flatMap((line) => line.split(","))
    .map((each) => each.trim())
    .filter((each) => each !== "")
    .map((each, index) => ringKey(each, index + 1));
  if (keys.length === 0) throw new TypeError("has no key: make one with `openssl rand -base64 32`");
  if (keys.length > RING_KEYS_MAX) throw new TypeError(`has ${keys.length} keys; a ring has at most ${RING_KEYS_MAX}`);
  const twice = keys.findIndex(({ id }, index) => keys.findIndex((other) => other.id === id) !== index);
  if (twice !== -1) throw new TypeError(`key ${twice + 1} appears twice`);
  return keys;
}

function ringKey(text: string, place: number): RingKey {
  const isHex = /^[0-9a-f]{64}$/i.test(text);
  const isBase64 = /^[\w+/-]{43}=?$/.test(text);
  const bytes = Buffer.from(text, isHex ? "hex" : "base64");
  if (!isHex && !isBase64) {
    throw new TypeError(
      `key ${place} must be ${KEY_BYTES} bytes in base64 or hex, and has ${text.length} characters: make one with \`openssl rand -base64 32\``,
    );
  }
  // Its name tells nothing about it: 48 bits of a digest of 256 random ones.
  return {
    id: hash("sha256", Buffer.concat([Buffer.from("parley content key "), bytes]), "base64url").slice(0, 8),
    key: createSecretKey(bytes),
  };
}

/** Keys that are given once, such as by the environment. */
export function fixedKeyRing(text: string): KeyRing {
  const keys = parseKeys(text);
  return ringOf(async () => keys);
}

/**
 * Keys in a file, which is read again when it has changed, for a key that was not there and before the current key is used: a key that is
 * put there is found without a restart. A file that cannot be read, or does not fit, leaves the ring as it was, and the log says so.
 */
export async function fileKeyRing(path: string, log: Log): Promise<KeyRing> {
  // Looked at before it is read: what is written meanwhile is a change.
  let version = await versionOf(path);
  let keys = parseKeys(await readFile(path, "utf8"));
  async function read(): Promise<readonly RingKey[]> {
    const found = await versionOf(path);
    if (found === version) return keys;
    try {
      keys = parseKeys(await readFile(path, "utf8"));
      version = found;
    } catch (error) {
      const isUnfit = error instanceof TypeError;
      // It is not told again before it changes.
      version = isUnfit ? found : codeOf(error);
      log.error({ file: path, problem: isUnfit ? error.message : version }, "key ring cannot be read again");
    }
    return keys;
  }
  return ringOf(read, () => keys);
}

/** What differs once somebody has written the file, or put another in its place; the error's code where it cannot be looked at. */
async function versionOf(path: string): Promise<string> {
  try {
    const { ino, size, ctimeNs } = await stat(path, { bigint: true });
    return `${ino} ${size} ${ctimeNs}`;
  } catch (error) {
    return codeOf(error);
  }
}

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code ?? "cannot be read";

function ringOf(read: () => Promise<readonly RingKey[]>, known?: () => readonly RingKey[]): KeyRing {
  const find = (keys: readonly RingKey[] | undefined, keyId: string) => keys?.find(({ id }) => id === keyId);
  const first = async () => {
    const [key] = await read();
    if (!key) throw new Error("the key ring is empty");
    return key;
  };
  return {
    async wrap(dataKey, context) {
      const { id, key } = await first();
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(context));
      const sealed = Buffer.concat([nonce, cipher.update(dataKey), cipher.final(), cipher.getAuthTag()]);
      return { keyId: id, wrapped: sealed.toString("base64url") };
    },
    async unwrap({ keyId, wrapped }, context) {
      const found = find(known?.(), keyId) ?? find(await read(), keyId);
      if (!found) return undefined;
      try {
        const bytes = Buffer.from(wrapped, "base64url");
        const decipher = createDecipheriv("aes-256-gcm", found.key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
          .setAAD(Buffer.from(context))
          .setAuthTag(bytes.subarray(-TAG_BYTES));
        return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
      } catch {
        return undefined;
      }
    },
    currentKeyId: async () => (await first()).id,
  };
}
