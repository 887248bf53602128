/**
 * A clock for a replay that waits for nobody: time passes by itself as soon as nothing in the process could still wake the handler, and stands
 * still otherwise. So a handler that never comes to what was recorded is found out in milliseconds, with the patience that a worker would have.
 */
import { createHook } from "node:async_hooks";
import { setImmediate as nextTurn, setTimeout as wait } from "node:timers/promises";
import type { Clock, Scope } from "@parley/core";

/** Turns of the event loop without a change after which only time can change anything. */
const QUIET_TURNS = 20;
const LOOK_MS = 2;
/** An answer on a connection that was there before is awaited by nothing that could be seen. */
const GRACE_MS = 20;
/** What comes by itself within a few turns. */
const SOON: ReadonlySet<string> = new Set(["PROMISE", "TickObject", "Microtask", "Immediate"]);

export interface IdleClock extends Clock {
  /**
   * Lets time pass until `isOver`. `outside`: the handler waits for something outside ctx, for longer than `patienceMs`, and what that is as Node.js names
   * it. `stuck`: nothing will ever wake it.
   */
  pass(options: {
    readonly isOver: () => boolean;
    readonly patienceMs: number;
  }): Promise<"over" | "stuck" | { readonly outside: string[] }>;
}

interface Timer {
  readonly atMs: number;
  readonly wake: () => void;
}

/** `scope` tells what the handler began from what others did. */
export function createIdleClock(startMs: number, scope: Pick<Scope, "get">): IdleClock {
  let nowMs = startMs;
  let timers: Timer[] = [];
  let changes = 0;
  const begun = new Map<number, string>();
  const hook = createHook({
    init(id, type) {
      if (!SOON.has(type) && scope.get() !== undefined) begun.set(id, type);
    },
    destroy: (id) => void begun.delete(id),
  }).enable();

  return {
    now: () => nowMs,
    idle: () => nextTurn(),
    afterMicrotasks(callback) {
      changes += 1;
      queueMicrotask(() => process.nextTick(callback));
    },
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted === true) return resolve();
        const timer: Timer = {
          atMs: nowMs + ms,
          wake() {
            timers = timers.filter((each) => each !== timer);
            signal?.removeEventListener("abort", timer.wake);
            changes += 1;
            resolve();
          },
        };
        timers.push(timer);
        signal?.addEventListener("abort", timer.wake, { once: true });
      }),
    async pass({ isOver, patienceMs }) {
      try {
        return await pass(isOver, patienceMs);
      } finally {
        hook.disable();
      }
    },
  };

  async function pass(isOver: () => boolean, patienceMs: number): ReturnType<IdleClock["pass"]> {
    let waitedMs = 0;
    for (let quiet = 0, seen = changes; ; quiet += 1) {
      await nextTurn();
      if (isOver()) return "over";
      if (changes !== seen) {
        seen = changes;
        quiet = 0;
      }
      if (quiet < QUIET_TURNS) continue;
      if (begun.size > 0 && waitedMs >= patienceMs) return { outside: [...new Set(begun.values())] };
      if (begun.size > 0 || waitedMs < GRACE_MS) {
        await wait(LOOK_MS);
        waitedMs += LOOK_MS;
        continue;
      }
      const next = timers.toSorted((a, b) => a.atMs - b.atMs)[0];
      if (!next) return "stuck";
      nowMs = Math.max(nowMs, next.atMs);
      next.wake();
    }
  }
}
