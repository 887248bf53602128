/** A connection to a real cluster of three masters, of which one hangs, or all do. */
import { execFileSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Redis } from "ioredis";
import { afterAll, beforeAll, expect, test } from "vitest";
import { until } from "../../test/support/until.ts";
import { startCluster } from "../../test/topologies/cluster.ts";
import type { Topology } from "../../test/topologies/topology.ts";
import { openConnection } from "./connect.ts";

const WITHIN_MS = 500;
const AT_ONCE = 600;
const ROUNDS = 5;

/** Why no cluster can run here; undefined if one can. */
function lacking(): string | undefined {
  try {
    for (const command of ["redis-cli", "redis-server"]) execFileSync(command, ["--version"]);
    return undefined;
  } catch {
    return "no redis-server and redis-cli";
  }
}

const why = lacking();
let directory: string;
let cluster: Topology;
let masters: readonly Redis[];
let redis: Redis;

beforeAll(async () => {
  if (why) return;
  directory = await mkdtemp(join(tmpdir(), "parley-connect-"));
  cluster = await startCluster(directory, { nodeTimeoutMs: 60_000 });
  masters = await cluster.open();
  for (const master of masters) master.on("error", () => undefined);
  const log = { debug() {}, info() {}, warn() {}, error() {} };
  const options = { commandTimeout: WITHIN_MS, socketTimeout: WITHIN_MS, maxRetriesPerRequest: null };
  redis = openConnection(cluster.url, { log, name: "commands", options });
});

afterAll(async () => {
  if (why) return;
  for (const each of [redis, ...masters]) each.disconnect();
  await cluster.close();
  await rm(directory, { recursive: true, force: true, maxRetries: 5 });
});

async function manyTimeOut(key: string): Promise<void> {
  for (let round = 0; round < ROUNDS; round += 1) {
    const sent = await Promise.allSettled(Array.from({ length: AT_ONCE }, () => redis.set(key, "x")));
    expect(new Set(sent.map((each) => each.status === "rejected" && String(each.reason)))).toEqual(new Set(["Error: Command timed out"]));
  }
}

async function setsAt(...nodes: readonly Redis[]): Promise<number> {
  const stats = await Promise.all(nodes.map((node) => node.info("commandstats")));
  return stats.reduce((sets, each) => sets + Number(/cmdstat_set:calls=(\d+)/.exec(each)?.[1] ?? 0), 0);
}

/** Stops the processes of masters while `work` runs. */
async function whileHung(hung: readonly Redis[], work: () => Promise<void>): Promise<void> {
  const pids = await Promise.all(hung.map(async (each) => Number(/process_id:(\d+)/.exec(await each.info("server"))?.[1])));
  for (const each of hung) await each.config("RESETSTAT");
  for (const pid of pids) process.kill(pid, "SIGSTOP");
  try {
    await work();
  } finally {
    for (const pid of pids) process.kill(pid, "SIGCONT");
  }
  await until(() => redis.set("back", "x").catch(() => undefined));
}

test.skipIf(why)("commands to a master that hangs time out, and those that did are not sent again when it is back", async () => {
  const [hung] = masters as [Redis];
  for (let n = 0; n < 50; n += 1) await redis.set(`k${n}`, "x");
  const [key = ""] = await hung.keys("*");
  await whileHung([hung], () => manyTimeOut(key));
  await until(() => redis.set(key, "back").catch(() => undefined));
  // The server had received the first ones.
  expect(await setsAt(hung)).toBeLessThan(2 * AT_ONCE);
});

test.skipIf(why)("commands to a cluster that is away time out, do not fill the memory, and are not sent when it is back", async () => {
  await whileHung(masters, async () => {
    await until(async () => (await redis.get("k").catch(() => undefined)) === undefined && redis.status !== "ready");
    await manyTimeOut("k");
    const { offlineQueue } = redis as unknown as { readonly offlineQueue: { readonly length: number } };
    expect(offlineQueue.length).toBeLessThanOrEqual(2 * AT_ONCE);
  });
  expect(await setsAt(...masters)).toBeLessThan(AT_ONCE / 10);
});
