/** What stands where Redis stands, and how it is broken and looked into. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { Redis } from "ioredis";
import { freePorts } from "./free-ports.ts";
import { startRedis } from "./redis-process.ts";

export interface Topology {
  readonly name: string;
  /** REDIS_URL. */
  readonly url: string;
  /** The one server's port, where there is one and it can be reached through a wire; else undefined. */
  readonly port: number | undefined;
  readonly partitions: number;
  /** For the processes, such as a certificate to trust. */
  readonly env: Readonly<Record<string, string>>;
  /** Connections to every server that holds keys, for those who look and meddle; the caller disconnects. */
  open(): Promise<readonly Redis[]>;
  /** Takes a server away and gives it back, or another in its place; resolves when it serves. Says what it did. */
  outage(signal: "SIGTERM" | "SIGKILL", awayMs: number): Promise<void>;
  /** Which ends of a server lose nothing that was acknowledged. */
  readonly harmless: readonly ("SIGTERM" | "SIGKILL")[];
  close(): Promise<void>;
}

export interface SingleOptions {
  readonly directory: string;
  readonly fsync: "always" | "everysec";
  readonly binary?: string;
}

export async function startSingle({ directory, fsync, binary }: SingleOptions): Promise<Topology> {
  const [port = 0] = await freePorts(1);
  const data = join(directory, "redis");
  await mkdir(data, { recursive: true });
  const server = await startRedis({ directory: data, port, fsync, ...(binary && { binary }) });
  return {
    name: `single, appendfsync ${fsync}`,
    url: server.url,
    port,
    partitions: 1,
    env: {},
    open: async () => [new Redis(server.url)],
    async outage(signal, awayMs) {
      await server.stop(signal);
      await new Promise((resolve) => setTimeout(resolve, awayMs));
      await server.start();
    },
    harmless: fsync === "always" ? ["SIGTERM", "SIGKILL"] : ["SIGTERM"],
    close: () => server.stop("SIGKILL"),
  };
}
