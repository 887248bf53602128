/** Checks tools for `parley doctor`: finds waiting tasks that need a tool which is not here, or a version which no worker serves. */
import type { CallFacts } from "@parley/core";
import { readEnvironment } from "@parley/node";
import { connectRedis, type RedisBackend, redisSettings, toRedisSettings } from "@parley/redis";
import type { Finding } from "./run.ts";
import { counted } from "../terminal/counted.ts";

/** Maximum number of waiting tasks to check. */
export const LOOKED_AT_MAX = 20_000;

/** Whether the modules, or the upstreams, have this tool or prompt. */
export type HasTool = (call: Pick<CallFacts, "kind" | "name">) => boolean;

/** Returns nothing if Redis cannot be used: another check reports that. */
export async function versionFindings(environment: NodeJS.ProcessEnv, has: HasTool): Promise<Finding[]> {
  const nothing = () => undefined;
  let redis: RedisBackend;
  try {
    redis = await connectRedis(toRedisSettings(readEnvironment(redisSettings, environment)), {
      log: { debug: nothing, info: nothing, warn: nothing, error: nothing },
    });
  } catch {
    return [];
  }
  try {
    return await unserved(redis, has);
  } finally {
    await redis.close();
  }
}

export interface Deployment extends Pick<RedisBackend, "waiting" | "partitions"> {
  readonly serving: Pick<RedisBackend["serving"], "list">;
}

export async function unserved({ serving, waiting, partitions }: Deployment, has: HasTool): Promise<Finding[]> {
  const about = "versions";
  const served = await serving.list();
  const isServed = new Set(served.map(({ tool, version }) => `${tool} ${version}`));
  const counts = new Map<string, number>();
  const absent = new Map<string, number>();
  let looked = 0;
  for (const partition of partitions) {
    for await (const batch of waiting(partition)) {
      for (const { call } of batch.slice(0, LOOKED_AT_MAX - looked)) {
        const which = `${call.name} ${call.version ?? ""}`;
        const what = `${call.kind} ${call.name}`;
        if (!has(call)) absent.set(what, (absent.get(what) ?? 0) + 1);
        else if (call.version !== undefined && !isServed.has(which)) counts.set(which, (counts.get(which) ?? 0) + 1);
      }
      looked += batch.length;
      if (looked >= LOOKED_AT_MAX) break;
    }
    if (looked >= LOOKED_AT_MAX) break;
  }
  const missing = [...counts].map(([which, count]): Finding => {
    const [tool = "", version = ""] = which.split(" ");
    return {
      level: "advice",
      about,
      says: `${counted(count, "waiting task needs", "waiting tasks need")} version ${version} of ${tool}, which no worker serves`,
      cure: "Serve it beside the newest version until they have ended; otherwise they move to the newest version or fail (PARLEY_MISSING_VERSION, after PARLEY_MISSING_VERSION_TIMEOUT).",
    };
  });
  missing.push(...[...absent].map(([what, count]) => withoutTool(what, count)));
  if (missing.length > 0 || served.length === 0) return missing;
  return [{ level: "fine", about, says: served.map(({ tool, version }) => `${tool} ${version}`).join(", ") }];
}

function withoutTool(what: string, count: number): Finding {
  return {
    level: "advice",
    about: "tools",
    says: `${counted(count, "waiting task needs", "waiting tasks need")} the ${what}, which PARLEY_TOOLS does not have here`,
    cure: "Add its module, or make sure that other workers have it. Workers without it put such tasks back; after PARLEY_MISSING_TOOL_TIMEOUT they fail.",
  };
}
