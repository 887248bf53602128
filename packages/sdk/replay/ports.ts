/**
 * Clock and ids for tests. They are the same each time a test runs, except for task ids, because two tests may share
 * a tool's own store.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { hash } from "node:crypto";
import { promiseHooks } from "node:v8";
// Not the globals, which tests and the purity watch replace.
import { clearTimeout as stopTimer, setTimeout as startTimer } from "node:timers";
import { setImmediate as nextTurn } from "node:timers/promises";
import {
  type Clock,
  type Digest,
  type EventTokens,
  type FileStore,
  type Ids,
  LONGEST_TIMER_MS,
  ParleyError,
  type Scope,
  sleepOn,
} from "@parley/core";

export interface TestClock extends Clock {
  /** Moves forward only. */
  moveTo(atMs: number): void;
}

/**
 * A clock that stands still until it is moved. A wait within a run (a step's timeout) takes real time and moves the
 * clock by it, because real work, such as reading a file, takes real time too.
 */
export function createTestClock(start: Date): TestClock {
  let nowMs = start.getTime();
  const moveTo = (atMs: number) => {
    nowMs = Math.max(nowMs, atMs);
  };
  const after = (ms: number, callback: () => void) => {
    const untilMs = nowMs + ms;
    const wake = () => {
      moveTo(untilMs);
      callback();
    };
    const timer = startTimer(wake, Math.min(ms, LONGEST_TIMER_MS));
    return () => stopTimer(timer);
  };
  return {
    now: () => nowMs,
    moveTo,
    idle: () => nextTurn(),
    afterMicrotasks: (callback) => queueMicrotask(() => process.nextTick(callback)),
    after,
    sleep: sleepOn(after),
  };
}

/** `storage`: one for several scopes, if their flows need not be kept apart. */
export function createTestScope(storage = new AsyncLocalStorage<object>()): Scope {
  return {
    run: (value, work) => storage.run(value, work),
    get: () => storage.getStore(),
    promises: { createHook: (hooks) => promiseHooks.createHook(hooks) as () => void },
    // A test follows everything.
    awaitOnlyCtx: new Set(),
    thrownAway: new Map(),
  };
}

let tasks = 0;

export function createTestIds(): Ids {
  let drawn = 0;
  const next = () => String(++drawn).padStart(12, "0");
  return {
    taskId: () => `0-test-${++tasks}`,
    token: () => `token-${next()}`,
    uuid: () => `00000000-0000-4000-8000-${next()}`,
    random: () => Number.parseInt(hash("sha256", next()).slice(0, 12), 16) / 2 ** 48,
  };
}

export const textDigest: Digest = (text) => hash("sha256", text, "base64url").slice(0, 22);

export function createTestTokens(): EventTokens {
  const signed = (taskId: string, key: string) => hash("sha256", `${taskId} ${key}`, "base64url");
  return {
    tokenOf(taskId, key) {
      const token = `${taskId}.${Buffer.from(key).toString("base64url")}.${signed(taskId, key)}`;
      return { token, url: `https://parley.test/events/${token}` };
    },
    read(token) {
      const [taskId = "", name = "", signature] = token.split(".");
      const key = Buffer.from(name, "base64url").toString();
      return signature === signed(taskId, key) ? { taskId, key } : undefined;
    },
  };
}

/** Files in memory. */
export function createTestFiles(): FileStore {
  const kept = new Map<string, Uint8Array>();
  return {
    async put(taskId, id, content) {
      const chunks: Uint8Array[] = [];
      for await (const chunk of content) chunks.push(chunk);
      kept.set(`${taskId} ${id}`, Buffer.concat(chunks));
    },
    async open(taskId, id) {
      const bytes = kept.get(`${taskId} ${id}`);
      if (!bytes) throw new ParleyError("FILE_GONE", "this task has no such file");
      return new Blob([Buffer.from(bytes)]).stream();
    },
    remove: async (taskId, id) => void kept.delete(`${taskId} ${id}`),
    async *idle() {
      // Nothing outlives its test.
    },
  };
}
