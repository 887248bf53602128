/** Sends equal requests over ten connections, each of which waits for its answer, and counts the answers. */
import autocannon from "autocannon";
import type { Redis } from "ioredis";
import type { Figures } from "./benchmark.ts";
import type { Message } from "./client.ts";
import { redisStatistics } from "./cost.ts";
import type { Measured } from "./processes.ts";

export interface Flood {
  readonly redis?: Redis;
  readonly process: Measured;
  readonly url: string;
  readonly message: Message;
  readonly seconds: number;
}

/** Rates, and what a request costs. A rate per second of CPU is what a core could do, also when others take part of it meanwhile. */
export async function flood({ redis, process, url, message: { headers, body }, seconds }: Flood): Promise<Figures> {
  const cpuBefore = process.cpuMs();
  const before: Figures = redis ? await redisStatistics(redis) : {};
  const { requests, non2xx, errors } = await autocannon({
    url,
    method: "POST",
    headers: { ...headers },
    body,
    connections: 10,
    duration: seconds,
  });
  if (non2xx + errors > 0) throw new Error(`${non2xx + errors} replies of ${url} were no success`);
  const after: Figures = redis ? await redisStatistics(redis) : {};
  const cpuMs = process.cpuMs() - cpuBefore;
  const redisPart = Object.entries(after).map(([name, value]) => [name, (value - (before[name] ?? 0)) / requests.total]);
  return {
    perSecond: requests.average,
    perCpuSecond: (requests.total / cpuMs) * 1_000,
    cpuMs: cpuMs / requests.total,
    ...(Object.fromEntries(redisPart) as Figures),
  };
}
