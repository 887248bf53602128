/**
 * How many sessions with an upstream are opened at once. Many callers may come at the same moment, and a server, or this process, that opens all of
 * their sessions at once opens each of them late.
 *
 *   open ─▶ as many as may be opened at once are? ─yes─▶ waits in line, without a timer that runs
 *              └─no─▶ connects ─▶ opened: one more may be opened at once
 *                        └─ late, while others were opened ─▶ half as many, and again in line: no call has begun
 *
 * So the number finds what the server can do, as the window of a TCP connection does.
 */
import { isTimeout } from "./upstream-session/open-failure.ts";
import { SessionBusy } from "./session-busy.ts";
import type { Upstream } from "../config/upstreams.ts";

export interface Connects {
  /** Throws what `connect` throws, SessionBusy if its turn does not come in time, or the signal's reason. */
  connect<One>(upstream: Upstream, signal: AbortSignal | undefined, connect: () => Promise<One>): Promise<One>;
  forget(name: string): void;
}

/** How many sessions are opened at once: at the beginning, at least and at most. A process takes much of the processor until it is ready. */
export const AT_ONCE = { url: { first: 64, least: 8, most: 1_024 }, command: { first: 4, least: 1, most: 64 } } as const;
/** How long a call waits in line, and how long it goes back to it. */
export const CONNECT_WAIT_MS = 60_000;

interface Line {
  may: number;
  open: number;
  /** Calls in line, oldest first. */
  readonly waiting: Set<() => void>;
  /** How many sessions were opened. */
  opened: number;
}

export function createConnects({ waitMs = CONNECT_WAIT_MS } = {}): Connects {
  const lines = new Map<string, Line>();

  function lineOf({ name, reached }: Upstream): Line {
    const line = lines.get(name) ?? { may: AT_ONCE[reached.by].first, open: 0, waiting: new Set(), opened: 0 };
    lines.set(name, line);
    return line;
  }

  function next(line: Line): void {
    for (const begins of line.waiting) {
      if (line.open >= line.may) return;
      line.waiting.delete(begins);
      line.open += 1;
      begins();
    }
  }

  async function place(line: Line, signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    if (line.open < line.may && line.waiting.size === 0) {
      line.open += 1;
      return;
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const give = (error: unknown) => {
      // Its turn may have come at this moment.
      if (line.waiting.delete(resolve)) reject(error);
    };
    const stop = () => give(signal?.reason);
    line.waiting.add(resolve);
    const late = setTimeout(
      give,
      waitMs,
      new SessionBusy(`has opened no session for this call within ${waitMs / 1_000} s: too many callers came at once`),
    );
    signal?.addEventListener("abort", stop, { once: true });
    try {
      await promise;
    } finally {
      clearTimeout(late);
      signal?.removeEventListener("abort", stop);
    }
  }

  async function once<One>(line: Line, { by }: Upstream["reached"], { signal, connect }: Once<One>): Promise<One> {
    await place(line, signal);
    try {
      const one = await connect();
      line.opened += 1;
      line.may = Math.min(line.may + 1, AT_ONCE[by].most);
      return one;
    } catch (error) {
      if (isTimeout(error)) line.may = Math.max(Math.floor(line.may / 2), AT_ONCE[by].least);
      throw error;
    } finally {
      line.open -= 1;
      next(line);
    }
  }

  return {
    async connect(upstream, signal, connect) {
      const line = lineOf(upstream);
      const untilMs = performance.now() + waitMs;
      for (;;) {
        const { opened } = line;
        try {
          return await once(line, upstream.reached, { signal, connect });
        } catch (error) {
          // A server that opens no session at all is down rather than slow.
          const isSlow = isTimeout(error) && line.opened > opened;
          if (!isSlow || signal?.aborted === true || performance.now() > untilMs) throw error;
        }
      }
    },
    forget(name) {
      const line = lines.get(name);
      if (line?.open === 0 && line.waiting.size === 0) lines.delete(name);
    },
  };
}

interface Once<One> {
  readonly signal: AbortSignal | undefined;
  readonly connect: () => Promise<One>;
}
