/**
 * A clock for a replay in which no one answers. Time passes only when nothing in the process can still wake the
 * handler. A handler that never reaches its recorded calls is thus detected in milliseconds, with the patience of a
 * real worker.
 */
import { createHook } from "node:async_hooks";
import { setImmediate as nextTurn, setTimeout as wait } from "node:timers/promises";
import { type Clock, type Scope, sleepOn } from "@parley/core";

/** Turns of the event loop without a change, after which only time can change anything. */
const QUIET_TURNS = 20;
const LOOK_MS = 2;
/** A reply on a connection that existed before leaves no trace while it is awaited. */
const GRACE_MS = 20;
/** Resources that resolve on their own within a few turns. */
const SOON: ReadonlySet<string> = new Set(["PROMISE", "TickObject", "Microtask", "Immediate"]);

export interface IdleClock extends Clock {
  /**
   * Lets time pass until `isOver`. `outside`: the handler waits for something outside ctx for longer than
   * `patienceMs`; the value is Node.js's name for it. `stuck`: nothing will ever wake it.
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

/** `scope` separates what the handler started from everything else. */
export function createIdleClock(startMs: number, scope: Pick<Scope, "get">): IdleClock {
  let nowMs = startMs;
  let timers: Timer[] = [];
  let changes = 0;
  const after = (ms: number, callback: () => void) => {
    const timer: Timer = {
      atMs: nowMs + ms,
      wake() {
        remove();
        callback();
      },
    };
    const remove = () => {
      timers = timers.filter((each) => each !== timer);
      changes += 1;
    };
    timers.push(timer);
    return remove;
  };
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
    after,
    sleep: sleepOn(after),
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
