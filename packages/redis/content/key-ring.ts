/**
 * The keys that wrap data keys. Parley never stores them: they come from the environment or a file, or stay in a key
 * management service that wraps and unwraps itself.
 *
 * A ring may have several keys, so that one can replace another: the first one wraps, all of them unwrap.
 */
import { createCipheriv, createDecipheriv, createSecretKey, hash, type KeyObject, randomBytes } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import type { Log } from "@parley/core";

/** The port. For a key management service, `keyId` contains the key's name and version. */
export interface KeyRing {
  /** `context` is bound to the wrapped key and needed to unwrap it. Throws if no key is available. */
  wrap(dataKey: Buffer, context: string): Promise<WrappedKey>;
  /** Undefined if the ring does not have the key, or the wrapped key does not open with it. */
  unwrap(wrapped: WrappedKey, context: string): Promise<Buffer | undefined>;
  /** The id of the wrapping key. */
  currentKeyId(): Promise<string>;
}

export interface WrappedKey {
  /** Id of the key that wrapped it. Contains no spaces. */
  readonly keyId: string;
  /** Contains no spaces. */
  readonly wrapped: string;
}

/** Length of a data key. */
export const DATA_KEY_BYTES = 32;
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Maximum number of keys in a ring: the wrapping one and its predecessors. */
export const RING_KEYS_MAX = 32;

interface RingKey {
  readonly id: string;
  readonly key: KeyObject;
}

/**
 * Parses keys of 32 bytes in base64, base64url or hex, separated by commas or line breaks; the rest of a line after #
 * is a comment. Throws a TypeError that names a bad key by its position and shows none of it.
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
  // The id reveals nothing about the key: it is 48 bits of a digest of 256 random ones.
  return {
    id: hash("sha256", Buffer.concat([Buffer.from("parley content key "), bytes]), "base64url").slice(0, 8),
    key: createSecretKey(bytes),
  };
}

/** A ring whose keys never change, for example from the environment. */
export function fixedKeyRing(text: string): KeyRing {
  const keys = parseKeys(text);
  return ringOf(async () => keys);
}

/**
 * A ring from a file. The file is read again after it has changed, when a key is missing and before the current key
 * is used, so new keys are found without a restart. If the file cannot be read or is invalid, the ring stays as it
 * was, and the log says so.
 */
export async function fileKeyRing(path: string, log: Log): Promise<KeyRing> {
  // Taken before reading, so that a concurrent write counts as a change.
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
      // Logged only once per change.
      version = isUnfit ? found : codeOf(error);
      log.error({ file: path, problem: isUnfit ? error.message : version }, "key ring cannot be read again");
    }
    return keys;
  }
  return ringOf(read, () => keys);
}

/** Changes whenever the file is written or replaced; the error's code if it cannot be examined. */
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
