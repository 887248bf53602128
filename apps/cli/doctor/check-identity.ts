/** The checks of `parley doctor --auth`: whether the providers respond, and whether the server would accept a token. The token is never printed. */
import { type ApiKey, CLIENT_SCOPES, lackedScopes, ParleyError } from "@parley/core";
import {
  createIdentity,
  type Identity,
  identityEnvironment,
  identityProblems,
  identitySettings,
  type IdentitySettings,
} from "@parley/identity";
import { readEnvironment, SettingsError } from "@parley/node";
import { connectRedis, redisSettings, toRedisSettings } from "@parley/redis";
import { z } from "zod";
import type { Finding } from "./run.ts";
import { counted } from "../terminal/counted.ts";

const SILENT = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

/** `token` is the access token as a client sends it. */
export async function checkIdentity(given: NodeJS.ProcessEnv, token?: string): Promise<Finding[]> {
  const about = "identity";
  let environment: z.output<z.ZodObject<typeof identityEnvironment>>;
  try {
    environment = readEnvironment(z.object(identityEnvironment), given);
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    return error.problems.map((says) => ({ level: "problem", about, says, cure: ".env.example describes every setting." }));
  }
  const problems = identityProblems(environment, given["PARLEY_HOST"] || "127.0.0.1");
  if (problems.length > 0)
    return problems.map((says) => ({ level: "problem", about, says, cure: "docs/security.md shows how to set it up." }));
  const settings = identitySettings(environment);
  if (!settings) {
    const says = "none is required: anyone who can reach the port can see and answer everything";
    return [{ level: "advice", about, says, cure: "Set PARLEY_AUTH=required before others can reach it." }];
  }
  const apiKeys = { find: async (id: string) => await findApiKey(id, given) };
  const identity = createIdentity(settings, { log: SILENT, now: Date.now, elapsedMs: () => performance.now(), apiKeys });
  const audiences = `tokens must be for ${settings.audiences.join(" or ")} and nothing else`;
  return [
    { level: "fine", about, says: settings.issuers.length > 0 ? audiences : "only API keys, no tokens" },
    ...(await Promise.all(settings.issuers.map(async ({ name }) => await provider(identity, name)))),
    ...(token === undefined ? [] : await judged(identity, settings, token)),
  ];
}

async function findApiKey(id: string, given: NodeJS.ProcessEnv): Promise<ApiKey | undefined> {
  if (!given["REDIS_URL"]) throw new ParleyError("UNAVAILABLE", "API keys are looked up in Redis: set REDIS_URL");
  const redis = await connectRedis(toRedisSettings(readEnvironment(redisSettings, given)), { log: SILENT });
  try {
    return await redis.apiKeys.find(id);
  } finally {
    await redis.close();
  }
}

async function provider(identity: Identity, issuer: string): Promise<Finding> {
  const about = "provider";
  try {
    const keys = await identity.fetchKeys(issuer);
    return { level: "fine", about, says: `${issuer} publishes ${counted(keys, "key")}` };
  } catch (error) {
    return refused(about, error);
  }
}

async function judged(identity: Identity, { scopePrefix }: IdentitySettings, token: string): Promise<Finding[]> {
  const about = "token";
  try {
    const {
      principal,
      tenant,
      names,
      scopes,
      groups,
      roles,
      client,
      expiresAtMs = Infinity,
    } = await identity.identify({
      rawHeaders: ["authorization", `Bearer ${token}`],
      url: "/mcp",
      address: undefined,
    });
    const minutes = Math.floor((expiresAtMs - Date.now()) / 60_000);
    const facts = {
      names,
      tenant,
      principal,
      ...(client !== undefined && { client }),
      scopes,
      ...(groups.length > 0 && { groups }),
      ...(roles.length > 0 && { roles }),
    };
    const lacked = lackedScopes(scopes, CLIENT_SCOPES);
    return [
      { level: "fine", about, says: `accepted for ${minutes} min more: ${JSON.stringify(facts)}` },
      ...lacked.map((scope): Finding => {
        const cure = `Have the client ask for ${scopePrefix}${scope}, and the provider grant it.`;
        return { level: "advice", about, says: `it has no scope ${scope}`, cure };
      }),
    ];
  } catch (error) {
    return [refused(about, error)];
  }
}

function refused(about: string, error: unknown): Finding {
  if (!(error instanceof ParleyError)) throw error;
  return { level: "problem", about, says: `${error.message} (${error.code})`, cure: error.hint };
}
