import type { RedisBackend } from "@parley/redis";

/**
 * Whether what an operator does is recorded: if the operator's own environment says so, or if the deployment keeps an audit, of which that
 * environment may know nothing.
 */
export async function isAudited({ audit }: Pick<RedisBackend, "audit">, isSet: boolean): Promise<boolean> {
  return isSet || (await audit.read(0, 0, 1)).length > 0;
}
