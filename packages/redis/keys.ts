/**
 * Every key that Parley uses in Redis; docs/data-model.md describes their contents.
 *
 *   parley:{p0}:task:0-V1StGXR8…            the task; also the name of its wake-up channel
 *   parley:{p0}:task:0-V1StGXR8…:journal    what replay reads
 *   parley:{p0}:task:0-V1StGXR8…:feed       what its runs reported
 *   parley:{p0}:task:0-V1StGXR8…:deposits   what people left on its pages; created by scripts/answer.lua
 *   parley:{p0}:task:0-V1StGXR8…:threads    what people did around its asks; created by scripts/thread.lua
 *   parley:{p0}:due                         tasks by the time at which they must run
 *   parley:{p0}:census                      number of open asks, for monitoring
 *   parley:{p0}:audit                       audit records
 *   parley:{p0}:outbox                      what other systems may want to hear: see outbox.ts
 *   parley:{p0}:owner:<digest>              tasks of one principal
 *   parley:{p0}:asked:<digest>:age          open asks by a name in their audience
 *   parley:{p0}:asked:<digest>:deadline     the same by deadline
 *   parley:{p0}:asked:<digest>:due          those that say when they are wanted; all of these created by scripts/task/asks.lua
 *   parley:{p0}:asked:<digest>:priority     those that are more or less urgent than others
 *   parley:{p0}:answered:<digest>           what one person has answered; created by scripts/answer.lua
 *   parley:{p0}:asked                       a channel: open asks changed; the name is made by scripts/task/asks.lua
 *   parley:{p0}:once:<digest>               the task that was created with an idempotency key
 *   parley:{p0}:usage:principal:<principal> what its unfinished tasks use; created by scripts/task/usage.lua
 *   parley:{p0}:usage:tenant:<tenant>       the same for a tenant
 *   parley:{p0}:kept:principal:<principal> … what their finished tasks keep; created by scripts/task/usage.lua
 *   parley:{p0}:run:…                       BullMQ's
 *   parley:{p0}:swept                       the partition was swept within the last second: see sweeps.ts
 *   parley:session:{V1StGXR8…}              a session; also the name of its wake-up channel
 *   parley:claim:{<digest>}                 work that one process does alone, or did once: see claims.ts
 *   parley:repeats:{<digest>}               what a caller may send again with an idempotency key: see repeats.ts
 *   parley:snoozes:{<digest>}               what a person has put aside: see snoozes.ts
 *   parley:rate:{<digest>}                  what a tenant may do at once
 *   parley:rate:{<digest>}:<digest>         the same for a principal of it
 *   parley:approvals:{<digest>}:open …      figures of approvals: see approval-record.ts
 *   parley:approvals:{<digest>}:standing …  approvals for later calls: see standing-approvals.ts
 *   parley:approvals:{<digest>}:last …      the last approved calls: see last-approved.ts
 *   parley:limit:{<digest>}:held …          slots of a tool's limit: see slots.ts
 *   parley:grants:{<digest>} …              what a person granted for later tasks: see kept-grants.ts
 *   parley:{p0}:granted                     who has such grants
 *   parley:{p0}:task:0-V1StGXR8…:holder     the process that holds its call to an upstream: see gateway.ts
 *   parley:gateway:…                        what the gateway's processes share: see gateway.ts
 *   parley:serving                          versions of tools that workers serve: see serving.ts
 *   parley:workers                          live workers: see live-workers.ts
 *   parley:mishaps                          when tools last did what pages somebody: see mishaps.ts
 *   parley:{p0}:lane:<worker>               a channel: runs that are offered to a worker directly
 *   parley:{subscriptions} …                who hears of events by webhook: see subscriptions.ts
 *   parley:webhook:{<digest>} …             how far a webhook is, and what it was not taken: see webhooks.ts
 *   parley:announcements                    a channel
 *   parley:ready                            written to check whether Redis takes writes, and for replicas.ts
 *   parley:secret                           seals requestState if the operator has set no secret
 *   parley:content                          the keys that content is sealed with, wrapped
 *   parley:api-keys                         digests of the keys with which machines call
 *
 * The hash tag `{p<partition>}` keeps a task, its due time and its queue in one slot of a cluster. A session is one
 * key, and its own tag spreads sessions over the nodes.
 */
import { hash } from "node:crypto";

export const RUN_QUEUE = "run";

/**
 * `<partition>-<128 bits in base64url>`, or `<partition>-<word>-<128 bits in base64url>` for a task with sealed
 * content. The id contains the partition, so that a change of their number moves no task, and the word of the key, so
 * that a task opens weeks later. A child's id ends in a tilde (childId of core).
 */
const TASK_ID = /^(0|[1-9]\d{0,3})-(?:([A-Za-z0-9]{4})-)?[\w-]{22}~?$/;
/** Length of the word that names a key. */
export const SEAL_WORD_CHARS = 4;

/** A UUID, for example. Characters that end a hash tag or separate parts of keys are excluded. */
const SESSION_ID = /^[\w-]{1,128}$/;

/** The order in which every script of a task receives its keys. */
export type TaskKeys = readonly [task: string, journal: string, feed: string, due: string];

export interface Keys {
  /** Undefined if it cannot be a task id, so that arbitrary input never becomes a key. */
  task(taskId: string): TaskKeys | undefined;
  /** Of all keys. */
  readonly prefix: string;
  /** A task's key is this prefix and its id. */
  taskPrefix(partition: number): string;
  due(partition: number): string;
  /** BullMQ's waiting runs: those without a priority, and those with one. */
  waitingRuns(partition: number): readonly [wait: string, prioritized: string];
  swept(partition: number): string;
  census(partition: number): string;
  audit(partition: number): string;
  outbox(partition: number): string;
  /** All of them, and a number that grows with each change. */
  readonly subscriptions: readonly [all: string, version: string];
  /** How far a webhook is, and what was given up. */
  webhook(name: string): readonly [state: string, dead: string];
  owner(partition: number, principal: string): string;
  /** Open asks by a name in their audience, of which this is the digest. */
  asked(partition: number, digest: string, by: "age" | "deadline" | "due" | "priority"): string;
  /** What a person has answered, of whom this is the digest. */
  answered(partition: number, digest: string): string;
  /** The channel that names the audiences of asks that were opened or closed. */
  askedChannel(partition: number): string;
  once(partition: number, digest: string): string;
  claim(name: string): string;
  /** `caller` is a digest. */
  repeats(caller: string): string;
  /** `person` is a digest. */
  snoozes(person: string): string;
  /** `who` is `tenant:…`, for example; `member` is a principal of it, in the same slot. */
  rate(who: string, member?: string): string;
  /** The holders of that limit's slots, the waiting tasks, and facts about them. */
  limit(id: string): readonly [held: string, line: string, facts: string];
  /** Of a tenant: `open`, or a day. */
  approvals(tenant: string, what: string): string;
  /** What an owner's grants are, and one of them. The owner is a digest. */
  grants(owner: string): string;
  grant(owner: string, id: string): string;
  granted(partition: number): string;
  /** BullMQ's `prefix`. */
  queuePrefix(partition: number): string;
  /** Undefined if it cannot be a session id. */
  session(sessionId: string): string | undefined;
  /** The process that holds the task's call to an upstream. */
  holder(taskId: string): string | undefined;
  readonly gateway: {
    readonly holders: string;
    readonly lists: string;
    calls(process: string): string;
    lister(upstream: string): string;
    /** The channel for requests to all workers. */
    readonly asked: string;
    /** The channels of one process. */
    box(of: Box, process: string): string;
    claim(id: string): string;
    /** A message that is too long for a channel. */
    letter(id: string): string;
    /** `digest`: of an upstream and its caller. */
    state(digest: string): string;
  };
  readonly serving: string;
  /** The channel on which a worker is offered due runs of the partition. */
  lane(partition: number, worker: string): string;
  /** The live workers. */
  readonly workers: string;
  readonly mishaps: string;
  readonly announcements: string;
  readonly secret: string;
  /** Wrapped data keys: see content/data-keys.ts. */
  readonly content: string;
  readonly apiKeys: string;
  readonly ready: string;
}

/** What a process of the gateway receives, and the names of the channels. */
const BOXES = { run: "runs", read: "replies", call: "call", reply: "reply" } as const;
export type Box = keyof typeof BOXES;

export function createKeys(prefix = "parley"): Keys {
  const slot = (partition: number) => `${prefix}:{p${partition}}`;
  return {
    task(taskId) {
      const partition = partitionOf(taskId);
      if (partition === undefined) return undefined;
      const task = `${slot(partition)}:task:${taskId}`;
      return [task, `${task}:journal`, `${task}:feed`, `${slot(partition)}:due`];
    },
    prefix,
    taskPrefix: (partition) => `${slot(partition)}:task:`,
    due: (partition) => `${slot(partition)}:due`,
    waitingRuns: (partition) => [`${slot(partition)}:${RUN_QUEUE}:wait`, `${slot(partition)}:${RUN_QUEUE}:prioritized`],
    swept: (partition) => `${slot(partition)}:swept`,
    census: (partition) => `${slot(partition)}:census`,
    audit: (partition) => `${slot(partition)}:audit`,
    subscriptions: [`${prefix}:{subscriptions}`, `${prefix}:{subscriptions}:version`],
    webhook(name) {
      const key = `${prefix}:webhook:{${hash("sha256", name, "base64url").slice(0, 22)}}`;
      return [key, `${key}:dead`];
    },
    outbox: (partition) => `${slot(partition)}:outbox`,
    askedChannel: (partition) => `${slot(partition)}:asked`,
    once: (partition, digest) => `${slot(partition)}:once:${digest}`,
    // Hashed, because identity providers send principals of any length and form, and names of people do not belong in
    // keys.
    asked: (partition, digest, by) => `${slot(partition)}:asked:${digest}:${by}`,
    answered: (partition, digest) => `${slot(partition)}:answered:${digest}`,
    owner: (partition, principal) => `${slot(partition)}:owner:${hash("sha256", principal, "base64url").slice(0, 22)}`,
    repeats: (caller) => `${prefix}:repeats:{${caller}}`,
    snoozes: (person) => `${prefix}:snoozes:{${person}}`,
    claim: (name) => `${prefix}:claim:{${hash("sha256", name, "base64url").slice(0, 22)}}`,
    rate(who, member) {
      const bucket = `${prefix}:rate:{${hash("sha256", who, "base64url").slice(0, 22)}}`;
      return member === undefined ? bucket : `${bucket}:${hash("sha256", member, "base64url").slice(0, 22)}`;
    },
    limit(id) {
      const limit = `${prefix}:limit:{${hash("sha256", id, "base64url").slice(0, 22)}}`;
      return [`${limit}:held`, `${limit}:line`, `${limit}:facts`];
    },
    approvals: (tenant, what) => `${prefix}:approvals:{${hash("sha256", tenant, "base64url").slice(0, 22)}}:${what}`,
    grants: (owner) => `${prefix}:grants:{${owner}}`,
    grant: (owner, id) => `${prefix}:grants:{${owner}}:${id}`,
    granted: (partition) => `${slot(partition)}:granted`,
    queuePrefix: slot,
    session: (sessionId) => (SESSION_ID.test(sessionId) ? `${prefix}:session:{${sessionId}}` : undefined),
    holder(taskId) {
      const partition = partitionOf(taskId);
      return partition === undefined ? undefined : `${slot(partition)}:task:${taskId}:holder`;
    },
    gateway: {
      holders: `${prefix}:gateway:holders`,
      lists: `${prefix}:gateway:lists`,
      calls: (process) => `${prefix}:gateway:calls:${process}`,
      lister: (upstream) => `${prefix}:gateway:lister:${upstream}`,
      asked: `${prefix}:gateway:asked`,
      box: (of, process) => `${prefix}:gateway:${BOXES[of]}:${process}`,
      claim: (id) => `${prefix}:gateway:claim:${id}`,
      letter: (id) => `${prefix}:gateway:letter:${id}`,
      state: (digest) => `${prefix}:gateway:state:${digest}`,
    },
    serving: `${prefix}:serving`,
    lane: (partition, worker) => `${slot(partition)}:lane:${worker}`,
    workers: `${prefix}:workers`,
    mishaps: `${prefix}:mishaps`,
    announcements: `${prefix}:announcements`,
    secret: `${prefix}:secret`,
    content: `${prefix}:content`,
    apiKeys: `${prefix}:api-keys`,
    ready: `${prefix}:ready`,
  };
}

/** The partition in a task id; undefined if it is not a task id. */
export function partitionOf(taskId: string): number | undefined {
  const match = TASK_ID.exec(taskId);
  return match ? Number(match[1]) : undefined;
}

/** The word of the key that seals the task's content; undefined if it is not sealed, or not a task id. */
export function sealWordOf(taskId: string): string | undefined {
  return TASK_ID.exec(taskId)?.[2];
}
