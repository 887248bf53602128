/**
 * One master, two replicas, three sentinels. An outage kills the master; a replica takes its place, and the old master comes back as a replica.
 *
 * Replication is asynchronous: what a master acknowledged a moment before it died, or was replaced, may not have reached the replica that is
 * promoted. So front ends and workers wait for one (PARLEY_REDIS_REPLICAS), and the sentinels promote the one that has most.
 *
 * That leaves a master that was only slow for longer than `down-after-milliseconds`: until the sentinels reach it, it keeps serving, and so does the
 * replica that still follows it. With a second a busy machine has such failovers of living masters, and loses answers by them; hence four here,
 * and thirty by default.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";
import { until } from "../support/until.ts";
import { freePorts } from "../support/free-ports.ts";
import { startRedis } from "./redis-process.ts";
import type { Topology } from "./topology.ts";

const NAME = "chaos";
const SERVERS = 3;
const SENTINELS = 3;
const PATIENCE = { timeoutMs: 60_000, everyMs: 100 };

export async function startSentinel(directory: string): Promise<Topology> {
  const [first = 0, ...others] = await freePorts(SERVERS + SENTINELS);
  const replicas = others.slice(0, SERVERS - 1);
  const sentinelPorts = others.slice(SERVERS - 1);
  // Without the first a replica that comes back is held up for five seconds, and what is written meanwhile dies with the master.
  const extra = ["--repl-diskless-sync-delay", "0", "--min-replicas-to-write", "1", "--min-replicas-max-lag", "10"];
  const start = (port: number) => startRedis({ directory: join(directory, String(port)), port, fsync: "always", extra });
  const servers = await Promise.all([first, ...replicas].map(start));
  await Promise.all(replicas.map((port) => ask(port, (redis) => redis.replicaof("127.0.0.1", first))));
  const sentinels = await Promise.all(sentinelPorts.map((port) => startSentinelProcess(directory, port, first)));
  await until(async () => (await knownSentinels(sentinelPorts[0] ?? 0)) === SENTINELS - 1, PATIENCE);
  /**
   * Resolves with the master, once both others have all that it has and are fed as it is written. A replica that has not caught up could be
   * promoted without what it lacks: no operator takes a master away then.
   */
  const settled = () =>
    until(async () => {
      const master = await masterOf(sentinelPorts);
      const others = servers.filter(({ port }) => port !== master);
      const inStep = await Promise.all(others.map(({ port }) => follows(port, master)));
      return inStep.every(Boolean) && master;
    }, PATIENCE);
  await settled();

  return {
    name: "sentinel",
    url: `redis-sentinel://${sentinelPorts.map((port) => `127.0.0.1:${port}`).join(",")}/${NAME}`,
    port: undefined,
    partitions: 1,
    env: { PARLEY_REDIS_REPLICAS: "1" },
    open: async () => [new Redis(await until(() => masterOf(sentinelPorts), PATIENCE), "127.0.0.1")],
    async outage(_end, awayMs) {
      const master = await settled();
      const old = servers.find(({ port }) => port === master);
      await old?.stop("SIGKILL");
      const next = await until(async () => {
        const now = await masterOf(sentinelPorts);
        return now !== master && now;
      }, PATIENCE);
      await sleep(awayMs);
      // Told at once whose replica it is: it must not pass for a master until the sentinels find it.
      await old?.start(["--replicaof", "127.0.0.1", String(next)]);
      await settled();
    },
    harmless: ["SIGKILL"],
    async close() {
      for (const sentinel of sentinels) sentinel.kill("SIGKILL");
      await Promise.all(servers.map((server) => server.stop("SIGKILL")));
    },
  };
}

async function follows(port: number, master: number | undefined): Promise<boolean> {
  const info = await ask(port, (redis) => redis.info("replication"));
  return [/role:slave/, /master_link_status:up/, /master_sync_in_progress:0/, new RegExp(`master_port:${master}\\b`)].every((fact) =>
    fact.test(info),
  );
}

/** Undefined while the sentinels do not agree. */
async function masterOf(sentinelPorts: readonly number[]): Promise<number | undefined> {
  const votes = await Promise.all(
    sentinelPorts.map((port) =>
      ask(port, async (redis) => ((await redis.call("SENTINEL", "get-master-addr-by-name", NAME)) as string[])[1]),
    ),
  );
  return new Set(votes).size === 1 ? Number(votes[0]) : undefined;
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
    `sentinel down-after-milliseconds ${NAME} 4000`,
    `sentinel failover-timeout ${NAME} 5000`,
  ];
  await writeFile(file, `${lines.join("\n")}\n`);
  const child = spawn("redis-server", [file, "--sentinel"], { stdio: "ignore" });
  const onExit = () => child.kill("SIGKILL");
  process.once("exit", onExit);
  void once(child, "close").then(() => process.off("exit", onExit));
  return child;
}
