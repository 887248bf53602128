/**
 * The task store in memory: the rules of packages/redis/scripts in readable form, without packing, keys or expiry
 * commands.
 *
 * A method runs to its end without awaiting, so it is one atomic change, like a script in Redis. test/contract runs
 * one suite against both stores.
 */
import {
  type AnswerGiver,
  ANSWERED_MAX,
  type AskOrder,
  type AskPlace,
  inAskOrder,
  namesOfAsk,
  namesOfAudience,
  placeMs,
} from "../callers/open-asks.ts";
import { DEFAULT_TENANT } from "../callers/caller.ts";
import { canonicalJson } from "../values/canonical-json.ts";
import { answerOfChild, CHILD_END_TOO_LARGE } from "../replay/child-end.ts";
import { invalidCursor } from "../task/invalid-cursor.ts";
import {
  answerOutcome,
  type Entry,
  type EntryOutcome,
  entryKey,
  isReadingKey,
  type Journal,
  type KeyedEntry,
  answersIn,
} from "../journal.ts";
import type { Clock, CreateRequest, Known, ParentDue, TaskStore } from "../ports.ts";
import type { Over, TaskQuotas } from "../callers/quotas.ts";
import { shareOf } from "../callers/shares.ts";
import { apply, type TaskEvent } from "../task/state-machine.ts";
import { PAGE_SIZE_MAX, type TaskSummary } from "../task/summary.ts";
import {
  type Ask,
  type Call,
  callKey,
  CHILDREN_MAX,
  isFinished,
  isQuestion,
  type JsonObject,
  type Open,
  type Owed,
  shownKey,
  type Task,
} from "../task.ts";
import { isWaitingBehind, withWaitingChildren } from "../task/waiting-behind.ts";
import { FEED_LENGTH_MAX } from "../replay/reports.ts";
import { render, renderAtWork, type Stored, summarize } from "./stored.ts";
import type { MemoryWakeUps } from "./wake-ups.ts";

/** How long the feed of a task that is over is kept, for streams that are behind; as in task/end.lua. */
const FEED_KEPT_MS = 5 * 60_000;

/** What a task that is over costs beside its content; as in task/usage.lua. */
const KEPT_AT_LEAST = 500;

/** Approximate size of an entry besides its outcome. */
const ENTRY_SIZE = 32;

/** The size that Redis packs. */
function sizeOfGiven({ arguments: args, replies, reason }: Call): number {
  return JSON.stringify(reason === undefined ? (replies ? [args, replies] : [args]) : [args, replies ?? null, reason]).length;
}

export function createMemoryStore({
  clock,
  wakeUps,
  keepsRecords = false,
}: {
  readonly clock: Pick<Clock, "now">;
  readonly wakeUps: Pick<MemoryWakeUps, "changed" | "askedChanged">;
  /** Whether `recorded` still returns every task that is over. Redis keeps the records of those that want it; tests of tools replay them. */
  readonly keepsRecords?: boolean;
}): TaskStore {
  /** In order of creation. */
  const tasks = new Map<string, Stored>();
  /** Tasks by idempotency key. */
  const keyed = new Map<string, Known>();
  /** What children say that wait for people at another server, by their ids. */
  const behind = new Map<string, string>();
  const answeredBy = new Map<string, readonly AskPlace[]>();
  let feedPosition = 0;

  /**
   * A finished task disappears when its retention is over. This is checked only on access, which cannot be told from
   * a timer.
   */
  function find(taskId: string): Stored | undefined {
    const task = tasks.get(taskId);
    if (task?.expiresAtMs === undefined || task.owed || task.expiresAtMs > clock.now()) return task;
    tasks.delete(taskId);
    return undefined;
  }

  function held(request: { readonly taskId: string; readonly token: string }): Stored | undefined {
    const task = find(request.taskId);
    return task?.openRun?.token === request.token ? task : undefined;
  }

  function applyEvent(task: Stored, event: TaskEvent): boolean {
    const applied = apply(task.state, event);
    if (!applied.ok) return false;
    const before = task.state;
    task.state = applied.state;
    for (const { key } of before.asks) if (!applied.state.asks.some((ask) => ask.key === key)) tellAsked(task, key);
    return true;
  }

  /** Notes a change that clients can see. */
  function noteChange(task: Stored, nowMs: number): void {
    task.revision += 1;
    task.updatedAtMs = nowMs;
    wakeUps.changed(task.id, { revision: task.revision, isEnd: isFinished(task.state.status) });
    showAtRoot(task, nowMs);
  }

  /** Wakes those to whom the ask is put. */
  function tellAsked({ call: { tenant }, audiences }: Stored, key: string): void {
    const names = audiences.get(key) ?? [];
    if (names.length > 0) wakeUps.askedChanged({ ...(tenant !== undefined && { tenant }), names });
  }

  /** A child's questions, and that it waits for people at another server, are shown by the root, which is the task that a client knows. */
  function showAtRoot({ id, call, state, message }: Stored, nowMs: number): void {
    const root = call.parent && find(call.parent.rootId);
    if (!root || !call.parent || isFinished(root.state.status)) return;
    const asks = state.asks.filter(isQuestion);
    const before = root.state.asks.filter((ask): ask is Ask => isQuestion(ask) && ask.route?.taskId === id);
    const said = !isFinished(state.status) && isWaitingBehind(message) ? message : undefined;
    let changed = said !== behind.get(id);
    if (said === undefined) behind.delete(id);
    else behind.set(id, said);
    for (const { key, route } of before) {
      if (asks.some((ask) => ask.key === route?.key)) continue;
      changed = applyEvent(root, { type: "answered", key }) || changed;
    }
    for (const ask of asks) {
      const shown = before.find(({ route }) => route?.key === ask.key);
      const isSame = shown?.refused?.count === ask.refused?.count && shown?.agreed === ask.agreed;
      const isNoted = shown?.accepted?.revision === ask.accepted?.revision && shown?.thread?.revision === ask.thread?.revision;
      if (shown && isSame && isNoted) continue;
      // An ask that was agreed to keeps its position.
      const isAskedAnew = !shown || shown.refused?.count !== ask.refused?.count;
      const since = isAskedAnew ? { revision: root.revision + 1, position: ask.since?.position ?? 0 } : shown.since;
      const atRoot: Ask = {
        ...structuredClone(ask),
        key: shownKey(call.parent, ask.key),
        route: { taskId: id, key: ask.key },
        ...(since && { since }),
      };
      if (shown) root.state = { ...root.state, asks: root.state.asks.map((each) => (each === shown ? atRoot : each)) };
      else applyEvent(root, { type: "asked", ask: atRoot });
      changed = true;
    }
    if (changed) noteChange(root, nowMs);
  }

  function withBehind(task: Task): Task {
    if (isFinished(task.status)) return task;
    const ofChildren = [...behind].flatMap(([childId, said]) => (find(childId)?.call.parent?.rootId === task.id ? [said] : []));
    const message = withWaitingChildren(task.message, ofChildren);
    return message === undefined ? task : { ...task, message };
  }

  /** What is not hidden of a principal's tasks, the newest first. */
  function listedOf(principal: string): Stored[] {
    return [...tasks.keys()]
      .toReversed()
      .flatMap((taskId) => find(taskId) ?? [])
      .filter(({ call }) => call.principal === principal && !call.hidden);
  }

  /** The parent has ended, or has withdrawn the call, which is open for as long as the child is unfinished. */
  function cancelChild(taskId: string, nowMs: number): void {
    const task = find(taskId);
    if (task) end(task, "cancelled", nowMs, task.call.compensates && task.run > 0 ? "cancelled" : undefined);
  }

  /** The end of a child answers its parent's call. */
  function answerParent(
    { id, call: { parent: link } }: Stored,
    outcome: EntryOutcome,
    nowMs: number,
    childEndsMax = Infinity,
  ): ParentDue | undefined {
    const parent = link && find(link.taskId);
    const open = parent?.state.asks.find(({ digest }) => digest === id);
    if (!parent || !open) return undefined;
    const { key, digest, calledAt } = open;
    applyEvent(parent, { type: "answered", key });
    noteChange(parent, nowMs);
    const arrived = { atMs: nowMs, revision: parent.revision };
    const size = JSON.stringify(outcome).length;
    const isRoom = parent.childEndsSize + size <= childEndsMax;
    if (isRoom) parent.childEndsSize += size;
    parent.journal.set(entryKey("ask", key), {
      digest,
      calledAt,
      outcome: structuredClone(isRoom ? outcome : CHILD_END_TOO_LARGE),
      arrived,
    });
    if (parent.openRun) {
      parent.openRun.answers += 1;
      return undefined;
    }
    parent.dueAtMs = nowMs;
    return { parentRun: { taskId: parent.id, run: parent.run + 1 } };
  }

  /** For a child that exists: created by the sender itself, or by the run that took the parent over from it. */
  function stillHeld(parentId: string, token: string) {
    const fence = { taskId: parentId, token };
    return held(fence) ? ("exists" as const) : refusal(fence);
  }

  /** What prevents the child from being created; undefined if its parent's call is open now. */
  function openCall({ taskId, call: { parent: link } }: CreateRequest, given: NonNullable<CreateRequest["parent"]>) {
    const parent = link && held({ taskId: link.taskId, token: given.token });
    if (!link || !parent) return refusal({ taskId: link?.taskId ?? "" });
    if (isFinished(parent.state.status)) return "cancelled";
    const { key } = given.open;
    if (parent.journal.has(entryKey("ask", key))) return "settled";
    const family = [...tasks.values()].filter(({ call, state }) => call.parent?.rootId === link.rootId && !isFinished(state.status));
    if (family.length >= CHILDREN_MAX) return "crowded";
    applyEvent(parent, { type: "asked", ask: { ...structuredClone(given.open), digest: taskId } });
    parent.dueAtMs = given.nowMs + given.leaseMs;
    return undefined;
  }

  return {
    async create(request) {
      const { taskId, call, graceMs, quotas: given, once, parent } = request;
      if (find(taskId)) return parent && call.parent ? stillHeld(call.parent.taskId, parent.token) : "exists";
      const known = once && keyed.get(once.key);
      if (known && find(known.known)) return known;
      const quotas = !call.parent || find(call.parent.taskId)?.isCounted === true ? given : undefined;
      const over = quotas && overQuota(call, quotas);
      if (over) return over;
      const refused = parent && openCall(request, parent);
      if (refused) return refused;
      const task: Stored = {
        id: taskId,
        call: structuredClone(call),
        isCounted: quotas !== undefined,
        state: { status: "working", asks: [] },
        revision: 0,
        run: 0,
        updatedAtMs: call.createdAtMs,
        generation: 0,
        expiresAtMs: undefined,
        dueAtMs: call.createdAtMs + graceMs,
        attempt: 0,
        takeovers: 0,
        owed: undefined,
        openRun: undefined,
        message: undefined,
        immediateResponse: undefined,
        outcome: undefined,
        journal: new Map(),
        childEndsSize: 0,
        audiences: new Map(),
        threads: new Map(),
        deposits: new Map(),
        onPages: new Set(),
        feed: [],
      };
      tasks.set(taskId, task);
      if (once) keyed.set(once.key, { known: taskId, fingerprint: once.fingerprint });
      noteChange(task, call.createdAtMs);
      return "created";
    },

    async load(taskId) {
      const task = find(taskId);
      return task && withBehind(render(task));
    },

    async begin({ taskId, run, token, nowMs, leaseMs, opening = [] }) {
      const task = find(taskId);
      if (!task) return { type: "refused", reason: "unknown" };
      if (isFinished(task.state.status) && !task.owed) return { type: "refused", reason: "finished" }; // I1
      if (run !== expectedRun(task)) return { type: "refused", reason: "stale" };
      // With the same token, this begin was sent twice, as client libraries do after a lost connection.
      if (task.openRun && task.openRun.token !== token) {
        if (task.dueAtMs !== undefined && task.dueAtMs > nowMs) return { type: "refused", reason: "held" };
        task.takeovers += 1;
      }
      if (isFirstRun(task, run) && !task.openRun && !task.owed) write(task, opening, nowMs);
      if (task.owed) task.owed = { ...task.owed, isStopping: false };
      task.run = run;
      task.openRun = { token, answers: 0 };
      task.dueAtMs = nowMs + leaseMs;
      return {
        type: "begun",
        task: renderAtWork(task),
        journal: structuredClone(task.journal),
        journalSize: sizeOf(task.journal),
        attempt: task.attempt,
        takeovers: task.takeovers,
      };
    },

    async release({ nowMs, ...fence }) {
      const task = held(fence);
      if (!task?.openRun) return;
      if (task.openRun.answers > 0) task.dueAtMs = nowMs;
      task.openRun = undefined;
      // Its handler never started, so all that is there is what was written with `begin`.
      if (isFirstRun(task, task.run) && !task.owed) task.journal.clear();
    },

    async record({ entries, asks = [], nowMs, leaseMs, ...fence }) {
      const task = held(fence);
      if (!task) return refusal(fence);
      const withdrawn = write(task, entries, nowMs);
      const opened = !task.owed && open(task, asks);
      if (!task.owed && (withdrawn || opened)) noteChange(task, nowMs);
      if (entries.length > 0) task.takeovers = 0;
      task.dueAtMs = nowMs + leaseMs;
      return task.owed?.isStopping ? "cancelled" : "recorded";
    },

    async renew({ nowMs, leaseMs, ...fence }) {
      const task = held(fence);
      if (!task) return refusal(fence);
      task.dueAtMs = nowMs + leaseMs;
      return task.owed?.isStopping ? "cancelled" : "renewed";
    },

    async report({ items, message, immediateResponse, version, nowMs, ...fence }) {
      const task = held(fence);
      if (!task) return refusal(fence);
      if (task.owed) return "cancelled"; // I1
      move(task, version);
      for (const item of items) task.feed.push({ position: ++feedPosition, item: structuredClone(item) });
      task.feed.splice(0, task.feed.length - FEED_LENGTH_MAX);
      if (message !== undefined) task.message = message;
      if (immediateResponse !== undefined) task.immediateResponse = immediateResponse;
      noteChange(task, nowMs);
      return "reported";
    },

    async park({ entries, asks, dueAtMs, attempt, message, graceMs, nowMs, restart: restarted, ...fence }) {
      const task = held(fence);
      if (!task?.openRun) return { type: "refused" };
      if (task.owed) {
        // I1: the finished work is recorded, and nothing that clients see changes.
        write(task, entries, nowMs);
        task.openRun = undefined;
        task.attempt = task.owed.isStopping ? 0 : attempt;
        task.takeovers = 0;
        task.dueAtMs = task.owed.isStopping ? nowMs : dueAtMs;
        return { type: "parked" };
      }
      if (restarted) {
        restart(task, restarted.arguments, nowMs);
        move(task, restarted.version);
        task.dueAtMs = nowMs + graceMs;
        return { type: "due", run: task.run + 1 };
      }
      const withdrawn = write(task, entries, nowMs);
      const opened = open(task, asks);
      const changed = withdrawn || opened;
      if (message !== undefined) task.message = message;
      // A run that did nothing new leaves the visible state unchanged and wakes no one.
      if (changed || message !== undefined) noteChange(task, nowMs);
      const answered = task.openRun.answers > 0;
      task.openRun = undefined;
      task.attempt = attempt;
      task.takeovers = 0;
      task.dueAtMs = answered ? nowMs + graceMs : dueAtMs;
      return answered ? { type: "due", run: task.run + 1 } : { type: "parked" };
    },

    async finish({ entries, outcome, message, owes, nowMs, parent, ...fence }) {
      const task = held(fence);
      if (!task || task.owed) return "refused"; // I1
      write(task, entries, nowMs);
      task.message = message;
      task.outcome = structuredClone(outcome);
      end(task, outcome.type === "result" ? "completed" : "failed", nowMs, owes);
      return answerParent(task, answerOutcome(answerOfChild(outcome), undefined), nowMs, parent?.childEndsMax) ?? "finished";
    },

    async settle({ entries, ...fence }) {
      const task = held(fence);
      if (!task?.owed || task.owed.isStopping) return "refused";
      write(task, entries, fence.nowMs);
      task.owed = undefined;
      forget(task);
      return "settled";
    },

    async answer({ taskId, key, digest, answer, by, given, giver, page, quorum, nowMs, graceMs, token }) {
      const task = find(taskId);
      if (!task) return { receipt: "unknown" };
      const ask = task.state.asks.find((open) => open.key === key);
      if (ask && digest !== undefined) {
        if (ask.digest !== digest) return { receipt: "late" }; // I4
        if (token !== undefined && token !== task.openRun?.token) return { receipt: "late" }; // I5
        // Moved since its worker looked.
        if (answer.action === "timeout" && ask.deadlineMs > nowMs) return { receipt: "late" };
        if (quorum && question(task, key)?.accepted?.revision !== quorum.seen) return { receipt: "overtaken" };
        if (quorum && quorum.missing > 0) {
          const accepted = { revision: task.revision + 1, acceptances: structuredClone(quorum.acceptances) };
          task.state = { ...task.state, asks: task.state.asks.map((open) => (open.key === key ? { ...open, accepted } : open)) };
          noteChange(task, nowMs);
          tellAsked(task, key);
          noteGiver(giver, { taskId, key, atMs: nowMs });
          return { receipt: "accepted" };
        }
        applyEvent(task, { type: "answered", key }); // I2
        noteGiver(giver, { taskId, key, atMs: nowMs });
        giveUp(ask, nowMs);
        noteChange(task, nowMs);
        if (page) task.onPages.add(key);
        if (page?.deposit !== undefined) task.deposits.set(key, page.deposit);
        // Dated at the deadline, so that it comes before an answer to another ask that arrived later, whenever a
        // worker writes it.
        const atMs = answer.action === "timeout" ? ask.deadlineMs : nowMs;
        task.journal.set(entryKey("ask", key), {
          digest,
          outcome: answerOutcome(structuredClone(answer), by, structuredClone(quorum?.acceptances), given && { ...given }),
          calledAt: ask.calledAt,
          arrived: { atMs, revision: task.revision },
        });
        if (!task.openRun) {
          task.dueAtMs = nowMs + graceMs;
          return { receipt: "accepted", nextRun: task.run + 1 };
        }
        if (token === undefined) task.openRun.answers += 1;
        return { receipt: "accepted" };
      }
      const recorded = task.journal.get(entryKey("ask", key));
      if (!recorded) return { receipt: generationOf(key) < task.generation ? "late" : "unknown" };
      const onPage = task.onPages.has(key);
      const wanted = canonicalJson(compared(answerOutcome(answer, by), onPage));
      const same = answersIn(recorded.outcome).some((said) => canonicalJson(compared(said, onPage)) === wanted);
      if (!same || (digest !== undefined && digest !== recorded.digest)) return { receipt: "late" };
      const isDue = !task.openRun && task.dueAtMs !== undefined && task.dueAtMs <= nowMs + graceMs;
      return isDue ? { receipt: "duplicate", nextRun: task.run + 1 } : { receipt: "duplicate" };
    },

    async refuse({ taskId, key, digest, violations, nowMs }) {
      const task = find(taskId);
      const ask = question(task, key);
      if (!task || ask?.digest !== digest) return undefined; // I4
      const refused = { count: (ask.refused?.count ?? 0) + 1, violations: structuredClone(violations) };
      const since = { revision: task.revision + 1, position: ask.since?.position ?? 0 };
      task.state = { ...task.state, asks: task.state.asks.map((open) => (open.key === key ? { ...open, refused, since } : open)) };
      noteChange(task, nowMs);
      return refused.count;
    },

    async agree({ taskId, key, digest, nowMs }) {
      const task = find(taskId);
      const ask = question(task, key);
      if (!task || ask?.digest !== digest) return "late"; // I4
      if (ask.agreed) return "duplicate";
      task.state = { ...task.state, asks: task.state.asks.map((open) => (open.key === key ? { ...open, agreed: true } : open)) };
      noteChange(task, nowMs);
      return "accepted";
    },

    async writeThread({ taskId, key, digest, seen, thread, history, handedTo = [], moved, nowMs }) {
      const task = find(taskId);
      const ask = question(task, key);
      if (!task || ask?.digest !== digest) return "late"; // I4
      if (ask.thread?.revision !== seen) return "overtaken";
      const noted = { ...structuredClone(thread), revision: task.revision + 1 };
      const written = { thread: noted, ...(moved && { deadlineMs: moved.deadlineMs }) };
      task.state = { ...task.state, asks: task.state.asks.map((open) => (open.key === key ? { ...open, ...written } : open)) };
      if (moved && moved.deadlineMs < ask.deadlineMs) {
        // A run that is open knows the deadline that it was.
        if (task.openRun) task.openRun.answers += 1;
        else if (task.dueAtMs !== undefined) task.dueAtMs = Math.min(task.dueAtMs, moved.deadlineMs);
      }
      task.threads.set(key, structuredClone(history));
      if (handedTo.length > 0) task.audiences.set(key, [...(task.audiences.get(key) ?? []), ...handedTo]);
      noteChange(task, nowMs);
      tellAsked(task, key);
      return "accepted";
    },

    async thread(taskId, key) {
      return structuredClone(find(taskId)?.threads.get(key) ?? []);
    },

    async deposit(taskId, key) {
      return find(taskId)?.deposits.get(key);
    },

    async reveal(taskId) {
      const task = find(taskId);
      if (task) task.call = { ...task.call, hidden: false, capabilities: {} };
    },

    async redeposit({ taskId, key, before, deposit }) {
      const task = find(taskId);
      if (task?.deposits.get(key) !== before) return false;
      task.deposits.set(key, deposit);
      return true;
    },

    async postpone({ taskId, nowMs, dueAtMs }) {
      const task = tasks.get(taskId);
      if (task?.dueAtMs !== undefined && task.dueAtMs <= nowMs) task.dueAtMs = dueAtMs;
    },

    async cancel({ taskId, nowMs, message, owes = false }) {
      const task = find(taskId);
      if (!task) return "unknown";
      if (isFinished(task.state.status)) return "finished"; // I1
      task.message = message;
      // A task that never ran has nothing to undo.
      end(task, "cancelled", nowMs, owes && task.run > 0 ? "cancelled" : undefined);
      return answerParent(task, { type: "cancelled" }, nowMs) ?? "cancelled";
    },

    async child(taskId, key) {
      const task = find(taskId);
      const open = task?.state.asks.find((each) => each.key === callKey(key));
      return open?.digest ?? task?.journal.get(entryKey("ask", callKey(key)))?.digest;
    },

    async overdue({ partition, nowMs, limit }) {
      const overdue = [...tasks.keys()]
        .flatMap((taskId) => find(taskId) ?? [])
        .filter((task) => task.id.startsWith(`${partition}-`) && task.dueAtMs !== undefined && task.dueAtMs <= nowMs)
        .toSorted((a, b) => (a.dueAtMs ?? 0) - (b.dueAtMs ?? 0));
      return someOf(overdue, limit, nowMs).map((task) => ({
        taskId: task.id,
        run: expectedRun(task),
        ...(task.isCounted && { share: shareOf(task.call) }),
      }));
    },

    async summaries(taskIds) {
      return taskIds.map((taskId) => {
        const task = find(taskId);
        return task && summarize(task);
      });
    },

    async list({ principal, limit, cursor }) {
      const listed = listedOf(principal);
      const start = listed.findIndex(({ id }) => id === cursor) + 1;
      if (cursor !== undefined && start === 0) throw invalidCursor();
      const page = withinSize(listed.slice(start, start + limit).map(summarize));
      const last = page.at(-1);
      const nextCursor = last && start + page.length < listed.length ? { nextCursor: last.id } : {};
      return { tasks: page, ...nextCursor };
    },

    async asked({ tenant = DEFAULT_TENANT, names, order, limit, after }) {
      return [...tasks.keys()]
        .flatMap((taskId) => find(taskId) ?? [])
        .filter(({ call }) => (call.tenant ?? DEFAULT_TENANT) === tenant)
        .flatMap(({ id, state }) => state.asks.filter(isOwnQuestion).map((ask) => ({ ask, place: placeOf(order, id, ask) })))
        .filter(({ ask }) => namesOfAsk(ask).some((name) => names.includes(name)))
        .map(({ place }) => place)
        .filter((place) => !after || inAskOrder(order, place, after) > 0)
        .toSorted((a, b) => inAskOrder(order, a, b))
        .slice(0, limit);
    },

    async openAsks(places) {
      return places.map(({ taskId, key }) => {
        const task = find(taskId);
        const ask = task && render(task).asks.find((each) => each.key === key && !each.route);
        return task && ask && { call: render(task).call, ask };
      });
    },

    async ownAsked({ principal, order, tasksMax }) {
      return listedOf(principal)
        .slice(0, tasksMax)
        .flatMap((task) => render(task).asks.map((ask) => ({ ...placeOf(order, task.id, ask), ...ask.route })));
    },

    async answered({ limit, after, ...giver }) {
      return (answeredBy.get(giverKey(giver)) ?? [])
        .filter((place) => !after || inAskOrder("newest", place, after) > 0)
        .toSorted((a, b) => inAskOrder("newest", a, b))
        .slice(0, limit);
    },

    async settledAsk({ taskId, key, tenant = DEFAULT_TENANT, names }) {
      const task = find(taskId);
      const entry = task?.journal.get(entryKey("ask", key));
      if (!task || !entry) return undefined;
      const audience = task.audiences.get(key);
      // A task that is over keeps what was put to others (task/end.lua).
      const isAtWork = !isFinished(task.state.status) || task.owed !== undefined;
      const isKept = isAtWork || task.call.keepsContent || audience !== undefined || entry.outcome.type !== "answer";
      const history = task.threads.get(key);
      const isOfTenant = (task.call.tenant ?? DEFAULT_TENANT) === tenant;
      return {
        digest: entry.digest,
        ...(isKept && { outcome: structuredClone(entry.outcome) }),
        ...(entry.arrived && { arrivedAtMs: entry.arrived.atMs }),
        wasAsked: isOfTenant && audience !== undefined && audience.some((name) => names.includes(name)),
        ...(history && { history: structuredClone(history) }),
      };
    },

    async feed(taskId, cursor, limit = FEED_LENGTH_MAX) {
      const after = Number(cursor ?? 0);
      const task = find(taskId);
      const items = keptFeed(task)
        .filter(({ position }) => position > after)
        .slice(0, limit);
      const cursors = items.map(({ position }) => String(position));
      return { items: items.map(({ item }) => structuredClone(item)), cursor: cursors.at(-1) ?? cursor, cursors };
    },

    async recorded(taskId) {
      const task = find(taskId);
      if (!task || (isFinished(task.state.status) && !task.owed && !keepsRecords && !task.call.keepsContent)) return undefined;
      return {
        type: "recorded",
        task: { ...render(task), call: structuredClone(task.call) },
        journal: structuredClone(task.journal),
      };
    },

    async journal(taskId) {
      const effects = [...(find(taskId)?.journal ?? [])].filter(([key]) => !isReadingKey(key));
      return effects.map(
        ([
          key,
          {
            place,
            arrived,
            digest,
            outcome: { type },
          },
        ]) => ({
          key,
          ...(key.startsWith(entryKey("ask", callKey(""))) && { child: digest }),
          ...(place !== undefined && { place }),
          ...(arrived && { arrivedAtMs: arrived.atMs }),
          state: type === "begun" || type === "closed" || type === "withdrawn" || type === "cancelled" ? type : "recorded",
        }),
      );
    },
  };

  function keptFeed(task: Stored | undefined): Stored["feed"] {
    const isKept = task?.expiresAtMs === undefined || task.owed || task.call.keepsContent || clock.now() < task.updatedAtMs + FEED_KEPT_MS;
    return isKept ? (task?.feed ?? []) : [];
  }

  function overQuota(call: Call, quotas: TaskQuotas): Over | undefined {
    for (const who of ["principal", "tenant"] as const) {
      const all = [...tasks.keys()]
        .flatMap((taskId) => find(taskId) ?? [])
        .filter((task) => {
          const same = task.call.tenant === call.tenant && (who === "tenant" || task.call.principal === call.principal);
          return same && task.isCounted;
        });
      const beside = all.filter((task) => !isFinished(task.state.status));
      if (beside.length >= quotas[who].tasks) return { over: "tasks", of: who };
      const bytes = beside.reduce(
        (sum, task) => sum + sizeOfGiven(task.call) + sizeOf(task.journal) + sizeOfFeed(task.feed),
        sizeOfGiven(call),
      );
      if (bytes > quotas[who].bytes) return { over: "bytes", of: who };
      const over = all.filter((task) => isFinished(task.state.status) && !task.owed);
      const kept = over.reduce((sum, task) => sum + sizeOfKept(task) + sizeOfFeed(keptFeed(task)), 0);
      if (bytes + kept > (quotas[who].stored ?? Infinity)) return { over: "stored", of: who };
    }
    return undefined;
  }

  /** True if at least one of them was not open before. */
  function open(task: Stored, asks: readonly Open[]): boolean {
    let opened = false;
    for (const [position, ask] of asks.entries()) {
      // An ask that was answered since begin is in the journal and is not opened again. One that is already open
      // stays as it was asked.
      if (task.journal.has(entryKey("ask", ask.key)) || task.state.asks.some(({ key }) => key === ask.key)) continue;
      const since = { revision: task.revision + 1, position };
      const request: Open = isQuestion(ask) ? { ...structuredClone(ask), since } : structuredClone(ask);
      applyEvent(task, { type: "asked", ask: request });
      if (isQuestion(ask) && ask.audience) task.audiences.set(ask.key, namesOfAudience(ask.audience));
      tellAsked(task, ask.key);
      opened = true;
    }
    return opened;
  }

  /** To another version of its tool; `""` is the tool without a version. */
  function move(task: Stored, version: string | undefined): void {
    if (version === undefined) return;
    const { version: _, ...call } = task.call;
    task.call = version === "" ? call : { ...call, version };
  }

  /** For a writer that does not hold the task: the task was cancelled during its run, or another worker holds it. */
  function refusal({ taskId }: { readonly taskId: string }): "cancelled" | "refused" {
    const task = find(taskId);
    return task?.state.status === "cancelled" && !task.openRun ? "cancelled" : "refused";
  }

  function end(task: Stored, status: "completed" | "failed" | "cancelled", nowMs: number, owes?: Owed): void {
    const left = task.state.asks.filter((ask) => !isQuestion(ask) || !ask.route);
    for (const { key, digest, calledAt } of left)
      write(task, [{ key: entryKey("ask", key), entry: { digest, outcome: { type: "closed" }, calledAt } }], nowMs);
    applyEvent(task, { type: "ended", status });
    for (const open of left) giveUp(open, nowMs);
    task.expiresAtMs = nowMs + task.call.retentionMs;
    task.deposits.clear();
    noteChange(task, nowMs);
    if (owes === undefined) return forget(task);
    const isStopping = status === "cancelled" && task.openRun !== undefined;
    task.owed = { why: owes, isStopping };
    task.attempt = 0;
    task.takeovers = 0;
    // The open run lets go of the task, or its lease expires.
    if (isStopping) return;
    task.openRun = undefined;
    task.dueAtMs = nowMs;
  }

  function forget(task: Stored): void {
    task.openRun = undefined;
    task.dueAtMs = undefined;
  }

  /** No one waits for a child whose call is closed. */
  function giveUp({ request, digest }: Open, nowMs: number): void {
    if (request.type === "call") cancelChild(digest, nowMs);
  }

  /** Answers that arrived since begin are dropped with their asks. */
  function restart(task: Stored, args: JsonObject, nowMs: number): void {
    const { replies: _, ...call } = task.call;
    task.call = { ...call, arguments: structuredClone(args) };
    task.journal.clear();
    task.threads.clear();
    task.childEndsSize = 0;
    task.deposits.clear();
    const left = task.state.asks;
    applyEvent(task, { type: "restarted" });
    task.audiences.clear();
    for (const open of left) giveUp(open, nowMs);
    task.generation += 1;
    task.attempt = 0;
    task.takeovers = 0;
    task.message = undefined;
    task.immediateResponse = undefined;
    task.openRun = undefined;
    noteChange(task, nowMs);
  }

  /** One who changes their mind has answered once. */
  function noteGiver(giver: AnswerGiver | undefined, place: AskPlace): void {
    if (!giver) return;
    const before = answeredBy.get(giverKey(giver)) ?? [];
    const others = before.filter(({ taskId, key }) => taskId !== place.taskId || key !== place.key);
    answeredBy.set(giverKey(giver), [...others, place].slice(-ANSWERED_MAX));
  }

  /**
   * An existing entry keeps its outcome, and gets a place only if it has none: what was replayed once is replayed
   * forever. Only an entry without a result yet, a sleep or a step that has begun, is replaced by its result. Returns
   * true if an open ask was withdrawn, which clients must see.
   */
  function write(task: Stored, entries: readonly KeyedEntry[], nowMs: number): boolean {
    let withdrawn = false;
    for (const { key, entry: given, known } of entries) {
      const { tells: _, ...entry } = given;
      const recorded = task.journal.get(key);
      if (recorded && !known && !recorded.arrived && recorded.place === undefined) task.journal.set(key, structuredClone(entry));
      else if (recorded) task.journal.set(key, placed(recorded, entry));
      else if (!known) task.journal.set(key, structuredClone(entry));
      const open = entry.withdrawn && task.state.asks.find((ask) => entryKey("ask", ask.key) === key);
      if (!open || !applyEvent(task, { type: "withdrawn", key: open.key })) continue;
      giveUp(open, nowMs);
      withdrawn = true;
    }
    return withdrawn;
  }
}

function placed(recorded: Entry, { place, withdrawn }: Entry): Entry {
  if (recorded.place !== undefined || place === undefined) return recorded;
  const { arrived: _, ...held } = recorded;
  return { ...held, place, ...(withdrawn && { withdrawn }) };
}

function giverKey({ tenant = DEFAULT_TENANT, principal }: AnswerGiver): string {
  return JSON.stringify([tenant, principal]);
}

function sizeOf(journal: Journal): number {
  return [...journal.values()].reduce((size, { outcome }) => size + JSON.stringify(outcome).length + ENTRY_SIZE, 0);
}

function sizeOfFeed(feed: Stored["feed"]): number {
  return feed.reduce((size, { item }) => size + JSON.stringify(item).length, 0);
}

/** What is left of a task that is over, about; as in task/end.lua. */
function sizeOfKept({ call, journal, outcome, message, immediateResponse }: Stored): number {
  const content = call.keepsContent ? sizeOfGiven(call) + sizeOf(journal) : 0;
  return (
    content + KEPT_AT_LEAST + (outcome ? JSON.stringify(outcome).length : 0) + (message?.length ?? 0) + (immediateResponse?.length ?? 0)
  );
}

/** Whether it is a question of the task itself, and not one that it shows for a child. */
function isOwnQuestion(open: Open): open is Ask {
  return isQuestion(open) && !open.route;
}

function placeOf(order: AskOrder, taskId: string, ask: Ask): AskPlace {
  return { atMs: placeMs(order, ask), taskId, key: ask.key };
}

/** The generation that asked this key: `name@2#3` belongs to the second restart. */
function generationOf(key: string): number {
  return Number(/@(\d+)/.exec(key)?.[1] ?? 0);
}

function question(task: Stored | undefined, key: string): Ask | undefined {
  return task?.state.asks.find((open): open is Ask => isQuestion(open) && open.key === key && !open.route);
}

/**
 * Half of the result are the tasks that became due last; the rest is a page of the others that rotates with the time,
 * so that none waits behind tasks that stay overdue.
 */
function someOf(overdue: readonly Stored[], limit: number, nowMs: number): readonly Stored[] {
  if (overdue.length <= limit) return overdue;
  const rest = overdue.length - Math.floor(limit / 2);
  const size = limit - Math.floor(limit / 2);
  const first = (Math.floor(nowMs) % Math.ceil(rest / size)) * size;
  return [...overdue.slice(first, Math.min(first + size, rest)), ...overdue.slice(rest)];
}

function expectedRun({ openRun, run }: Stored): number {
  return openRun ? run : run + 1;
}

/** Whether this run is the only one that the task has had. */
function isFirstRun({ takeovers }: Stored, run: number): boolean {
  return run === 1 && takeovers === 0;
}

/** As many as fit on a page. */
function withinSize(page: readonly TaskSummary[]): TaskSummary[] {
  let size = 0;
  return page.filter((summary, index) => {
    size += JSON.stringify(summary).length;
    return index === 0 || size <= PAGE_SIZE_MAX;
  });
}

/** An acceptance on a page is compared as a bare acceptance, without what the page collected. */
function compared(outcome: EntryOutcome, onPage: boolean): EntryOutcome {
  if (!onPage || outcome.type !== "answer" || outcome.answer.action !== "accept") return outcome;
  return answerOutcome({ action: "accept" }, outcome.by);
}
