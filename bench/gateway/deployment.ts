/**
 * A Redis of its own without persistence, a front end and a worker on core 0, and the upstream behind them on core 1, where the load is as well.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import { freePort, launch, type Measured, untilServed } from "../processes.ts";

export interface GatewayDeployment {
  /** MCP endpoints. */
  readonly url: string;
  readonly upstreamUrl: string;
  readonly worker: Measured & { readonly inspectorPort: number };
  readonly redis: Redis;
  /** Sessions that are open at the upstream. */
  openSessions(): Promise<number>;
  close(): Promise<void>;
}

/** Calls that one worker may hold here: as many as are measured. */
export const CALLS_MAX = 5_000;

export async function startGateway(frontEndEnv: Readonly<Record<string, string>> = {}): Promise<GatewayDeployment> {
  const running: Measured[] = [];
  const directory = mkdtempSync(join(tmpdir(), "parley-bench-"));
  const [redisPort, upstreamPort, frontEndPort, inspectorPort] = await Promise.all([freePort(), freePort(), freePort(), freePort()]);
  const redisUrl = `redis://127.0.0.1:${redisPort}`;
  const on = (core: number) => (cpus().length > 1 ? { core } : {});
  const start = (...[request]: Parameters<typeof launch>) => {
    const launched = launch(request);
    running.push(launched);
    return launched;
  };
  start({
    command: "redis-server",
    args: ["--port", String(redisPort), "--save", "", "--appendonly", "no", "--maxmemory-policy", "noeviction"],
  });
  const redis = new Redis(redisUrl);
  redis.on("error", () => undefined); // it is still starting; the next command waits for it
  const close = async () => {
    redis.disconnect();
    for (const each of running.toReversed()) await each.stop();
    rmSync(directory, { recursive: true });
  };
  const upstreamOrigin = `http://127.0.0.1:${upstreamPort}`;
  const file = join(directory, "parley.upstreams.json");
  const upstream = { name: "up", url: `${upstreamOrigin}/mcp`, concurrency: CALLS_MAX, connectTimeout: "60s" };
  writeFileSync(file, JSON.stringify({ upstreams: [upstream] }));
  const env = {
    REDIS_URL: redisUrl,
    PARLEY_TOOLS: new URL("../tool.ts", import.meta.url).pathname,
    PARLEY_LOG_LEVEL: "error",
    PARLEY_UPSTREAMS: file,
  };
  const limits = {
    PARLEY_UPSTREAM_CALLS_MAX: String(CALLS_MAX),
    PARLEY_ELICITATIONS_MAX: String(CALLS_MAX),
    PARLEY_ELICITATIONS_PRINCIPAL_MAX: String(CALLS_MAX),
    PARLEY_DRAIN_TIMEOUT: "1s",
  };
  try {
    await redis.ping();
    const node = process.execPath;
    start({ command: node, args: ["bench/gateway/upstream.ts"], env: { PORT: String(upstreamPort) }, ...on(1) });
    start({ command: node, args: ["apps/server/main.ts"], env: { ...env, ...frontEndEnv, PARLEY_PORT: String(frontEndPort) }, ...on(0) });
    const inspect = [`--inspect=127.0.0.1:${inspectorPort}`, "--inspect-publish-uid=http"];
    const worker = start({ command: node, args: [...inspect, "apps/worker/main.ts"], env: { ...env, ...limits }, ...on(0) });
    const origin = `http://127.0.0.1:${frontEndPort}`;
    await Promise.all([untilServed(`${upstreamOrigin}/readyz`), untilServed(`${origin}/readyz`)]);
    await untilListed(redis);
    return {
      url: `${origin}/mcp`,
      upstreamUrl: `${upstreamOrigin}/mcp`,
      worker: { ...worker, inspectorPort },
      redis,
      openSessions: async () => Number(await (await fetch(`${upstreamOrigin}/sessions`)).text()),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Front ends offer what the worker has listed. */
async function untilListed(redis: Redis): Promise<void> {
  const giveUpAt = Date.now() + 30_000;
  while ((await redis.exists("parley:gateway:lists")) === 0) {
    if (Date.now() > giveUpAt) throw new Error("the upstream was not listed");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  await new Promise((resolve) => setTimeout(resolve, 500));
}
