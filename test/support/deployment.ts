/** What production looks like, on one machine: front ends behind a proxy without affinity, workers, one Redis. */
import { type FrontEnd, type Launched, startFrontEnd, startWorkerProcess } from "./processes.ts";
import { type Proxy, startProxy } from "./proxy.ts";
import { openTestRedis, type TestRedis } from "./redis.ts";

export interface Deployment {
  /** The MCP endpoint behind the proxy. */
  readonly url: string;
  readonly proxy: Proxy;
  readonly frontEnds: readonly FrontEnd[];
  readonly workers: readonly Launched[];
  readonly redis: TestRedis;
  /** One more worker, for the place of one that was killed. */
  addWorker(): Promise<Launched>;
  close(): Promise<void>;
}

export interface DeploymentOptions {
  readonly frontEnds?: number;
  readonly workers?: number;
  /** Paths of tool modules; the gallery when absent. */
  readonly tools?: readonly string[];
  readonly redisUrl?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** For front ends alone. */
  readonly frontEndEnv?: Readonly<Record<string, string>>;
  /** For workers alone. */
  readonly workerEnv?: Readonly<Record<string, string>>;
}

export async function startDeployment({
  frontEnds = 2,
  workers = 2,
  tools,
  redisUrl,
  env: extra,
  frontEndEnv,
  workerEnv,
}: DeploymentOptions = {}): Promise<Deployment> {
  const redis = openTestRedis(redisUrl);
  const env = {
    REDIS_URL: redis.url,
    PARLEY_PREFIX: redis.prefix,
    ...(tools && { PARLEY_TOOLS: tools.join(",") }),
    ...extra,
  };
  const running: Launched[] = [];
  const keep = <Process extends Launched>(launched: Process): Process => {
    running.push(launched);
    return launched;
  };
  const times = (count: number) => Array.from({ length: count });
  try {
    const [fronts, backs] = await Promise.all([
      Promise.all(times(frontEnds).map(async () => keep(await startFrontEnd({ ...env, ...frontEndEnv })))),
      Promise.all(times(workers).map(async () => keep(await startWorkerProcess({ ...env, ...workerEnv })))),
    ]);
    const proxy = await startProxy(fronts.map(({ url }) => url));
    return {
      url: `${proxy.url}/mcp`,
      proxy,
      frontEnds: fronts,
      workers: backs,
      redis,
      addWorker: async () => keep(await startWorkerProcess({ ...env, ...workerEnv })),
      async close() {
        await proxy.close();
        await Promise.all(running.map((each) => each.kill()));
        await redis.close();
      },
    };
  } catch (error) {
    await Promise.all(running.map((each) => each.kill()));
    await redis.close();
    throw error;
  }
}
