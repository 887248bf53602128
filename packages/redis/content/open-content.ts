/**
 * Sets up content as the settings say, in the clear or sealed with the keys of a ring, and the operator's commands
 * for those keys.
 */
import { setTimeout } from "node:timers/promises";
import type { Digest, Log } from "@parley/core";
import type { Redis } from "ioredis";
import type { Keys } from "../keys.ts";
import type { Acknowledge } from "../connection/replicas.ts";
import { reached } from "../connection/unavailable.ts";
import { type ContentCodec, plainContent } from "./codec.ts";
import { createDataKeys, LOOK_FIRST_MS } from "./data-keys.ts";
import { fileKeyRing, fixedKeyRing, type KeyRing } from "./key-ring.ts";
import { createSealedContent } from "./sealed.ts";

export interface StoredContent {
  readonly codec: ContentCodec;
  /** For new task ids; absent without sealing. */
  readonly sealWord?: (tenant: string) => string | Promise<string>;
  /** Core's digest, keyed for questions of sealed tasks. */
  digest(plain: Digest): Digest;
  /** The operator's commands for the keys; absent without sealing. */
  readonly keys?: ContentKeys;
}

export interface ContentKeys {
  /** Wraps all data keys with the ring's first key, so that the others can be removed from the ring. */
  wrapAnew(): Promise<{ readonly wrapped: number; readonly current: number; readonly lacking: number }>;
  /** Whether the ring opens the data keys. Tries up to `most` of them, starting none after `forMs`. */
  tryKeys(most: number, forMs?: number): Promise<{ readonly open: number; readonly lacking: number }>;
  /** Seals new tasks of a tenant, or of all, with a new data key. Returns for how many tenants. */
  nextEpoch(tenant?: string): Promise<number>;
  /**
   * Makes the content of all of the tenant's tasks so far unreadable for good. Resolves some seconds later, when no
   * process has the keys in memory any more and the waiting tasks are due, so that they end. If interrupted, run it
   * again. `sleep` waits for those seconds.
   */
  erase(tenant: string, sleep?: (ms: number) => Promise<unknown>): Promise<{ readonly keys: number; readonly waiting: number }>;
}

export interface OpenContent {
  /** Undefined leaves content in the clear. */
  readonly ring: KeyRing | undefined;
  readonly epochMs: number;
  readonly redis: Redis;
  readonly keys: Keys;
  readonly partitions: readonly number[];
  readonly now: () => number;
  readonly acknowledge: Acknowledge;
  readonly log: Log;
}

/** For a write in progress. */
const MARGIN_MS = 1_000;

export function openContent({ ring, epochMs, redis, keys, partitions, now, acknowledge, log }: OpenContent): StoredContent {
  if (!ring) return { codec: plainContent, digest: (plain) => plain };
  const dataKeys = createDataKeys({ redis, hashKey: keys.content, ring, now, epochMs, acknowledge, log });
  const sealed = createSealedContent(dataKeys);

  /** Makes waiting tasks of these keys due at once: workers find that they can only end them. */
  async function wake(words: readonly string[]): Promise<number> {
    let woken = 0;
    for (const partition of partitions) {
      const due = keys.due(partition);
      let cursor = "0";
      do {
        const [next, flat] = await reached(redis.zscan(due, cursor, "COUNT", 1_000));
        const found = flat.filter((each, i) => i % 2 === 0 && words.some((word) => each.startsWith(`${partition}-${word}-`)));
        for (const taskId of found) await reached(redis.zadd(due, "XX", "LT", now(), taskId));
        woken += found.length;
        cursor = next;
      } while (cursor !== "0");
    }
    return woken;
  }

  return {
    codec: sealed,
    sealWord: dataKeys.current,
    digest: sealed.digest,
    keys: {
      wrapAnew: dataKeys.wrapAnew,
      tryKeys: dataKeys.tryKeys,
      nextEpoch: dataKeys.nextEpoch,
      async erase(tenant, sleep = setTimeout) {
        const words = await dataKeys.erase(tenant);
        if (words.length === 0) return { keys: 0, waiting: 0 };
        // Otherwise a worker that still has the key would run the task and park it again.
        await sleep(LOOK_FIRST_MS + MARGIN_MS);
        const waiting = await wake(words);
        await dataKeys.drop(tenant, words);
        return { keys: words.length, waiting };
      },
    },
  };
}

/** Where the key ring is. */
export interface RingSettings {
  /**
   * The key ring as text, secret (key-ring.ts). Without it and `contentRing`, content is stored in the clear.
   */
  readonly contentKeys?: string | undefined;
  /** The file that holds the key ring. */
  readonly contentRing?: string | undefined;
  /** The key of a key management service that wraps data keys: an ARN, an id or an alias. */
  readonly contentKms?: string | undefined;
  readonly contentKmsEndpoint?: string | undefined;
  readonly contentKmsRegion: string;
}

/** The key ring that the settings name. Throws a TypeError if it is invalid or cannot be read. */
export async function ringOf(settings: RingSettings, log: Log): Promise<KeyRing | undefined> {
  const before = await localRing(settings, log);
  const { contentKms: key, contentKmsEndpoint: endpoint, contentKmsRegion: region } = settings;
  if (key === undefined) return before;
  // Loaded only if it is used.
  const { kmsKeyRing } = await import("./kms.ts").catch((cause: unknown) => {
    throw notInstalled(cause);
  });
  return kmsKeyRing({ key, endpoint, region, log, before });
}

/** What to throw if the key management service's module does not load. */
export function notInstalled(cause: unknown): unknown {
  if ((cause as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") return cause;
  return new TypeError("PARLEY_CONTENT_KMS needs a package that is not here: npm install @aws-sdk/client-kms", { cause });
}

async function localRing(
  { contentKeys, contentRing }: Pick<RingSettings, "contentKeys" | "contentRing">,
  log: Log,
): Promise<KeyRing | undefined> {
  if (contentKeys !== undefined && contentRing !== undefined)
    throw new TypeError("PARLEY_CONTENT_KEYS and PARLEY_CONTENT_RING are both set: remove one of them");
  if (contentKeys !== undefined) return fixedKeyRing(contentKeys);
  if (contentRing === undefined) return undefined;
  try {
    return await fileKeyRing(contentRing, log);
  } catch (error) {
    const problem =
      error instanceof TypeError ? error.message : `cannot be read (${(error as NodeJS.ErrnoException).code ?? String(error)})`;
    throw new TypeError(`PARLEY_CONTENT_RING: ${contentRing} ${problem}`, { cause: error });
  }
}
