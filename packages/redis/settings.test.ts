import { describe, expect, test } from "vitest";
import { DEFAULT_REDIS_SETTINGS, redisSettings, toRedisSettings } from "./settings.ts";

describe("settings for Redis", () => {
  test("have defaults for everything but the address", () => {
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

  test("a duration without a unit is refused", () => {
    const parsed = redisSettings.safeParse({ REDIS_URL: "redis://127.0.0.1:6379", PARLEY_REDIS_TIMEOUT: "800" });
    expect(parsed.error?.issues.map(({ message }) => message)).toEqual([
      '"800" has no unit: write 800s for seconds, or 800 with ms, m, h or d',
    ]);
  });

  test("take durations with units, switches and numbers as words", () => {
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

  test("report every problem, by name", () => {
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

  test("are the same defaults without an environment", () => {
    const { url: _, ...defaults } = toRedisSettings(redisSettings.parse({ REDIS_URL: "redis://h" }));
    expect({ ...DEFAULT_REDIS_SETTINGS }).toEqual({ ...defaults, weights: new Map() });
  });

  const parse = (environment: object) => redisSettings.safeParse({ REDIS_URL: "redis://h", ...environment });
  const problems = (environment: object) => parse(environment).error?.issues.map(({ message }) => message);

  test.each([
    ["PARLEY_PREFIX", "x", "x".repeat(64)],
    ["PARLEY_PREFIX", "a", "A_z.-9"],
    ["PARLEY_PARTITIONS", "1", "1024"],
    ["PARLEY_REDIS_REPLICAS", "0", "16"],
    ["PARLEY_AUDIT_LENGTH_MAX", "100", "100000000"],
    ["PARLEY_CONTENT_KMS", "x", "x".repeat(2_048)],
    ["PARLEY_CONTENT_KMS_REGION", "x", "eu-central-1"],
    ["PARLEY_CONTENT_KMS_REGION", "0", "x".repeat(40)],
    ["PARLEY_CONTENT_KMS_ENDPOINT", "http://127.0.0.1:1", "https://kms.test"],
  ])("%s may be %s, and %s", (name, least, most) => {
    for (const value of [least, most]) expect(problems({ [name]: value })).toBeUndefined();
  });

  test.each([
    ["REDIS_URL", "h", "must be redis://host:port, redis-sentinel://host:port,…/name or redis-cluster://host:port,…"],
    ["PARLEY_PREFIX", "", "must be 1 to 64 of A-Z a-z 0-9 _ - ."],
    ["PARLEY_PREFIX", "x".repeat(65), "must be 1 to 64 of A-Z a-z 0-9 _ - ."],
    ["PARLEY_PREFIX", "{x", "must be 1 to 64 of A-Z a-z 0-9 _ - ."],
    ["PARLEY_PREFIX", "x}", "must be 1 to 64 of A-Z a-z 0-9 _ - ."],
    ["PARLEY_PARTITIONS", "1025", "Too big: expected number to be <=1024"],
    ["PARLEY_PARTITIONS", "1.5", "Invalid input: expected int, received number"],
    ["PARLEY_REDIS_REPLICAS", "-1", "Too small: expected number to be >=0"],
    ["PARLEY_REDIS_REPLICAS", "17", "Too big: expected number to be <=16"],
    ["PARLEY_REDIS_REPLICAS", "0.5", "Invalid input: expected int, received number"],
    ["PARLEY_AUDIT_LENGTH_MAX", "100000001", "Too big: expected number to be <=100000000"],
    ["PARLEY_AUDIT_LENGTH_MAX", "100.5", "Invalid input: expected int, received number"],
    ["PARLEY_CONTENT_KEYS", "", "has no key: make one with `openssl rand -base64 32`"],
    ["PARLEY_CONTENT_KMS", "a key", "must be the id, ARN or alias of a key"],
    ["PARLEY_CONTENT_KMS", "", "must be the id, ARN or alias of a key"],
    ["PARLEY_CONTENT_KMS", "x".repeat(2_049), "must be the id, ARN or alias of a key"],
    ["PARLEY_CONTENT_KMS_ENDPOINT", "kms", "Invalid URL"],
    ["PARLEY_CONTENT_KMS_REGION", "", "must be a region such as eu-central-1"],
    ["PARLEY_CONTENT_KMS_REGION", "x".repeat(41), "must be a region such as eu-central-1"],
    ["PARLEY_CONTENT_KMS_REGION", "EU", "must be a region such as eu-central-1"],
    ["PARLEY_CONTENT_KMS_REGION", "eu EU", "must be a region such as eu-central-1"],
    ["PARLEY_CONTENT_KMS_REGION", "EU eu", "must be a region such as eu-central-1"],
  ])("%s may not be %j", (name, value, problem) => {
    expect(problems({ [name]: value })).toEqual([problem]);
  });

  test("name a key management service by its key, its address and its region", () => {
    const environment = {
      REDIS_URL: "redis://h",
      PARLEY_CONTENT_KMS: "alias/parley",
      PARLEY_CONTENT_KMS_ENDPOINT: "http://127.0.0.1:1",
      PARLEY_CONTENT_KMS_REGION: "eu-central-1",
    };
    expect(toRedisSettings(redisSettings.parse(environment))).toMatchObject({
      contentKms: "alias/parley",
      contentKmsEndpoint: "http://127.0.0.1:1",
      contentKmsRegion: "eu-central-1",
    });
  });

  test("describe their purpose", () => {
    for (const [name, setting] of Object.entries(redisSettings.shape)) expect(setting.description, name).toMatch(/^[A-Z].{20,}\.$/);
  });
});
