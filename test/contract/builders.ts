/** What the contract suites write into stores: small, valid, and with differences only where a test needs them. */
import {
  type Ask,
  type AwaitedEvent,
  type Call,
  eventKey,
  type Json,
  type KeyedEntry,
  type Open,
  type RunRef,
  type Task,
  type TaskStore,
} from "@parley/core";
import { createIds } from "@parley/redis";

const ids = createIds({ partitions: 1 });

export const newTaskId = (): string => ids.taskId();
export const newToken = (): string => ids.token();

export const GRACE_MS = 1_000;
export const LEASE_MS = 10_000;
export const HOUR_MS = 3_600_000;
export const WEEK_MS = 7 * 24 * HOUR_MS;

export function aCall(call: Partial<Call> = {}): Call {
  return {
    kind: "tool",
    name: "book_dinner",
    arguments: { date: "2026-12-24", party: "fünf ☃" },
    principal: "anonymous",
    capabilities: { elicitation: { form: true, url: false } },
    createdAtMs: Date.now(),
    retentionMs: HOUR_MS,
    seed: newToken(),
    hidden: false,
    ...call,
  };
}

export function anAsk(key: string, ask: Partial<Ask> = {}): Ask {
  return {
    key,
    digest: `digest-of-${key}`,
    calledAt: "0",
    request: { type: "form", message: `What is ${key}?`, schema: { type: "object", properties: { [key]: { type: "string" } } } },
    askedAtMs: Date.now(),
    deadlineMs: Date.now() + HOUR_MS,
    onTimeout: "cancel",
    ...ask,
  };
}

export function anEvent(name: string, event: Partial<AwaitedEvent> = {}): AwaitedEvent {
  const { askedAtMs, deadlineMs, ...common } = anAsk(eventKey(name));
  return {
    ...common,
    askedAtMs,
    deadlineMs,
    request: { type: "event", schema: { type: "object", required: ["amount"] } },
    ...event,
  } as AwaitedEvent;
}

/** A step that a run has settled: in the first place, where the test does not say which. */
export function aStep(name: string, value: Json, place = 1): KeyedEntry {
  return { key: `step:${name}`, entry: { digest: "", outcome: { type: "value", value }, calledAt: "0", place } };
}

/** The entry of a withdrawn ask, as the run writes it. */
export function aWithdrawal(key: string, place: number): KeyedEntry {
  const entry = { digest: `digest-of-${key}`, outcome: { type: "withdrawn" }, calledAt: "0", place, withdrawn: true } as const;
  return { key: `ask:${key}`, entry };
}

export const accept = (value: string) => ({ action: "accept", content: { value } }) as const;

/** The life of one task, with the arguments that a test does not care about filled in. */
export function aLife(store: TaskStore, drawTaskId = newTaskId) {
  return {
    async create(call: Partial<Call> = {}): Promise<string> {
      const taskId = drawTaskId();
      await store.create({ taskId, call: aCall(call), graceMs: GRACE_MS });
      return taskId;
    },

    /** Begins the run and returns its token. */
    async begin(ref: RunRef, nowMs = Date.now()): Promise<string> {
      const token = newToken();
      const begun = await store.begin({ ...ref, token, nowMs, leaseMs: LEASE_MS });
      if (begun.type !== "begun") throw new Error(`run ${ref.run} was refused: ${begun.reason}`);
      return token;
    },

    /** Begins a run that was begun before, as of the end of its lease, and returns the new token. */
    takeOver(ref: RunRef): Promise<string> {
      return this.begin(ref, Date.now() + LEASE_MS);
    },

    park: (taskId: string, token: string, asks: readonly Open[], dueAtMs = Date.now() + HOUR_MS) =>
      store.park({ taskId, token, nowMs: Date.now(), entries: [], asks, dueAtMs, attempt: 0, graceMs: GRACE_MS }),

    restart: (taskId: string, token: string) =>
      store.park({
        taskId,
        token,
        nowMs: Date.now(),
        entries: [],
        asks: [],
        dueAtMs: 0,
        attempt: 0,
        graceMs: GRACE_MS,
        restart: { arguments: {} },
      }),

    /** A task that waits for answers to `asks` after its first run. */
    async parked(asks: readonly Open[], call: Partial<Call> = {}): Promise<string> {
      const taskId = await this.create(call);
      await this.park(taskId, await this.begin({ taskId, run: 1 }), asks);
      return taskId;
    },

    answer: (taskId: string, key: string, value: string) =>
      store.answer({ taskId, key, digest: `digest-of-${key}`, answer: accept(value), nowMs: Date.now(), graceMs: GRACE_MS }),

    finish: (taskId: string, token: string, text = "done") =>
      store.finish({
        taskId,
        token,
        nowMs: Date.now(),
        entries: [],
        outcome: { type: "result", result: { content: [{ type: "text", text }] } },
      }),

    cancel: (taskId: string) => store.cancel({ taskId, nowMs: Date.now(), message: "Cancelled by the client." }),

    async load(taskId: string): Promise<Task> {
      const task = await store.load(taskId);
      if (!task) throw new Error(`task ${taskId} is gone`);
      return task;
    },
  };
}
