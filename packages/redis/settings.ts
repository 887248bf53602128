import { durationSetting } from "@parley/core";
import { z } from "zod";
import { parseAddress } from "./address.ts";
import { parseKeys } from "./content/key-ring.ts";

const DAY_MS = 24 * 60 * 60 * 1_000;

/** A duration with its unit, as milliseconds. */
const duration = z.string().transform(durationSetting);

/** What the environment says about Redis. Apps merge this into their own settings. */
export const redisSettings = z.object({
  REDIS_URL: z
    .string()
    .refine(
      (url) => parseAddress(url) !== undefined,
      "must be redis://host:port, redis-sentinel://host:port,…/name or redis-cluster://host:port,…",
    )
    .describe(
      "Where tasks live: redis://, redis-sentinel://host,host/name or redis-cluster://host,host, with user:password@; rediss… for TLS.",
    ),
  PARLEY_PREFIX: z
    .string()
    .regex(/^[\w.-]{1,64}$/, "must be 1 to 64 of A-Z a-z 0-9 _ - .")
    .default("parley")
    .describe("Prefix of every key and channel, so that deployments can share a Redis."),
  PARLEY_PARTITIONS: z.coerce
    .number()
    .int()
    .min(1)
    .max(1_024)
    .default(1)
    .describe("Slices of the tasks, each with its own queue: 1 on a single Redis. Changing it moves no task; keep the highest ever used."),
  PARLEY_REDIS_START_TIMEOUT: duration.default(30_000).describe("How long a starting process waits for Redis to serve."),
  PARLEY_REDIS_TIMEOUT: duration.default(5_000).describe("How long a request waits for Redis before it is refused."),
  PARLEY_REDIS_SHARDED: z
    .stringbool()
    .default(true)
    .describe("On a Cluster that has sharded pub/sub, keep wake-ups on the node of their task. The same for all processes."),
  PARLEY_REDIS_REPLICAS: z.coerce
    .number()
    .int()
    .min(0)
    .max(16)
    .default(0)
    .describe("Replicas that must have a write before it is acknowledged, so that a failover to one of them loses nothing."),
  PARLEY_CONTENT_KEYS: z
    .string()
    .optional()
    .superRefine((text, context) => {
      try {
        if (text !== undefined) parseKeys(text);
      } catch (error) {
        context.addIssue({ code: "custom", message: error instanceof Error ? error.message : String(error) });
      }
    })
    .describe(
      "Encrypt what people and tools say. Keys of 32 bytes in base64 with commas: the first seals, all open. The same for all processes.",
    ),
  PARLEY_CONTENT_RING: z
    .string()
    .optional()
    .describe("The same keys in a file, one a line, which is read again when it has changed. Instead of PARLEY_CONTENT_KEYS."),
  PARLEY_CONTENT_KMS: z
    .string()
    .regex(/^\S{1,2048}$/, "must be the id, ARN or alias of a key")
    .optional()
    .describe(
      "Encrypt what people and tools say, with a key of AWS KMS: its ARN or alias/name. A ring that is set too only opens what it wrapped before.",
    ),
  PARLEY_CONTENT_KMS_ENDPOINT: z
    .url()
    .optional()
    .describe("Address of a server that speaks the protocol of AWS KMS and is not Amazon's. Unset: Amazon's."),
  PARLEY_CONTENT_KMS_REGION: z
    .string()
    .regex(/^[a-z0-9-]{1,40}$/, "must be a region such as eu-central-1")
    .default("us-east-1")
    .describe(
      "Region of the key. Credentials come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or from the role of the machine or pod.",
    ),
  PARLEY_CONTENT_EPOCH: duration
    .default(30 * DAY_MS)
    .describe("How long a tenant's new content is sealed with one data key before the next."),
  PARLEY_AUDIT: z
    .stringbool()
    .default(false)
    .describe("Keep a record of each call, question shown, answer, refusal and cancellation, for `parley audit export`."),
  PARLEY_AUDIT_LENGTH_MAX: z.coerce
    .number()
    .int()
    .min(100)
    .max(100_000_000)
    .default(100_000)
    .describe("Audit records that each partition keeps in Redis until they are exported."),
  PARLEY_ALLOW_EVICTION: z.stringbool().default(false).describe("Start even on a Redis that may evict keys, and so lose tasks."),
});

export type RedisEnvironment = z.infer<typeof redisSettings>;

export interface RedisSettings {
  readonly url: string;
  /** Put before every key. */
  readonly prefix: string;
  readonly partitions: number;
  readonly startTimeoutMs: number;
  readonly commandTimeoutMs: number;
  /** Whether a Cluster's sharded pub/sub is used, where it has it. */
  readonly shardedPubSub: boolean;
  /** That must have what was acknowledged. Not on a cluster. */
  readonly replicas: number;
  readonly allowEviction: boolean;
  /** The key ring as text, secret (content/key-ring.ts). Neither this nor `contentRing`: content is stored as it is. */
  readonly contentKeys?: string | undefined;
  /** The file that holds the key ring. */
  readonly contentRing?: string | undefined;
  /** The key of a key management service that wraps data keys: an ARN, an id or an alias. */
  readonly contentKms?: string | undefined;
  readonly contentKmsEndpoint?: string | undefined;
  readonly contentKmsRegion: string;
  /** How long new content of a tenant is sealed with one data key. */
  readonly contentEpochMs: number;
  /** Share → weight, for turns.ts. For front ends alone. */
  readonly weights: ReadonlyMap<string, number>;
  /** Whether calls, answers and cancellations are recorded for auditors. */
  readonly audit: boolean;
  /** Records that each partition keeps. */
  readonly auditLengthMax: number;
}

export function toRedisSettings(environment: RedisEnvironment): Omit<RedisSettings, "weights"> {
  return {
    url: environment.REDIS_URL,
    prefix: environment.PARLEY_PREFIX,
    partitions: environment.PARLEY_PARTITIONS,
    startTimeoutMs: environment.PARLEY_REDIS_START_TIMEOUT,
    commandTimeoutMs: environment.PARLEY_REDIS_TIMEOUT,
    shardedPubSub: environment.PARLEY_REDIS_SHARDED,
    replicas: environment.PARLEY_REDIS_REPLICAS,
    allowEviction: environment.PARLEY_ALLOW_EVICTION,
    contentKeys: environment.PARLEY_CONTENT_KEYS,
    contentRing: environment.PARLEY_CONTENT_RING,
    contentKms: environment.PARLEY_CONTENT_KMS,
    contentKmsEndpoint: environment.PARLEY_CONTENT_KMS_ENDPOINT,
    contentKmsRegion: environment.PARLEY_CONTENT_KMS_REGION,
    contentEpochMs: environment.PARLEY_CONTENT_EPOCH,
    audit: environment.PARLEY_AUDIT,
    auditLengthMax: environment.PARLEY_AUDIT_LENGTH_MAX,
  };
}

export const DEFAULT_REDIS_SETTINGS: Omit<RedisSettings, "url"> = {
  prefix: "parley",
  partitions: 1,
  startTimeoutMs: 30_000,
  commandTimeoutMs: 5_000,
  shardedPubSub: true,
  replicas: 0,
  allowEviction: false,
  contentKmsRegion: "us-east-1",
  contentEpochMs: 30 * DAY_MS,
  weights: new Map(),
  audit: false,
  auditLengthMax: 100_000,
};
