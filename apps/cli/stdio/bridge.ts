/**
 * Forwards messages between a client on a pipe and a server over HTTP. It is the server to the client and the client to the server, and interprets only
 * what it needs.
 *
 *   line ─▶ request ──────▶ POST ─▶ JSON or a stream ─▶ lines      one exchange for each request, or batch
 *        ├▶ answer ───────▶ POST ─▶ 202                            repeated until it has arrived: it counts once
 *        └▶ notification ─▶ POST, or closes the request that it cancels (2026-07-28)
 *                           GET: the session's own stream ─▶ lines
 *
 * Invariants:
 *   B1  Each request is answered exactly once, by the server or by an error that describes what is known, unless the client cancels it.
 *   B2  A request is repeated only if the server cannot have received it, or if receiving it twice has no further effect.
 *   B3  A question reaches the client once, however often its stream is resumed.
 *   B4  The bridge reads from the server no faster than the client reads from the bridge.
 */
import { setTimeout as sleep } from "node:timers/promises";
import {
  errorMessage,
  INVALID_REQUEST,
  isObject,
  own,
  parseError,
  type RequestId,
  type RpcRequest,
  type RpcShape,
  shapeOf,
  type Wire,
} from "@parley/protocol";
import { HEADER_MISMATCH } from "@parley/protocol/stateless";
import { BodyTooLarge, isJson, isStream, parsed, readEvents, readText } from "./events.ts";
import { type Exchange, exchangeOf, idKey, isListen, isRepeatable, namesOf } from "./exchange.ts";
import { claimedRevision, requestHeaders, toolSchemas } from "./headers.ts";
import { ask, type Outgoing, type Remote, Unreachable } from "./remote.ts";
import { agreedVersion, type Session, SessionMemory } from "./session.ts";
import { sendSlots } from "./slots.ts";

export interface BridgeLimits {
  /** Unanswered requests. */
  readonly requestsMax: number;
  /** Characters of messages that wait to be sent. */
  readonly waitingCharsMax: number;
  /** How long a request is retried while the server is unreachable. */
  readonly requestPatienceMs: number;
  /** How long the bridge tries to resume a stream. */
  readonly streamPatienceMs: number;
}

export const BRIDGE_LIMITS: BridgeLimits = {
  requestsMax: 10_000,
  waitingCharsMax: 64 * 1_048_576,
  requestPatienceMs: 30_000,
  streamPatienceMs: 10 * 60_000,
};

/** Concurrent requests to the server, not counting those that it has begun to answer. */
const SENDING_MAX = 64;
/** Questions whose answers are kept, in case the server repeats a question that was answered. */
const QUESTIONS_MAX = 1_000;
/** How long a cancellation waits until the server has begun to handle the request that it cancels. */
const OVERTAKING_MS = 1_000;
const BACKOFF_MIN_MS = 100;
const BACKOFF_MAX_MS = 2_000;
const GOODBYE_MS = 250;

/** The server did not respond as MCP requires. JSON-RPC leaves -32000 to -32099 to implementations; MCP clients use -32000 for a lost connection. */
const CONNECTION_LOST = -32000;

const ACCEPT = { "content-type": "application/json", accept: "application/json, text/event-stream" };

export interface BridgeOptions {
  readonly remote: Remote;
  /** Writes one message to the client; resolves when there is room for the next. */
  readonly write: (message: unknown) => Promise<void>;
  /** Reports a problem to the operator. The text never contains content. */
  readonly log: (text: string) => void;
  readonly limits?: Partial<BridgeLimits>;
}

export interface Bridge {
  /** Handles one line from the client. */
  take(line: string): void;
  /** Reports a line that could not be read to the client. */
  refuse(problem: string): void;
  /** Resolves when no request is open. */
  idle(): Promise<void>;
  /** Abandons open requests and ends the session. */
  close(): Promise<void>;
}

interface Question {
  /** The client's answer; undefined until the client answers. */
  readonly answer?: string;
  /** The session that asked. Only it accepts the answer. */
  readonly session: string | undefined;
}

export function createBridge({ remote, write, log, limits: given }: BridgeOptions): Bridge {
  const limits = { ...BRIDGE_LIMITS, ...given };
  const exchanges = new Map<string, Exchange>();
  const memory = new SessionMemory();
  const schemas = toolSchemas();
  const slots = sendSlots(SENDING_MAX);
  const closing = new AbortController();
  /** The server's questions, by id. */
  const questions = new Map<string, Question>();
  /** Previous sessions that still have open requests after the client opened another one, by id. */
  const earlier = new Map<string, Session>();
  /** All messages of a session wait until `initialize` is answered and `notifications/initialized` has arrived. */
  let ready: Promise<unknown> = Promise.resolve();
  /** Answers and notifications are delivered in the order in which the client sent them. */
  let inOrder: Promise<void> = Promise.resolve();
  let waitingChars = 0;
  let reopening: Promise<boolean> | undefined;
  let whenIdle: (() => void)[] = [];

  // ── from the client ────────────────────────────────────────────────────────────────────────────────────────────────

  function take(line: string): void {
    const body = parsed(line);
    if (body === undefined) return say(parseError("the line is not valid JSON").message);
    if (Array.isArray(body)) return takeBatch(line, body.map(shapeOf));
    const shape = shapeOf(body);
    switch (shape.type) {
      case "request":
        return begin(line, [shape]);
      case "notification":
        return takeNotification(line, shape);
      case "response":
        return takeAnswer(line, shape.id);
      case "invalid":
        return say(errorMessage(shape.id, { code: INVALID_REQUEST, message: shape.problem }));
    }
  }

  /** Batches exist in 2025-03-26 only. The server checks whether the session may send them. */
  function takeBatch(line: string, shapes: readonly RpcShape[]): void {
    const requests = shapes.filter((shape) => shape.type === "request");
    for (const shape of shapes) if (shape.type === "response") noteAnswer(shape.id, JSON.stringify(shape.message));
    if (requests.length > 0) begin(line, requests);
    else if (shapes.length === 0) say(errorMessage(undefined, { code: INVALID_REQUEST, message: "the batch is empty" }));
    else void afterHandshake(() => deliver(line, "a batch"));
  }

  function begin(line: string, requests: readonly RpcRequest[]): void {
    const problem = refusal(line, requests);
    if (problem !== undefined) {
      for (const { id } of requests) say(errorMessage(id, { code: INVALID_REQUEST, message: problem }));
      return;
    }
    const [first] = requests;
    const exchange = exchangeOf(line, requests, requests.length === 1 && first ? claimedRevision(first) : undefined);
    for (const key of exchange.pending.keys()) exchanges.set(key, exchange);
    waitingChars += line.length;
    const work = run(exchange, ready).catch(async (error: unknown) => {
      if (!closing.signal.aborted && !exchange.cancelled) await failAll(exchange, describe(error));
    });
    if (first?.method === "initialize") ready = work;
    void work.finally(() => finish(exchange));
  }

  function refusal(line: string, requests: readonly RpcRequest[]): string | undefined {
    const keys = new Set(requests.map(({ id }) => idKey(id)));
    if (keys.size < requests.length || [...keys].some((key) => exchanges.has(key)))
      return "the id is in use by another request: each needs its own. Clients cannot share one pipe: start `parley stdio` for each";
    if (exchanges.size + keys.size > limits.requestsMax)
      return `${limits.requestsMax} requests are not answered yet: wait for some of them before you send more`;
    if (waitingChars + line.length > limits.waitingCharsMax)
      return `more than ${limits.waitingCharsMax} characters wait to be sent: wait for answers before you send more`;
    return undefined;
  }

  function finish(exchange: Exchange): void {
    exchange.begun.resolve();
    exchange.over.abort();
    for (const { id } of exchange.requests) if (exchanges.get(idKey(id)) === exchange) exchanges.delete(idKey(id));
    if (earlier.size > 0) endEarlierSessions();
    if (exchanges.size === 0) {
      for (const idle of whenIdle) idle();
      whenIdle = [];
    }
  }

  function takeNotification(line: string, shape: Extract<RpcShape, { type: "notification" }>): void {
    if (shape.method === "notifications/cancelled") return cancel(line, own(shape.params, "requestId"));
    // In a revision without sessions, clients send no other notifications.
    if (!memory.initialize) return;
    if (shape.method !== "notifications/initialized") return void afterHandshake(() => deliver(line, shape.method));
    ready = afterHandshake(async () => {
      await deliver(line, shape.method);
      memory.noteInitialized();
      if (memory.current) void readStandaloneStream(memory.current);
    }).catch(() => undefined);
  }

  function cancel(line: string, requestId: unknown): void {
    const id = typeof requestId === "string" || typeof requestId === "number" ? requestId : undefined;
    const exchange = id === undefined ? undefined : exchanges.get(idKey(id));
    if (!exchange || id === undefined) return;
    if (exchange.revision !== undefined) {
      // In this revision, an HTTP client cancels a request by closing it.
      exchange.cancelled = true;
      exchange.pending.clear();
      exchange.over.abort();
      return;
    }
    // The cancellation must not overtake the request.
    void afterHandshake(async () => {
      await Promise.race([exchange.begun.promise, sleep(OVERTAKING_MS)]);
      if (!exchange.pending.has(idKey(id))) return;
      await deliver(line, "notifications/cancelled", exchange.session);
      exchange.cancelled = exchange.pending.size <= 1;
    });
  }

  function takeAnswer(line: string, id: RequestId): void {
    const session = noteAnswer(id, line);
    void afterHandshake(() => deliver(line, "an answer", session));
  }

  /** Returns the session that asked. */
  function noteAnswer(id: RequestId, answer: string): string | undefined {
    const session = questions.get(idKey(id))?.session;
    questions.delete(idKey(id));
    questions.set(idKey(id), { answer, session });
    for (const [key, { answer: given }] of questions) {
      if (questions.size <= QUESTIONS_MAX) break;
      if (given !== undefined) questions.delete(key);
    }
    return session;
  }

  function afterHandshake(work: () => Promise<void>): Promise<void> {
    const before = inOrder;
    const done = (async () => {
      await ready;
      await before;
      await work();
    })();
    inOrder = done.catch((error: unknown) => {
      if (!closing.signal.aborted) log(describe(error));
    });
    return done;
  }

  /** Sends a message that has no response, until it has arrived. `of` is the session to which it belongs, if not the current one. */
  async function deliver(text: string, what: string, of?: string): Promise<void> {
    const startedAtMs = performance.now();
    for (let attempt = 0; !closing.signal.aborted; attempt += 1) {
      const session = earlier.get(of ?? "") ?? memory.current;
      try {
        const response = await ask(remote, post(text, memory.headers(session), closing.signal));
        await response.body?.cancel();
        if (response.status === 404 && session && (await reopen(session)) && attempt === 0) continue;
        if (!(isAway(response) || response.status === 429) || waited(startedAtMs) > limits.requestPatienceMs) {
          // The log must not contain answers, and the body of the refusal may repeat one.
          if (!response.ok) log(`the server refused ${what} with HTTP ${response.status}`);
          return;
        }
      } catch (error) {
        if (closing.signal.aborted) return;
        if (waited(startedAtMs) > limits.requestPatienceMs) return log(`${what} could not be delivered: ${describe(error)}`);
      }
      await pause(backoff(attempt), closing.signal);
    }
  }

  // ── one exchange ───────────────────────────────────────────────────────────────────────────────────────────────────

  async function run(exchange: Exchange, before: Promise<unknown>): Promise<void> {
    const [request] = exchange.requests;
    const opens = request?.method === "initialize" && exchange.revision === undefined;
    // Requests sent during the first handshake wait for it, and so does a second handshake.
    if (opens && memory.initialize === undefined) memory.open(request);
    else if (exchange.revision === undefined) await before;
    const free = await slots.take(exchange.over.signal);
    void exchange.begun.promise.then(free);
    let session: Session | undefined;
    try {
      session = await send(exchange, opens);
    } finally {
      waitingChars -= exchange.text.length;
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
        response = await ask(remote, post(exchange.text, headersOf(exchange, session), exchange.over.signal));
      } catch (error) {
        if (!(error instanceof Unreachable) || !(error.notSent || isRepeatable(exchange) || opens)) throw lost(exchange, error);
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
        reopened = await reopen(session);
        if (reopened) continue;
        throw new Error("the session has ended at the server, and another could not be opened");
      }
      if (opens && response.ok) enter(exchange, response);
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
      const error = new Error(describeStatus(response));
      throw isAway(response) && response.status !== 503 && !isRepeatable(exchange) ? lost(exchange, error) : error;
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
      if (closing.signal.aborted || exchange.over.signal.aborted) throw error;
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
        if (!isRepeatable(exchange)) throw lost(exchange);
        await send(exchange, false);
        if (exchange.pending.size > 0 && exchange.lastEventId === undefined && waited(startedAtMs) > limits.requestPatienceMs)
          throw lost(exchange);
      } else {
        await pause(Math.max(exchange.retryMs ?? 0, backoff(attempt)), signal);
        const response = await get({ ...memory.headers(session), "last-event-id": lastEventId }, signal);
        if (response?.ok && isStream(response)) {
          await follow(exchange, response);
          if (exchange.lastEventId !== lastEventId) [attempt, startedAtMs] = [0, performance.now()];
          continue;
        }
        await response?.body?.cancel();
        if (response && !isAway(response) && response.status !== 429) throw lost(exchange, new Error(describeStatus(response)));
      }
      if (waited(startedAtMs) > limits.streamPatienceMs) throw lost(exchange);
    }
  }

  /** Repeats a request of a revision without sessions, whose response broke off. */
  async function sendAgain(exchange: Exchange): Promise<void> {
    let startedAtMs = performance.now();
    for (let attempt = 0; exchange.pending.size > 0; attempt += 1) {
      if (!isRepeatable(exchange) || waited(startedAtMs) > limits.streamPatienceMs) throw lost(exchange);
      await pause(backoff(attempt), exchange.over.signal);
      const sentAtMs = performance.now();
      await send(exchange, false);
      // A stream that stayed open for a while does not count as a failed attempt.
      if (waited(sentAtMs) > BACKOFF_MAX_MS) [attempt, startedAtMs] = [0, performance.now()];
    }
  }

  // ── from the server ────────────────────────────────────────────────────────────────────────────────────────────────

  async function receive(body: unknown, exchange?: Exchange): Promise<void> {
    if (Array.isArray(body)) {
      const kept = body.map((each) => forwarded(each, exchange)).filter((each) => each !== undefined);
      if (kept.length > 0) await write(kept);
      return;
    }
    const message = forwarded(body, exchange);
    if (message !== undefined) await write(message);
  }

  /** The message to forward to the client; undefined if it is not forwarded. */
  function forwarded(body: unknown, exchange: Exchange | undefined): object | undefined {
    if (!isObject(body)) {
      log("the server sent something that is not a JSON-RPC message");
      return undefined;
    }
    const method = own(body, "method");
    if (method === undefined) return exchange && answered(body, exchange);
    const id = own(body, "id");
    if (typeof id === "string" || typeof id === "number") return isNewQuestion(id, exchange) ? body : undefined;
    if (method === "notifications/subscriptions/acknowledged" && exchange) {
      if (exchange.confirmed) return undefined;
      exchange.confirmed = true;
    }
    return body;
  }

  function answered(body: Wire, exchange: Exchange): object | undefined {
    const id = own(body, "id");
    const given = typeof id === "string" || typeof id === "number" ? id : undefined;
    // An error about an unreadable message has no id. With one pending request, it must be about that request.
    const [only] = exchange.pending.size === 1 ? exchange.pending.values() : [];
    const about = given !== undefined && exchange.pending.has(idKey(given)) ? given : given === undefined ? only : undefined;
    if (about === undefined) return undefined;
    // A server that restarts ends its streams. The bridge opens them again without the client's involvement.
    if (isListen(exchange) && exchange.confirmed && Object.hasOwn(body, "result")) return undefined;
    exchange.pending.delete(idKey(about));
    if (exchange.requests.some(({ method }) => method === "tools/list")) schemas.learn(own(body, "result"));
    if (exchange.requests[0]?.method === "initialize" && exchange.revision === undefined) noteVersion(body);
    return given === undefined ? { ...body, id: about } : body;
  }

  function noteVersion(body: Wire): void {
    const version = agreedVersion(body);
    if (version !== undefined && memory.current) memory.current = { ...memory.current, version };
  }

  /** False for a question that the client has already received. If the client has answered it, the bridge sends that answer again. */
  function isNewQuestion(id: RequestId, exchange: Exchange | undefined): boolean {
    const known = questions.get(idKey(id));
    const session = exchange?.session ?? memory.current?.id;
    if (known === undefined) questions.set(idKey(id), { session });
    else if (known.answer !== undefined) void deliver(known.answer, "an answer", session);
    return known === undefined;
  }

  // ── the session ────────────────────────────────────────────────────────────────────────────────────────────────────

  function sessionOf(response: Response): Session {
    memory.current?.over.abort();
    return { id: response.headers.get("mcp-session-id") ?? undefined, version: undefined, over: new AbortController() };
  }

  /**
   * Enters the session that `initialize` opened. A pipe may see several handshakes, because a program may run several clients on it one after another.
   * Earlier requests finish on their own streams; later messages belong to the new session.
   */
  function enter(exchange: Exchange, response: Response): void {
    const [request] = exchange.requests;
    const before = memory.current;
    // The server refused the handshake: keep the current session.
    if (before?.id !== undefined && !response.headers.has("mcp-session-id")) return;
    if (request) memory.open(request);
    memory.current = sessionOf(response);
    if (before?.id === undefined) return;
    earlier.set(before.id, before);
    endEarlierSessions();
  }

  /** Ends earlier sessions that have no open request. */
  function endEarlierSessions(): void {
    for (const [id, session] of earlier) {
      if ([...exchanges.values()].some((each) => each.session === id)) continue;
      earlier.delete(id);
      void endSession(session);
    }
  }

  /** Ends a session. If this fails, the session expires at the server. */
  async function endSession(session: Session): Promise<void> {
    if (session.id === undefined) return;
    const signal = AbortSignal.timeout(GOODBYE_MS);
    await ask(remote, { method: "DELETE", headers: memory.headers(session), signal }).then(
      (response) => response.body?.cancel(),
      () => undefined,
    );
  }

  /** Replaces a session that the server has lost, once for all concurrent callers. Returns false if it cannot. */
  async function reopen(gone: Session): Promise<boolean> {
    if (memory.current?.id !== gone.id) return true;
    reopening ??= openAgain().finally(() => (reopening = undefined));
    return await reopening;
  }

  async function openAgain(): Promise<boolean> {
    const { initialize } = memory;
    if (!initialize) return false;
    log("the session has ended at the server: opening another");
    try {
      const request = (message: object, headers: Record<string, string>) =>
        ask(remote, post(JSON.stringify(message), headers, closing.signal));
      const response = await request({ jsonrpc: "2.0", id: "parley-stdio", method: "initialize", params: initialize.params }, {});
      const text = await bodyOf(response);
      const version = agreedVersion(parsed(text));
      if (!response.ok || version === undefined) return false;
      const session = { ...sessionOf(response), version };
      memory.current = session;
      const headers = memory.headers(session);
      if (memory.initialized) {
        await (await request({ jsonrpc: "2.0", method: "notifications/initialized" }, headers)).body?.cancel();
        void readStandaloneStream(session);
      }
      for (const { method, params } of memory.settings)
        await (await request({ jsonrpc: "2.0", id: "parley-stdio", method, params }, headers)).body?.cancel();
      return true;
    } catch (error) {
      log(`no session could be opened: ${describe(error)}`);
      return false;
    }
  }

  /** Reads the session's standalone stream for as long as the session lives. */
  async function readStandaloneStream(session: Session): Promise<void> {
    const signal = AbortSignal.any([closing.signal, session.over.signal]);
    let lastEventId: string | undefined;
    let retryMs = 0;
    for (let attempt = 0; !signal.aborted; attempt += 1) {
      try {
        const response = await get(
          { ...memory.headers(session), ...(lastEventId !== undefined && { "last-event-id": lastEventId }) },
          signal,
        );
        if (response?.status === 405) return await response.body?.cancel();
        if (response?.status === 404) return void (await reopen(session));
        if (response?.ok && isStream(response)) {
          attempt = 0;
          await readEvents(response, {
            onMessage: (message) => receive(message),
            onId: (id) => (lastEventId = id),
            onRetry: (ms) => (retryMs = ms),
          });
        } else await response?.body?.cancel();
      } catch {
        // The stream broke. The loop opens it again, unless it was aborted.
      }
      if (!signal.aborted) await pause(Math.max(retryMs, backoff(attempt)), signal).catch(() => undefined);
    }
  }

  // ── HTTP ───────────────────────────────────────────────────────────────────────────────────────────────────────────

  function headersOf(exchange: Exchange, session: Session | undefined): Record<string, string> {
    const [request] = exchange.requests;
    if (exchange.revision === undefined || !request) return memory.headers(session);
    return requestHeaders(request, exchange.revision, schemas);
  }

  /** Undefined if the server cannot be reached. */
  async function get(headers: Record<string, string>, signal: AbortSignal): Promise<Response | undefined> {
    try {
      return await ask(remote, { method: "GET", headers: { ...headers, accept: "text/event-stream" }, signal });
    } catch (error) {
      if (signal.aborted || !(error instanceof Unreachable)) throw error;
      return undefined;
    }
  }

  /** Reads the tool schemas after a header mismatch: the tool's arguments travel in headers too. The server checks headers first, so no call has begun. */
  async function learnSchemas({ requests: [request], over }: Exchange): Promise<boolean> {
    if (request?.method !== "tools/call") return false;
    for (let cursor: unknown, page = 0; page < PAGES_MAX; page += 1) {
      const params = { _meta: request.params["_meta"], ...(cursor !== undefined && { cursor }) };
      const list = { id: "parley-stdio", method: "tools/list", params };
      const headers = requestHeaders(list, claimedRevision(list) ?? "", schemas);
      const response = await ask(remote, post(JSON.stringify({ jsonrpc: "2.0", ...list }), headers, over.signal));
      const body = parsed(await bodyOf(response));
      const result = isObject(body) ? own(body, "result") : undefined;
      if (!isObject(result)) return false;
      schemas.learn(result);
      cursor = own(result, "nextCursor");
      if (cursor === undefined) return true;
    }
    return true;
  }

  // ── errors ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  async function failAll(exchange: Exchange, message: string): Promise<void> {
    const ids = [...exchange.pending.values()];
    exchange.pending.clear();
    for (const id of ids) {
      await write(errorMessage(id, { code: CONNECTION_LOST, message }));
    }
  }

  function say(message: object): void {
    void write(message);
  }

  return {
    take,
    refuse: (problem) => say(parseError(problem).message),
    idle: () => (exchanges.size === 0 ? Promise.resolve() : new Promise((idle) => whenIdle.push(idle))),
    async close() {
      closing.abort();
      for (const exchange of new Set(exchanges.values())) {
        exchange.pending.clear();
        exchange.over.abort();
      }
      const { current } = memory;
      current?.over.abort();
      await Promise.all([...earlier.values(), ...(current ? [current] : [])].map(endSession));
    },
  };
}

/** Maximum pages of tools/list to read for a schema. */
const PAGES_MAX = 100;

function post(body: string, headers: Record<string, string>, signal: AbortSignal): Outgoing {
  return { method: "POST", headers: { ...ACCEPT, ...headers }, body, signal };
}

async function bodyOf(response: Response): Promise<string> {
  try {
    return await readText(response);
  } catch (error) {
    if (error instanceof BodyTooLarge) throw error;
    throw new Unreachable(response.url, error);
  }
}

/** Whether the server cannot serve requests at present, or a proxy cannot reach it. After 502 and 504 the server may have received the request. */
function isAway({ status }: Response): boolean {
  return status >= 502;
}

/** Whether a refusal with HTTP 503 leaves open if the request takes effect. All others say that nothing was started. */
function mayHaveBegun(refusal: unknown): boolean {
  const error = isObject(refusal) ? own(refusal, "error") : undefined;
  const data = isObject(error) ? own(error, "data") : undefined;
  return isObject(data) && own(data, "code") === "UNAVAILABLE";
}

/** The JSON-RPC message, or batch, in a response. Undefined if there is none: what a proxy answers may be JSON, too, and is not the server's word. */
async function messageIn(response: Response): Promise<unknown> {
  if (!isJson(response)) {
    await response.body?.cancel();
    return undefined;
  }
  const body = parsed(await bodyOf(response));
  const isMessage = isObject(body) && ["result", "error", "method"].some((member) => own(body, member) !== undefined);
  return Array.isArray(body) || isMessage ? body : undefined;
}

function isHeaderMismatch(body: unknown): boolean {
  const error = isObject(body) ? own(body, "error") : undefined;
  return isObject(error) && own(error, "code") === HEADER_MISMATCH;
}

function lost(exchange: Exchange, cause?: unknown): Error {
  const why = cause instanceof Error ? ` (${cause.message})` : "";
  const what = `the connection to the server was lost before ${namesOf(exchange)} was answered${why}`;
  // A server may close the connection instead of reading a large message to its end.
  if (exchange.text.length > LARGE_CHARS)
    return new Error(
      `${what}. The message has ${exchange.text.length} characters, which may be more than the server accepts (PARLEY_BODY_BYTES_MAX)`,
    );
  return new Error(`${what}. It may have been carried out: check before you retry`);
}

/** The default of PARLEY_BODY_BYTES_MAX. */
const LARGE_CHARS = 1_048_576;

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function describeStatus(response: Response): string {
  const { status, url } = response;
  if (status === 401) return `${url} requires a login: run \`parley login --url ${url}\`, or set PARLEY_TOKEN to an access token`;
  if (status === 403) return `${url} denies access to this caller (HTTP 403)`;
  const what = `${url} answered HTTP ${status} without a JSON-RPC message`;
  return isAway(response) ? `${what}: a proxy cannot reach the server. Try again later` : what;
}

function waited(sinceMs: number): number {
  return performance.now() - sinceMs;
}

function backoff(attempt: number): number {
  return Math.min(BACKOFF_MIN_MS * 2 ** Math.min(attempt, 10), BACKOFF_MAX_MS);
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal });
}
