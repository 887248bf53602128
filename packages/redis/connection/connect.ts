/** Checks that Redis is suitable for tasks, and opens connections to it. */
import { setTimeout as wait } from "node:timers/promises";
import { type Log, ParleyError } from "@parley/core";
import { Cluster, Redis, type RedisOptions } from "ioredis";
import { type Endpoint, parseAddress, type RedisAddress, withoutPassword } from "./address.ts";
import { LastingSentinelConnector } from "./sentinel-connector.ts";

const OLDEST_VERSION = [6, 2] as const;
const TRY_EVERY_MS = 200;

export interface WaitForRedis {
  /** In one of the forms of address.ts. */
  readonly url: string;
  /** How long to wait for a Redis that is still starting. */
  readonly startTimeoutMs: number;
  /** Accept a Redis that may evict keys and thereby lose tasks. */
  readonly allowEviction: boolean;
  /** How many replicas must have a write before it is acknowledged. */
  readonly replicas: number;
  readonly log: Log;
}

/**
 * Waits until Redis serves, then checks that it is suitable: version 6.2 or newer (Valkey counts as the Redis that it is compatible with), and
 * no eviction. Throws a ParleyError UNAVAILABLE with what to do.
 */
export async function waitForRedis({ url, startTimeoutMs, allowEviction, replicas, log }: WaitForRedis): Promise<void> {
  if (replicas > 0 && isClusterAddress(url)) throw unfit(url, "PARLEY_REDIS_REPLICAS is not for a cluster: leave it at 0");
  const giveUpAtMs = Date.now() + startTimeoutMs;
  let told = false;
  for (;;) {
    const tried = await probe(url);
    if (tried.ok) {
      checkFitness(tried.info, { url, allowEviction, replicas, log });
      return;
    }
    if (tried.refusesUs) throw unfit(url, `${tried.message}. Check user, password and database in REDIS_URL`);
    if (Date.now() >= giveUpAtMs) {
      throw unfit(url, `no answer within ${startTimeoutMs} ms (${tried.message}). Is it running, and is REDIS_URL right?`);
    }
    if (!told) log.info({ redis: withoutPassword(url), error: tried.message }, "waiting for redis");
    told = true;
    await wait(TRY_EVERY_MS);
  }
}

export interface ConnectionOptions {
  readonly commandTimeout?: number;
  /**
   * If a server owes replies and has sent nothing for this long, the connection is given up and opened again: the process hangs, or the machine
   * is gone, which TCP notices only after a quarter of an hour.
   */
  readonly socketTimeout?: number;
  readonly autoResubscribe?: boolean;
  readonly maxRetriesPerRequest: null;
  /** One node of a cluster is enough: for subscriptions. */
  readonly anyNode?: boolean;
}

/**
 * A connection for the life of the process, which reconnects by itself. In a cluster it connects to all nodes, or with
 * `options.anyNode` to one, and to the next when that one is gone.
 */
export function openConnection(
  url: string,
  { log, name, options }: { readonly log: Log; readonly name: string; readonly options: ConnectionOptions },
): Redis {
  const { anyNode = false, ...always } = options;
  const settings: OwnOptions = {
    ...always,
    connectionName: `parley-${name}`,
    keepAlive: KEEP_ALIVE_MS,
    retryStrategy: retryMs,
    // A server that has become a replica keeps its connections and refuses writes: reconnect, and send the command again.
    reconnectOnError: (error) => (error.message.startsWith("READONLY") ? 2 : false),
  };
  const redis = open(addressOf(url), settings, anyNode);
  redis.on("error", (error: Error) => log.warn({ connection: name, error: error.message }, "redis connection in trouble"));
  return redis;
}

/** A connection to one node of a cluster, for subscriptions. It reconnects by itself, but does not subscribe again by itself. */
export function openNodeConnection(
  url: string,
  {
    node,
    log,
    name,
    socketTimeout,
  }: { readonly node: Endpoint; readonly log: Log; readonly name: string; readonly socketTimeout?: number },
): Redis {
  const address = addressOf(url);
  const redis: Redis = new GatheringRedis({
    ...(address.type === "cluster" && address.login),
    ...node,
    connectionName: `parley-${name}`,
    keepAlive: KEEP_ALIVE_MS,
    autoResubscribe: false,
    maxRetriesPerRequest: null,
    ...(socketTimeout !== undefined && { socketTimeout }),
    retryStrategy: retryMs,
  });
  redis.on("error", (error: Error) => log.warn({ connection: name, error: error.message }, "redis connection in trouble"));
  return redis;
}

/** ioredis' constructors refuse its own type of options because of this one, which is not needed here. */
type OwnOptions = Omit<RedisOptions, "replyMapping">;

/**
 * A connection that is silent for so long is probed by TCP. A subscription to a machine that has gone, on which nothing is sent, would otherwise
 * be noticed after two hours.
 */
const KEEP_ALIVE_MS = 10_000;

function retryMs(times: number): number {
  return Math.min(times * 50, 1_000);
}

function open(address: RedisAddress, settings: OwnOptions, anyNode: boolean): Redis {
  switch (address.type) {
    case "single":
      return new GatheringRedis(address.url, settings);
    case "sentinel":
      return new GatheringRedis({ ...settings, ...sentinelOptions(address), failoverDetector: true, Connector: LastingSentinelConnector });
    case "cluster": {
      if (anyNode) return openAnyNode(address.nodes, { ...settings, ...address.login });
      const { retryStrategy: _, ...ofNodes } = settings;
      const cluster = new TimedCluster([...address.nodes], {
        redisOptions: { ...ofNodes, ...address.login },
        clusterRetryStrategy: retryMs,
      });
      // It has every command of a Redis that Parley uses, and BullMQ tells the two apart. They share no type.
      return cluster as unknown as Redis;
    }
  }
}

/**
 * A message that is published on one node of a cluster reaches the subscribers of all nodes, so one connection to any node is enough. ioredis' own
 * Cluster switches nodes silently, so listeners would not know that messages may be missing.
 */
function openAnyNode(nodes: readonly Endpoint[], settings: OwnOptions): Redis {
  const redis: Redis = new GatheringRedis({
    ...settings,
    ...nodes[0],
    retryStrategy: (times) => {
      Object.assign(redis.options, nodes[times % nodes.length]);
      return retryMs(times);
    },
  });
  return redis;
}

function sentinelOptions({ sentinels, name, login, sentinelLogin }: Extract<RedisAddress, { type: "sentinel" }>): OwnOptions {
  return {
    sentinels: [...sentinels],
    name,
    ...login,
    ...sentinelLogin,
    ...(login.tls && { enableTLSForSentinelMode: true, sentinelTLS: login.tls }),
  };
}

function addressOf(url: string): RedisAddress {
  const address = parseAddress(url);
  if (!address) throw new ParleyError("UNAVAILABLE", "REDIS_URL is not a valid Redis address");
  return address;
}

/**
 * Sends the commands of one turn of the event loop in a single write. ioredis alone writes each command separately, and a write costs both ends
 * more than most commands do.
 *
 * Its autopipelining also collects commands, but creates an object for each burst and copies all known scripts into it, including the fifty of BullMQ.
 */
class GatheringRedis extends Redis {
  #gathering: Redis["stream"] | undefined;
  #queuedMax = QUEUED_MAX;

  override sendCommand(...sending: Parameters<Redis["sendCommand"]>): unknown {
    const [command, pipeline] = sending;
    // It timed out before it was sent, or sent again, and its caller no longer waits. Commands of a pipeline belong together.
    if (command.isSettled && !pipeline) return command.promise;
    const { stream } = this;
    if (stream && stream !== this.#gathering) {
      this.#gathering = stream;
      stream.cork();
      setImmediate(() => {
        this.#gathering = undefined;
        stream.uncork();
      });
    }
    const sent = super.sendCommand(...sending);
    if (this.status !== "ready") this.#queuedMax = dropTimedOut(this, this.#queuedMax);
    return sent;
  }
}

/** A cluster whose commands time out wherever they wait. Those that ioredis' own keeps until a node can be reached wait for ever. */
class TimedCluster extends Cluster {
  #queuedMax = QUEUED_MAX;

  override sendCommand(...sending: Parameters<Cluster["sendCommand"]>): unknown {
    const [command, pipeline] = sending;
    if (command.isSettled && !pipeline) return command.promise;
    const { commandTimeout } = this.options.redisOptions ?? {};
    if (commandTimeout !== undefined) command.setTimeout(commandTimeout);
    const sent = super.sendCommand(...sending);
    if (this.status !== "ready") this.#queuedMax = dropTimedOut(this, this.#queuedMax);
    return sent;
  }
}

/**
 * ioredis keeps a command that times out while there is no connection. A front end with thousands of streams would fill its memory in a long
 * outage. Commands of a pipeline stay, because they belong together. Drops nothing while no more than `queuedMax` wait; returns the next such number.
 */
function dropTimedOut(connection: object, queuedMax: number): number {
  const { offlineQueue: queue } = connection as { readonly offlineQueue: CommandQueue };
  if (queue.length <= queuedMax) return queuedMax;
  for (let left = queue.length; left > 0; left -= 1) {
    const queued = queue.shift();
    if (queued && (queued.stream || !queued.command.isSettled)) queue.push(queued);
  }
  return Math.max(QUEUED_MAX, 2 * queue.length);
}

/** Commands that wait for a connection before those that have timed out are dropped. */
const QUEUED_MAX = 1_000;

/** The part of ioredis' own queue that is used here; its types do not have it. */
interface CommandQueue {
  readonly length: number;
  shift(): QueuedCommand | undefined;
  push(queued: QueuedCommand): unknown;
}

interface QueuedCommand {
  readonly command: { readonly isSettled: boolean };
  /** Set for commands of a pipeline. */
  readonly stream?: unknown;
}

type Probe = { readonly ok: true; readonly info: string } | { readonly ok: false; readonly message: string; readonly refusesUs: boolean };

/** Connections for a single probe, which try once: to the one server, or to each node of a cluster. */
export function openForOnce(url: string, connectTimeoutMs: number): Redis[] {
  const once: OwnOptions = {
    lazyConnect: true,
    retryStrategy: () => null,
    connectTimeout: connectTimeoutMs,
    enableReadyCheck: false,
    maxRetriesPerRequest: 0,
  };
  const address = addressOf(url);
  switch (address.type) {
    case "single":
      return [new Redis(address.url, once)];
    case "sentinel":
      return [new Redis({ ...once, ...sentinelOptions(address), sentinelRetryStrategy: () => null })];
    case "cluster":
      return address.nodes.map((node) => new Redis({ ...once, ...node, ...address.login }));
  }
}

/** One attempt on a connection of its own. In a cluster, the first node that answers speaks for all. */
async function probe(url: string): Promise<Probe> {
  let last: Probe = { ok: false, message: "no node", refusesUs: false };
  for (const redis of openForOnce(url, 2_000)) {
    last = await probeOne(redis);
    if (last.ok) return last;
  }
  return last;
}

async function probeOne(redis: Redis): Promise<Probe> {
  // ioredis reports the cause of a failed connection here, and rejects with a bare "Connection is closed".
  let cause: Error | undefined;
  redis.on("error", (error: Error) => (cause = error));
  try {
    await redis.connect();
    const info = await redis.info();
    // The database was not selected, and the connection works all the same: on database 0.
    if (cause && refusesUs(cause)) throw cause;
    if (/^loading:1/m.test(info)) return { ok: false, message: "it is still loading its data", refusesUs: false };
    if (isReadOnly(info)) return { ok: false, message: "it is a replica and refuses writes; name its master", refusesUs: false };
    return { ok: true, info };
  } catch (error) {
    const told = cause ?? (error instanceof Error ? error : new Error(String(error)));
    return { ok: false, message: told.message, refusesUs: refusesUs(told) };
  } finally {
    redis.disconnect();
  }
}

/** Whether a server is not going to serve this user, or not on this database. */
export function refusesUs({ message }: Error): boolean {
  return /^(NOAUTH|WRONGPASS|NOPERM|ERR AUTH)|without any password configured|^ERR (invalid DB index|DB index is out of range)/.test(
    message,
  );
}

/** Whether INFO is of a replica that refuses writes. In a cluster, any node may be asked: commands go to the master of their key. */
export function isReadOnly(info: string): boolean {
  return field(info, "role") === "slave" && field(info, "slave_read_only") === "1" && field(info, "cluster_enabled") !== "1";
}

export function isClusterAddress(url: string): boolean {
  return addressOf(url).type === "cluster";
}

/** Whether the address of a Cluster leads to a server that is none. It would answer, and never say which node has which slots. */
export function isNoCluster(url: string, info: string): boolean {
  return isClusterAddress(url) && field(info, "cluster_enabled") === "0";
}

function checkFitness(info: string, { url, allowEviction, replicas, log }: Omit<WaitForRedis, "startTimeoutMs">): void {
  const version = field(info, "redis_version") ?? "0";
  if (!isRecent(version)) {
    throw unfit(url, `it has version ${version}; Parley needs Redis ${OLDEST_VERSION.join(".")} or newer, or Valkey`);
  }
  if (isNoCluster(url, info)) throw unfit(url, "it is not a Cluster. Use redis:// for a single server, redis-sentinel:// with Sentinel");
  // From INFO, because CONFIG GET is disabled on hosted servers.
  const policy = field(info, "maxmemory_policy") ?? "noeviction";
  if (policy !== "noeviction") {
    const what = `its maxmemory-policy is ${policy}, so it may drop tasks that wait for an answer`;
    if (!allowEviction) {
      throw unfit(
        url,
        `${what}. Set "maxmemory-policy noeviction" (redis-cli CONFIG SET maxmemory-policy noeviction), or PARLEY_ALLOW_EVICTION=true to take the risk`,
      );
    }
    log.warn({ redis: withoutPassword(url), policy }, "redis may evict tasks");
  }
  const connected = Number(field(info, "connected_slaves") ?? 0);
  if (connected < replicas) log.warn({ redis: withoutPassword(url), replicas, connected }, "redis has too few replicas");
  log.info({ redis: withoutPassword(url), version: field(info, "valkey_version") ?? version }, "redis is suitable");
}

/** Whether a server of that version has the commands that Parley uses. */
export function isRecent(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major > OLDEST_VERSION[0] || (major === OLDEST_VERSION[0] && minor >= OLDEST_VERSION[1]);
}

/** One field of what INFO returns. */
export function field(info: string, name: string): string | undefined {
  return new RegExp(`^${name}:(.*?)\\r?$`, "m").exec(info)?.[1];
}

function unfit(url: string, what: string): ParleyError {
  return new ParleyError("UNAVAILABLE", `Redis at ${withoutPassword(url)}: ${what}`);
}
