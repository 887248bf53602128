/** What stands where Redis stands, and how it is looked into and broken. */
import type { Redis } from "ioredis";

export type ServerEnd = "SIGTERM" | "SIGKILL";

export interface Topology {
  readonly name: string;
  /** REDIS_URL. */
  readonly url: string;
  /** The one server's port, where there is one that can be reached through a wire. */
  readonly port: number | undefined;
  readonly partitions: number;
  /** For the processes that connect, such as a certificate to trust. */
  readonly env: Readonly<Record<string, string>>;
  /** Connections to every server that holds keys of its own, for those who look and meddle; the caller disconnects. */
  open(): Promise<readonly Redis[]>;
  /** Ends a server and gives it back, or another in its place; resolves when all is as before. */
  outage(end: ServerEnd, awayMs: number): Promise<void>;
  /** The ends of a server that lose nothing that was acknowledged. */
  readonly harmless: readonly ServerEnd[];
  close(): Promise<void>;
}
