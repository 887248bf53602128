/**
 * Where an embedded server can come from, in the order in which sources are tried. A source returns the command that
 * runs a server on a data directory with a given configuration, or throws an Error that says why it cannot.
 */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { isRecent } from "../connection/connect.ts";
import { valkeyFromWheel } from "./embedded-wheel.ts";

const run = promisify(execFile);

export const EMBEDDED_SOURCES = ["path", "wheel", "docker"] as const;
export type EmbeddedSource = (typeof EMBEDDED_SOURCES)[number];

const IMAGE = "redis:7-alpine";
const PROBE_TIMEOUT_MS = 5_000;

/** The kinds of server, as far as their files are concerned: Redis and Valkey do not read each other's. */
export const PRODUCTS = ["redis", "valkey"] as const;

export interface Version {
  readonly product: (typeof PRODUCTS)[number];
  /** Such as `7.0.15`. */
  readonly version: string;
}

export interface Placement {
  readonly dataDir: string;
  readonly port: number;
  readonly cacheDir: string;
  /** Whose files the data directory holds; absent if it holds none. */
  readonly writer?: Version;
}

export interface ServerCommand {
  readonly argv: readonly [string, ...string[]];
  /** The address as the server sees it: inside a container some settings differ. */
  readonly bind: string;
  readonly port: number;
  readonly dir: string;
  /** How long the server may take to start. Some sources download it first. */
  readonly startTimeoutMs: number;
}

export async function commandOf(source: EmbeddedSource, placement: Placement): Promise<ServerCommand> {
  switch (source) {
    case "path":
      return onLoopback(await serverOnPath(placement.writer), placement);
    case "wheel":
      return onLoopback(await valkeyFromWheel(placement.cacheDir), placement);
    case "docker":
      return inContainer(placement);
  }
}

function onLoopback(server: string, { dataDir, port }: Placement): ServerCommand {
  return { argv: [server, `${dataDir}/redis.conf`], bind: "127.0.0.1", port, dir: dataDir, startTimeoutMs: 10_000 };
}

async function inContainer({ dataDir, port }: Placement): Promise<ServerCommand> {
  await run("docker", ["version", "--format", "{{.Server.Version}}"], { timeout: PROBE_TIMEOUT_MS }).catch((error: unknown) => {
    throw new Error((error as { code?: unknown }).code === "ENOENT" ? "docker is not installed" : "no Docker engine answers", {
      cause: error,
    });
  });
  const user = process.getuid && process.getgid ? ["--user", `${process.getuid()}:${process.getgid()}`] : [];
  return {
    // The client passes the terminating signal on to the server, and --rm then removes the container.
    argv: ["docker", "run", "--rm", ...user, "--publish", `127.0.0.1:${port}:6379`, "--volume", `${dataDir}:/data`].concat([
      IMAGE,
      "redis-server",
      "/data/redis.conf",
    ]) as [string, ...string[]],
    bind: "0.0.0.0",
    port: 6379,
    dir: "/data",
    startTimeoutMs: 120_000,
  };
}

async function serverOnPath(writer?: Version): Promise<string> {
  const found: string[] = [];
  const wanted = writer ? [`${writer.product}-server`] : ["redis-server", "valkey-server"];
  for (const server of wanted) {
    const version = await versionOf(server);
    if (version === undefined) continue;
    // Redis 6.2 does not look where Redis 7 keeps its data, and would begin without any.
    if (writer && isOlder(version, writer.version)) found.push(`${server} ${version} is older than the one that wrote the data`);
    else if (isRecent(version)) return server;
    else found.push(`${server} ${version} is older than 6.2`);
  }
  throw new Error(
    found.join("; ") || (writer ? `${writer.product}-server is not on the PATH` : "neither redis-server nor valkey-server is on the PATH"),
  );
}

/** Compares major and minor: patches read each other's files. */
function isOlder(version: string, than: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [majorThan = 0, minorThan = 0] = than.split(".").map(Number);
  return major < majorThan || (major === majorThan && minor < minorThan);
}

/** `Redis server v=7.0.15 sha=00000000:0 …` and `Valkey server v=8.0.1 …`. */
async function versionOf(server: string): Promise<string | undefined> {
  return run(server, ["--version"], { timeout: PROBE_TIMEOUT_MS }).then(
    ({ stdout }) => /\bv=(\d+\.\d+[\d.]*)/.exec(stdout)?.[1],
    () => undefined,
  );
}
