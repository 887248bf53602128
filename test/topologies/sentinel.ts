/**
 * One master, one replica, three sentinels. An outage kills the master; the replica takes its place, and the old master comes back as its
 * replica.
 *
 * Replication is asynchronous: what a master acknowledged a moment before it died may not have reached its replica, and is lost with it. On
 * one machine that moment is a fraction of a millisecond; across machines it is the network's. `WAIT` after each write would shorten it and
 * not close it: a replica that never got the write may be the one that is promoted.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";
import { until } from "../support/until.ts";
import { freePorts } from "./free-ports.ts";
import { type RedisProcess, startRedis } from "./redis-process.ts";
import type { Topology } from "./topology.ts";

const NAME = "chaos";
const SENTINELS = 3;
const PATIENCE = { timeoutMs: 60_000, everyMs: 100 };

export async function startSentinel(directory: string): Promise<Topology> {
  const [first = 0, second = 0, ...sentinelPorts] = await freePorts(2 + SENTINELS);
  // Without the delay a replica that comes back is held up for five seconds, and what is written meanwhile dies with the master.
  const extra = ["--repl-diskless-sync-delay", "0", "--repl-timeout", "10"];
  const servers = [
    await startRedis({ directory: join(directory, "a"), port: first, fsync: "always", extra }),
    await startRedis({
      directory: join(directory, "b"),
      port: second,
      fsync: "always",
      extra: [...extra, "--replicaof", `127.0.0.1 ${first}`],
    }),
  ];
  await inStep(second);
  const sentinels = await Promise.all(sentinelPorts.map((port) => startSentinelProcess(directory, port, first)));
  await until(async () => (await knownSentinels(sentinelPorts[0] ?? 0)) === SENTINELS - 1, PATIENCE);
  let master = first;

  return {
    name: "sentinel",
    url: `redis-sentinel://${sentinelPorts.map((port) => `127.0.0.1:${port}`).join(",")}/${NAME}`,
    port: undefined,
    partitions: 1,
    env: {},
    open: async () => [new Redis(await masterOf(sentinelPorts), "127.0.0.1")],
    async outage(_end, awayMs) {
      const [old, next] = master === first ? servers : servers.toReversed();
      if (!old || !next) throw new Error("there are two servers");
      // A replica that has not caught up would be promoted without what it lacks: no operator kills a master then.
      await inStep(next.port);
      await old.stop("SIGKILL");
      await until(async () => (await masterOf(sentinelPorts)) === next.port, PATIENCE);
      master = next.port;
      await sleep(awayMs);
      await comeBack(old, next.port);
    },
    harmless: ["SIGKILL"],
    async close() {
      for (const sentinel of sentinels) sentinel.kill("SIGKILL");
      await Promise.all(servers.map((server) => server.stop("SIGKILL")));
    },
  };
}

/** The old master knows nothing of the failover when it starts; the sentinels tell it, and until then nobody may take it for one. */
async function comeBack(old: RedisProcess, master: number): Promise<void> {
  await old.start();
  await ask(old.port, (redis) => redis.replicaof("127.0.0.1", master));
  await inStep(old.port);
}

/** Resolves once the server at this port has all that its master has, and is fed as it is written. */
async function inStep(port: number): Promise<void> {
  await until(async () => {
    const info = await ask(port, (redis) => redis.info("replication"));
    return /role:slave/.test(info) && /master_link_status:up/.test(info) && /master_sync_in_progress:0/.test(info);
  }, PATIENCE);
}

async function masterOf(sentinelPorts: readonly number[]): Promise<number> {
  const votes = await Promise.all(
    sentinelPorts.map((port) =>
      ask(port, async (redis) => ((await redis.call("SENTINEL", "get-master-addr-by-name", NAME)) as string[])[1]),
    ),
  );
  return new Set(votes).size === 1 ? Number(votes[0]) : 0;
}

async function knownSentinels(port: number): Promise<number> {
  return await ask(port, async (redis) => ((await redis.call("SENTINEL", "sentinels", NAME)) as unknown[]).length);
}

async function ask<T>(port: number, question: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis({ host: "127.0.0.1", port, maxRetriesPerRequest: 1, enableReadyCheck: false });
  redis.on("error", () => undefined); // the question fails
  try {
    return await question(redis);
  } finally {
    redis.disconnect();
  }
}

async function startSentinelProcess(directory: string, port: number, master: number): Promise<ChildProcess> {
  const home = join(directory, `sentinel-${port}`);
  await mkdir(home, { recursive: true });
  const file = join(home, "sentinel.conf");
  const lines = [
    `port ${port}`,
    "bind 127.0.0.1",
    `dir ${home}`,
    "logfile sentinel.log",
    `sentinel monitor ${NAME} 127.0.0.1 ${master} 2`,
    `sentinel down-after-milliseconds ${NAME} 1000`,
    `sentinel failover-timeout ${NAME} 5000`,
  ];
  await writeFile(file, `${lines.join("\n")}\n`);
  const child = spawn("redis-server", [file, "--sentinel"], { stdio: "ignore" });
  const onExit = () => child.kill("SIGKILL");
  process.once("exit", onExit);
  void once(child, "close").then(() => process.off("exit", onExit));
  return child;
}
