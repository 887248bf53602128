/**
 * Everything that is measured, running: a Redis of its own without persistence, two front ends and a worker, the floor, and the peer.
 *
 * Front ends, worker, floor and peer share core 0; only one side has work at a time. The load is on core 1; Redis runs where the system
 * puts it.
 */
import { cpus } from "node:os";
import { Redis } from "ioredis";
import { freePort, launch, type Measured, untilServed } from "./processes.ts";

export interface Served extends Measured {
  /** Without a path. */
  readonly url: string;
}

export interface Inspected extends Measured {
  readonly inspectorPort: number;
}

/** Of a deployment that is larger than others. */
export interface Pair {
  readonly frontEnd: Served;
  readonly worker: Measured;
}

export interface Stage {
  readonly quick: boolean;
  /** A tenth of `count` in a quick run. */
  some(count: number): number;
  readonly redisUrl: string;
  /** For looking only. */
  readonly redis: Redis;
  readonly frontEnd: Served;
  /** Another replica of it. */
  readonly otherFrontEnd: Served & Inspected;
  readonly worker: Inspected;
  readonly floor: Served & Inspected;
  readonly peer: Served & Inspected;
  /** One more front end, with other settings. */
  startFrontEnd(settings: Readonly<Record<string, string>>): Promise<Served>;
  /** One more of each. */
  startPair(): Promise<Pair>;
  close(): Promise<void>;
}

let cpuMsOfClosed = 0;

/** CPU time of all processes of all stages that were closed, in milliseconds. */
export function cpuMsOfStages(): number {
  return cpuMsOfClosed;
}

const node = process.execPath;
const serverCore = cpus().length > 1 ? { core: 0 } : {};

export async function openStage(quick: boolean): Promise<Stage> {
  const running: Measured[] = [];
  const start = (request: Parameters<typeof launch>[0]) => {
    const launched = launch(request);
    running.push(launched);
    return launched;
  };
  const redisPort = await freePort();
  const redisUrl = `redis://127.0.0.1:${redisPort}`;
  start({
    command: "redis-server",
    args: ["--port", String(redisPort), "--save", "", "--appendonly", "no", "--maxmemory-policy", "noeviction"],
  });
  const redis = new Redis(redisUrl);
  redis.on("error", () => undefined); // it is still starting; the next command waits for it
  const close = async () => {
    redis.disconnect();
    for (const each of running) cpuMsOfClosed += each.cpuMs();
    for (const each of running.toReversed()) await each.stop();
  };

  const env = { REDIS_URL: redisUrl, PARLEY_TOOLS: new URL("./tool.ts", import.meta.url).pathname, PARLEY_LOG_LEVEL: "error" };
  async function serve(script: string, portName: string, inspected = true, settings = {}): Promise<Served & Inspected> {
    const [port, inspectorPort] = [await freePort(), await freePort()];
    const inspect = inspected ? [`--inspect=127.0.0.1:${inspectorPort}`, "--inspect-publish-uid=http"] : [];
    const launched = start({
      command: node,
      args: [...inspect, script],
      env: { ...env, ...settings, [portName]: String(port) },
      ...serverCore,
    });
    return { ...launched, url: `http://127.0.0.1:${port}`, inspectorPort };
  }

  try {
    await redis.ping();
    const frontEnd = await serve("apps/server/main.ts", "PARLEY_PORT", false);
    const otherFrontEnd = await serve("apps/server/main.ts", "PARLEY_PORT");
    const worker = await serve("apps/worker/main.ts", "NO_PORT");
    const floor = await serve("bench/floor/main.ts", "PORT");
    const peer = await serve("bench/peer/main.ts", "PORT");
    for (const { url } of [frontEnd, otherFrontEnd, floor, peer]) await untilServed(`${url}/readyz`);
    return {
      quick,
      some: (count) => Math.ceil(quick ? count / 10 : count),
      redisUrl,
      redis,
      frontEnd,
      otherFrontEnd,
      worker,
      floor,
      peer,
      async startFrontEnd(settings) {
        const served = await serve("apps/server/main.ts", "PARLEY_PORT", false, settings);
        await untilServed(`${served.url}/readyz`);
        return served;
      },
      async startPair() {
        const pair = {
          frontEnd: await serve("apps/server/main.ts", "PARLEY_PORT", false),
          worker: await serve("apps/worker/main.ts", "PARLEY_METRICS_PORT", false),
        };
        for (const { url } of [pair.frontEnd, pair.worker]) await untilServed(`${url}/readyz`);
        return pair;
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
