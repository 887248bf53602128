import { type Duration, parseDuration } from "@parley/core";
import { z } from "zod";

/** A duration with its unit, as milliseconds. */
const duration = z.string().transform((text, context) => {
  try {
    return parseDuration(text as Duration);
  } catch (error) {
    context.addIssue({ code: "custom", message: error instanceof Error ? error.message : "is not a duration" });
    return z.NEVER;
  }
});

/** What the environment says about Redis. Apps merge this into their own settings. */
export const redisSettings = z.object({
  REDIS_URL: z.url({ protocol: /^rediss?$/, error: "must be redis://host:port or rediss://host:port" }),
  PARLEY_PREFIX: z
    .string()
    .regex(/^[\w.-]{1,64}$/, "must be 1 to 64 of A-Z a-z 0-9 _ - .")
    .default("parley"),
  /** Slices of the tasks, each with its own queue: 1 on a single Redis. */
  PARLEY_PARTITIONS: z.coerce.number().int().min(1).max(1_024).default(1),
  PARLEY_REDIS_START_TIMEOUT: duration.default(30_000),
  /** How long a request waits for Redis before it is refused. */
  PARLEY_REDIS_TIMEOUT: duration.default(5_000),
  PARLEY_ALLOW_EVICTION: z.stringbool().default(false),
});

export type RedisEnvironment = z.infer<typeof redisSettings>;

export interface RedisSettings {
  readonly url: string;
  /** Put before every key. */
  readonly prefix: string;
  readonly partitions: number;
  readonly startTimeoutMs: number;
  readonly commandTimeoutMs: number;
  readonly allowEviction: boolean;
}

export function toRedisSettings(environment: RedisEnvironment): RedisSettings {
  return {
    url: environment.REDIS_URL,
    prefix: environment.PARLEY_PREFIX,
    partitions: environment.PARLEY_PARTITIONS,
    startTimeoutMs: environment.PARLEY_REDIS_START_TIMEOUT,
    commandTimeoutMs: environment.PARLEY_REDIS_TIMEOUT,
    allowEviction: environment.PARLEY_ALLOW_EVICTION,
  };
}

export const DEFAULT_REDIS_SETTINGS: Omit<RedisSettings, "url"> = {
  prefix: "parley",
  partitions: 1,
  startTimeoutMs: 30_000,
  commandTimeoutMs: 5_000,
  allowEviction: false,
};
