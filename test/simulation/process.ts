/**
 * A process of the deployment: what it waits for from outside can be delivered late, fail, or be lost with the process.
 *
 * A dead process is never told anything again, so everything it was doing stops for good.
 */
import { type Clock, sleepOn } from "@parley/core";

export interface Process {
  readonly name: string;
  isAlive: boolean;
  /** Stopped as by SIGSTOP: time passes, and nothing happens in it. */
  isPaused: boolean;
  /** Aborted as by SIGTERM: its runs are stopped and let go of their tasks, it takes no more, and another process takes its place. */
  readonly stop: AbortController;
  stoppedAtMs: number;
  /** How often it was disturbed: paused, cut off from Redis, left behind by the clock. */
  disturbed: number;
  /** What was sent to Redis on its connection and has no reply yet, in order. */
  readonly operations: Operation[];
  readonly seen: Set<string>;
}

export interface Operation {
  readonly name: string;
  readonly request: unknown;
  readonly apply: () => Promise<unknown>;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
  /** Present once it has been applied and its reply is on its way. */
  applied?: Promise<unknown>;
}

export interface Timer {
  readonly process: Process;
  readonly atMs: number;
  readonly wake: () => void;
}

/** The one time of all processes. */
export interface Time {
  nowMs: number;
  timers: Timer[];
  idle: { readonly process: Process; readonly wake: () => void }[];
}

export function createProcess(name: string): Process {
  return {
    name,
    isAlive: true,
    isPaused: false,
    stop: new AbortController(),
    stoppedAtMs: Infinity,
    disturbed: 0,
    operations: [],
    seen: new Set(),
  };
}

export function forever(): Promise<never> {
  return new Promise<never>(() => undefined);
}

/** Core's clock as one process sees it. Microtasks and ticks are Node's own. */
export function createClock(time: Time, process: Process): Clock & { afterMicrotasks(callback: () => void): void } {
  const after = (ms: number, callback: () => void) => {
    const timer: Timer = {
      process,
      atMs: time.nowMs + Math.max(1, ms),
      wake() {
        remove();
        if (process.isAlive) callback();
      },
    };
    const remove = () => {
      const index = time.timers.indexOf(timer);
      if (index >= 0) time.timers.splice(index, 1);
    };
    time.timers.push(timer);
    return remove;
  };
  return {
    now: () => time.nowMs,
    after,
    sleep: sleepOn(after),
    idle() {
      const { promise, resolve } = Promise.withResolvers<void>();
      time.idle.push({ process, wake: resolve });
      return promise;
    },
    afterMicrotasks(callback) {
      queueMicrotask(() => globalThis.process.nextTick(() => process.isAlive && callback()));
    },
  };
}

/** A port of a store through the connection of a process. */
export function connect<Port extends object>(port: Port, process: Process): Port {
  const connected: Record<string, unknown> = {};
  for (const [name, method] of Object.entries(port)) {
    connected[name] = (request: unknown, ...rest: unknown[]) => {
      if (!process.isAlive) return forever();
      const { promise, resolve, reject } = Promise.withResolvers<unknown>();
      const apply = () => (method as (...args: unknown[]) => Promise<unknown>)(request, ...rest);
      process.operations.push({ name, request, apply, resolve, reject });
      return promise;
    };
  }
  return connected as Port;
}
