/**
 * Watches this process' event loop from a second thread: code on a blocked loop cannot detect that it is blocked.
 *
 *   main     beat · beat · beat · ──────── while (true) ────────────────────────▶ SIGKILL
 *   thread   look · look · look · look · reportMs: "event loop blocked" ┄┄┄ killMs ──┘
 *
 * Time is counted in looks of the thread, not by the clock: while the whole process is suspended (a sleeping machine, SIGSTOP) the thread does
 * not run either, and nothing is reported.
 *
 * The report names the code that blocks. The thread pauses it through V8's inspector, within this process and without a port, reads its stack
 * frames and asks it which task it belongs to (`current`). Code that is not JavaScript (a synchronous read, a native module) cannot be paused.
 * The report then lists only the work in progress (`atWork`), which may include the culprit, and a second one follows when that code returns.
 */
import { once } from "node:events";
import { url as debuggerUrl } from "node:inspector";
import { Worker } from "node:worker_threads";

export interface WatchEventLoop {
  /** How long the loop may be blocked before this is logged on standard error. */
  readonly reportMs: number;
  /** How long the loop may be blocked before the process is killed by SIGKILL; 0: never. */
  readonly killMs: number;
  /** Name and level of the process' logger. */
  readonly log: { readonly name: string; readonly level: string };
  /** Describes the work that calls it, as plain data for the report. Called from within the blocking code. */
  readonly current: () => object | undefined;
  /** Called when the loop is free again after having been blocked for longer than `reportMs`. */
  readonly onFree: (blockedMs: number) => void;
}

export interface EventLoopWatch {
  /** Lists work in progress, in a few words. Call the returned function when the work ends. */
  atWork(what: string): () => void;
  close(): Promise<void>;
}

/** Where the thread finds `current` in the code that it has paused. */
const CURRENT = Symbol.for("parley.watchEventLoop.current");

/** The shared memory holds the count of beats, followed by slots that each hold the length and the text of a description. */
const HEAD_BYTES = 4;
const SLOTS = 256;
const SLOT_BYTES = 160;
const TEXT_BYTES = SLOT_BYTES - 4;

/** Resolves when the loop is watched. With a debugger attached it watches nothing: a breakpoint would look like a blocked loop. */
export async function watchEventLoop({ reportMs, killMs, log, current, onFree }: WatchEventLoop): Promise<EventLoopWatch> {
  if (debuggerUrl() !== undefined) return { atWork: () => () => undefined, close: async () => undefined };

  const memory = new SharedArrayBuffer(HEAD_BYTES + SLOTS * SLOT_BYTES);
  const beats = new Int32Array(memory, 0, 1);
  const everyMs = Math.min(500, Math.max(10, Math.floor((killMs === 0 ? reportMs : Math.min(reportMs, killMs)) / 4)));
  const whose = { value: () => JSON.stringify(current()), configurable: true };
  Object.defineProperty(globalThis, CURRENT, whose);

  // Plain JavaScript: a thread that strips types needs twice the memory.
  const thread = new Worker(new URL("event-loop-thread.mjs", import.meta.url), {
    name: "event-loop",
    env: {},
    execArgv: [],
    workerData: { memory, everyMs, reportMs, killMs, log, slots: { at: HEAD_BYTES, count: SLOTS, bytes: SLOT_BYTES } },
  });
  await once(thread, "message");
  thread.unref();
  thread.on("message", (blockedMs: number) => onFree(blockedMs));
  // If the watch fails, the process works as it would without one.
  thread.on("error", () => undefined);
  const beating = setInterval(() => void Atomics.add(beats, 0, 1), everyMs);
  beating.unref();

  const free = Array.from({ length: SLOTS }, (_, slot) => SLOTS - 1 - slot);
  const text = new TextEncoder();

  return {
    atWork(what) {
      const slot = free.pop();
      if (slot === undefined) return () => undefined;
      const at = HEAD_BYTES + slot * SLOT_BYTES;
      const length = new Int32Array(memory, at, 1);
      length[0] = text.encodeInto(what, new Uint8Array(memory, at + 4, TEXT_BYTES)).written;
      let isOver = false;
      return () => {
        if (isOver) return;
        isOver = true;
        length[0] = 0;
        free.push(slot);
      };
    },
    async close() {
      clearInterval(beating);
      if ((globalThis as Record<symbol, unknown>)[CURRENT] === whose.value) Reflect.deleteProperty(globalThis, CURRENT);
      await thread.terminate();
    },
  };
}
