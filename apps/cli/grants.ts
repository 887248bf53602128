/** Lists and revokes grants for later tasks. It can run while front ends and workers run, and needs no secret unless providers are to be notified. */
import { type AtProvider, endAtProvider } from "@parley/core";
import { createOauthProviders, oauthEnvironment, openOauthFile } from "@parley/identity";
import { depositSeal, readEnvironment, secretEnvironment } from "@parley/node";
import { connectRedis, type RedisBackend, redisSettings, toRedisSettings } from "@parley/redis";
import { z } from "zod";
import type { Grants } from "./commands/grants.ts";
import { onStderr } from "./on-stderr.ts";
import { print, printJson } from "./terminal.ts";

export async function listGrants({ principal, tenant, json }: Grants): Promise<void> {
  await withRedis(async ({ keptGrants }) => {
    for await (const grant of keptGrants.list({ principal, tenant })) {
      const { owner: _owner, consent: _consent, about, ...rest } = grant;
      if (json) {
        printJson({ ...rest, ...about });
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
  const filter = { id, principal, tenant };
  const { PARLEY_SECRET: secrets, ...oauth } = readEnvironment(z.object({ ...secretEnvironment, ...oauthEnvironment }), process.env);
  const notifies = secrets.length > 0 && oauth.PARLEY_OAUTH !== undefined;
  const providers = createOauthProviders(notifies ? openOauthFile(oauth, process.env) : [], Date.now);
  await withRedis(async (redis) => {
    if (!notifies) return report(await redis.keptGrants.revoke(filter), undefined, json);
    const counts: Record<AtProvider, number> = { ended: 0, unsupported: 0, failed: 0 };
    const kept = redis.keptGrants.sealedBy(depositSeal(secrets));
    const { audit: isAudited } = toRedisSettings(readEnvironment(redisSettings, process.env));
    const services = { oauth: providers, log: onStderr, ...(isAudited && { audit: redis.audit }) };
    for await (const grant of redis.keptGrants.list(filter)) {
      const ref = { principal: grant.principal, tenant: grant.tenant, id: grant.id };
      const revoked = await kept.revoke(ref, grant.consent);
      if (revoked) counts[await endAtProvider(services, { ref, revoked })] += 1;
    }
    report(counts.ended + counts.unsupported + counts.failed, counts, json);
  });
}

function report(revoked: number, atProvider: Readonly<Record<AtProvider, number>> | undefined, json: true | undefined): void {
  if (revoked === 0) process.exitCode = 1;
  if (json) return printJson({ revoked, ...(atProvider && { atProvider }) });
  if (revoked === 0) return print("no matching grant: `parley grants list` lists them");
  const told = atProvider
    ? `the provider ended ${atProvider.ended} of them, offers no revocation for ${atProvider.unsupported}, and could not be notified of ${atProvider.failed}`
    : "the provider is not notified, which takes PARLEY_SECRET and PARLEY_OAUTH";
  print(`${revoked} grants are revoked; ${told}`);
}

function date(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
}

async function withRedis(work: (redis: RedisBackend) => Promise<void>): Promise<void> {
  const redis = await connectRedis(toRedisSettings(readEnvironment(redisSettings, process.env)), { log: onStderr });
  try {
    await work(redis);
  } finally {
    await redis.close();
  }
}
