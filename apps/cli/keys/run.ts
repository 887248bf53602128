/** Manages the API keys of machines. Each command can run while front ends run. */
import { type ApiKey, parseDuration } from "@parley/core";
import { newApiKey } from "@parley/identity";
import { readEnvironment } from "@parley/node";
import { connectRedis, type RedisBackend, redisSettings, toRedisSettings } from "@parley/redis";
import type { NewKey } from "./command.ts";
import { isAudited } from "../deployment/is-audited.ts";
import { onStderr } from "../terminal/on-stderr.ts";
import { print, printJson } from "../terminal/terminal.ts";
import { listed } from "../terminal/listed.ts";

const NAME = /^[\w.@:/-]{1,128}$/;
const TENANT = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
/** RFC 6749, 3.3. */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]{1,256}$/;
const SCOPES_MAX = 64;

export async function createKey(name: string, { scopes: list, tenant, expires, json }: NewKey): Promise<void> {
  const scopes = [...new Set(listed(list))];
  if (!NAME.test(name)) throw new Error(`the name must be 1 to 128 of A-Z a-z 0-9 . _ - @ : /, not ${JSON.stringify(name)}`);
  if (!TENANT.test(tenant)) throw new Error(`--tenant must be 1 to 64 of A-Z a-z 0-9 . _ -, not ${JSON.stringify(tenant)}`);
  if (scopes.length === 0 || scopes.length > SCOPES_MAX || !scopes.every((scope) => SCOPE.test(scope))) {
    throw new Error(`--scopes must be 1 to ${SCOPES_MAX} scopes, separated by commas: tools,tasks,asks`);
  }
  const lifeMs = expires === undefined ? undefined : parseDuration(expires);
  if (lifeMs === 0) throw new Error("--expires must be longer than 0");
  await withRedis(async ({ apiKeys, audit, now }, isRecorded) => {
    const { id, key, digest } = newApiKey();
    const createdAtMs = now();
    const expiry = lifeMs === undefined ? {} : { expiresAtMs: createdAtMs + lifeMs };
    await apiKeys.add({ id, digest, name, tenant, scopes, createdAtMs, ...expiry });
    if (isRecorded) await audit.note({ action: "keys", tenant, verdict: `API key ${id} made for ${name}` });
    if (json) return printJson({ id, key, name, tenant, scopes, createdAtMs, ...expiry });
    process.stderr.write(`${id} for ${name}, tenant ${tenant}, ${scopes.join(" ")}, ${until(expiry)}; shown only now:\n`);
    process.stdout.write(`${key}\n`);
  });
}

export async function listKeys({ json }: { readonly json?: true }): Promise<void> {
  await withRedis(async ({ apiKeys, now }) => {
    for (const key of await apiKeys.list()) {
      const { digest: _, ...shown } = key;
      const isExpired = (key.expiresAtMs ?? Infinity) <= now();
      const line = `${key.id}  ${key.name}  ${key.tenant}  ${key.scopes.join(" ")}  made ${date(key.createdAtMs)}, ${isExpired ? "EXPIRED" : until(key)}`;
      if (json) printJson(shown);
      else print(line);
    }
  });
}

export async function revokeKey(id: string, { json }: { readonly json?: true }): Promise<void> {
  await withRedis(async ({ apiKeys, audit }, isRecorded) => {
    const revoked = await apiKeys.revoke(id);
    if (!revoked) throw new Error(`there is no API key ${JSON.stringify(id)}: \`parley keys list\` shows their ids`);
    if (isRecorded) await audit.note({ action: "keys", tenant: revoked.tenant, verdict: `API key ${id} of ${revoked.name} revoked` });
    if (json) return printJson({ id, name: revoked.name, tenant: revoked.tenant, revoked: true });
    process.stdout.write(`${id} of ${revoked.name} is revoked; front ends that used it recently accept it for up to 5 more seconds\n`);
  });
}

function until({ expiresAtMs }: Pick<ApiKey, "expiresAtMs">): string {
  return expiresAtMs === undefined ? "does not expire" : `until ${date(expiresAtMs)}`;
}

function date(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
}

async function withRedis(work: (redis: RedisBackend, isRecorded: boolean) => Promise<void>): Promise<void> {
  const settings = toRedisSettings(readEnvironment(redisSettings, process.env));
  const redis = await connectRedis(settings, { log: onStderr });
  try {
    await work(redis, await isAudited(redis, settings.audit));
  } finally {
    await redis.close();
  }
}
