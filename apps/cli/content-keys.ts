/** What an operator does with the keys that seal content. Each command works beside running front ends and workers. */
import { randomBytes } from "node:crypto";
import type { AuditFact } from "@parley/core";
import { readEnvironment } from "@parley/node";
import { connectRedis, type ContentKeys, redisSettings, toRedisSettings } from "@parley/redis";
import { onStderr } from "./on-stderr.ts";

export function printNewKey(): void {
  process.stdout.write(`${randomBytes(32).toString("base64")}\n`);
}

export async function rotate({ dataKeys }: { readonly dataKeys: boolean }): Promise<void> {
  await withKeys({ action: "keys", verdict: dataKeys ? "rotated, new data keys" : "rotated" }, async (keys) => {
    const { wrapped, current, lacking } = await keys.wrapAnew();
    process.stdout.write(`${wrapped} data keys wrapped by the first key of the ring, ${current} were already\n`);
    if (lacking > 0) {
      process.stderr.write(
        `${lacking} data keys are wrapped by a key that the ring does not have: tasks that need them wait until it is put back\n`,
      );
      process.exitCode = 1;
    }
    if (dataKeys) process.stdout.write(`new data keys for ${await keys.nextEpoch()} tenants; all processes use them within 10 seconds\n`);
  });
}

export async function eraseTenant(tenant: string): Promise<void> {
  await withKeys({ action: "keys", tenant, verdict: "erased" }, async (keys) => {
    process.stderr.write("waiting until no process has the keys in memory, about ten seconds\n");
    const erased = await keys.erase(tenant);
    if (erased.keys === 0) {
      process.stderr.write(`tenant ${JSON.stringify(tenant)} has no data keys: nothing of it was sealed, or it was erased before\n`);
      process.exitCode = 1;
      return;
    }
    process.stdout.write(`${erased.keys} data keys of ${JSON.stringify(tenant)} erased; ${erased.waiting} waiting tasks end now\n`);
  });
}

async function withKeys(noted: AuditFact, work: (keys: ContentKeys) => Promise<void>): Promise<void> {
  const settings = toRedisSettings(readEnvironment(redisSettings, process.env));
  const redis = await connectRedis(settings, { log: onStderr });
  try {
    if (!redis.content.keys) throw new Error("no content keys: set PARLEY_CONTENT_KEYS or PARLEY_CONTENT_RING as for the front ends");
    await work(redis.content.keys);
    if (settings.audit) await redis.audit.note(noted);
  } finally {
    await redis.close();
  }
}
