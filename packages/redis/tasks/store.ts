/**
 * The task store on Redis. The rules are in scripts/*.lua, one state change each; this file converts arguments and
 * replies.
 *
 * There is one connection, and commands are sent in the order of the method calls: a run that is added right after
 * `create`, without waiting for it and on the same connection, finds its task.
 */
import {
  type Answer,
  type AnsweredParent,
  answerOfChild,
  answerOutcome,
  type Ask,
  type AuditFact,
  type Begun,
  callKey,
  CHILD_END_TOO_LARGE,
  CHILDREN_MAX,
  type Entry,
  entryKey,
  type EntryOutcome,
  FEED_LENGTH_MAX,
  type FeedItem,
  isChildId,
  isFinished,
  isWaitingBehind,
  type KeyedEntry,
  type Log,
  type OutboxBounds,
  type Once,
  type Outcome,
  type Over,
  type ParentDue,
  ParleyError,
  problemOf,
  type OverdueRun,
  type SettledAsk,
  shareOf,
  SHOWN_OF_CHILDREN_MAX,
  type Task,
  type TaskQuota,
  type TaskQuotas,
  type TaskStore,
  type ThreadEntry,
  type Unreadable,
  unreadableError,
  WAITING_CHILDREN_MAX,
  withWaitingChildren,
} from "@parley/core";
import type { Redis } from "ioredis";
import { type Access, type Content, type ContentCodec, DamagedContent, plainContent } from "../content/codec.ts";
import { type Keys, partitionOf } from "../keys.ts";
import { NEWS_MAX } from "./wake-up-news.ts";
import { createAnsweredList, nameOfGiver } from "./answered-list.ts";
import { createAskedList } from "./asked-list.ts";
import { createOpenAsks } from "./open-asks.ts";
import { createOwnAsked } from "./own-asked.ts";
import { createOwnerList } from "./owner-list.ts";
import { createReads } from "./reads.ts";
import type { Acknowledge } from "../connection/replicas.ts";
import { type AuditRecord, defineScripts, type PackedRun, type Pair } from "../scripts/scripts.ts";
import { DEFAULT_REDIS_SETTINGS } from "../settings.ts";
import { createSummaries } from "./summaries.ts";
import {
  askFields,
  isEntryKey,
  openJson,
  ordersOf,
  packAcceptances,
  packArguments,
  packAsk,
  packAsks,
  packCall,
  packEntry,
  packEntryOutcome,
  packLink,
  packPlace,
  packViolations,
  revealed,
  childrenBehind,
  shownAsks,
  unpackEntry,
  unpackLine,
  unpackListed,
  unpackShown,
  unpackTask,
  unpackTaskAtWork,
} from "./task-hash.ts";
import { reached } from "../connection/unavailable.ts";

/** Newest tasks per partition that an owner's list keeps; about 45 bytes each. */
const OWNER_LENGTH_MAX = 100_000;
/** How long an owner's list outlives its newest entry. Tasks that wait longer can be read only by their id. */
const OWNER_LIST_MS = 90 * 24 * 60 * 60 * 1_000;

export interface RedisStoreOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  /** The partitions of new tasks; lists read all of them. */
  readonly partitions: number;
  /**
   * Until when, by Redis' clock, the caller of a new task waits for its creation. It is not created later. Absent: no
   * limit.
   */
  readonly waitsUntilMs?: () => number;
  /** Delays replies on whose permanence clients or tools rely. */
  readonly acknowledge?: Acknowledge;
  /** Receives the number of waiting tasks of each share. */
  readonly turns?: { learn(place: { readonly taskId: string; readonly share: string }, waiting: number): void };
  /** Called with new tasks that were offered to a worker and that none took. */
  readonly notTaken?: (taskId: string) => void;
  /** Seals and opens content. Default: plain. */
  readonly codec?: ContentCodec;
  readonly log?: Pick<Log, "error">;
  /** Whether wake-ups stay on the task's node of a cluster. */
  readonly sharded?: boolean;
  /** Whether wake-ups say what has changed (wake-up-news.ts). They are not encrypted. Default: false. */
  readonly hasNews?: boolean;
  /** Maximum number of audit records per partition. */
  readonly auditLengthMax?: number;
  /** What the outbox keeps. Absent: there is none. */
  readonly outbox?: OutboxBounds | undefined;
}

export function createRedisStore({
  redis,
  keys,
  partitions,
  waitsUntilMs,
  acknowledge = reached,
  turns,
  notTaken,
  codec = plainContent,
  log,
  sharded = false,
  hasNews = false,
  auditLengthMax = DEFAULT_REDIS_SETTINGS.auditLengthMax,
  outbox,
}: RedisStoreOptions): TaskStore {
  const scripts = defineScripts(redis, { encoding: codec.encoding, sharded, newsMax: hasNews ? NEWS_MAX : 0, outbox });
  const reads = createReads(redis, codec.encoding);
  const summaries = createSummaries({ reads, keys, codec });
  const ownerList = createOwnerList({ redis, keys, partitions, summaries });
  const askedList = createAskedList({ redis, keys, partitions, codec, turn: summaries.turn });
  const answeredList = createAnsweredList({ redis, keys, partitions, codec, turn: summaries.turn });

  /**
   * Calls `use` with a task's content. If its key is already loaded, which is nearly always so, this is synchronous,
   * so that commands are sent in the order of the method calls.
   */
  function withContent<T>(taskId: string, use: (content: Content) => Promise<T>): Promise<T> {
    return withAccess(taskId, (content, access) => {
      if (access !== "open") throw unreadableError(taskId, access);
      return use(content);
    });
  }

  function withAccess<T>(taskId: string, use: (content: Content, access: Access) => Promise<T>): Promise<T> {
    const access = codec.access(taskId);
    const content = codec.of(taskId);
    return typeof access === "string" ? use(content, access) : access.then((found) => use(content, found));
  }

  function damaged(taskId: string, error: unknown): "damaged" {
    if (!(error instanceof DamagedContent)) throw error;
    log?.error({ taskId, problem: error.message }, "content does not open");
    return "damaged";
  }

  /** Throws CONTENT_DAMAGED if the content is. */
  function opened<T>(taskId: string, open: () => T): T {
    try {
      return open();
    } catch (error) {
      throw unreadableError(taskId, damaged(taskId, error));
    }
  }

  const openAsks = createOpenAsks({
    redis,
    keys,
    encoding: codec.encoding,
    turn: summaries.turn,
    async unpack({ taskId, key }, values) {
      if ((await codec.access(taskId)) !== "open") return undefined;
      try {
        return unpackListed(codec.of(taskId), key, values);
      } catch (error) {
        damaged(taskId, error);
        return undefined;
      }
    },
  });
  const ownAsked = createOwnAsked({ redis, keys, partitions, turn: summaries.turn, load });

  async function read(taskId: string): Promise<Task | undefined> {
    const taskKeys = keys.task(taskId);
    if (!taskKeys) return undefined;
    const fields = await reached(reads.hash(taskKeys[0]));
    // Only for an existing task: a client may name anything.
    if (fields["state"] === undefined) return undefined;
    const task = await withBehind(await withShown(unpacked(taskId, fields, await codec.access(taskId)), fields), fields);
    // I1: an end that was read once must not be undone.
    return task && isFinished(task.status) ? await acknowledge(Promise.resolve(task)) : task;
  }

  /** Adds the asks of its children, with one more read of those children. */
  async function withShown(task: Task | undefined, fields: Readonly<Record<string, string>>): Promise<Task | undefined> {
    const all = task && !task.unreadable ? shownAsks(fields) : [];
    if (!task || all.length === 0) return task;
    const shown = all.toSorted(inOrder).slice(0, SHOWN_OF_CHILDREN_MAX);
    const found = await Promise.all(
      shown.map(async (each) => {
        const childKeys = keys.task(each.route.taskId);
        if (!childKeys) return [];
        const values = await reached(reads.fields(childKeys[0], askFields(each.route.key)));
        try {
          const ask = unpackShown(codec.of(each.route.taskId), each, values);
          return ask ? [ask] : [];
        } catch (error) {
          // The child ends at its next run, and its parent is told.
          damaged(each.route.taskId, error);
          return [];
        }
      }),
    );
    const asks = [...task.asks, ...found.flat()].toSorted(inOrder);
    // They were answered between the two reads (I3).
    return { ...task, asks, ...(asks.length === 0 && { status: "working" }) };
  }

  /** With the status of its children that wait for people at another server, with one more read of those children. */
  async function withBehind(task: Task | undefined, fields: Readonly<Record<string, string>>): Promise<Task | undefined> {
    const behind = task && !task.unreadable && !isFinished(task.status) ? childrenBehind(fields).slice(0, WAITING_CHILDREN_MAX) : [];
    if (!task || behind.length === 0) return task;
    const statuses = await Promise.all(
      behind.map(async (childId) => {
        const childKeys = keys.task(childId);
        const [sealed] = childKeys ? await reached(reads.fields(childKeys[0], ["message"])) : [];
        if (typeof sealed !== "string") return [];
        try {
          return [codec.of(childId).open("message", sealed)];
        } catch (error) {
          damaged(childId, error);
          return [];
        }
      }),
    );
    const message = withWaitingChildren(task.message, statuses.flat().filter(isWaitingBehind));
    return message === undefined ? task : { ...task, message };
  }

  function unpacked(taskId: string, fields: Readonly<Record<string, string>>, access: Access): Task | undefined {
    const content = codec.of(taskId);
    if (access !== "open") return unpackTask(content, taskId, fields, access)?.task;
    try {
      return unpackTask(content, taskId, fields)?.task;
    } catch (error) {
      return unpackTask(content, taskId, fields, damaged(taskId, error))?.task;
    }
  }

  const underWay = new Map<string, Promise<Task | undefined>>();

  /**
   * A wake-up wakes everyone who watches the task, so reads that begin in the same turn of the event loop share one
   * read.
   */
  async function load(taskId: string): Promise<Task | undefined> {
    let shared = underWay.get(taskId);
    if (!shared) {
      if (underWay.size === 0) process.nextTick(() => underWay.clear());
      shared = read(taskId);
      underWay.set(taskId, shared);
    }
    return await shared;
  }

  interface Hashes {
    readonly task: Readonly<Record<string, string>>;
    readonly journal: Readonly<Record<string, string>>;
  }

  /** Throws DamagedContent. */
  function unpackBegun(taskId: string, hashes: Hashes, recorded: readonly [string, string][]): Extract<Begun, { type: "begun" }> {
    const content = codec.of(taskId);
    const task = unpackTaskAtWork(content, taskId, hashes);
    if (!task) throw new Error("begin found a task without state");
    const journal = new Map<string, Entry>();
    let journalSize = 0;
    for (const [key, text] of recorded) {
      if (!isEntryKey(key)) continue;
      const { entry, size } = unpackEntry(content, key, text);
      journal.set(key, entry);
      journalSize += size;
    }
    return { type: "begun", ...task, journal, journalSize };
  }

  function unreadable<R extends Unreadable>(taskId: string, fields: Hashes["task"], reason: R) {
    const found = unpackTask(codec.of(taskId), taskId, fields, reason);
    if (!found) throw new Error("begin found a task without state");
    return { type: "unreadable", task: found.task, reason } as const;
  }

  /** Throws as `withContent` does, and CONTENT_DAMAGED. */
  async function readThread(taskKey: string, taskId: string, key: string): Promise<readonly ThreadEntry[]> {
    const [sealed] = await reached(reads.fields(`${taskKey}:threads`, [key]));
    if (typeof sealed !== "string") return [];
    return await withContent(taskId, async (content) => opened(taskId, () => openJson<ThreadEntry[]>(content, `history ${key}`, sealed)));
  }

  const auditKey = (taskId: string) => keys.audit(partitionOf(taskId) ?? 0);

  const createKeys = (taskId: string, principal: string, once: Once | undefined) => ({
    owner: ownerList.key(taskId, principal),
    audit: auditKey(taskId),
    once: keys.once(partitionOf(taskId) ?? 0, once?.key ?? ""),
    waitingRuns: keys.waitingRuns(partitionOf(taskId) ?? 0),
  });

  function auditRecord(content: Content, fact: AuditFact | undefined): AuditRecord {
    return fact && { text: content.toStored(JSON.stringify(fact)), lengthMax: auditLengthMax };
  }

  return {
    load,

    async create({ taskId, call, graceMs, quotas, audit, once, lane, parent }) {
      const taskKeys = keys.task(taskId);
      if (!taskKeys) throw new TypeError("a new task needs a task id");
      const { createdAtMs, retentionMs, hidden, principal } = call;
      const [created, ...more] = await withContent(taskId, (content) =>
        acknowledge(
          scripts.create(taskKeys, createKeys(taskId, principal, once), {
            once,
            audit: auditRecord(content, audit),
            taskId,
            ...packCall(content, call),
            createdAtMs,
            retentionMs,
            dueAtMs: createdAtMs + graceMs,
            ownerExpiresAtMs: hidden ? undefined : createdAtMs + OWNER_LIST_MS,
            ownerLengthMax: OWNER_LENGTH_MAX,
            notAfterMs: waitsUntilMs?.(),
            quotas: quotas && quotasOf(quotas, partitions),
            lane,
            parent: parent &&
              call.parent && {
                link: packLink(call.parent),
                token: parent.token,
                leaseUntilMs: parent.nowMs + parent.leaseMs,
                open: packAsk(codec.of(call.parent.taskId), parent.open, 0),
                childrenMax: CHILDREN_MAX,
              },
          }),
        ),
      );
      if (created === "expired") throw new ParleyError("UNAVAILABLE", "Redis: the task came too late to be created");
      if (created === "known") return { known: String(more[0]), fingerprint: String(more[1]) };
      if (created === "over") return { over: more[0] as Over["over"], of: more[1] as Over["of"] };
      if (quotas && typeof more[0] === "number") turns?.learn({ taskId, share: shareOf(call) }, more[0]);
      if (more[1] === 1) return "delivered";
      if (lane !== undefined && created === "created") notTaken?.(taskId);
      return created;
    },

    async begin({ taskId, run, token, nowMs, leaseMs, opening: given = [] }): Promise<Begun> {
      const taskKeys = keys.task(taskId);
      if (!taskKeys) return { type: "refused", reason: "unknown" };
      // Before anything changes: a task whose key is missing stays as it is.
      const access = await codec.access(taskId);
      if (access === "key_missing") return { type: "refused", reason: "key_missing" };
      // Acknowledged, because the tool acts on the answers in it.
      const opening = access === "open" ? packEntries(codec.of(taskId), given) : [];
      const reply = await acknowledge(scripts.begin(taskKeys, { taskId, run, token, nowMs, dueAtMs: nowMs + leaseMs, opening }));
      if (reply[0] !== "begun") return { type: "refused", reason: reply[0] };
      const recorded = pairs(reply[2]);
      const hashes = { task: Object.fromEntries(pairs(reply[1])), journal: Object.fromEntries(recorded) };
      if (access === "erased") return unreadable(taskId, hashes.task, "erased");
      try {
        return unpackBegun(taskId, hashes, recorded);
      } catch (error) {
        return unreadable(taskId, hashes.task, damaged(taskId, error));
      }
    },

    async release({ taskId, token, nowMs }) {
      const taskKeys = keys.task(taskId);
      if (taskKeys) await reached(scripts.release(taskKeys, { taskId, token, nowMs }));
    },

    async record({ taskId, token, entries, asks = [], tenant, nowMs, leaseMs }) {
      const taskKeys = keys.task(taskId);
      if (!taskKeys) return "refused";
      return await withContent(taskId, (content) => {
        const packed = packEntries(content, entries);
        const opened = packAsks(content, asks, () => codec.askedBy(taskId, tenant));
        return acknowledge(scripts.record(taskKeys, { taskId, token, nowMs, dueAtMs: nowMs + leaseMs, entries: packed, asks: opened }));
      });
    },

    async renew({ taskId, token, nowMs, leaseMs }) {
      const taskKeys = keys.task(taskId);
      if (!taskKeys) return "refused";
      const renewed = await reached(scripts.record(taskKeys, { taskId, token, nowMs, dueAtMs: nowMs + leaseMs, entries: [], asks: [] }));
      return renewed === "recorded" ? "renewed" : renewed;
    },

    async report({ taskId, token, nowMs, items, message, immediateResponse, version }) {
      const taskKeys = keys.task(taskId);
      if (!taskKeys) return "refused";
      return await withContent(taskId, (content) =>
        reached(
          scripts.report(taskKeys, {
            token,
            nowMs,
            fields: [...sealedFields(content, { message, immediate: immediateResponse }), ...versionField(content, version)],
            items: items.map((item) => content.seal("feed", JSON.stringify(item))),
            feedLengthMax: FEED_LENGTH_MAX,
            waits: message === undefined || !isChildId(taskId) ? "" : isWaitingBehind(message) ? "1" : "0",
          }),
        ),
      );
    },

    async park({ taskId, token, nowMs, entries, asks, tenant, dueAtMs, attempt, message, graceMs, restart }) {
      const taskKeys = keys.task(taskId);
      if (!taskKeys) return { type: "refused" };
      const reply = await withContent(taskId, (content) =>
        reached(
          scripts.park(taskKeys, {
            taskId,
            token,
            nowMs,
            dueAtMs,
            readyAtMs: nowMs + graceMs,
            attempt,
            restart: restart && packArguments(content, restart.arguments),
            fields: restart ? versionField(content, restart.version) : sealedFields(content, { message }),
            entries: packEntries(content, entries),
            asks: packAsks(content, asks, () => codec.askedBy(taskId, tenant)),
          }),
        ),
      );
      return reply[0] === "due" ? { type: "due", run: reply[1] } : { type: reply[0] };
    },

    async finish({ taskId, token, nowMs, entries, outcome, message, owes, parent }) {
      const taskKeys = keys.task(taskId);
      if (!taskKeys) return "refused";
      const written = { message, outcome: JSON.stringify(outcome), problem: problemOf(outcome) };
      const status = outcome.type === "result" ? "completed" : "failed";
      return await withAccess(taskId, (content, access) => {
        if (access === "key_missing") throw unreadableError(taskId, access);
        // Nothing can be sealed with an erased key. Readers then learn that it was erased.
        const sealed = access === "open" ? { fields: sealedFields(content, written), entries: packEntries(content, entries) } : NO_CONTENT;
        // A parent is sealed with the same key as its child, so it could not read the outcome either.
        const childEnd =
          parent && (access === "open" ? packedChildEnd(codec, parent, outcome) : { ...CANCELLED, max: parent.childEndsMax });
        // Then the work cannot be undone either.
        const owed = access === "open" ? owes : undefined;
        const finish = scripts.finish(taskKeys, { taskId, token, nowMs, status, ...sealed, owes: owed, childEnd });
        return reached(finish).then((finished) => (typeof finished === "string" ? finished : parentDue(finished)));
      });
    },

    async settle({ taskId, token, nowMs, entries }) {
      const taskKeys = keys.task(taskId);
      if (!taskKeys) return "refused";
      return await withAccess(taskId, (content, access) =>
        reached(scripts.settle(taskKeys, { taskId, token, nowMs, entries: access === "open" ? packEntries(content, entries) : [] })),
      );
    },

    async answer({ taskId, key, digest, answer, by, given, giver, page, quorum, nowMs, graceMs, token, lane, audit }) {
      const taskKeys = keys.task(taskId);
      if (!taskKeys) return { receipt: "unknown" };
      const [receipt, nextRun] = await withContent(taskId, (content) => {
        const pack = (said: Answer) => packEntryOutcome(content, entryKey("ask", key), answerOutcome(said, by, quorum?.acceptances, given));
        const { mark, outcome } = pack(answer);
        const deposit = page?.deposit;
        return acknowledge(
          scripts.answer(taskKeys, auditKey(taskId), {
            audit: auditRecord(content, audit),
            taskId,
            // A client may name anything.
            key: content.toStored(key),
            digest,
            fingerprint: page ? pack({ action: "accept" }).mark : mark,
            outcome,
            isTimeout: answer.action === "timeout",
            nowMs,
            readyAtMs: nowMs + graceMs,
            token,
            lane,
            giver: giver && codec.askedBy(taskId, giver.tenant)(nameOfGiver(giver)),
            answeredAs: answeredAs(answer.action),
            quorum: quorum && {
              seen: quorum.seen,
              acceptances: quorum.missing > 0 ? packAcceptances(content, key, quorum.acceptances) : undefined,
            },
            deposit: deposit === undefined ? undefined : content.seal(`deposit ${key}`, deposit),
          }),
        );
      });
      return nextRun === undefined ? { receipt } : { receipt, nextRun };
    },

    async refuse({ taskId, key, digest, violations, nowMs, audit }) {
      const taskKeys = keys.task(taskId);
      if (!taskKeys) return undefined;
      const count = await withContent(taskId, (content) =>
        reached(
          scripts.refuse(taskKeys, auditKey(taskId), {
            key,
            digest,
            violations: packViolations(content, key, violations),
            nowMs,
            audit: auditRecord(content, audit),
          }),
        ),
      );
      return count ?? undefined;
    },

    async agree({ taskId, key, digest, nowMs, audit }) {
      const taskKeys = keys.task(taskId);
      if (!taskKeys) return "late";
      return await withContent(taskId, (content) =>
        acknowledge(
          scripts.agree(taskKeys, auditKey(taskId), { key: content.toStored(key), digest, nowMs, audit: auditRecord(content, audit) }),
        ),
      );
    },

    async writeThread({ taskId, key, digest, seen, thread, history, handedTo = [], places, moved, tells = [], tenant, nowMs, audit }) {
      const taskKeys = keys.task(taskId);
      if (!taskKeys) return "late";
      return await withContent(taskId, (content) =>
        acknowledge(
          scripts.thread(taskKeys, auditKey(taskId), {
            key: content.toStored(key),
            digest,
            seen,
            thread: content.seal(`thread ${key}`, JSON.stringify(thread)),
            history: content.seal(`history ${key}`, JSON.stringify(history)),
            names:
              handedTo.length === 0 ? "" : [...handedTo.map(codec.askedBy(taskId, tenant)), ...(places ? ordersOf(places) : [])].join(" "),
            tells: tells.join(" "),
            timeoutMs: moved ? moved.deadlineMs - moved.askedAtMs : "",
            orders: moved ? ordersOf(moved).join(" ") : "",
            nowMs,
            audit: auditRecord(content, audit),
          }),
        ),
      );
    },

    async thread(taskId, key) {
      const taskKeys = keys.task(taskId);
      return taskKeys ? await readThread(taskKeys[0], taskId, key) : [];
    },

    async deposit(taskId, key) {
      const taskKeys = keys.task(taskId);
      if (!taskKeys) return undefined;
      const [sealed] = await reached(reads.fields(`${taskKeys[0]}:deposits`, [key]));
      if (typeof sealed !== "string") return undefined;
      return await withContent(taskId, async (content) => opened(taskId, () => content.open(`deposit ${key}`, sealed)));
    },

    async reveal(taskId, nowMs) {
      const taskKeys = keys.task(taskId);
      if (!taskKeys) return;
      // Whatever changes the call in between does so once or twice in the life of a task.
      for (;;) {
        const [call] = await reached(reads.fields(taskKeys[0], ["call"]));
        const shown = typeof call === "string" && opened(taskId, () => revealed(codec.of(taskId), call));
        if (!shown) return;
        const became = await acknowledge(
          scripts.reveal(taskKeys, ownerList.key(taskId, shown.listedFor ?? ""), {
            taskId,
            before: call,
            call: shown.call,
            // Tasks that were created after this one are in the list, too.
            ownerExpiresAtMs: shown.listedFor === undefined ? "" : nowMs + OWNER_LIST_MS,
            ownerLengthMax: OWNER_LENGTH_MAX,
          }),
        );
        if (became === "revealed") return;
      }
    },

    async redeposit({ taskId, key, before, deposit }) {
      const taskKeys = keys.task(taskId);
      if (!taskKeys) return false;
      const [stored] = await reached(reads.fields(`${taskKeys[0]}:deposits`, [key]));
      if (typeof stored !== "string") return false;
      return await withContent(taskId, async (content) => {
        const part = `deposit ${key}`;
        if (opened(taskId, () => content.open(part, stored)) !== before) return false;
        const sealed = content.seal(part, deposit);
        return (await acknowledge(scripts.redeposit(taskKeys, { key, before: stored, deposit: sealed }))) === "replaced";
      });
    },

    async cancel({ taskId, nowMs, message, owes = false, audit }) {
      const taskKeys = keys.task(taskId);
      if (!taskKeys) return "unknown";
      return await withAccess(taskId, (content, access) => {
        const sealed = access === "open" ? content.seal("message", message) : undefined;
        return acknowledge(
          scripts.cancel(taskKeys, auditKey(taskId), { taskId, nowMs, message: sealed, owes, audit: auditRecord(content, audit) }),
        ).then((cancelled) => (typeof cancelled === "string" ? cancelled : parentDue(cancelled)));
      });
    },

    async child(taskId, key) {
      const taskKeys = keys.task(taskId);
      if (!taskKeys) return undefined;
      const field = entryKey("ask", callKey(key));
      const [[open, lines], [ended]] = await Promise.all([
        reached(reads.fields(taskKeys[0], [field, "lines"])),
        reached(reads.fields(taskKeys[1], [field])),
      ]);
      if (typeof open === "string") return open.split(" ")[0];
      if (typeof ended === "string") return ended.split(" ")[2];
      const line = lines?.split("\n").find((each) => each.endsWith(` ${field}`));
      return line?.split(" ")[2];
    },

    async postpone({ taskId, nowMs, dueAtMs }) {
      const taskKeys = keys.task(taskId);
      if (taskKeys) await reached(scripts.postpone(taskKeys, { taskId, nowMs, dueAtMs }));
    },

    async overdue({ partition, nowMs, limit }) {
      const reply = await reached(scripts.overdue(keys.due(partition), { nowMs, limit, taskPrefix: keys.taskPrefix(partition) }));
      const runs: OverdueRun[] = [];
      for (let i = 0; i + 2 < reply.length; i += 3) {
        const [taskId, run, share] = reply.slice(i, i + 3);
        runs.push({ taskId: String(taskId), run: Number(run), ...(share !== "" && { share: String(share) }) });
      }
      return runs;
    },

    summaries: (taskIds) => reached(summaries.of(taskIds)),

    list: (request) => reached(ownerList.page(request)),

    asked: (request) => reached(askedList.page(request)),

    openAsks: (places) => reached(openAsks(places)),

    ownAsked: (request) => reached(ownAsked.places(request)),

    answered: (request) => reached(answeredList.page(request)),

    async settledAsk({ taskId, key, tenant, names }) {
      const taskKeys = keys.task(taskId);
      if (!taskKeys) return undefined;
      const entry = entryKey("ask", key);
      const [[inJournal, namesInJournal], [ended, lines, threads]] = await Promise.all([
        reached(reads.fields(taskKeys[1], [entry, `asked ${key}`])),
        // Where it is once the task is over.
        reached(reads.fields(taskKeys[0], [`end ${key}`, "lines", "threads"])),
      ]);
      const history = typeof threads === "string" ? await readThread(taskKeys[0], taskId, key) : [];
      const around = history.length > 0 ? { history } : {};
      const [endedNames, text = inJournal] = typeof ended === "string" ? cutAt(ended, "\n") : [];
      if (typeof text !== "string") {
        const settled = typeof lines === "string" ? settledByLine(lines, entry) : undefined;
        return settled && { ...settled, ...around };
      }
      return await withContent(taskId, async (content) => {
        const { digest, outcome, arrived } = opened(taskId, () => unpackEntry(content, entry, text)).entry;
        const those = new Set((endedNames ?? namesInJournal ?? "").split(" "));
        const wasAsked = names.map(codec.askedBy(taskId, tenant)).some((name) => those.has(name));
        return { digest, outcome, ...(arrived && { arrivedAtMs: arrived.atMs }), wasAsked, ...around };
      });
    },

    async feed(taskId, cursor, limit = FEED_LENGTH_MAX) {
      const taskKeys = keys.task(taskId);
      if (!taskKeys) return { items: [], cursor, cursors: [] };
      if (cursor !== undefined && !/^\d+-\d+$/.test(cursor))
        throw new ParleyError("INVALID_CURSOR", "the cursor does not belong to a feed");
      const rows = await reached(reads.stream(taskKeys[2], cursor, Math.min(limit, FEED_LENGTH_MAX)));
      if (rows.length === 0) return { items: [], cursor, cursors: [] };
      return await withContent(taskId, async (content) => ({
        items: opened(taskId, () => rows.map(([, item]) => openJson<FeedItem>(content, "feed", item))),
        cursor: rows.at(-1)?.[0],
        cursors: rows.map(([id]) => id),
      }));
    },

    async recorded(taskId) {
      const taskKeys = keys.task(taskId);
      if (!taskKeys) return undefined;
      const [fields, recorded] = (await reached(scripts.recorded(taskKeys))).map(pairs);
      if (!fields || !recorded || fields.length === 0) return undefined;
      const access = await codec.access(taskId);
      const hashes = { task: Object.fromEntries(fields), journal: Object.fromEntries(recorded) };
      if (access !== "open") return unreadable(taskId, hashes.task, access);
      try {
        const { task, journal } = unpackBegun(taskId, hashes, recorded);
        return { type: "recorded", task, journal };
      } catch (error) {
        return unreadable(taskId, hashes.task, damaged(taskId, error));
      }
    },

    async journal(taskId) {
      const taskKeys = keys.task(taskId);
      if (!taskKeys) return [];
      return pairs(await reached(scripts.journal(taskKeys))).map(([key, words]) => unpackLine(key, words));
    },
  };
}

function cutAt(text: string, separator: string): [before: string, after: string] {
  const at = text.indexOf(separator);
  return [text.slice(0, at), text.slice(at + 1)];
}

/** The lines of a task that is over say of an ask that it was settled, and of one that nobody answered how. */
function settledByLine(lines: string, entry: string): SettledAsk | undefined {
  const line = lines.split("\n").find((each) => each.endsWith(` ${entry}`));
  if (line === undefined) return undefined;
  const [, , digest = "", , word] = line.split(" ");
  const isBare = word === "closed" || word === "withdrawn" || word === "cancelled";
  return { digest, ...(isBare && { outcome: { type: word } }), wasAsked: false };
}

/** By the moment at which the task began to show them. */
function inOrder({ since: a }: Pick<Ask, "since">, { since: b }: Pick<Ask, "since">): number {
  return (a?.revision ?? 0) - (b?.revision ?? 0) || (a?.position ?? 0) - (b?.position ?? 0);
}

function packedChildEnd(codec: ContentCodec, { link: { taskId, key }, childEndsMax }: AnsweredParent, outcome: Outcome) {
  const content = codec.of(taskId);
  const packed = (end: EntryOutcome) => {
    const { mark, outcome: text } = packEntryOutcome(content, entryKey("ask", callKey(key)), end);
    return `${mark} ${text}`;
  };
  return { answer: packed(answerOutcome(answerOfChild(outcome), undefined)), tooLarge: packed(CHILD_END_TOO_LARGE), max: childEndsMax };
}

const CANCELLED = { answer: "! cancelled", tooLarge: "! cancelled" };

function parentDue(reply: PackedRun): ParentDue {
  const [taskId, run] = reply;
  return { parentRun: { taskId, run } };
}

const NO_CONTENT = { fields: [], entries: [] };

/** As approvals end (core's ports/approval-record.ts): only a decline refuses. */
function answeredAs(action: Answer["action"]): "given" | "refused" | "closed" {
  if (action === "accept") return "given";
  return action === "decline" ? "refused" : "closed";
}

/** What the outbox says of an entry follows its key. */
function packEntries(content: Content, entries: readonly KeyedEntry[]): Pair[] {
  return entries.map(({ key, entry, known }) => [
    entry.tells ? `${key}\n${entry.tells.what}:${entry.tells.key}` : key,
    known ? packPlace(entry) : packEntry(content, key, entry),
  ]);
}

/** The fields that are present, each sealed under its own name. */
function sealedFields(content: Content, fields: Readonly<Record<string, string | undefined>>): Pair[] {
  return Object.entries(fields).flatMap(([name, text]): Pair[] => (text === undefined ? [] : [[name, content.seal(name, text)]]));
}

/** In the clear, because whether a worker serves it is checked without a key. */
function versionField(content: Content, version: string | undefined): Pair[] {
  return version === undefined ? [] : [["version", content.toStored(version)]];
}

/** Redis' flat reply to HGETALL inside a script. */
function pairs(flat: readonly string[]): [string, string][] {
  const found: [string, string][] = [];
  for (let i = 0; i + 1 < flat.length; i += 2) found.push([flat[i] ?? "", flat[i + 1] ?? ""]);
  return found;
}

/**
 * The part of the quotas for one of several partitions, each of which counts for itself: its even share, plus three
 * times the excess that chance may put there, so that no caller is refused before the quota is reached. All
 * partitions together hold up to 3 √(quota × partitions) more than the quota.
 */
function quotasOf(quotas: TaskQuotas, partitions: number): TaskQuotas {
  if (partitions === 1) return quotas;
  const part = (quota: number) => Math.ceil(quota / partitions + 3 * Math.sqrt(quota / partitions));
  const each = ({ tasks, bytes, stored }: TaskQuota) => ({
    tasks: part(tasks),
    bytes: part(bytes),
    ...(stored !== undefined && { stored: part(stored) }),
  });
  return { principal: each(quotas.principal), tenant: each(quotas.tenant) };
}
