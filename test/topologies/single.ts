/** One server: plain, over TLS, for a user with least rights, or another server that speaks the same. */
import { setTimeout as sleep } from "node:timers/promises";
import { join } from "node:path";
import { Redis } from "ioredis";
import { freePorts } from "../support/free-ports.ts";
import { startRedis } from "./redis-process.ts";
import type { Topology } from "./topology.ts";

export interface SingleOptions {
  readonly name: string;
  readonly directory: string;
  readonly fsync?: "always" | "everysec";
  readonly binary?: string;
  readonly extra?: readonly string[];
  /** Put before the host in REDIS_URL. */
  readonly login?: string;
}

export async function startSingle({ name, directory, fsync = "always", binary, extra = [], login }: SingleOptions): Promise<Topology> {
  const [port = 0] = await freePorts(1);
  const server = await startRedis({ directory: join(directory, "redis"), port, fsync, extra, ...(binary && { binary }) });
  return {
    name,
    url: `redis://${login === undefined ? "" : `${login}@`}127.0.0.1:${port}`,
    port,
    partitions: 1,
    env: {},
    open: async () => [new Redis(server.url)],
    async outage(end, awayMs) {
      await server.stop(end);
      await sleep(awayMs);
      await server.start();
    },
    harmless: fsync === "always" ? ["SIGTERM", "SIGKILL"] : ["SIGTERM"],
    close: () => server.stop("SIGKILL"),
  };
}
