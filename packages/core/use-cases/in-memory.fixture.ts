/**
 * In-memory services without a handler. The test opens asks itself and sees each store request, audit fact, run and
 * log line.
 */
import { createScope, createValidator } from "@parley/node";
import { callerNamed } from "../callers/caller.fixture.ts";
import { createHandClock } from "../hand-clock.fixture.ts";
import { createMemorySnoozes, createMemoryStore, createMemoryWakeUps } from "../memory/index.ts";
import type { TaskStore } from "../ports.ts";
import { DEFAULT_SETTINGS } from "../settings.ts";
import { type Ask, type AwaitedEvent, type Call, callKey, eventKey, type Open, type Task } from "../task.ts";
import type { Services } from "./services.ts";

export const HOUR = 3_600_000;
/** The hand clock's start. */
export const NOW_MS = 1_000_000;

export const alice = callerNamed("alice");
export const bob = callerNamed("bob");
export const carol = callerNamed("carol");
export const mallory = callerNamed("mallory");

export function anAsk(key: string, ask: Partial<Ask> = {}): Ask {
  return {
    key,
    digest: `digest of ${key}`,
    calledAt: "0",
    request: { type: "form", message: `What is ${key}?`, schema: { type: "object", properties: { n: { type: "integer", maximum: 20 } } } },
    askedAtMs: NOW_MS,
    deadlineMs: NOW_MS + HOUR,
    onTimeout: "cancel",
    ...ask,
  };
}

export function anEvent(name: string): AwaitedEvent {
  const { askedAtMs, deadlineMs, calledAt, onTimeout } = anAsk(name);
  const schema = { type: "object", required: ["amount"] };
  return {
    key: eventKey(name),
    digest: `digest of ${name}`,
    request: { type: "event", schema },
    askedAtMs,
    deadlineMs,
    calledAt,
    onTimeout,
  };
}

/** A call by Alice unless stated otherwise. */
export function aCall(call: Partial<Call> = {}): Call {
  return {
    kind: "tool",
    name: "subject",
    arguments: {},
    principal: "alice",
    capabilities: {},
    createdAtMs: NOW_MS,
    retentionMs: HOUR,
    seed: "seed",
    hidden: false,
    ...call,
  };
}

/** `replace` overrides methods of the store and receives the real ones. */
export function inMemory({ replace, ...more }: Partial<Services> & { readonly replace?: (real: TaskStore) => Partial<TaskStore> } = {}) {
  const { clock, pass, stand, sleeping } = createHandClock();
  const wakeUps = createMemoryWakeUps();
  const real = createMemoryStore({ clock, wakeUps });
  const requests: [method: string, ...args: unknown[]][] = [];
  const facts: unknown[] = [];
  const runs: unknown[] = [];
  const logged: [level: string, message: string, fields: object][] = [];
  const noting =
    (method: string, call: (...args: never[]) => unknown) =>
    (...args: never[]) => {
      requests.push([method, ...args]);
      return call(...args);
    };
  const methods = Object.entries({ ...real, ...replace?.(real) });
  const store = Object.fromEntries(methods.map(([name, call]) => [name, noting(name, call)])) as unknown as TaskStore;
  const log = (level: string) => (fields: object, message: string) => void logged.push([level, message, fields]);
  let drawn = 0;
  const services: Services = {
    store,
    queue: { add: async (run) => void runs.push(run) },
    wakeUps,
    clock,
    scope: createScope(),
    ids: { taskId: () => `0-${(drawn += 1)}`, token: () => `token ${(drawn += 1)}`, uuid: () => `uuid ${(drawn += 1)}`, random: () => 0.5 },
    digest: (text, taskId) => (taskId === undefined ? `<${text}>` : `<${text} of ${taskId}>`),
    validate: createValidator(),
    log: { debug: log("debug"), info: log("info"), warn: log("warn"), error: log("error") },
    settings: DEFAULT_SETTINGS,
    audit: { note: async (fact) => void facts.push(fact) },
    snoozes: createMemorySnoozes(),
    ...more,
  };

  let made = 0;
  const begin = (taskId: string) => real.begin({ taskId, run: 1, token: `run of ${taskId}`, nowMs: clock.now(), leaseMs: HOUR });
  const park = (taskId: string, asks: readonly Open[]) =>
    real.park({
      taskId,
      token: `run of ${taskId}`,
      nowMs: clock.now(),
      entries: [],
      asks,
      dueAtMs: clock.now() + HOUR,
      attempt: 0,
      graceMs: DEFAULT_SETTINGS.graceMs,
    });

  return {
    services,
    /** The store without the recording of requests. */
    real,
    /** Requests that the use cases made to the store. */
    requests,
    requestsOf: (method: string) => requests.filter(([name]) => name === method).map(([, request]) => request),
    /** Audit facts that were noted outside of store changes. */
    facts,
    runs,
    logged,
    pass,
    stand,
    sleeping,
    wake: wakeUps.changed,

    /** Creates a task that waits for these after its first run. */
    async put(asks: readonly Open[], call: Partial<Call> = {}): Promise<string> {
      const taskId = `0-put-${(made += 1)}`;
      await real.create({ taskId, call: aCall(call), graceMs: DEFAULT_SETTINGS.graceMs });
      await begin(taskId);
      await park(taskId, asks);
      return taskId;
    },

    /** Creates a task that asks `own` and has a child, called as "book", that asks `asks`. */
    async putWithChild(own: readonly Open[], asks: readonly Open[]): Promise<{ taskId: string; child: string }> {
      const taskId = `0-put-${(made += 1)}`;
      const child = `${taskId}~`;
      await real.create({ taskId, call: aCall(), graceMs: DEFAULT_SETTINGS.graceMs });
      await begin(taskId);
      const { request: _, ...common } = anAsk(callKey("book"), { digest: child });
      const parent = { taskId, key: "book", rootId: taskId, depth: 1, path: "book" };
      const open = { ...common, request: { type: "call", tool: "child" } } as const;
      await real.create({
        taskId: child,
        call: aCall({ name: "child", hidden: true, parent }),
        graceMs: DEFAULT_SETTINGS.graceMs,
        parent: { token: `run of ${taskId}`, open, nowMs: clock.now(), leaseMs: HOUR },
      });
      await park(taskId, own);
      await begin(child);
      await park(child, asks);
      return { taskId, child };
    },

    async task(taskId: string): Promise<Task> {
      const task = await real.load(taskId);
      if (!task) throw new Error(`${taskId} is gone`);
      return task;
    },
  };
}
