/** Settings of Redis, content and lists, as the environment gives them. */
import { durationSetting, durationSettingFrom, type OutboxBounds } from "@parley/core";
import { z } from "zod";
import { parseAddress } from "./connection/address.ts";
import { parseKeys } from "./content/key-ring.ts";
import type { RingSettings } from "./content/open-content.ts";

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
      "Address of Redis: redis://host:port, redis-sentinel://host,host/name or redis-cluster://host,host. Put user:password@ before the host to log in; use rediss… for TLS.",
    ),
  PARLEY_PREFIX: z
    .string()
    .regex(/^[\w.-]{1,64}$/, "must be 1 to 64 of A-Z a-z 0-9 _ - .")
    .default("parley")
    .describe("Prefix of every key and channel, so that several deployments can share one Redis."),
  PARLEY_PARTITIONS: z.coerce
    .number()
    .int()
    .min(1)
    .max(1_024)
    .default(1)
    .describe(
      "Number of partitions that tasks are spread over, each with its own queue: 1 on a single Redis. Existing tasks do not move, so never lower it.",
    ),
  PARLEY_REDIS_START_TIMEOUT: duration.default(30_000).describe("How long a starting process waits for Redis to become available."),
  PARLEY_REDIS_TIMEOUT: z
    .string()
    .transform(durationSettingFrom("100ms"))
    .default(5_000)
    .describe("How long a request waits for Redis before it fails."),
  PARLEY_REDIS_SHARDED: z
    .stringbool()
    .default(true)
    .describe("On a Cluster with sharded pub/sub, publish wake-ups on the node that holds the task. Must be the same in all processes."),
  PARLEY_REDIS_REPLICAS: z.coerce
    .number()
    .int()
    .min(0)
    .max(16)
    .default(0)
    .describe("Number of replicas that must have a write before it is acknowledged, so that a failover to one of them loses nothing."),
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
      "Encrypts content at rest: 32-byte keys in base64, separated by commas. The first one seals, all of them open. Must be the same in all processes.",
    ),
  PARLEY_CONTENT_RING: z
    .string()
    .optional()
    .describe("File that holds these keys, one per line; it is reread when it changes. Use it instead of PARLEY_CONTENT_KEYS."),
  PARLEY_CONTENT_KMS: z
    .string()
    .regex(/^\S{1,2048}$/, "must be the id, ARN or alias of a key")
    .optional()
    .describe(
      "Encrypts content at rest with a key of AWS KMS: its ARN or alias/name. If a key ring is set as well, it only opens what it sealed before.",
    ),
  PARLEY_CONTENT_KMS_ENDPOINT: z
    .url()
    .optional()
    .describe("Address of a server other than Amazon's that speaks the AWS KMS protocol. Unset: Amazon's."),
  PARLEY_CONTENT_KMS_REGION: z
    .string()
    .regex(/^[a-z0-9-]{1,40}$/, "must be a region such as eu-central-1")
    .default("us-east-1")
    .describe(
      "Region of the key. Credentials come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or from the role of the machine or pod.",
    ),
  PARLEY_CONTENT_EPOCH: duration
    .default(30 * DAY_MS)
    .describe("How long a data key seals new content of a tenant before the next one takes over."),
  PARLEY_AUDIT: z
    .stringbool()
    .default(false)
    .describe("Record every call, question shown, answer, refusal and cancellation for `parley audit export`."),
  PARLEY_AUDIT_LENGTH_MAX: z.coerce
    .number()
    .int()
    .min(100)
    .max(100_000_000)
    .default(100_000)
    .describe("Maximum number of audit records that each partition keeps in Redis until they are exported."),
  PARLEY_OUTBOX: z
    .stringbool()
    .default(false)
    .describe("Keep what happens to tasks and questions for clients that subscribe to events (MCP's events extension) and for webhooks."),
  PARLEY_OUTBOX_LENGTH_MAX: z.coerce
    .number()
    .int()
    .min(100)
    .max(10_000_000)
    .default(100_000)
    .describe("Maximum number of changes that each partition keeps in Redis for those who are behind, about 130 bytes each."),
  PARLEY_OUTBOX_AGE: z
    .string()
    .transform(durationSettingFrom("1s"))
    .default(7 * DAY_MS)
    .describe("How old a change may be that someone who was away still hears of."),
  PARLEY_ALLOW_EVICTION: z.stringbool().default(false).describe("Start even if Redis may evict keys, and so lose tasks."),
});

export type RedisEnvironment = z.infer<typeof redisSettings>;

export interface RedisSettings extends RingSettings {
  readonly url: string;
  /** Prefix of every key. */
  readonly prefix: string;
  readonly partitions: number;
  readonly startTimeoutMs: number;
  readonly commandTimeoutMs: number;
  /** Whether to use a cluster's sharded pub/sub, if it is available. */
  readonly shardedPubSub: boolean;
  /** Number of replicas that must have a write before it is acknowledged. Not available on a cluster. */
  readonly replicas: number;
  readonly allowEviction: boolean;
  /** How long new content of a tenant is sealed with the same data key. */
  readonly contentEpochMs: number;
  /** Share → weight, for turns.ts. Used by front ends only. */
  readonly weights: ReadonlyMap<string, number>;
  /** Whether calls, answers and cancellations are recorded for auditors. */
  readonly audit: boolean;
  /** Maximum number of records per partition. */
  readonly auditLengthMax: number;
  /** What is kept for those who subscribe to events; undefined if nothing is. */
  readonly outbox: OutboxBounds | undefined;
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
    outbox: environment.PARLEY_OUTBOX
      ? { lengthMax: environment.PARLEY_OUTBOX_LENGTH_MAX, ageMs: environment.PARLEY_OUTBOX_AGE }
      : undefined,
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
  outbox: undefined,
};
