/** Masters without replicas, three unless more are asked for, sixteen partitions over them. An outage takes one of them away and gives it back. */
import { execFile, execFileSync } from "node:child_process";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { Redis } from "ioredis";
import { until } from "../support/until.ts";
import { freePorts } from "../support/free-ports.ts";
import { startRedis } from "./redis-process.ts";
import type { Topology } from "./topology.ts";

export interface ClusterOptions {
  readonly masters?: number;
  /** How long a node may be silent. Longer where the machine is busy and nothing is to be broken. */
  readonly nodeTimeoutMs?: number;
}

/** Why no cluster can run here; undefined if one can. `major`: the oldest version that will do. */
export function lackingCluster({ major = 0 } = {}): string | undefined {
  try {
    const [, told = ""] = ["redis-cli", "redis-server"].map((command) => execFileSync(command, ["--version"], { encoding: "utf8" }));
    const version = /v=(\d+)/.exec(told)?.[1];
    return Number(version) >= major ? undefined : `redis-server ${version} is older than ${major}`;
  } catch {
    return "no redis-server and redis-cli";
  }
}

export async function startCluster(directory: string, { masters = 3, nodeTimeoutMs = 2_000 }: ClusterOptions = {}): Promise<Topology> {
  // The bus has a port of its own, 10,000 above by default and so out of range for many a free port.
  const ports = await freePorts(2 * masters);
  const servers = await Promise.all(
    ports.slice(0, masters).map((port, i) => {
      const extra = [
        "--cluster-enabled",
        "yes",
        "--cluster-node-timeout",
        String(nodeTimeoutMs),
        "--cluster-port",
        String(ports[masters + i]),
      ];
      return startRedis({ directory: join(directory, `node-${i}`), port, fsync: "always", extra });
    }),
  );
  const addresses = servers.map(({ port }) => `127.0.0.1:${port}`);
  await promisify(execFile)("redis-cli", ["--cluster", "create", ...addresses, "--cluster-replicas", "0", "--cluster-yes"]);
  const whole = () => until(async () => (await Promise.all(servers.map(({ url }) => isWhole(url)))).every(Boolean), { everyMs: 100 });
  await whole();
  let turn = 0;

  return {
    name: "cluster",
    url: `redis-cluster://${addresses.join(",")}`,
    port: undefined,
    partitions: 16,
    env: {},
    open: async () => servers.map(({ url }) => new Redis(url)),
    async outage(end, awayMs) {
      const server = servers[(turn += 1) % servers.length];
      await server?.stop(end);
      await sleep(awayMs);
      await server?.start();
      await whole();
    },
    harmless: ["SIGTERM", "SIGKILL"],
    close: async () => void (await Promise.all(servers.map((server) => server.stop("SIGKILL")))),
  };
}

async function isWhole(url: string): Promise<boolean> {
  const redis = new Redis(url, { maxRetriesPerRequest: 1 });
  redis.on("error", () => undefined); // the question fails
  try {
    return /cluster_state:ok/.test(await redis.cluster("INFO"));
  } finally {
    redis.disconnect();
  }
}
