/**
 * The keys that seal content: one per tenant and epoch, wrapped by the key ring, all in one hash of Redis.
 *
 *   tenant:<digest>   the words of the tenant's keys, the current one last
 *   key:<word>        created_at_ms ring_key_id tenant_digest wrapped    or    erased erased_at_ms
 *
 *   K1  A task's id names its key by a word, so a key is found by the id alone, weeks and epochs later.
 *   K2  A word means one key forever. It is never reused, and an erased one stays erased.
 *   K3  No process uses what it read longer than LOOK_FIRST_MS ago: by then it learns that a key was erased or an epoch began.
 *
 * A wrapped key is bound to its word and its tenant: moved to another field, it does not open.
 */
import { createSecretKey, hash, type KeyObject, randomBytes, randomInt } from "node:crypto";
import { type Log, ParleyError } from "@parley/core";
import type { Redis } from "ioredis";
import { LRUCache } from "lru-cache";
import { SEAL_WORD_CHARS } from "../keys.ts";
import { loadScripts } from "../scripts/load-scripts.ts";
import type { Acknowledge } from "../connection/replicas.ts";
import { reached } from "../connection/unavailable.ts";
import type { Access } from "./codec.ts";
import { DATA_KEY_BYTES, type KeyRing } from "./key-ring.ts";

/** Maximum number of keys, and of tenants, in a process's memory; about 500 bytes each. */
const KEYS_KEPT_MAX = 10_000;
/** A value older than this is refreshed in the background when used. */
const LOOK_AGAIN_MS = 5_000;
/** A value older than this is refreshed before it is used, so no process uses a key that was erased longer ago. */
export const LOOK_FIRST_MS = 10_000;
/** How often an unavailable key is retried. */
const MISSING_RETRY_MS = 2_000;
const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

export interface DataKeys {
  /** The word of the key that seals new content of the tenant. Throws CONTENT_KEY_MISSING and UNAVAILABLE. */
  current(tenant: string): string | Promise<string>;
  /** The state of content under this word. If it is `open`, `key` returns the key afterwards. Throws UNAVAILABLE. */
  find(word: string): Access | Promise<Access>;
  /** The words of the tenant's keys, the current one last. Throws UNAVAILABLE. */
  words(tenant: string): Promise<readonly string[]>;
  /** Synchronous, for keys that `find` has loaded. */
  key(word: string): KeyObject | undefined;
  /** Wraps every key with the ring's first one. `lacking`: keys whose wrapping key the ring does not have. */
  wrapAnew(): Promise<{ readonly wrapped: number; readonly current: number; readonly lacking: number }>;
  /**
   * Unwraps up to `most` keys, starting none after `forMs`, to check the ring. `lacking`: those that it cannot
   * unwrap. Throws UNAVAILABLE.
   */
  tryKeys(most: number, forMs?: number): Promise<{ readonly open: number; readonly lacking: number }>;
  /** Begins the next epoch of one tenant, or of all. Returns for how many. */
  nextEpoch(tenant?: string): Promise<number>;
  /** Deletes all keys of the tenant permanently. Returns their words, which stay listed until they are dropped. */
  erase(tenant: string): Promise<readonly string[]>;
  /** Completes an erasure: removes these words from the tenant's list. */
  drop(tenant: string, words: readonly string[]): Promise<void>;
}

export interface DataKeysOptions {
  readonly redis: Redis;
  /** Key of the hash. */
  readonly hashKey: string;
  readonly ring: KeyRing;
  /** By Redis' clock. */
  readonly now: () => number;
  /** Maximum age of a key before the next epoch begins. */
  readonly epochMs: number;
  readonly acknowledge: Acknowledge;
  readonly log: Log;
}

interface Known {
  readonly access: Access;
  readonly key?: KeyObject;
  /** As Redis holds it. */
  readonly record?: string;
  readonly lookedAtMs: number;
}

interface KnownTenant {
  readonly word: string;
  readonly createdAtMs: number;
  readonly lookedAtMs: number;
}

export function createDataKeys({ redis, hashKey, ring, now, epochMs, acknowledge, log }: DataKeysOptions): DataKeys {
  const scripts = loadScripts(redis, { names: ["swap"], folder: "content/", keyCount: () => 1 });
  const known = new LRUCache<string, Known>({ max: KEYS_KEPT_MAX });
  const tenants = new LRUCache<string, KnownTenant>({ max: KEYS_KEPT_MAX });
  /** Digests of tenants whose next epoch could not begin when it was due. */
  const overdue = new LRUCache<string, true>({ max: KEYS_KEPT_MAX });
  const lookups = new Map<string, Promise<unknown>>();

  const swap = async (field: string, expected: string, value: string) =>
    (await acknowledge(scripts.swap([hashKey, field, expected, value]))) === 1;

  /** Runs at most one lookup of a kind at a time and shares it among all that wait for it. */
  function once<T>(name: string, look: () => Promise<T>): Promise<T> {
    const underWay = lookups.get(name) as Promise<T> | undefined;
    if (underWay) return underWay;
    const begun = look().finally(() => lookups.delete(name));
    lookups.set(name, begun);
    return begun;
  }

  const inBackground = (look: Promise<unknown>) => void look.catch(() => undefined); // On an outage; the next use looks again.

  async function lookUp(word: string): Promise<Known> {
    const before = known.get(word);
    // K3: an answer is as old as its question.
    const lookedAtMs = performance.now();
    const record = (await reached(redis.hget(hashKey, keyField(word)))) ?? undefined;
    const found = { ...(await judge(word, record, before)), lookedAtMs };
    known.set(word, found);
    return found;
  }

  async function judge(word: string, record: string | undefined, before: Known | undefined): Promise<Omit<Known, "lookedAtMs">> {
    if (record === undefined) {
      if (before?.key && before.record !== undefined) {
        // A failover lost the key, or a restored backup is older. As long as one process has it, nothing is lost.
        await reached(redis.hsetnx(hashKey, keyField(word), before.record));
        log.warn({ word }, "data key was missing in redis and has been put back");
        return before;
      }
      log.error({ word }, "data key is not in redis, tasks sealed with it wait");
      return { access: "key_missing" };
    }
    if (isErased(record)) return { access: "erased", record };
    if (before?.key) return { ...before, record };
    const { keyId, tenant, wrapped } = readRecord(record);
    const bytes = await ring.unwrap({ keyId, wrapped }, bound(word, tenant));
    if (bytes) return { access: "open", key: createSecretKey(bytes), record };
    // Its key was replaced between the two reads, of the wrapped key and of the ring.
    const present = (await reached(redis.hget(hashKey, keyField(word)))) ?? undefined;
    if (present !== record) return await judge(word, present, before);
    log.error({ word, keyId }, "the key ring does not open a data key, tasks sealed with it wait");
    return { access: "key_missing", record };
  }

  function find(word: string): Access | Promise<Access> {
    const found = known.get(word);
    if (found?.access === "erased") return "erased";
    const age = found ? performance.now() - found.lookedAtMs : Infinity;
    const isFresh = found?.access === "key_missing" ? age < MISSING_RETRY_MS : age < LOOK_FIRST_MS;
    if (!found || !isFresh) return once(`key ${word}`, () => lookUp(word)).then(({ access }) => access);
    if (found.access === "open" && age > LOOK_AGAIN_MS) inBackground(once(`key ${word}`, () => lookUp(word)));
    return found.access;
  }

  function current(tenant: string): string | Promise<string> {
    const found = tenants.get(tenant);
    if (!found) return lookUpTenant(tenant);
    const age = performance.now() - found.lookedAtMs;
    const isOpen = known.get(found.word)?.access === "open";
    if (!isOpen || age > LOOK_FIRST_MS || now() - found.createdAtMs > epochMs) return lookUpTenant(tenant);
    if (age > LOOK_AGAIN_MS) inBackground(lookUpTenant(tenant));
    return found.word;
  }

  function lookUpTenant(tenant: string): Promise<string> {
    return once(`tenant ${tenant}`, async () => {
      const lookedAtMs = performance.now();
      const digest = tenantDigest(tenant);
      const list = (await reached(redis.hget(hashKey, tenantField(digest)))) ?? "";
      const word = await usable(digest, list);
      const { record = "" } = known.get(word) ?? {};
      tenants.set(tenant, { word, createdAtMs: readRecord(record).createdAtMs, lookedAtMs });
      return word;
    });
  }

  /** The last word of the tenant's list, if its key is neither erased nor too old; otherwise the word of a new key. */
  async function usable(digest: string, list: string): Promise<string> {
    const last = list.split(" ").at(-1) ?? "";
    if (last === "") return await begin(digest, list);
    const { access, record = "" } = await once(`key ${last}`, () => lookUp(last));
    if (access === "key_missing") throw new ParleyError("CONTENT_KEY_MISSING", "new tasks cannot be sealed");
    if (access === "erased") return await begin(digest, list);
    if (now() - readRecord(record).createdAtMs > epochMs) return await beginOrKeep(digest, list, last);
    return last;
  }

  /**
   * An epoch that cannot end now, because the next key cannot be wrapped, ends later: its key is loaded, and calls
   * continue.
   */
  async function beginOrKeep(digest: string, list: string, last: string): Promise<string> {
    if (!overdue.get(digest)) return await beginIfPossible(digest, list, last);
    // A service that does not reply would delay every call until the request to it times out.
    inBackground(once(`epoch ${digest}`, () => beginIfPossible(digest, list, last)));
    return last;
  }

  async function beginIfPossible(digest: string, list: string, last: string): Promise<string> {
    try {
      const word = await begin(digest, list);
      overdue.delete(digest);
      return word;
    } catch (error) {
      if (!(error instanceof ParleyError) || (error.code !== "UNAVAILABLE" && error.code !== "CONTENT_KEY_MISSING")) {
        // The next call waits, and reports it.
        overdue.delete(digest);
        throw error;
      }
      overdue.set(digest, true);
      log.warn({ word: last, problem: error.message }, "no new data key, the last epoch continues");
      return last;
    }
  }

  /** Adds a key to the tenant's list. Of several processes that do so at once one wins, and all use its key. */
  async function begin(digest: string, list: string): Promise<string> {
    const bytes = randomBytes(DATA_KEY_BYTES);
    const word = randomWord();
    const { keyId, wrapped } = await ring.wrap(bytes, bound(word, digest));
    const record = `${now()} ${keyId} ${digest} ${wrapped}`;
    const isNew = await reached(scripts.swap([hashKey, keyField(word), "", record]));
    if (isNew === 0) return await begin(digest, list); // K2
    if (await reached(swap(tenantField(digest), list, list === "" ? word : `${list} ${word}`))) {
      known.set(word, { access: "open", key: createSecretKey(bytes), record, lookedAtMs: performance.now() });
      log.info({ word, keyId }, "data key made");
      return word;
    }
    await reached(redis.hdel(hashKey, keyField(word)));
    return await usable(digest, (await reached(redis.hget(hashKey, tenantField(digest)))) ?? "");
  }

  /** Every field of the hash with its value, fetched in batches. */
  async function* fields(prefix: string): AsyncGenerator<[name: string, value: string]> {
    let cursor = "0";
    do {
      const [next, flat] = await reached(redis.hscan(hashKey, cursor, "MATCH", `${prefix}*`, "COUNT", 1_000));
      for (let i = 0; i + 1 < flat.length; i += 2) yield [(flat[i] ?? "").slice(prefix.length), flat[i + 1] ?? ""];
      cursor = next;
    } while (cursor !== "0");
  }

  async function wordsOf(tenant: string): Promise<readonly string[]> {
    const list = (await reached(redis.hget(hashKey, tenantField(tenantDigest(tenant))))) ?? "";
    return list.split(" ").filter((word) => word !== "");
  }

  return {
    current,
    find,
    words: (tenant) => once(`words ${tenant}`, () => wordsOf(tenant)),
    key: (word) => known.get(word)?.key,

    async wrapAnew() {
      const first = await ring.currentKeyId();
      const counts = { wrapped: 0, current: 0, lacking: 0 };
      for await (const [word, record] of fields("key:")) {
        if (isErased(record)) continue;
        const { createdAtMs, keyId, tenant, wrapped } = readRecord(record);
        const bytes = keyId === first ? undefined : await ring.unwrap({ keyId, wrapped }, bound(word, tenant));
        if (keyId === first) counts.current += 1;
        else if (!bytes) counts.lacking += 1;
        else {
          const anew = await ring.wrap(bytes, bound(word, tenant));
          // A key that was erased in the meantime stays erased.
          const isSwapped = await reached(swap(keyField(word), record, `${createdAtMs} ${anew.keyId} ${tenant} ${anew.wrapped}`));
          if (isSwapped) counts.wrapped += 1;
        }
      }
      return counts;
    },

    async tryKeys(most, forMs = Infinity) {
      const counts = { open: 0, lacking: 0 };
      const begunAtMs = performance.now();
      for await (const [word, record] of fields("key:")) {
        if (isErased(record)) continue;
        if (counts.open + counts.lacking >= most || performance.now() - begunAtMs > forMs) break;
        const { keyId, tenant, wrapped } = readRecord(record);
        const bytes = await ring.unwrap({ keyId, wrapped }, bound(word, tenant));
        counts[bytes ? "open" : "lacking"] += 1;
      }
      return counts;
    },

    async nextEpoch(tenant) {
      const only = tenant === undefined ? undefined : tenantDigest(tenant);
      let begun = 0;
      for await (const [digest, list] of fields("tenant:")) {
        if (only !== undefined && digest !== only) continue;
        await begin(digest, list);
        begun += 1;
      }
      return begun;
    },

    async erase(tenant) {
      const digest = tenantDigest(tenant);
      const words = new Set(await wordsOf(tenant));
      // A key that Redis had lost and a process has put back may not be listed.
      for await (const [word, record] of fields("key:")) if (!isErased(record) && readRecord(record).tenant === digest) words.add(word);
      for (const word of words) {
        await acknowledge(redis.hset(hashKey, keyField(word), `${ERASED} ${now()}`));
        known.delete(word);
      }
      tenants.delete(tenant);
      return [...words];
    },

    async drop(tenant, words) {
      for (;;) {
        const list = await wordsOf(tenant);
        const left = list.filter((word) => !words.includes(word));
        if (left.length === list.length || (await reached(swap(tenantField(tenantDigest(tenant)), list.join(" "), left.join(" "))))) return;
      }
    },
  };
}

const ERASED = "erased";

const isErased = (record: string) => record.startsWith(`${ERASED} `);

const keyField = (word: string) => `key:${word}`;
const tenantField = (digest: string) => `tenant:${digest}`;

/** Hashed, because identity providers send tenants of any length and form, and names do not belong in keys. */
const tenantDigest = (tenant: string) => hash("sha256", `parley tenant ${tenant}`, "base64url").slice(0, 22);

const bound = (word: string, tenant: string) => `parley data key ${word} ${tenant}`;

function readRecord(record: string) {
  const [createdAt, keyId = "", tenant = "", wrapped = ""] = record.split(" ");
  return { createdAtMs: Number(createdAt), keyId, tenant, wrapped };
}

function randomWord(): string {
  return Array.from({ length: SEAL_WORD_CHARS }, () => ALPHABET[randomInt(ALPHABET.length)]).join("");
}
