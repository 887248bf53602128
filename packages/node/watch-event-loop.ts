/**
 * Watches this process' event loop from a second thread: code on a blocked loop cannot detect that it is blocked.
 *
 *   main     beat · beat · beat · ──────── while (true) ────────────────────────▶ SIGKILL
 *   thread   look · look · look · look · reportMs: "event loop blocked" ┄┄┄ killMs ──┘
 *
 * Time counts by the thread's own looks: while the whole process stood still (a suspended machine, SIGSTOP) neither of them ran, and nothing
 * was blocked.
 *
 * The report names the code that blocks. The thread stops it for a moment by V8's inspector, in this process and without a port, reads its
 * frames, and asks it whose code it is (`current`). Code that is not JavaScript cannot be stopped (a synchronous read, a native module): then
 * the report has only what is at work (`atWork`); the culprit may be one of them.
 */
import { once } from "node:events";
import { url as debuggerUrl } from "node:inspector";
import { Worker } from "node:worker_threads";

export interface WatchEventLoop {
  /** How long it may be blocked before a line on standard error says so. */
  readonly reportMs: number;
  /** How long before the process is ended by SIGKILL; 0: never. */
  readonly killMs: number;
  /** As the process' logger has them. */
  readonly log: { readonly name: string; readonly level: string };
  /** Whose code calls it. Plain data, for the report. */
  readonly current: () => object | undefined;
  /** Called when a loop that was blocked for longer than `reportMs` is free again. */
  readonly onFree: (blockedMs: number) => void;
}

export interface EventLoopWatch {
  /** Notes something that is at work, in a few words. Call the returned function when it has ended. */
  atWork(what: string): () => void;
  close(): Promise<void>;
}

/** Where the thread finds `current` in the code that it has stopped. */
const CURRENT = Symbol.for("parley.watchEventLoop.current");

/** The shared memory: the count of beats, then slots of a length and a text each. */
const HEAD_BYTES = 4;
const SLOTS = 256;
const SLOT_BYTES = 160;
const TEXT_BYTES = SLOT_BYTES - 4;

/** Resolves when the loop is watched. */
export async function watchEventLoop({ reportMs, killMs, log, current, onFree }: WatchEventLoop): Promise<EventLoopWatch> {
  // Somebody who looks at a breakpoint blocks the loop as well.
  if (debuggerUrl() !== undefined) return { atWork: () => () => undefined, close: async () => undefined };

  const memory = new SharedArrayBuffer(HEAD_BYTES + SLOTS * SLOT_BYTES);
  const beats = new Int32Array(memory, 0, 1);
  const everyMs = Math.min(500, Math.max(10, Math.floor((killMs === 0 ? reportMs : Math.min(reportMs, killMs)) / 4)));
  const whose = { value: () => JSON.stringify(current()), configurable: true };
  Object.defineProperty(globalThis, CURRENT, whose);

  // JavaScript as it is: a thread that strips types of its own takes twice the memory.
  const thread = new Worker(new URL("event-loop-thread.mjs", import.meta.url), {
    name: "event-loop",
    env: {},
    execArgv: [],
    workerData: { memory, everyMs, reportMs, killMs, log, slots: { at: HEAD_BYTES, count: SLOTS, bytes: SLOT_BYTES } },
  });
  await once(thread, "message");
  thread.unref();
  thread.on("message", (blockedMs: number) => onFree(blockedMs));
  // Without its watch the process is as good as it ever was.
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
