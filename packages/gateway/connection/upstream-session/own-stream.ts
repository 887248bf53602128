/**
 * The stream that belongs to a session and to none of its requests.
 *
 * Many servers send their questions on it, and drop what they send before, so a call must not be made earlier (U2).
 *
 * Some servers answer a call with HTTP 202, which Streamable HTTP does not allow, and send its result on that stream, where the client finds it. Without
 * the stream the call would never end (U3). The client opens no other stream after one that had a result, so the session is not used again.
 *
 * A server without session ids has no stream of a session: what it sends on the stream that belongs to no request could be a question of any other call,
 * and another caller would be asked. Only for changes of lists is it opened then; what is asked there is refused.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { FetchLike } from "@modelcontextprotocol/client";
import { isCallBody, watchAnswer } from "./call-end.ts";
import type { SessionOwner } from "./session.ts";

/** How often the stream is opened: after a tenth of the session's age, within bounds. */
const STREAM_AGE_SHARE = 10;
const STREAMS_EVERY_MS = { shortest: 250, longest: 10_000 };
/** How often the client tries to open the stream again if it was open before. */
export const RETRIES_MAX = 3;

export interface OwnStream {
  /** Sends the requests of the session. */
  readonly fetch: FetchLike;
  /** `late`: the server has not sent response headers. Some send them with their first message. */
  opened(timeoutMs: number): Promise<"open" | "none" | "late">;
}

export interface WatchOwnStream {
  readonly owner: SessionOwner;
  /** The stream is that of the older transport, which carries everything. */
  readonly isSse: boolean;
  /** The stream is opened for changes of lists, even if the server has no session ids. */
  readonly listens: boolean;
}

export function watchOwnStream(fetch: FetchLike, { owner, isSse, listens }: WatchOwnStream): OwnStream {
  const { promise, resolve } = Promise.withResolvers<"open" | "none">();
  let isBegun = false;
  /** How often the client will still ask for the stream if it gets none. */
  let triesLeft = 0;
  let isAwaited = false;

  function cutIfAwaited(): void {
    if (isAwaited && triesLeft <= 0) owner.onCut?.("the upstream accepted the call (HTTP 202), and there is no stream for its result");
  }
  let firstMs: number | undefined;
  let lastMs = -Infinity;

  /** A server may end each stream at once and ask for the next one without a pause, while a person thinks for days. */
  async function pause(signal: AbortSignal | null | undefined): Promise<void> {
    const nowMs = performance.now();
    firstMs ??= nowMs;
    const everyMs = Math.min(Math.max((nowMs - firstMs) / STREAM_AGE_SHARE, STREAMS_EVERY_MS.shortest), STREAMS_EVERY_MS.longest);
    const waitMs = lastMs + everyMs - nowMs;
    if (waitMs > 0) await sleep(waitMs, undefined, signal ? { signal } : {});
    lastMs = performance.now();
  }

  return {
    async fetch(url, init) {
      if (init?.method !== "GET") {
        const response = await fetch(url, init);
        if (response.status === 202 && !isSse && isCallBody(init?.body)) {
          isAwaited = true;
          owner.isSpent = true;
          cutIfAwaited();
        }
        const { onCut } = owner;
        return onCut ? watchAnswer(response, init?.body, () => onCut("the response of the upstream does not answer the call")) : response;
      }
      if (!isBegun) triesLeft = 1;
      isBegun = true;
      const headers = new Headers(init.headers);
      // What is resumed is the stream of a request.
      if (!isSse && !listens && !headers.has("mcp-session-id") && !headers.has("last-event-id")) {
        resolve("none");
        triesLeft = 0;
        cutIfAwaited();
        return new Response(null, { status: 405 });
      }
      try {
        await pause(init.signal);
        const response = await fetch(url, init);
        // A server without such a stream refuses the request.
        resolve(response.ok ? "open" : "none");
        triesLeft = response.ok ? RETRIES_MAX : response.status === 405 ? 0 : triesLeft - 1;
        return response;
      } catch (error) {
        resolve("none");
        triesLeft -= 1;
        throw error;
      } finally {
        cutIfAwaited();
      }
    },
    /** `late`: the server has not sent response headers. Some send them with their first message. */
    async opened(timeoutMs) {
      await new Promise((begun) => setImmediate(begun));
      if (!isBegun) return "none";
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<"late">((ends) => (timer = setTimeout(ends, timeoutMs, "late")));
      const opened = await Promise.race([promise, late]);
      clearTimeout(timer);
      return opened;
    },
  };
}
