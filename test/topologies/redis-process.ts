/** A Redis of the chaos run's own, which it can stop, kill and start again on what is left on disk. Loopback only. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { Redis } from "ioredis";
import { until } from "../support/until.ts";

export interface RedisProcess {
  readonly port: number;
  readonly url: string;
  stop(signal: "SIGTERM" | "SIGKILL"): Promise<void>;
  /** `extra`: further arguments for this time. */
  start(extra?: readonly string[]): Promise<void>;
}

export interface RedisOptions {
  readonly directory: string;
  readonly port: number;
  /** `always`: everything acknowledged survives SIGKILL. `everysec`: it survives SIGTERM. */
  readonly fsync: "always" | "everysec";
  /** Further arguments, such as `--cluster-enabled yes`. */
  readonly extra?: readonly string[];
  /** `redis-server`, or the path of another server. */
  readonly binary?: string;
}

export async function startRedis({ directory, port, fsync, extra = [], binary = "redis-server" }: RedisOptions): Promise<RedisProcess> {
  await mkdir(directory, { recursive: true });
  const args = ["--port", String(port), "--bind", "127.0.0.1", "--dir", directory, "--save", "", "--logfile", "redis.log"];
  const durable = ["--appendonly", "yes", "--appendfsync", fsync, "--maxmemory-policy", "noeviction"];
  let child: ChildProcess | undefined;

  async function start(now: readonly string[] = []): Promise<void> {
    const started = spawn(binary, [...args, ...durable, ...extra, ...now], { stdio: "ignore" });
    child = started;
    // A run that is broken off takes its servers along.
    const onExit = () => started.kill("SIGKILL");
    process.once("exit", onExit);
    started.once("close", () => process.off("exit", onExit));
    const ended = once(started, "close").then(() => {
      throw new Error(`${binary} ended as it started; ${directory}/redis.log says why`);
    });
    ended.catch(() => undefined); // its later end is nobody's surprise
    await Promise.race([serves(port), ended]);
  }

  await start();
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    start,
    async stop(signal) {
      if (!child || child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, "close");
      child.kill(signal);
      await ended;
    },
  };
}

/** Resolves once the server has loaded its data and takes commands. */
async function serves(port: number): Promise<void> {
  const redis = new Redis({ port, host: "127.0.0.1", retryStrategy: () => 50, maxRetriesPerRequest: null });
  redis.on("error", () => undefined); // not there yet
  try {
    await until(async () => (await redis.info("persistence")).includes("loading:0"));
  } finally {
    redis.disconnect();
  }
}
