/**
 * The encrypting codec: AES-256-GCM with a random nonce for each text, bound to its task and its part.
 *
 *   data key of a tenant and epoch ── HMAC-SHA-512 with the task's id ──▶ one key to encrypt this task's content, one for its fingerprints
 *
 * A separate key for each task keeps random nonces safe: a shared key for all tasks of a busy tenant would reach the
 * 2^32 texts that NIST allows (SP 800-38D, 8.3) within days. It also encrypts each task's content differently,
 * regardless of the nonces.
 *
 *   S1  Sealed content is nonce, ciphertext, tag: 28 bytes more than the text in UTF-8, stored as bytes.
 *   S2  A text opens only in its own task and its own part.
 *   S3  The key of a task follows from its id. A task whose id has no word was created before sealing was on: it stays plain.
 */
import { createCipheriv, createDecipheriv, createHmac, createSecretKey, type KeyObject, randomFillSync } from "node:crypto";
import type { Digest } from "@parley/core";
import { LRUCache } from "lru-cache";
import { sealWordOf } from "../keys.ts";
import {
  type AudienceDigest,
  bytesOf,
  type Content,
  type ContentCodec,
  DamagedContent,
  plainAudience,
  plainFingerprint,
  textOf,
} from "./codec.ts";
import type { DataKeys } from "./data-keys.ts";

const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Maximum number of tasks whose keys are cached: those active in a process, and some more. */
const TASK_KEYS_MAX = 1_000;

interface TaskKeys {
  readonly dataKey: KeyObject;
  readonly encryption: KeyObject;
  readonly mac: KeyObject;
  /** By part, the last result of what every read of the task asks for, and what it was the result of. */
  readonly last: Map<string, { readonly of: string; readonly is: string }>;
}

/** The parts that are never changed while a task lives: its seed, and the digest of its owner, with which every read compares. */
const LASTING: ReadonlySet<string> = new Set(["seed", "owner"]);

export interface SealedContent extends ContentCodec {
  /**
   * Core's digest, keyed if the task is sealed: otherwise anyone who can read Redis could confirm guesses about a
   * question's content.
   */
  digest(plain: Digest): Digest;
}

/** The caller's tenant where no other is named. */
const DEFAULT_TENANT = "default";
/** Data keys of a tenant under which a list looks for asks: the newest, one for each epoch. */
const EPOCHS_MAX = 32;

export function createSealedContent(dataKeys: Pick<DataKeys, "find" | "key" | "words">): SealedContent {
  const kept = new LRUCache<string, TaskKeys>({ max: TASK_KEYS_MAX });

  function dataKeyOf(taskId: string, word: string): KeyObject {
    const dataKey = dataKeys.key(word);
    // A caller that asked for access has it in the same turn, so this is a defect.
    if (!dataKey) throw new Error(`the key of task ${taskId} is not at hand`);
    return dataKey;
  }

  function keysOf(taskId: string, word: string): TaskKeys {
    const dataKey = dataKeyOf(taskId, word);
    const before = kept.get(taskId);
    if (before?.dataKey === dataKey) return before;
    const bytes = createHmac("sha512", dataKey).update(`parley task ${taskId}`).digest();
    // Key objects, created once: given bytes, each cipher would create them again, which takes longer than the rest
    // of its work.
    const keys: TaskKeys = {
      dataKey,
      encryption: createSecretKey(bytes.subarray(0, 32)),
      mac: createSecretKey(bytes.subarray(32)),
      last: new Map(),
    };
    kept.set(taskId, keys);
    return keys;
  }

  return {
    encoding: "latin1",

    access(taskId) {
      const word = sealWordOf(taskId);
      return word === undefined ? "open" : dataKeys.find(word);
    },

    of(taskId) {
      const word = sealWordOf(taskId);
      if (word === undefined) return plainBytes(taskId);
      let found: TaskKeys | undefined;
      return sealedTask(taskId, () => (found ??= keysOf(taskId, word)));
    },

    askedBy(taskId, tenant) {
      const word = sealWordOf(taskId);
      return word === undefined ? plainAudience(tenant) : keyedAudience(dataKeyOf(taskId, word), tenant);
    },

    async lookUps(tenant) {
      const words = (await dataKeys.words(tenant ?? DEFAULT_TENANT)).slice(-EPOCHS_MAX);
      const found = await Promise.all(
        words.map(async (word) => {
          const key = (await dataKeys.find(word)) === "open" ? dataKeys.key(word) : undefined;
          return key ? [keyedAudience(key, tenant)] : [];
        }),
      );
      // Tasks from before sealing was on.
      return [...found.flat(), plainAudience(tenant)];
    },

    // A key that does not open now, because this process has an older ring or the key service is away, may open later.
    async lookUpsVersion(tenant) {
      const words = (await dataKeys.words(tenant ?? DEFAULT_TENANT)).slice(-EPOCHS_MAX);
      const found = await Promise.allSettled(words.map(async (word) => await dataKeys.find(word)));
      return words.filter((_, at) => found[at]?.status === "fulfilled" && found[at].value === "open").join(" ");
    },

    digest: (plain) => (text, taskId) => {
      const word = taskId === undefined ? undefined : sealWordOf(taskId);
      return taskId === undefined || word === undefined ? plain(text) : mac(keysOf(taskId, word), `digest\n${text}`);
    },
  };
}

/** `keys` is called only when needed: text in the clear is read without. */
function sealedTask(taskId: string, keys: () => TaskKeys): Content {
  const boundTo = (part: string) => Buffer.from(`${taskId} ${part}`);

  function seal(part: string, text: string): string {
    const nonce = takeNonce();
    const cipher = createCipheriv("aes-256-gcm", keys().encryption, nonce).setAAD(boundTo(part));
    const sealed = cipher.update(text, "utf8");
    cipher.final(); // Empty: GCM has no padding.
    return nonce.toString("latin1") + sealed.toString("latin1") + cipher.getAuthTag().toString("latin1");
  }

  function open(part: string, sealed: string): string {
    const bytes = Buffer.from(sealed, "latin1");
    if (bytes.length < NONCE_BYTES + TAG_BYTES) throw new DamagedContent(part);
    const { encryption } = keys();
    try {
      const decipher = createDecipheriv("aes-256-gcm", encryption, bytes.subarray(0, NONCE_BYTES), LENGTHS)
        .setAAD(boundTo(part))
        .setAuthTag(bytes.subarray(-TAG_BYTES));
      const text = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES));
      decipher.final();
      return text.toString("utf8");
    } catch {
      throw new DamagedContent(part);
    }
  }

  /** A stored text that has changed is not what the last result is of. */
  function lasting(part: string, of: string, result: () => string): string {
    if (!LASTING.has(part)) return result();
    const { last } = keys();
    const before = last.get(part);
    if (before?.of === of) return before.is;
    const is = result();
    last.set(part, { of, is });
    return is;
  }

  return {
    isSealed: true,
    seal,
    open,
    fingerprint: (part, text) => lasting(part, text, () => mac(keys(), `fingerprint ${part}\n${text}`)),
    sealWord: (part, text) => Buffer.from(seal(part, text), "latin1").toString("base64url"),
    openWord: (part, word) => lasting(part, word, () => open(part, Buffer.from(word, "base64url").toString("latin1"))),
    toStored: bytesOf,
    fromStored: textOf,
  };
}

const LENGTHS = { authTagLength: TAG_BYTES };

/** A task from before sealing was on, as the plain codec writes it (S3). */
function plainBytes(taskId: string): Content {
  const seal = (_part: string, text: string) => bytesOf(text);
  const open = (_part: string, stored: string) => textOf(stored);
  const fingerprint = (part: string, text: string) => plainFingerprint(taskId, part, text);
  return { isSealed: false, seal, open, fingerprint, sealWord: seal, openWord: open, toStored: bytesOf, fromStored: textOf };
}

function mac({ mac: key }: TaskKeys, text: string): string {
  return createHmac("sha256", key).update(text).digest("base64url").slice(0, 22);
}

function keyedAudience(dataKey: KeyObject, tenant = ""): AudienceDigest {
  return (name) =>
    createHmac("sha256", dataKey)
      .update(`parley asked ${JSON.stringify(tenant)} ${name}`)
      .digest("base64url")
      .slice(0, 22);
}

const POOL_BYTES = 4_092;
const pool = Buffer.allocUnsafe(POOL_BYTES);
let taken = POOL_BYTES;

/** Fetched from the system in bulk. No nonce is returned twice; each is valid until the next call. */
function takeNonce(): Buffer {
  if (taken === POOL_BYTES) {
    randomFillSync(pool);
    taken = 0;
  }
  taken += NONCE_BYTES;
  return pool.subarray(taken - NONCE_BYTES, taken);
}
