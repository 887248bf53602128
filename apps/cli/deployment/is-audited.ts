import { connectRedis, type RedisBackend } from "@parley/redis";
import { onStderr } from "../terminal/on-stderr.ts";

/**
 * Whether what an operator does is recorded: if the operator's own environment says so, or if the deployment keeps an audit, of which that
 * environment may know nothing.
 */
export async function isAudited({ audit }: Pick<RedisBackend, "audit">, isSet: boolean): Promise<boolean> {
  return isSet || (await audit.read(0, 0, 1)).length > 0;
}

type Settings = Parameters<typeof connectRedis>[0];

/** Connects so that what is done with grants is recorded if anything an operator does is. */
export async function connectAudited(
  settings: Settings,
): Promise<{ readonly redis: RedisBackend; readonly audit: RedisBackend["audit"] | undefined }> {
  const redis = await connectRedis(settings, { log: onStderr });
  if (settings.audit) return { redis, audit: redis.audit };
  const isRecorded = await isAudited(redis, false).catch(async (error: unknown) => {
    await redis.close();
    throw error;
  });
  if (!isRecorded) return { redis, audit: undefined };
  await redis.close();
  return await connectAudited({ ...settings, audit: true });
}
