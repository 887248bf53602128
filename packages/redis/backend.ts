/** Puts the parts of this package together: every port of core, on the connections of one Redis. */
import {
  type ApprovalRecord,
  type Claims,
  type Repeats,
  type Ids,
  type KeptGrants,
  type LastApproved,
  type Log,
  LONGEST_TIMER_MS,
  type Outbox,
  type Rates,
  type RunQueue,
  type SessionStore,
  type Subscriptions,
  type Slots,
  type Snoozes,
  type StandingApprovals,
  type WakeUps,
  type TaskStore,
} from "@parley/core";
import type { Telemetry } from "bullmq";
import type { Redis } from "ioredis";
import { createMishaps, type Mishaps } from "./runs/mishaps.ts";
import { createMemoryWatch, type MemoryWatch } from "./connection/memory.ts";
import { parseAddress } from "./connection/address.ts";
import { type ApiKeyRing, createApiKeys } from "./callers/api-keys.ts";
import { createApprovalRecord } from "./callers/approval-record.ts";
import { type AuditTrail, createAuditTrail } from "./callers/audit.ts";
import { type Censuses, createCensuses } from "./runs/census.ts";
import { followRedisClock } from "./connection/clock.ts";
import { createRepeats } from "./callers/repeats.ts";
import { createClaims } from "./runs/claims.ts";
import { type ConnectionOptions, openConnection, openNodeConnection, waitForRedis } from "./connection/connect.ts";
import { type Consumer, consumeRuns, type ConsumeRuns } from "./runs/consume-runs.ts";
import type { KeyRing } from "./content/key-ring.ts";
import { openContent, ringOf, type StoredContent } from "./content/open-content.ts";
import { askedWatch } from "./wake-ups/asked-watch.ts";
import { classicSubscriber, createRedisWakeUps } from "./wake-ups/wake-ups.ts";
import { createGatewayShare, type GatewayShare } from "./gateway.ts";
import { createIds } from "./tasks/ids.ts";
import { createGrantRegister, type GrantRegister, type GrantSeal } from "./callers/kept-grants.ts";
import { createSubscriptions, type SubscriptionSeal } from "./callers/subscriptions.ts";
import { createWebhookStates, type WebhookStates } from "./callers/webhooks.ts";
import { createKeys, type Keys } from "./keys.ts";
import { createLiveWorkers } from "./runs/live-workers.ts";
import { createRedisQueue } from "./runs/queue.ts";
import { acknowledgeWith } from "./connection/replicas.ts";
import { createShardedSubscriber, type Node } from "./wake-ups/sharded-subscriber.ts";
import { createSharedSecret, type SharedSecret } from "./callers/shared-secret.ts";
import { createRedisSessions } from "./sessions/sessions.ts";
import { DEFAULT_REDIS_SETTINGS, type RedisSettings } from "./settings.ts";
import { createRates, type RateLimits } from "./callers/rates.ts";
import { createSlots } from "./runs/slots.ts";
import { createSnoozes } from "./callers/snoozes.ts";
import { createLastApproved } from "./callers/last-approved.ts";
import { createStandingApprovals } from "./callers/standing-approvals.ts";
import { createServing, type ServingRegistry } from "./runs/serving.ts";
import { createRedisStore } from "./tasks/store.ts";
import { createOutbox } from "./tasks/outbox.ts";
import { createPurge, type Purge } from "./tasks/purge.ts";
import { scanTasks } from "./tasks/scan.ts";
import { createReads } from "./tasks/reads.ts";
import { createTurns } from "./runs/turns.ts";
import { reached } from "./connection/unavailable.ts";
import { createWaiting, type WaitingTask } from "./tasks/unfinished-tasks.ts";

/** Every port of core on one Redis. */
export interface RedisBackend {
  readonly store: TaskStore;
  readonly queue: RunQueue;
  /** For front ends. */
  rates(limits: RateLimits): Rates;
  readonly wakeUps: WakeUps;
  readonly sessions: SessionStore;
  readonly ids: Ids;
  readonly audit: AuditTrail;
  /** Absent unless the settings want one. */
  readonly outbox?: Outbox;
  readonly webhooks: WebhookStates;
  readonly subscriptions: { sealedBy(seal: SubscriptionSeal): Subscriptions };
  readonly apiKeys: ApiKeyRing;
  /** Whether and how content is sealed. */
  readonly content: Pick<StoredContent, "digest" | "keys">;
  /** The time by Redis' clock, which dates everything (see clock.ts). */
  now(): number;
  readonly secret: SharedSecret;
  readonly claims: Claims;
  readonly repeats: Repeats;
  /** What people have put aside. */
  readonly snoozes: Snoozes;
  /** `0 … partitions - 1`. */
  readonly partitions: readonly number[];
  /** Starts to take runs. Opens connections of its own on first use. */
  consumeRuns(request: ConsumeRuns): Promise<Consumer>;
  readonly censuses: Censuses;
  readonly memory: MemoryWatch;
  readonly mishaps: Mishaps;
  /** Figures of approvals. */
  readonly approvals: ApprovalRecord;
  readonly standing: StandingApprovals;
  readonly lastApproved: LastApproved;
  /** Limits of tools. */
  readonly slots: Slots;
  /** Grants for later tasks. Front ends and workers need the seal, operators do not. */
  readonly keptGrants: GrantRegister & { sealedBy(seal: GrantSeal): KeptGrants };
  /** The versions of tools that workers serve. */
  readonly serving: ServingRegistry;
  /** Unfinished tasks of a partition, in batches and in no order; a task may appear twice. */
  waiting(partition: number): AsyncGenerator<readonly WaitingTask[]>;
  /** Ids of all tasks, in batches and in no order; an id may come twice. */
  taskIds(): AsyncGenerator<readonly string[]>;
  /** Deletes tasks that are over, or counts them, in batches and in no order. */
  readonly purge: Purge;
  /** For processes with upstreams. */
  readonly gateway: GatewayShare;
  /** Resolves if Redis replies. Throws UNAVAILABLE. */
  ping(): Promise<void>;
  /**
   * Resolves if Redis accepts writes. A full, read-only or broken one replies but does not accept them. Throws
   * UNAVAILABLE.
   */
  writable(): Promise<void>;
  /** Stops the consumers, then closes the connections. */
  close(): Promise<void>;
}

export interface BackendOptions {
  readonly log: Log;
  readonly telemetry?: Telemetry | undefined;
  /** Wraps the content keys instead of the ring from the settings, for example with a key management service. */
  readonly keyRing?: KeyRing;
}

/**
 * Connects once Redis serves and is suitable (see connect.ts), with one connection for commands and one for
 * subscriptions. A worker adds one for its queues and one per queue to block on. Throws UNAVAILABLE with what to do,
 * and leaves no connection open then.
 */
export async function connectRedis(
  given: Partial<RedisSettings> & Pick<RedisSettings, "url">,
  { log, telemetry, keyRing }: BackendOptions,
): Promise<RedisBackend> {
  const settings: RedisSettings = {
    ...DEFAULT_REDIS_SETTINGS,
    ...given,
    // A longer timer fires at once, so that every command would time out.
    commandTimeoutMs: Math.min(given.commandTimeoutMs ?? DEFAULT_REDIS_SETTINGS.commandTimeoutMs, LONGEST_TIMER_MS),
  };
  const ring = keyRing ?? (await ringOf(settings, log));
  await waitForRedis({ ...settings, log });
  const connections = openConnections(settings, log);
  try {
    return await openBackend(settings, { connections, ring, log, telemetry });
  } catch (error) {
    connections.close();
    throw error;
  }
}

type Connections = ReturnType<typeof openConnections>;

function openConnections({ url, commandTimeoutMs }: RedisSettings, log: Log) {
  const open: Redis[] = [];
  const connection = (name: string, options: Omit<ConnectionOptions, "maxRetriesPerRequest">) => {
    const redis = openConnection(url, { log, name, options: { ...options, maxRetriesPerRequest: null } });
    open.push(redis);
    return redis;
  };
  let workers: Redis | undefined;
  return {
    // Commands that were sent when the connection broke are sent again after it is restored, up to the timeout. Every
    // script tolerates running twice.
    commands: connection("commands", { commandTimeout: commandTimeoutMs, socketTimeout: commandTimeoutMs }),
    subscriptions: connection("subscriptions", { socketTimeout: commandTimeoutMs, autoResubscribe: false, anyNode: true }),
    /** Opened when it is first needed. */
    workers: () => (workers ??= connection("workers", { socketTimeout: BLOCKED_MAX_MS + commandTimeoutMs })),
    close() {
      for (const each of open) each.disconnect();
    },
  };
}

interface BackendParts extends Pick<BackendOptions, "log" | "telemetry"> {
  readonly connections: Connections;
  readonly ring: KeyRing | undefined;
}

async function openBackend(settings: RedisSettings, { connections, ring, log, telemetry }: BackendParts): Promise<RedisBackend> {
  const { commandTimeoutMs } = settings;
  const { commands: redis } = connections;
  const keys = createKeys(settings.prefix);
  const partitions = Array.from({ length: settings.partitions }, (_, partition) => partition);
  // Well within the time limit of a command.
  const acknowledge = acknowledgeWith({ redis, key: keys.ready, count: settings.replicas, timeoutMs: Math.ceil(commandTimeoutMs / 2) });
  const clock = await followRedisClock({ redis, log });
  const content = openContent({ ring, epochMs: settings.contentEpochMs, redis, keys, partitions, now: clock.now, acknowledge, log });
  const turns = createTurns({ weights: settings.weights, now: clock.now });
  const liveWorkers = createLiveWorkers({ redis, keys, partitions: partitions.length, now: clock.now, log });
  const isCluster = parseAddress(settings.url)?.type === "cluster";
  const sharded = isCluster && settings.shardedPubSub && (await hasShardedPubSub(redis, keys, log));
  // In a cluster, PUBLISH counts the listeners of one node only, so it would be unknown whether a worker received the
  // run.
  const lanes = isCluster && !sharded ? { next: () => undefined } : liveWorkers;
  const queue = createRedisQueue({ redis, keys, log, turns, workers: lanes, telemetry });
  await queue.open(partitions);
  const openNode = (node: Node) => openNodeConnection(settings.url, { node, log, name: "subscriptions", socketTimeout: commandTimeoutMs });
  const ofNodes = sharded ? createShardedSubscriber({ redis, openNode, log }) : undefined;
  const wakeUps = createRedisWakeUps({
    redis,
    subscriber: classicSubscriber(connections.subscriptions),
    sharded: ofNodes,
    keys,
    log,
    timeoutMs: commandTimeoutMs,
  });
  const consumers = new Set<Consumer>();
  const ids = createIds({ partitions: settings.partitions, ...(content.sealWord && { sealWord: content.sealWord }) });
  const audit = createAuditTrail({ redis, keys, now: clock.now, lengthMax: settings.auditLengthMax, log });

  return {
    store: createRedisStore({
      redis,
      keys,
      partitions: settings.partitions,
      waitsUntilMs: () => clock.now() + commandTimeoutMs,
      acknowledge,
      turns,
      notTaken: queue.notTaken,
      codec: content.codec,
      log,
      sharded,
      // Wake-ups are not encrypted, they arrive before replicas have the change (I1), and a classic one goes to every node of a Cluster.
      hasNews: content.codec.encoding === "utf8" && settings.replicas === 0 && isCluster === sharded,
      auditLengthMax: settings.auditLengthMax,
      outbox: settings.outbox,
    }),
    ...(settings.outbox && { outbox: createOutbox({ redis, keys, partitions, codec: content.codec, bounds: settings.outbox }) }),
    queue,
    rates: (limits) => createRates({ redis, keys, limits, now: clock.now }),
    wakeUps: {
      ...wakeUps,
      ...askedWatch({ redis, sharded, wakeUps, keys, partitions, lookUps: (tenant) => content.codec.lookUps(tenant) }),
    },
    sessions: createRedisSessions({ redis, wakeUps, keys, sharded }),
    ids,
    content,
    audit,
    webhooks: createWebhookStates({ redis, keys }),
    subscriptions: createSubscriptions({ redis, keys, log }),
    apiKeys: createApiKeys({ redis, keys, acknowledge }),
    now: clock.now,
    secret: createSharedSecret({ redis, keys }),
    claims: createClaims({ redis, keys }),
    repeats: createRepeats({ redis, keys }),
    snoozes: createSnoozes({ redis, keys, codec: content.codec }),
    partitions,
    gateway: createGatewayShare({ redis, wakeUps, keys, now: clock.now }),
    memory: createMemoryWatch(redis),
    mishaps: createMishaps({ redis, keys }),
    approvals: createApprovalRecord({ redis, keys }),
    standing: createStandingApprovals({ redis, keys }),
    lastApproved: createLastApproved({ redis, keys, codec: content.codec }),
    censuses: createCensuses({ redis, keys, queue, partitions }),
    slots: createSlots({ redis, keys }),
    keptGrants: createGrantRegister({
      redis,
      keys,
      partitions: settings.partitions,
      codec: content.codec,
      ids,
      acknowledge,
      audit: settings.audit ? audit : undefined,
      log,
      now: clock.now,
    }),
    serving: createServing({ redis, keys, now: clock.now }),
    waiting: createWaiting({ redis, keys, codec: content.codec, reads: createReads(redis, content.codec.encoding) }),
    taskIds: () => scanTasks(redis, keys),
    purge: createPurge({ redis, keys, now: clock.now }),
    async consumeRuns(request) {
      const consumer = await consumeRuns({
        ...request,
        partitions,
        redis: connections.workers(),
        keys,
        log,
        telemetry,
        workers: liveWorkers,
        wakeUps,
        queue,
      });
      consumers.add(consumer);
      return consumer;
    },
    async ping() {
      await reached(redis.ping());
    },
    async writable() {
      await reached(redis.set(keys.ready, "", "PX", READY_KEPT_MS));
    },
    async close() {
      clock.close();
      liveWorkers.close();
      ofNodes?.close();
      await Promise.all([...consumers].map((consumer) => consumer.close()));
      await queue.close();
      connections.close();
    },
  };
}

const READY_KEPT_MS = 10_000;

/** BullMQ's workers block on a copy of their connection for up to so long. */
const BLOCKED_MAX_MS = 10_000;

/**
 * Found by trying: Redis before 7 does not have it, and a user may not be permitted to use it. All processes of a
 * deployment must come to the same result.
 */
async function hasShardedPubSub(redis: Redis, keys: Keys, log: Log): Promise<boolean> {
  try {
    await redis.spublish(keys.lane(0, "nobody"), "");
    return true;
  } catch (error) {
    log.info({ error: error instanceof Error ? error.message : String(error) }, "no sharded pub/sub, wake-ups go to every node");
    return false;
  }
}
