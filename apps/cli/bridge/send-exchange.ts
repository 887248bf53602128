/** Carries one exchange: sends its requests, reads the response, and repeats or resumes what breaks off, as far as B2 allows. */
import { isObject, own } from "@parley/protocol";
import { isStream, parsed, readEvents } from "./events.ts";
import { type Exchange, isRepeatable } from "./exchange.ts";
import { claimedRevision, requestHeaders } from "./headers.ts";
import type { Link } from "./link.ts";
import { describeStatus, connectionLost } from "./failures.ts";
import { backoff, BACKOFF_MAX_MS, pause, waited } from "./patience.ts";
import type { Receive } from "./receive.ts";
import { get, NotSent, post, Unreachable } from "./remote.ts";
import { bodyOf, isAway, isHeaderMismatch, mayHaveBegun, messageIn } from "./responses.ts";
import type { Session } from "./session.ts";
import type { Sessions } from "./sessions.ts";
import { sendSlots } from "./slots.ts";
import { noEndpoint } from "../url.ts";

/** Concurrent requests to the server, not counting those that it has begun to answer. */
const SENDING_MAX = 64;
/** Maximum pages of tools/list to read for a schema. */
const PAGES_MAX = 100;

/** Carries the exchange until it is answered, after `before` if it belongs to the session. Throws an error that describes what is known. */
export type SendExchange = (exchange: Exchange, before: Promise<unknown>) => Promise<void>;

export interface SendExchangeOptions {
  readonly sessions: Pick<Sessions, "enter" | "reopen">;
  readonly receive: Receive;
  /** The request was sent, or could not be: it waits no longer. */
  readonly sent: (exchange: Exchange) => void;
}

export function createSendExchange(
  { remote, limits, memory, schemas, closing }: Link,
  { sessions, receive, sent }: SendExchangeOptions,
): SendExchange {
  const slots = sendSlots(SENDING_MAX);

  async function sendExchange(exchange: Exchange, before: Promise<unknown>): Promise<void> {
    const [request] = exchange.requests;
    const opens = request?.method === "initialize" && exchange.revision === undefined;
    let session: Session | undefined;
    try {
      // Requests sent during the first handshake wait for it, and so does a second handshake.
      if (opens && memory.initialize === undefined) memory.open(request);
      else if (exchange.revision === undefined) await before;
      const free = await slots.take(exchange.over.signal);
      void exchange.begun.promise.then(free);
      session = await send(exchange, opens);
    } finally {
      sent(exchange);
      exchange.begun.resolve();
    }
    if (exchange.revision === undefined) {
      for (const each of exchange.requests) memory.note(each);
      if (exchange.pending.size > 0) await resume(exchange, session);
    } else if (exchange.pending.size > 0) await sendAgain(exchange);
  }

  /** Sends the request and reads the response until it ends or breaks off. */
  async function send(exchange: Exchange, opens: boolean): Promise<Session | undefined> {
    const startedAtMs = performance.now();
    const patienceMs = exchange.confirmed ? limits.streamPatienceMs : limits.requestPatienceMs;
    let learned = false;
    let reopened = false;
    for (let attempt = 0; ; attempt += 1) {
      const session = opens ? undefined : memory.current;
      exchange.session = session?.id;
      let response: Response;
      try {
        response = await post(remote, exchange.text, headersOf(exchange, session), exchange.over.signal);
      } catch (error) {
        if (error instanceof NotSent) throw error;
        if (!(error instanceof Unreachable) || !(error.notSent || isRepeatable(exchange) || opens)) throw connectionLost(exchange, error);
        if (waited(startedAtMs) > patienceMs) throw error;
        await pause(backoff(attempt), exchange.over.signal);
        continue;
      }
      if (isAway(response)) {
        const refusal = await messageIn(response);
        const isOver = response.status !== 503 && refusal !== undefined;
        const isSafe = isRepeatable(exchange) || opens || (response.status === 503 && !mayHaveBegun(refusal));
        if (isSafe && !isOver && waited(startedAtMs) <= patienceMs) {
          await pause(backoff(attempt), exchange.over.signal);
          continue;
        }
        await hand(exchange, response, refusal);
        return session;
      }
      if (response.status === 404 && exchange.revision === undefined && session && !reopened) {
        await response.body?.cancel();
        reopened = await sessions.reopen(session);
        if (reopened) continue;
        throw new Error("the session has ended at the server, and another could not be opened");
      }
      if (opens && response.ok) sessions.enter(exchange, response);
      const body = isStream(response) ? undefined : await messageIn(response);
      if (!learned && isHeaderMismatch(body) && (learned = await learnSchemas(exchange))) continue;
      await hand(exchange, response, body);
      return opens ? memory.current : session;
    }
  }

  /** Forwards the contents of a response to the client. */
  async function hand(exchange: Exchange, response: Response, body: unknown): Promise<void> {
    if (isStream(response)) {
      exchange.begun.resolve();
      return await follow(exchange, response);
    }
    if (body === undefined) {
      const error = response.status === 404 ? noEndpoint(response.url) : new Error(describeStatus(response));
      throw isAway(response) && response.status !== 503 && !isRepeatable(exchange) ? connectionLost(exchange, error) : error;
    }
    await receive(body, exchange);
    if (exchange.pending.size > 0 && !response.ok) throw new Error(describeStatus(response));
  }

  /** Reads a stream. If it breaks, the caller resumes it. */
  async function follow(exchange: Exchange, response: Response): Promise<void> {
    try {
      await readEvents(response, {
        onMessage: (message) => receive(message, exchange),
        onId: (id) => void (exchange.lastEventId = id),
        onRetry: (retryMs) => void (exchange.retryMs = retryMs),
      });
    } catch (error) {
      if (closing.aborted || exchange.over.signal.aborted) throw error;
    }
  }

  /** Resumes the stream of a session's request until the request is answered. */
  async function resume(exchange: Exchange, session: Session | undefined): Promise<void> {
    const { signal } = exchange.over;
    let startedAtMs = performance.now();
    for (let attempt = 0; exchange.pending.size > 0; attempt += 1) {
      if (exchange.cancelled) return;
      const { lastEventId } = exchange;
      if (lastEventId === undefined) {
        if (!isRepeatable(exchange)) throw connectionLost(exchange);
        if (attempt > 0) await pause(backoff(attempt), signal);
        await send(exchange, false);
        if (exchange.pending.size > 0 && exchange.lastEventId === undefined && waited(startedAtMs) > limits.requestPatienceMs)
          throw connectionLost(exchange);
      } else {
        await pause(Math.max(exchange.retryMs ?? 0, backoff(attempt)), signal);
        const response = await get(remote, { ...memory.headers(session), "last-event-id": lastEventId }, signal);
        if (response?.ok && isStream(response)) {
          await follow(exchange, response);
          if (exchange.lastEventId !== lastEventId) [attempt, startedAtMs] = [0, performance.now()];
          continue;
        }
        await response?.body?.cancel();
        if (response && !isAway(response) && response.status !== 429) throw connectionLost(exchange, new Error(describeStatus(response)));
      }
      if (waited(startedAtMs) > limits.streamPatienceMs) throw connectionLost(exchange);
    }
  }

  /** Repeats a request of a revision without sessions, whose response broke off. */
  async function sendAgain(exchange: Exchange): Promise<void> {
    let startedAtMs = performance.now();
    for (let attempt = 0; exchange.pending.size > 0; attempt += 1) {
      if (!isRepeatable(exchange) || waited(startedAtMs) > limits.streamPatienceMs) throw connectionLost(exchange);
      await pause(backoff(attempt), exchange.over.signal);
      const sentAtMs = performance.now();
      await send(exchange, false);
      // A stream that stayed open for a while does not count as a failed attempt.
      if (waited(sentAtMs) > BACKOFF_MAX_MS) [attempt, startedAtMs] = [0, performance.now()];
    }
  }

  function headersOf(exchange: Exchange, session: Session | undefined): Record<string, string> {
    const [request] = exchange.requests;
    if (exchange.revision === undefined || !request) return memory.headers(session);
    return requestHeaders(request, exchange.revision, schemas);
  }

  /** Reads the tool schemas after a header mismatch: the tool's arguments travel in headers too. The server checks headers first, so no call has begun. */
  async function learnSchemas({ requests: [request], over }: Exchange): Promise<boolean> {
    if (request?.method !== "tools/call") return false;
    for (let cursor: unknown, page = 0; page < PAGES_MAX; page += 1) {
      const params = { _meta: request.params["_meta"], ...(cursor !== undefined && { cursor }) };
      const list = { id: "parley-stdio", method: "tools/list", params };
      const headers = requestHeaders(list, claimedRevision(list) ?? "", schemas);
      const response = await post(remote, JSON.stringify({ jsonrpc: "2.0", ...list }), headers, over.signal);
      const body = parsed(await bodyOf(response));
      const result = isObject(body) ? own(body, "result") : undefined;
      if (!isObject(result)) return false;
      schemas.learn(result);
      cursor = own(result, "nextCursor");
      if (cursor === undefined) return true;
    }
    return true;
  }

  return sendExchange;
}
