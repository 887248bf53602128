/**
 * The task store on Redis. The rules are in scripts/*.lua, one state change each; here is only what goes in and what comes out.
 *
 * One connection, and commands leave in the order in which the methods were called: a run that is added right after `create`, without
 * waiting for it, on the same connection, finds its task.
 */
import {
  answerOutcome,
  type Begun,
  type Entry,
  entryKey,
  type FeedItem,
  isFinished,
  type KeyedEntry,
  ParleyError,
  problemOf,
  type RunRef,
  type Task,
  type TaskStore,
} from "@parley/core";
import type { Redis } from "ioredis";
import { type Content, type ContentCodec, contentOf, plainContent } from "./content.ts";
import type { Keys } from "./keys.ts";
import { createOwnerList } from "./owner-list.ts";
import { type Acknowledge } from "./replicas.ts";
import { defineScripts, type Pair } from "./scripts.ts";
import { createSummaries } from "./summaries.ts";
import {
  isEntryKey,
  packArguments,
  packAsk,
  packCall,
  packEntry,
  packEntryOutcome,
  packPlace,
  packViolations,
  unpackEntry,
  unpackTask,
  unpackTaskAtWork,
} from "./task-hash.ts";
import { reached } from "./unavailable.ts";

/** Feed items that are kept per task, and read at once. */
const FEED_LENGTH_MAX = 1_000;
/** An owner's list keeps this many of the newest tasks of each partition; about 45 bytes each. */
const OWNER_LENGTH_MAX = 100_000;
/** An owner's list outlives its newest entry by this long; tasks that wait longer can be read by their id alone. */
const OWNER_LIST_MS = 90 * 24 * 60 * 60 * 1_000;

export interface RedisStoreOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  /** Partitions that new tasks may be in; lists look into all of them. */
  readonly partitions: number;
  /** Until when, by Redis' clock, the caller of a task that is created now waits for it: later it is not created. Absent: however late. */
  readonly waitsUntilMs?: () => number;
  /** For what a client or a tool is told for good. */
  readonly acknowledge?: Acknowledge;
  /** Through which everything passes that a person or a tool said. Plain by default. */
  readonly codec?: ContentCodec;
}

export function createRedisStore({
  redis,
  keys,
  partitions,
  waitsUntilMs,
  acknowledge = reached,
  codec = plainContent,
}: RedisStoreOptions): TaskStore {
  const scripts = defineScripts(redis);
  const summaries = createSummaries({ redis, keys, codec });
  const ownerList = createOwnerList({ redis, keys, partitions, summaries });

  async function read(taskId: string): Promise<Task | undefined> {
    const taskKeys = keys.task(taskId);
    if (!taskKeys) return undefined;
    const task = unpackTask(contentOf(codec, taskId), taskId, await reached(redis.hgetall(taskKeys[0])))?.task;
    // I1: an end that somebody has seen stays.
    return task && isFinished(task.status) ? await acknowledge(Promise.resolve(task)) : task;
  }

  const reads = new Map<string, Promise<Task | undefined>>();

  /** A wake-up wakes everybody who follows the task: reads that begin before anything else can come in are one read. */
  async function load(taskId: string): Promise<Task | undefined> {
    let shared = reads.get(taskId);
    if (!shared) {
      if (reads.size === 0) process.nextTick(() => reads.clear());
      shared = read(taskId);
      reads.set(taskId, shared);
    }
    return await shared;
  }

  return {
    load,

    async create({ taskId, call, graceMs }) {
      const taskKeys = keys.task(taskId);
      if (!taskKeys) throw new TypeError("a new task needs a task id");
      const { createdAtMs, retentionMs, hidden, principal } = call;
      const created = await acknowledge(
        scripts.create(taskKeys, ownerList.key(taskId, principal), {
          taskId,
          ...packCall(contentOf(codec, taskId), call),
          createdAtMs,
          retentionMs,
          dueAtMs: createdAtMs + graceMs,
          ownerExpiresAtMs: hidden ? undefined : createdAtMs + OWNER_LIST_MS,
          ownerLengthMax: OWNER_LENGTH_MAX,
          notAfterMs: waitsUntilMs?.(),
        }),
      );
      if (created === "expired") throw new ParleyError("UNAVAILABLE", "Redis: the task came too late to be created");
      return created;
    },

    async begin({ taskId, run, token, nowMs, leaseMs }): Promise<Begun> {
      const taskKeys = keys.task(taskId);
      if (!taskKeys) return { type: "refused", reason: "unknown" };
      // Its tool is told what was answered.
      const reply = await acknowledge(scripts.begin(taskKeys, { taskId, run, token, nowMs, dueAtMs: nowMs + leaseMs }));
      if (reply[0] !== "begun") return { type: "refused", reason: reply[0] };
      const content = contentOf(codec, taskId);
      const recorded = pairs(reply[2]);
      const hashes = { task: Object.fromEntries(pairs(reply[1])), journal: Object.fromEntries(recorded) };
      const unpacked = unpackTaskAtWork(content, taskId, hashes);
      if (!unpacked) throw new Error("begin found a task without state");
      const journal = new Map<string, Entry>();
      let journalSize = 0;
      for (const [key, text] of recorded) {
        if (!isEntryKey(key)) continue;
        const { entry, size } = unpackEntry(content, key, text);
        journal.set(key, entry);
        journalSize += size;
      }
      return { type: "begun", ...unpacked, journal, journalSize };
    },

    async record({ taskId, token, entries, nowMs, leaseMs }) {
      const taskKeys = keys.task(taskId);
      if (!taskKeys) return "refused";
      const packed = packEntries(contentOf(codec, taskId), entries);
      return await acknowledge(scripts.record(taskKeys, { taskId, token, nowMs, dueAtMs: nowMs + leaseMs, entries: packed }));
    },

    async renew({ taskId, token, nowMs, leaseMs }) {
      const taskKeys = keys.task(taskId);
      if (!taskKeys) return "refused";
      const renewed = await reached(scripts.record(taskKeys, { taskId, token, nowMs, dueAtMs: nowMs + leaseMs, entries: [] }));
      return renewed === "recorded" ? "renewed" : renewed;
    },

    async report({ taskId, token, nowMs, items, message, immediateResponse }) {
      const taskKeys = keys.task(taskId);
      if (!taskKeys) return "refused";
      const content = contentOf(codec, taskId);
      const fields = sealedFields(content, { message, immediate: immediateResponse });
      return await reached(
        scripts.report(taskKeys, {
          token,
          nowMs,
          fields,
          items: items.map((item) => content.seal("feed", JSON.stringify(item))),
          feedLengthMax: FEED_LENGTH_MAX,
        }),
      );
    },

    async park({ taskId, token, nowMs, entries, asks, dueAtMs, attempt, message, graceMs, restart }) {
      const taskKeys = keys.task(taskId);
      if (!taskKeys) return { type: "refused" };
      const content = contentOf(codec, taskId);
      const reply = await reached(
        scripts.park(taskKeys, {
          taskId,
          token,
          nowMs,
          dueAtMs,
          readyAtMs: nowMs + graceMs,
          attempt,
          restart: restart && packArguments(content, restart.arguments),
          fields: sealedFields(content, { message }),
          entries: packEntries(content, entries),
          asks: asks.map((ask, position) => [ask.key, ask.digest, packAsk(content, ask, position)]),
        }),
      );
      return reply[0] === "due" ? { type: "due", run: reply[1] } : { type: reply[0] };
    },

    async finish({ taskId, token, nowMs, entries, outcome, message }) {
      const taskKeys = keys.task(taskId);
      if (!taskKeys) return "refused";
      const content = contentOf(codec, taskId);
      return await reached(
        scripts.finish(taskKeys, {
          taskId,
          token,
          nowMs,
          status: outcome.type === "result" ? "completed" : "failed",
          fields: sealedFields(content, { message, outcome: JSON.stringify(outcome), problem: problemOf(outcome) }),
          entries: packEntries(content, entries),
        }),
      );
    },

    async answer({ taskId, key, digest, answer, by, nowMs, graceMs, token }) {
      const taskKeys = keys.task(taskId);
      if (!taskKeys) return { receipt: "unknown" };
      const { mark, outcome } = packEntryOutcome(contentOf(codec, taskId), entryKey("ask", key), answerOutcome(answer, by));
      const [receipt, nextRun] = await acknowledge(
        scripts.answer(taskKeys, {
          taskId,
          key,
          digest,
          fingerprint: mark,
          outcome,
          isTimeout: answer.action === "timeout",
          nowMs,
          readyAtMs: nowMs + graceMs,
          token,
        }),
      );
      return nextRun === undefined ? { receipt } : { receipt, nextRun };
    },

    async refuse({ taskId, key, digest, violations, nowMs }) {
      const taskKeys = keys.task(taskId);
      if (!taskKeys) return undefined;
      const packed = packViolations(contentOf(codec, taskId), key, violations);
      const count = await reached(scripts.refuse(taskKeys, { key, digest, violations: packed, nowMs }));
      return count ?? undefined;
    },

    async cancel({ taskId, nowMs, message }) {
      const taskKeys = keys.task(taskId);
      if (!taskKeys) return "unknown";
      return await acknowledge(scripts.cancel(taskKeys, { taskId, nowMs, message: contentOf(codec, taskId).seal("message", message) }));
    },

    async overdue({ partition, nowMs, limit }) {
      const reply = await reached(scripts.overdue(keys.due(partition), { nowMs, limit, taskPrefix: keys.taskPrefix(partition) }));
      const runs: RunRef[] = [];
      for (let i = 0; i + 1 < reply.length; i += 2) runs.push({ taskId: String(reply[i]), run: Number(reply[i + 1]) });
      return runs;
    },

    summaries: (taskIds) => reached(summaries.of(taskIds)),

    list: (request) => reached(ownerList.page(request)),

    async feed(taskId, cursor) {
      const taskKeys = keys.task(taskId);
      if (!taskKeys) return { items: [], cursor };
      if (cursor !== undefined && !/^\d+-\d+$/.test(cursor)) throw new ParleyError("INVALID_CURSOR", "the cursor is none of a feed");
      const rows = await reached(redis.xrange(taskKeys[2], cursor === undefined ? "-" : `(${cursor}`, "+", "COUNT", FEED_LENGTH_MAX));
      const content = contentOf(codec, taskId);
      const items = rows.flatMap(([, fields]) =>
        fields[1] === undefined ? [] : [JSON.parse(content.open("feed", fields[1])) as FeedItem],
      );
      return { items, cursor: rows.at(-1)?.[0] ?? cursor };
    },
  };
}

function packEntries(content: Content, entries: readonly KeyedEntry[]): Pair[] {
  return entries.map(({ key, entry, known }) => [key, known ? packPlace(entry) : packEntry(content, key, entry)]);
}

/** Those that are there, each sealed under its own name. */
function sealedFields(content: Content, fields: Readonly<Record<string, string | undefined>>): Pair[] {
  return Object.entries(fields).flatMap(([name, text]): Pair[] => (text === undefined ? [] : [[name, content.seal(name, text)]]));
}

/** Redis' flat reply to HGETALL inside a script. */
function pairs(flat: readonly string[]): [string, string][] {
  const found: [string, string][] = [];
  for (let i = 0; i + 1 < flat.length; i += 2) found.push([flat[i] ?? "", flat[i + 1] ?? ""]);
  return found;
}
