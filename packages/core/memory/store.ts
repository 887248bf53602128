/**
 * The task store in memory: the rules of packages/redis/scripts in the open, without packing, keys or expiry commands.
 *
 * A method runs from its start to its end without awaiting, so it is one atomic change, as a script is in Redis. test/contract holds both
 * stores to one suite.
 */
import { canonicalJson } from "../canonical-json.ts";
import { ParleyError } from "../errors.ts";
import { type Entry, entryKey, type KeyedEntry } from "../journal.ts";
import type { Clock, TaskStore } from "../ports.ts";
import { apply, type TaskEvent, type TaskState } from "../state-machine.ts";
import { type Ask, type Call, type FeedItem, isFinished, type Outcome, type Task } from "../task.ts";
import type { MemoryEvents } from "./events.ts";

const FEED_LENGTH_MAX = 1_000;

interface Stored {
  readonly id: string;
  readonly call: Call;
  state: TaskState;
  revision: number;
  run: number;
  updatedAtMs: number;
  expiresAtMs: number;
  dueAtMs: number | undefined;
  attempt: number;
  /** Present exactly while a run is open (I5). */
  hold: { readonly token: string; /** How many answers came since begin, other than the holder's own. */ answers: number } | undefined;
  message: string | undefined;
  immediateResponse: string | undefined;
  outcome: Outcome | undefined;
  readonly journal: Map<string, Entry>;
  readonly feed: { readonly position: number; readonly item: FeedItem }[];
}

export function createMemoryStore({
  clock,
  events,
}: {
  readonly clock: Pick<Clock, "now">;
  readonly events: Pick<MemoryEvents, "changed">;
}): TaskStore {
  /** In the order of creation. */
  const tasks = new Map<string, Stored>();
  let feedPosition = 0;

  /** A finished or forgotten task is gone once its time is over; looked at only when somebody asks, which nobody can tell from a timer. */
  function find(taskId: string): Stored | undefined {
    const task = tasks.get(taskId);
    if (!task || task.expiresAtMs > clock.now()) return task;
    tasks.delete(taskId);
    return undefined;
  }

  function held(request: { readonly taskId: string; readonly token: string }): Stored | undefined {
    const task = find(request.taskId);
    return task?.hold?.token === request.token ? task : undefined;
  }

  function happen(task: Stored, event: TaskEvent): boolean {
    const applied = apply(task.state, event);
    if (applied.ok) task.state = applied.state;
    return applied.ok;
  }

  /** A change that clients can see. */
  function tell(task: Stored, nowMs: number): void {
    task.revision += 1;
    task.updatedAtMs = nowMs;
    events.changed(task.id);
  }

  return {
    async create({ taskId, call, graceMs }) {
      if (find(taskId)) return "exists";
      const task: Stored = {
        id: taskId,
        call: structuredClone(call),
        state: { status: "working", asks: [] },
        revision: 0,
        run: 0,
        updatedAtMs: call.createdAtMs,
        expiresAtMs: call.createdAtMs + call.retentionMs,
        dueAtMs: call.createdAtMs + graceMs,
        attempt: 0,
        hold: undefined,
        message: undefined,
        immediateResponse: undefined,
        outcome: undefined,
        journal: new Map(),
        feed: [],
      };
      tasks.set(taskId, task);
      tell(task, call.createdAtMs);
      return "created";
    },

    async load(taskId) {
      const task = find(taskId);
      return task && render(task);
    },

    async begin({ taskId, run, token, nowMs, leaseMs }) {
      const task = find(taskId);
      if (!task) return { type: "refused", reason: "unknown" };
      if (isFinished(task.state.status)) return { type: "refused", reason: "finished" }; // I1
      if (run !== expectedRun(task)) return { type: "refused", reason: "stale" };
      task.run = run;
      task.hold = { token, answers: 0 };
      due(task, nowMs + leaseMs);
      return { type: "begun", task: render(task), journal: new Map(task.journal), attempt: task.attempt };
    },

    async record({ entries, nowMs, leaseMs, ...fence }) {
      const task = held(fence);
      if (!task) return "refused";
      write(task, entries);
      due(task, nowMs + leaseMs);
      return "recorded";
    },

    async renew({ nowMs, leaseMs, ...fence }) {
      const task = held(fence);
      if (!task) return "refused";
      due(task, nowMs + leaseMs);
      return "renewed";
    },

    async report({ items, message, immediateResponse, nowMs, ...fence }) {
      const task = held(fence);
      if (!task) return "refused";
      for (const item of items) task.feed.push({ position: ++feedPosition, item: structuredClone(item) });
      task.feed.splice(0, task.feed.length - FEED_LENGTH_MAX);
      if (message !== undefined) task.message = message;
      if (immediateResponse !== undefined) task.immediateResponse = immediateResponse;
      tell(task, nowMs);
      return "reported";
    },

    async park({ entries, asks, dueAtMs, attempt, message, graceMs, nowMs, ...fence }) {
      const task = held(fence);
      if (!task?.hold) return { type: "refused" };
      const before = task.state;
      write(task, entries);
      // An ask that was answered since begin is in the journal, and is not put again.
      for (const ask of asks) {
        if (!task.journal.has(entryKey("ask", ask.key))) happen(task, { type: "asked", ask: structuredClone(ask) });
      }
      if (message !== undefined) task.message = message;
      // A run that found nothing new leaves what clients see as it was, and wakes nobody.
      if (message !== undefined || task.state.status !== before.status || task.state.asks.length !== before.asks.length) tell(task, nowMs);
      const answered = task.hold.answers > 0;
      task.hold = undefined;
      task.attempt = attempt;
      due(task, dueAtMs);
      if (!answered) return { type: "parked" };
      task.dueAtMs = nowMs + graceMs;
      return { type: "due", run: task.run + 1 };
    },

    async finish({ entries, outcome, message, nowMs, ...fence }) {
      const task = held(fence);
      if (!task) return "refused";
      write(task, entries);
      if (message !== undefined) task.message = message;
      task.outcome = structuredClone(outcome);
      end(task, outcome.type === "result" ? "completed" : "failed", nowMs);
      return "finished";
    },

    async answer({ taskId, key, digest, answer, nowMs, graceMs, token }) {
      const task = find(taskId);
      if (!task) return { receipt: "unknown" };
      const ask = task.state.asks.find((open) => open.key === key);
      if (ask && digest !== undefined) {
        if (ask.digest !== digest) return { receipt: "late" }; // I4
        if (token !== undefined && token !== task.hold?.token) return { receipt: "late" }; // I5
        happen(task, { type: "answered", key }); // I2
        task.journal.set(entryKey("ask", key), { digest, outcome: { type: "answer", answer: structuredClone(answer) } });
        tell(task, nowMs);
        if (!task.hold) {
          due(task, nowMs + graceMs);
          return { receipt: "accepted", nextRun: task.run + 1 };
        }
        if (token === undefined) task.hold.answers += 1;
        return { receipt: "accepted" };
      }
      const recorded = task.journal.get(entryKey("ask", key));
      if (!recorded) return { receipt: "unknown" };
      const same = canonicalJson(recorded.outcome) === canonicalJson({ type: "answer", answer });
      if (!same || (digest !== undefined && digest !== recorded.digest)) return { receipt: "late" };
      const isDue = !task.hold && task.dueAtMs !== undefined && task.dueAtMs <= nowMs + graceMs;
      return isDue ? { receipt: "duplicate", nextRun: task.run + 1 } : { receipt: "duplicate" };
    },

    async refuse({ taskId, key, digest, violations, nowMs }) {
      const task = find(taskId);
      const ask = task?.state.asks.find((open) => open.key === key);
      if (!task || ask?.digest !== digest) return undefined; // I4
      const refused = { count: (ask.refused?.count ?? 0) + 1, violations: structuredClone(violations) };
      task.state = { ...task.state, asks: task.state.asks.map((open) => (open.key === key ? { ...open, refused } : open)) };
      tell(task, nowMs);
      return refused.count;
    },

    async cancel({ taskId, nowMs, message }) {
      const task = find(taskId);
      if (!task) return "unknown";
      if (isFinished(task.state.status)) return "finished"; // I1
      task.message = message;
      end(task, "cancelled", nowMs);
      return "cancelled";
    },

    async overdue({ partition, nowMs, limit }) {
      return [...tasks.keys()]
        .flatMap((taskId) => find(taskId) ?? [])
        .filter((task) => task.id.startsWith(`${partition}-`) && task.dueAtMs !== undefined && task.dueAtMs <= nowMs)
        .toSorted((a, b) => (a.dueAtMs ?? 0) - (b.dueAtMs ?? 0))
        .slice(0, limit)
        .map((task) => ({ taskId: task.id, run: expectedRun(task) }));
    },

    async list({ principal, limit, cursor }) {
      const listed = [...tasks.keys()]
        .toReversed()
        .flatMap((taskId) => find(taskId) ?? [])
        .filter(({ call }) => call.principal === principal && !call.hidden);
      const start = cursor === undefined ? 0 : listed.findIndex(({ id }) => id === cursor) + 1;
      if (cursor !== undefined && start === 0) throw new ParleyError("INVALID_CURSOR", "the cursor names no task of this list");
      const page = listed.slice(start, start + limit);
      const last = page.at(-1);
      const nextCursor = last && start + limit < listed.length ? { nextCursor: last.id } : {};
      return { tasks: page.map(render), ...nextCursor };
    },

    async feed(taskId, cursor) {
      const after = Number(cursor ?? 0);
      const items = (find(taskId)?.feed ?? []).filter(({ position }) => position > after);
      const last = items.at(-1);
      return { items: items.map(({ item }) => structuredClone(item)), cursor: last ? String(last.position) : cursor };
    },
  };

  function end(task: Stored, status: "completed" | "failed" | "cancelled", nowMs: number): void {
    for (const { key, digest } of task.state.asks)
      write(task, [{ key: entryKey("ask", key), entry: { digest, outcome: { type: "closed" } } }]);
    happen(task, { type: "ended", status });
    task.hold = undefined;
    task.dueAtMs = undefined;
    task.expiresAtMs = nowMs + task.call.retentionMs;
    tell(task, nowMs);
  }
}

/** A task that must run by `dueAtMs` outlives that time by its retention; its expiry never moves back (I7). */
function due(task: Stored, dueAtMs: number): void {
  task.dueAtMs = dueAtMs;
  task.expiresAtMs = Math.max(task.expiresAtMs, dueAtMs + task.call.retentionMs);
}

/** An entry that is there stays: what was replayed once is replayed for ever. */
function write(task: Stored, entries: readonly KeyedEntry[]): void {
  for (const { key, entry } of entries) if (!task.journal.has(key)) task.journal.set(key, structuredClone(entry));
}

function expectedRun({ hold, run }: Stored): number {
  return hold ? run : run + 1;
}

function render({ id, call, state, revision, run, updatedAtMs, expiresAtMs, message, immediateResponse, outcome }: Stored): Task {
  const asks: readonly Ask[] = state.asks;
  return structuredClone({
    id,
    call,
    status: state.status,
    revision,
    run,
    updatedAtMs,
    expiresAtMs,
    asks,
    ...(message !== undefined && { message }),
    ...(immediateResponse !== undefined && { immediateResponse }),
    ...(outcome && { outcome }),
  });
}
