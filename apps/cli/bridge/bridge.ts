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
 *
 *   send-exchange.ts  one exchange       sessions.ts   the session, and its replacement   questions.ts   what the server asked
 *   deliver.ts        answers and        receive.ts    messages from the server           failures.ts    what to say when it is silent
 *                 notifications
 */
import { setTimeout as sleep } from "node:timers/promises";
import { errorMessage, INVALID_REQUEST, own, parseError, type RequestId, type RpcRequest, type RpcShape, shapeOf } from "@parley/protocol";
import { createSendExchange } from "./send-exchange.ts";
import { createDelivery } from "./deliver.ts";
import { parsed } from "./events.ts";
import { type Exchange, exchangeOf, idKey, namesOf } from "./exchange.ts";
import { claimedRevision, toolSchemas } from "./headers.ts";
import type { BridgeLimits, Link } from "./link.ts";
import { describe } from "./failures.ts";
import { createQuestions } from "./questions.ts";
import { createReceiver, type Receive } from "./receive.ts";
import { SessionMemory } from "./session.ts";
import { createSessions } from "./sessions.ts";

export type { BridgeLimits } from "./link.ts";

const BRIDGE_LIMITS: BridgeLimits = {
  requestsMax: 10_000,
  waitingCharsMax: 64 * 1_048_576,
  requestPatienceMs: 30_000,
  streamPatienceMs: 10 * 60_000,
};

/** How long a cancellation waits until the server has begun to handle the request that it cancels. */
const OVERTAKING_MS = 1_000;

/** What a message that waits for its turn takes besides its own characters. */
const TURN_CHARS = 500;

/** The server did not respond as MCP requires. JSON-RPC leaves -32000 to -32099 to implementations; MCP clients use -32000 for a lost connection. */
const CONNECTION_LOST = -32000;

export interface BridgeOptions extends Pick<Link, "remote" | "write" | "log"> {
  readonly limits?: Partial<BridgeLimits>;
}

export interface Bridge {
  /** Handles one line from the client. */
  take(line: string): void;
  /** Reports a line that could not be read to the client. */
  refuse(problem: string): void;
  /** Resolves when no request is open. */
  idle(): Promise<void>;
  /** Answers open requests with an error that says why, if there is a reason that a client can read, and ends the session. */
  close(why?: string): Promise<void>;
}

export function createBridge({ remote, write, log, limits: given }: BridgeOptions): Bridge {
  const closing = new AbortController();
  const link: Link = {
    remote,
    write,
    log,
    limits: { ...BRIDGE_LIMITS, ...given },
    exchanges: new Map<string, Exchange>(),
    memory: new SessionMemory(),
    schemas: toolSchemas(),
    closing: closing.signal,
  };
  const { limits, exchanges, memory } = link;
  const questions = createQuestions();
  const sessions = createSessions(link, (body) => receive(body));
  const deliver = createDelivery(link, sessions);
  const receive: Receive = createReceiver(link, { questions, deliver });
  const sendExchange = createSendExchange(link, { sessions, receive, sent: ({ text }) => void (waitingChars -= text.length) });
  /** All messages of a session wait until `initialize` is answered and `notifications/initialized` has arrived. */
  let ready: Promise<unknown> = Promise.resolve();
  /** Answers and notifications are delivered in the order in which the client sent them. */
  let inOrder: Promise<void> = Promise.resolve();
  let waitingChars = 0;
  let dropping = false;
  let whenIdle: (() => void)[] = [];

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
    for (const shape of shapes) if (shape.type === "response") questions.answered(shape.id, JSON.stringify(shape.message));
    if (requests.length > 0) begin(line, requests);
    else if (shapes.length === 0) say(errorMessage(undefined, { code: INVALID_REQUEST, message: "the batch is empty" }));
    else void inTurn(line, "a batch", () => deliver(line, "a batch"));
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
    const work = sendExchange(exchange, ready).catch(async (error: unknown) => {
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
    sessions.endEarlier();
    if (exchanges.size === 0) {
      for (const idle of whenIdle) idle();
      whenIdle = [];
    }
  }

  function takeNotification(line: string, shape: Extract<RpcShape, { type: "notification" }>): void {
    if (shape.method === "notifications/cancelled") return cancel(line, own(shape.params, "requestId"));
    // In a revision without sessions, clients send no other notifications.
    if (!memory.initialize) return;
    if (shape.method !== "notifications/initialized") return void inTurn(line, "a notification", () => deliver(line, shape.method));
    ready = inTurn(line, "a notification", async () => {
      await deliver(line, shape.method);
      memory.noteInitialized();
      if (memory.current) void sessions.readStandalone(memory.current);
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
    void inTurn(line, "a cancellation", async () => {
      await Promise.race([exchange.begun.promise, sleep(OVERTAKING_MS)]);
      if (!exchange.pending.has(idKey(id))) return;
      await deliver(line, "notifications/cancelled", exchange.session);
      exchange.cancelled = exchange.pending.size <= 1;
    });
  }

  function takeAnswer(line: string, id: RequestId): void {
    const session = questions.answered(id, line);
    void inTurn(line, "an answer", () => deliver(line, "an answer", session));
  }

  /** Delivers a message after the handshake and after the messages before it. Drops it if too many wait: it has no response that could refuse it. */
  function inTurn(line: string, what: string, work: () => Promise<void>): Promise<void> {
    const chars = line.length + TURN_CHARS;
    if (waitingChars + chars > limits.waitingCharsMax) {
      if (!dropping)
        log(`more than ${limits.waitingCharsMax} characters wait to be sent: ${what} is dropped, and so are others until there is room`);
      dropping = true;
      return Promise.resolve();
    }
    dropping = false;
    waitingChars += chars;
    const before = inOrder;
    const done = (async () => {
      await ready;
      await before;
      await work();
    })().finally(() => (waitingChars -= chars));
    inOrder = done.catch((error: unknown) => {
      if (!closing.signal.aborted) log(describe(error));
    });
    return done;
  }

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
    async close(why) {
      closing.abort();
      for (const exchange of new Set(exchanges.values())) {
        if (why !== undefined && !exchange.cancelled)
          void failAll(exchange, `${why} before ${namesOf(exchange)} was answered. It may have been carried out: check before you retry`);
        exchange.pending.clear();
        exchange.over.abort();
      }
      await sessions.endAll();
    },
  };
}
