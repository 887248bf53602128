/** The basis of every measurement: a Redis of its own without persistence, and processes that are pinned to a core and end with it. */
import { cpus } from "node:os";
import { Redis } from "ioredis";
import { freePorts } from "../test/support/free-ports.ts";
import { type Launch, launch, type Measured } from "./processes.ts";

export interface Served extends Measured {
  /** Without a path. */
  readonly url: string;
}

export interface Inspected extends Measured {
  readonly inspectorPort: number;
}

/** A process that serves, or works, at that Redis. */
export interface Serve {
  /** Node unless said otherwise. */
  readonly command?: string;
  readonly args: readonly string[];
  /** The setting that takes its port. */
  readonly portName: string;
  /** By Node's inspector, which others do not have; true unless said otherwise. */
  readonly inspected?: boolean;
  readonly settings?: Readonly<Record<string, string>>;
  /** 0 unless said otherwise: front ends, workers and what they are compared with share that one. */
  readonly core?: number;
}

export interface Ground {
  readonly redisUrl: string;
  /** For looking only. */
  readonly redis: Redis;
  serve(request: Serve): Promise<Served & Inspected>;
  /** Ends all of it, and returns the CPU time that its processes have used, in milliseconds. */
  close(): Promise<number>;
}

/** Resolves when Redis serves. `redisCore`: the core that Redis may use; any if absent. */
export async function layGround({ redisCore }: { readonly redisCore?: number } = {}): Promise<Ground> {
  const running: Measured[] = [];
  const start = (request: Launch) => {
    const launched = launch(request);
    running.push(launched);
    return launched;
  };
  const [redisPort = 0] = await freePorts(1);
  const redisUrl = `redis://127.0.0.1:${redisPort}`;
  start({
    command: "redis-server",
    args: ["--port", String(redisPort), "--save", "", "--appendonly", "no", "--maxmemory-policy", "noeviction"],
    ...(redisCore !== undefined && cpus().length > 1 && { core: redisCore }),
  });
  const redis = new Redis(redisUrl);
  redis.on("error", () => undefined); // it is still starting; the next command waits for it
  const close = async () => {
    redis.disconnect();
    // One that did not start has used none.
    const cpuMs = running.filter(({ isRunning }) => isRunning()).reduce((sum, each) => sum + each.cpuMs(), 0);
    for (const each of running.toReversed()) await each.stop();
    return cpuMs;
  };
  const env = { REDIS_URL: redisUrl, PARLEY_LOG_LEVEL: "error" };
  try {
    await redis.ping();
  } catch (error) {
    await close();
    throw error;
  }
  return {
    redisUrl,
    redis,
    async serve({ command = process.execPath, args, portName, inspected = true, settings = {}, core = 0 }) {
      const [port = 0, inspectorPort = 0] = await freePorts(2);
      const inspect = inspected ? [`--inspect=127.0.0.1:${inspectorPort}`, "--inspect-publish-uid=http"] : [];
      const launched = start({
        command,
        args: [...inspect, ...args],
        env: { ...env, ...settings, [portName]: String(port) },
        ...(cpus().length > 1 && { core }),
      });
      return { ...launched, url: `http://127.0.0.1:${port}`, inspectorPort };
    },
    close,
  };
}
