/** Lists and revokes grants for later tasks. It can run while front ends and workers run, and needs no secret unless providers are to be notified. */
import { type AtProvider, endAtProvider, type GrantRef, type RevokedGrant, turns } from "@parley/core";
import { createOauthProviders, oauthEnvironment, openOauthFile } from "@parley/identity";
import { depositSeal, readEnvironment, secretEnvironment } from "@parley/node";
import { type GrantFilter, type RedisBackend, redisSettings, toRedisSettings } from "@parley/redis";
import { z } from "zod";
import { connectAudited } from "../deployment/is-audited.ts";
import type { Grants } from "./command.ts";
import { onStderr } from "../terminal/on-stderr.ts";
import { print, printJson } from "../terminal/terminal.ts";
import { counted } from "../terminal/counted.ts";

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
  const notice = noticeSettings();
  const filter = { id, principal, tenant };
  await withRedis(async (redis) => {
    if (!notice) return report(await redis.keptGrants.revoke(filter), undefined, json);
    const counts = await endAtProviders(redis, revokeEach(redis, filter, notice), notice);
    report(counts.ended + counts.unsupported + counts.failed, counts, json);
  });
}

/** What it takes to notify providers. */
export interface NoticeSettings {
  readonly secrets: readonly string[];
  readonly providers: ReturnType<typeof createOauthProviders>;
}

/** `audit`: undefined if the deployment keeps none. */
export interface Operated extends Pick<RedisBackend, "keptGrants"> {
  readonly audit: RedisBackend["audit"] | undefined;
}

/** Undefined if the environment lacks PARLEY_SECRET or PARLEY_OAUTH. */
export function noticeSettings(): NoticeSettings | undefined {
  const { PARLEY_SECRET: secrets, ...oauth } = readEnvironment(z.object({ ...secretEnvironment, ...oauthEnvironment }), process.env);
  if (secrets.length === 0 || oauth.PARLEY_OAUTH === undefined) return undefined;
  return { secrets, providers: createOauthProviders(openOauthFile(oauth, process.env), Date.now) };
}

type AtProviders = Readonly<Record<AtProvider, number>>;

/** Maximum number of grants that providers are asked to end at once. */
const ASKED_AT_ONCE = 16;

/**
 * Asks the providers of a tenant to end its grants, and removes each grant after its provider has replied. If this is
 * interrupted, what is left can be asked for again. Resolves to the outcomes and their numbers.
 */
export async function endAllOf({ keptGrants, audit }: Operated, tenant: string, notice: NoticeSettings): Promise<AtProviders> {
  const kept = keptGrants.sealedBy(depositSeal(notice.secrets));
  const counts = { ended: 0, unsupported: 0, failed: 0 };
  const turn = turns(ASKED_AT_ONCE);
  const asked: Promise<void>[] = [];
  for await (const { principal, id, consent, about, endsAtMs } of keptGrants.list({ tenant })) {
    const ref = { principal, tenant, id };
    const end = async () => {
      const held = await kept.use(ref, { ttlMs: Math.max(READ_MS, endsAtMs - Date.now()) });
      counts[await endAtProvider(servicesOf(audit, notice), { ref, revoked: { about, text: held?.text } })] += 1;
      await kept.revoke(ref, held?.consent ?? consent);
    };
    asked.push(turn(end));
  }
  await Promise.all(asked);
  return counts;
}

/** A grant that is about to end is kept this much longer, so that it can be read. */
const READ_MS = 60_000;

/** A grant that was revoked here, and not yet at its provider. */
interface ToEnd {
  readonly ref: GrantRef;
  readonly revoked: RevokedGrant;
}

/** Revokes the grants that match, one by one. */
async function* revokeEach({ keptGrants }: Operated, filter: GrantFilter, { secrets }: NoticeSettings): AsyncGenerator<ToEnd> {
  const kept = keptGrants.sealedBy(depositSeal(secrets));
  for await (const { principal, tenant, id, consent } of keptGrants.list(filter)) {
    const ref = { principal, tenant, id };
    const revoked = await kept.revoke(ref, consent);
    if (revoked) yield { ref, revoked };
  }
}

/** Resolves to the outcomes and their numbers. Takes a grant only when its provider can be asked, so that an interruption leaves few unasked. */
async function endAtProviders({ audit }: Operated, grants: AsyncIterable<ToEnd>, notice: NoticeSettings): Promise<AtProviders> {
  const counts = { ended: 0, unsupported: 0, failed: 0 };
  const ask = async () => {
    for await (const grant of grants) {
      const outcome = await endAtProvider(servicesOf(audit, notice), grant);
      counts[outcome] += 1;
    }
  };
  await Promise.all(Array.from({ length: ASKED_AT_ONCE }, ask));
  return counts;
}

function servicesOf(audit: Operated["audit"], { providers }: NoticeSettings): Parameters<typeof endAtProvider>[0] {
  return { oauth: providers, log: onStderr, ...(audit && { audit }) };
}

function report(revoked: number, atProvider: AtProviders | undefined, json: true | undefined): void {
  if (revoked === 0) process.exitCode = 1;
  if (json) return printJson({ revoked, ...(atProvider && { atProvider }) });
  if (revoked === 0) return print("no matching grant: `parley grants list` lists them");
  print(`${counted(revoked, "grant is", "grants are")} revoked; ${atProvider ? outcomeOf(atProvider) : NOT_NOTIFIED}`);
}

const NOT_NOTIFIED = "the provider is not notified, which takes PARLEY_SECRET and PARLEY_OAUTH";

export function outcomeOf({ ended, unsupported, failed }: AtProviders): string {
  return `the provider ended ${ended} of them, offers no revocation for ${unsupported}, and could not be notified of ${failed}`;
}

function date(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
}

async function withRedis(work: (operated: Operated) => Promise<void>): Promise<void> {
  const { redis, audit } = await connectAudited(toRedisSettings(readEnvironment(redisSettings, process.env)));
  try {
    await work({ keptGrants: redis.keptGrants, audit });
  } finally {
    await redis.close();
  }
}
