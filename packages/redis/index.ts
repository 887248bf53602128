/** Every port of core on Redis. No other package talks to Redis. */
export type { AuditTrail, StoredRecord } from "./audit.ts";
export type { Census } from "./census.ts";
export { connectRedis, type RedisBackend } from "./backend.ts";
export { withoutPassword } from "./address.ts";
export { openConnection, waitForRedis } from "./connect.ts";
export { DATA_KEY_BYTES, type KeyRing, type WrappedKey } from "./content/key-ring.ts";
export { type ContentKeys, ringOf } from "./content/open-content.ts";
export type { Consumer, ConsumeRuns, TakenRun } from "./consume-runs.ts";
export type { GatewayShare } from "./gateway.ts";
export { createIds } from "./ids.ts";
export type { GrantFilter, GrantRegister, RegisteredGrant } from "./kept-grants.ts";
export type { RateLimits } from "./rates.ts";
export { inspectRedis, type RedisFacts } from "./inspect.ts";
export { createKeys, partitionOf, sealWordOf } from "./keys.ts";
export { DEFAULT_REDIS_SETTINGS, type RedisEnvironment, type RedisSettings, redisSettings, toRedisSettings } from "./settings.ts";
export { deploymentId } from "./secret.ts";
export { SERVED_FOR_MS, type ServedVersion } from "./serving.ts";
export type { WaitingTask } from "./waiting.ts";
