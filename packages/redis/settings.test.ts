import { describe, expect, test } from "vitest";
import { redisSettings, toRedisSettings } from "./settings.ts";

describe("what the environment says about Redis", () => {
  test("an address alone gives the defaults", () => {
    expect(toRedisSettings(redisSettings.parse({ REDIS_URL: "redis://127.0.0.1:6379" }))).toEqual({
      url: "redis://127.0.0.1:6379",
      prefix: "parley",
      partitions: 1,
      startTimeoutMs: 30_000,
      commandTimeoutMs: 5_000,
      shardedPubSub: true,
      replicas: 0,
      allowEviction: false,
      contentEpochMs: 2_592_000_000,
      contentKmsRegion: "us-east-1",
      audit: false,
      auditLengthMax: 100_000,
    });
  });

  test("a duration without a unit is in milliseconds, as in every other setting", () => {
    const { commandTimeoutMs } = toRedisSettings(redisSettings.parse({ REDIS_URL: "redis://127.0.0.1:6379", PARLEY_REDIS_TIMEOUT: "800" }));
    expect(commandTimeoutMs).toBe(800);
  });

  test("durations carry units, switches and numbers are words", () => {
    const environment = {
      REDIS_URL: "rediss://h:1/2",
      PARLEY_PARTITIONS: "16",
      PARLEY_REDIS_START_TIMEOUT: "2m",
      PARLEY_REDIS_TIMEOUT: "800ms",
      PARLEY_REDIS_SHARDED: "no",
      PARLEY_REDIS_REPLICAS: "2",
      PARLEY_ALLOW_EVICTION: "true",
      PARLEY_CONTENT_KEYS: "k".repeat(43),
      PARLEY_CONTENT_RING: "/run/ring",
      PARLEY_CONTENT_EPOCH: "1d",
      PARLEY_AUDIT: "yes",
      PARLEY_AUDIT_LENGTH_MAX: "100",
      PARLEY_PREFIX: "acme",
    };

    expect(toRedisSettings(redisSettings.parse(environment))).toEqual({
      url: "rediss://h:1/2",
      prefix: "acme",
      partitions: 16,
      startTimeoutMs: 120_000,
      commandTimeoutMs: 800,
      shardedPubSub: false,
      replicas: 2,
      allowEviction: true,
      contentKeys: environment.PARLEY_CONTENT_KEYS,
      contentRing: "/run/ring",
      contentEpochMs: 86_400_000,
      contentKmsRegion: "us-east-1",
      audit: true,
      auditLengthMax: 100,
    });
  });

  test("everything that is wrong is told, by name", () => {
    const wrong = {
      REDIS_URL: "http://h",
      PARLEY_PARTITIONS: "0",
      PARLEY_REDIS_TIMEOUT: "soon",
      PARLEY_REDIS_SHARDED: "perhaps",
      PARLEY_REDIS_REPLICAS: "all",
      PARLEY_ALLOW_EVICTION: "perhaps",
      PARLEY_CONTENT_KEYS: "too short",
      PARLEY_CONTENT_EPOCH: "long",
      PARLEY_AUDIT: "perhaps",
      PARLEY_AUDIT_LENGTH_MAX: "99",
      PARLEY_PREFIX: "a b",
    };
    const { error } = redisSettings.safeParse(wrong);

    expect(error?.issues.map(({ path }) => path[0]).toSorted()).toEqual(Object.keys(wrong).toSorted());
    expect(error?.issues.find(({ path }) => path[0] === "PARLEY_REDIS_TIMEOUT")?.message).toContain('"soon" is not a duration');
  });
});
