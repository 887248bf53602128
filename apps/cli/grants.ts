/** Lists and revokes grants for later tasks. It can run while front ends and workers run, and needs no secret. */
import { readEnvironment } from "@parley/node";
import { connectRedis, type RedisBackend, redisSettings, toRedisSettings } from "@parley/redis";
import type { Grants } from "./commands/grants.ts";
import { onStderr } from "./on-stderr.ts";
import { print, printJson } from "./terminal.ts";

export async function listGrants({ principal, tenant, json }: Grants): Promise<void> {
  await withGrants(async (grants) => {
    for await (const grant of grants.list({ principal, tenant })) {
      const { owner: _owner, consent: _consent, about, ...rest } = grant;
      if (json) {
        process.stdout.write(`${JSON.stringify({ ...rest, ...about })}\n`);
        continue;
      }
      const what = `${about.upstream} at ${about.provider} (${about.scopes.join(" ")})`;
      const when = `granted ${date(grant.keptAtMs)}, used ${date(grant.usedAtMs)}, ends ${date(grant.endsAtMs)}`;
      print(`${grant.id}  ${grant.principal}  ${grant.tenant}  ${what}  ${when}`);
    }
  });
}

export async function revokeGrants({ id, principal, tenant, json }: Grants): Promise<void> {
  if (principal === undefined && tenant === undefined) throw new Error("specify the grants: --principal, --tenant or both");
  await withGrants(async (grants) => {
    const revoked = await grants.revoke({ id, principal, tenant });
    if (revoked === 0) process.exitCode = 1;
    if (json) printJson({ revoked });
    else
      print(
        revoked === 0
          ? "no matching grant: `parley grants list` lists them"
          : `${revoked} grants are revoked; the provider is not notified`,
      );
  });
}

function date(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
}

async function withGrants(work: (grants: RedisBackend["keptGrants"]) => Promise<void>): Promise<void> {
  const redis = await connectRedis(toRedisSettings(readEnvironment(redisSettings, process.env)), { log: onStderr });
  try {
    await work(redis.keptGrants);
  } finally {
    await redis.close();
  }
}
