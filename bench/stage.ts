/**
 * Starts everything that is measured: a Redis of its own without persistence, two front ends and a worker, the floor, and the peers.
 *
 * Front ends, worker, floor and peers share core 0, and only one of them works at a time. The load is on core 1. Redis runs on either core,
 * as the system chooses.
 */
import { join } from "node:path";
import type { Redis } from "ioredis";
import { ENVIRONMENT, missingPython } from "../test/support/python-packages.ts";
import { type Ground, type Inspected, layGround, type Served } from "./ground.ts";
import { type Measured, untilServed } from "./processes.ts";

export interface DurablePeer extends Served {
  /** For looking only. */
  readonly redis: Redis;
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
  /** On a Redis of its own. Undefined where it was not asked for, and where there is no Python to run it. */
  readonly durablePeer: DurablePeer | undefined;
  /** One more front end, with other settings. */
  startFrontEnd(settings: Readonly<Record<string, string>>, more?: { readonly inspected?: boolean }): Promise<Served & Inspected>;
  /** One more of each, with other settings if there are any. */
  startPair(settings?: Readonly<Record<string, string>>): Promise<Pair>;
  close(): Promise<void>;
}

let cpuMsOfClosed = 0;

/** CPU time of all processes of all stages that were closed, in milliseconds. */
export function cpuMsOfStages(): number {
  return cpuMsOfClosed;
}

export async function openStage(quick: boolean, { withDurablePeer = false } = {}): Promise<Stage> {
  const grounds: Ground[] = [];
  const ground = async () => {
    const laid = await layGround();
    grounds.push(laid);
    return laid;
  };
  const { redisUrl, redis, serve: serveAny } = await ground();
  const env = { PARLEY_TOOLS: new URL("./tool.ts", import.meta.url).pathname };
  const serve = (script: string, portName: string, inspected = true, settings: Readonly<Record<string, string>> = {}) =>
    serveAny({ args: [script], portName, inspected, settings: { ...env, ...settings } });
  const close = async () => {
    for (const each of grounds) cpuMsOfClosed += await each.close();
  };

  async function startDurablePeer(): Promise<DurablePeer | undefined> {
    if (!withDurablePeer) return undefined;
    const missing = await missingPython();
    if (missing !== undefined) {
      process.stderr.write(`${missing}: nothing of FastMCP and Docket is measured\n`);
      return undefined;
    }
    const { redis: own, serve: serveThere } = await ground();
    const served = await serveThere({
      command: join(ENVIRONMENT, "bin/python"),
      args: [new URL("./durable-peer/server.py", import.meta.url).pathname],
      portName: "PORT",
      inspected: false,
    });
    return { ...served, redis: own };
  }

  try {
    const frontEnd = await serve("apps/server/main.ts", "PARLEY_PORT", false);
    const otherFrontEnd = await serve("apps/server/main.ts", "PARLEY_PORT");
    const worker = await serve("apps/worker/main.ts", "NO_PORT");
    const floor = await serve("bench/floor/main.ts", "PORT");
    const peer = await serve("bench/peer/main.ts", "PORT");
    const durablePeer = await startDurablePeer();
    for (const { url } of [frontEnd, otherFrontEnd, floor, peer, ...(durablePeer ? [durablePeer] : [])]) await untilServed(`${url}/readyz`);
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
      durablePeer,
      async startFrontEnd(settings, { inspected = false } = {}) {
        const served = await serve("apps/server/main.ts", "PARLEY_PORT", inspected, settings);
        await untilServed(`${served.url}/readyz`);
        return served;
      },
      async startPair(settings) {
        const pair = {
          frontEnd: await serve("apps/server/main.ts", "PARLEY_PORT", false, settings),
          worker: await serve("apps/worker/main.ts", "PARLEY_METRICS_PORT", false, settings),
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
