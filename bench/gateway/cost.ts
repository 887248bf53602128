/** What a call costs each process, in figures that a busy machine changes little: CPU time, Redis commands, HTTP requests at the upstream. */
import { setTimeout as sleep } from "node:timers/promises";
import { redisStatistics } from "../cost.ts";
import { openSession, type Session } from "../session.ts";
import type { GatewayDeployment } from "./deployment.ts";
import { type Calls, callOnce } from "./latency.ts";

/** Each for one call, in milliseconds of CPU, commands and requests. */
export interface Cost {
  readonly frontEndMs: number;
  readonly workerMs: number;
  readonly upstreamMs: number;
  readonly redisMs: number;
  readonly commands: number;
  readonly requests: number;
}

export type Side = "direct" | "own" | "gateway" | "again" | "taskless";

/** What is put off until it is quiet, such as closing a session, is counted to its call. */
const REST_MS = 1_000;
const IDLE_MS = 5_000;

export async function callCosts(
  deployment: GatewayDeployment,
  tool: "plain" | "ask",
  { measured: calls, warmUp }: Calls,
): Promise<Readonly<Record<Side, Cost>>> {
  const { url, upstreamUrl } = deployment;
  const [direct, gateway] = await Promise.all([openSession({ url: upstreamUrl }), openSession({ url })]);
  const idleSince = await look(deployment);
  await sleep(IDLE_MS);
  const idle = difference(idleSince, await look(deployment), (value) => value / IDLE_MS);

  async function measured(session: Session, name: string): Promise<Cost> {
    for (let done = 0; done < warmUp; done += 1) await callOnce(session, name);
    await sleep(REST_MS);
    const startedMs = performance.now();
    const before = await look(deployment);
    for (let done = 0; done < calls; done += 1) await callOnce(session, name);
    await sleep(REST_MS);
    const after = await look(deployment);
    const tookMs = performance.now() - startedMs;
    return difference(before, after, (value, field) => Math.max(0, (value - idle[field] * tookMs) / calls));
  }

  try {
    return {
      direct: await measured(direct, tool),
      own: await measured(gateway, `own_${tool}`),
      gateway: await measured(gateway, `up_${tool}`),
      again: await measured(gateway, `again_${tool}`),
      taskless: await measured(gateway, `taskless_${tool}`),
    };
  } finally {
    direct.close();
    gateway.close();
  }
}

async function look({ frontEnd, worker, upstream, redis, requests }: GatewayDeployment): Promise<Cost> {
  const { redisCpuMs, commands } = await redisStatistics(redis);
  return {
    frontEndMs: frontEnd.cpuMs(),
    workerMs: worker.cpuMs(),
    upstreamMs: upstream.cpuMs(),
    redisMs: redisCpuMs,
    commands,
    requests: await requests(),
  };
}

function difference(before: Cost, after: Cost, each: (value: number, field: keyof Cost) => number): Cost {
  const fields = Object.keys(after) as (keyof Cost)[];
  return Object.fromEntries(fields.map((field) => [field, each(after[field] - before[field], field)])) as unknown as Cost;
}
