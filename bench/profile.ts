/**
 * The Redis commands of one lifecycle, one by one: `node bench/profile.ts [clients] [lifecycles]`.
 *
 * It shows counts, which are the same on a busy machine, and no times. Most are commands that scripts call. What an idle deployment needs
 * (sweeps) is measured before and subtracted.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Redis } from "ioredis";
import { createClient } from "./client.ts";
import { redisStatistics } from "./cost.ts";
import { lifecycle } from "./lifecycle.ts";
import { inParallel } from "./measure.ts";
import { openStage } from "./stage.ts";

const [clients = 50, count = 2_000] = process.argv.slice(2).map(Number);
const IDLE_MS = 3_000;

type Counts = Readonly<Record<string, number>>;

async function look(redis: Redis): Promise<Counts> {
  const info = await redis.info("commandstats");
  const counts: Record<string, number> = { ...(await redisStatistics(redis)), atMs: performance.now() };
  for (const [, name, calls, usec] of info.matchAll(/^cmdstat_(\S+?):calls=(\d+),usec=(\d+)/gm)) {
    counts[`${name} calls`] = Number(calls);
    counts[`${name} µs`] = Number(usec);
  }
  return counts;
}

function difference(before: Counts, after: Counts): Counts {
  return Object.fromEntries(Object.entries(after).map(([name, value]) => [name, value - (before[name] ?? 0)]));
}

const shown: string[] = [];
const stage = await openStage(false);
try {
  const { redis, frontEnd } = stage;
  const client = createClient(`${frontEnd.url}/mcp`, clients);
  await inParallel(clients, Math.max(100, 2 * clients), () => lifecycle(client));
  await sleep(1_500);
  const idleFrom = await look(redis);
  await sleep(IDLE_MS);
  const idle = difference(idleFrom, await look(redis));
  const before = await look(redis);
  await inParallel(clients, count, () => lifecycle(client));
  const during = difference(before, await look(redis));
  client.close();
  const each = (name: string) => ((during[name] ?? 0) - ((idle[name] ?? 0) / (idle["atMs"] ?? 1)) * (during["atMs"] ?? 0)) / count;
  const show = (number: number) => number.toFixed(2).padStart(9);
  for (const name of ["redisCpuMs", "commands", "reads", "bytesIn", "bytesOut"]) shown.push(`${show(each(name))} ${name}`);
  const names = Object.keys(during).filter((name) => name.endsWith(" calls") && each(name) >= 0.01);
  for (const name of names.toSorted((one, other) => each(other) - each(one))) {
    const command = name.replace(" calls", "");
    shown.push(`${show(each(name))} × ${command.padEnd(18)} ${show(each(`${command} µs`))} µs`);
  }
} finally {
  await stage.close();
}
process.stdout.write(`${shown.join("\n")}\n`);
