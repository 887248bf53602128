/** A front end, a worker and Redis on core 0. The upstream and the load are on core 1. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Redis } from "ioredis";
import { type Inspected, layGround } from "../ground.ts";
import { type Measured, untilServed } from "../processes.ts";

export interface GatewayDeployment {
  /** MCP endpoints. */
  readonly url: string;
  readonly upstreamUrl: string;
  readonly frontEnd: Measured;
  readonly worker: Inspected;
  readonly upstream: Measured;
  readonly redis: Redis;
  /** Sessions that are open at the upstream. */
  openSessions(): Promise<number>;
  /** HTTP requests that the upstream has had from clients. */
  requests(): Promise<number>;
  close(): Promise<void>;
}

/** Calls that one worker may hold here: as many as are measured. */
export const CALLS_MAX = 5_000;

export async function startGateway(frontEndEnv: Readonly<Record<string, string>> = {}): Promise<GatewayDeployment> {
  const directory = mkdtempSync(join(tmpdir(), "parley-bench-"));
  const ground = await layGround({ redisCore: 0 });
  const close = async () => {
    await ground.close();
    rmSync(directory, { recursive: true });
  };
  const file = join(directory, "parley.upstreams.json");
  const settings = { PARLEY_TOOLS: new URL("tools.ts", import.meta.url).pathname, PARLEY_UPSTREAMS: file };
  const limits = {
    PARLEY_UPSTREAM_CALLS_MAX: String(CALLS_MAX),
    PARLEY_ELICITATIONS_MAX: String(CALLS_MAX),
    PARLEY_ELICITATIONS_PRINCIPAL_MAX: String(CALLS_MAX),
    PARLEY_ELICITATIONS_SESSION_MAX: String(CALLS_MAX),
    PARLEY_DRAIN_TIMEOUT: "1s",
  };
  try {
    const upstream = await ground.serve({ args: ["bench/gateway/upstream.ts"], portName: "PORT", inspected: false, core: 1 });
    const entry = { url: `${upstream.url}/mcp`, concurrency: CALLS_MAX, connectTimeout: "60s" };
    const upstreams = [
      { ...entry, name: "up" },
      { ...entry, name: "again", reuseSessions: "stateless" },
      { ...entry, name: "taskless", reuseSessions: "stateless", taskless: true, repeatable: true },
    ];
    writeFileSync(file, JSON.stringify({ upstreams }));
    await untilServed(`${upstream.url}/readyz`);
    const frontEnd = await ground.serve({
      args: ["apps/server/main.ts"],
      portName: "PARLEY_PORT",
      inspected: false,
      settings: { ...settings, ...frontEndEnv },
    });
    const worker = await ground.serve({ args: ["apps/worker/main.ts"], portName: "NO_PORT", settings: { ...settings, ...limits } });
    await untilServed(`${frontEnd.url}/readyz`);
    await untilListed(ground.redis);
    return {
      url: `${frontEnd.url}/mcp`,
      upstreamUrl: `${upstream.url}/mcp`,
      frontEnd,
      worker,
      upstream,
      redis: ground.redis,
      openSessions: async () => Number(await (await fetch(`${upstream.url}/sessions`)).text()),
      requests: async () => Number(await (await fetch(`${upstream.url}/requests`)).text()),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Front ends offer what the worker has listed, as soon as they have heard of it. */
async function untilListed(redis: Redis): Promise<void> {
  const giveUpAt = Date.now() + 30_000;
  while ((await redis.hlen("parley:gateway:lists")) < 6) {
    if (Date.now() > giveUpAt) throw new Error("the upstreams were not listed");
    await sleep(50);
  }
  await sleep(500);
}
