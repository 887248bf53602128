/**
 * What bounds every connection:
 *
 *   opened ─headersTimeout─▶ headers ─requestTimeout─▶ request ─(no bound: an answer takes its time)─▶ reply ─stallTimeout─▶ taken
 *                               ▲                                                                                            │
 *                               └─────────────────────────────────── idleTimeout ────────────────────────────────────────────┘
 *
 * Streams have no end to wait for: outlet.ts watches their readers.
 */
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { Log } from "@parley/core";
import { invalidRequest } from "@parley/protocol";
import type { FastifyHttpOptions, FastifyInstance } from "fastify";
import type { Lifecycle } from "../front-end/lifecycle.ts";
import type { Limits, Times } from "../front-end/limits.ts";
import { DATA_HEADERS } from "./security-headers.ts";

type ConnectionTimes = Pick<Times, "headersTimeoutMs" | "requestTimeoutMs" | "idleTimeoutMs">;

/** What the HTTP server is made with. */
export function connectionOptions({ headersTimeoutMs, requestTimeoutMs, idleTimeoutMs }: ConnectionTimes) {
  // Node refuses headers that may take longer than their request, and compares the two before Fastify has set the second.
  const headersTimeout = Math.min(headersTimeoutMs, requestTimeoutMs);
  return {
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: idleTimeoutMs,
    http: { headersTimeout, requestTimeout: requestTimeoutMs, connectionsCheckingInterval: Math.min(1_000, headersTimeout) },
    clientErrorHandler: refuseUnreadable,
  } satisfies FastifyHttpOptions<Server>;
}

interface BoundConnections {
  readonly limits: Pick<Limits, "connectionsMax">;
  readonly times: Pick<Times, "stallTimeoutMs">;
  readonly log: Log;
}

export function boundConnections(server: FastifyInstance, { limits, times, log }: BoundConnections): void {
  server.server.maxConnections = limits.connectionsMax;
  let dropped = 0;
  let toldAtMs = -Infinity;
  server.server.on("drop", () => {
    dropped += 1;
    if (performance.now() - toldAtMs < TELL_EVERY_MS) return;
    log.warn({ dropped, most: limits.connectionsMax }, "connections dropped: the limit is reached (PARLEY_CONNECTIONS_MAX)");
    toldAtMs = performance.now();
    dropped = 0;
  });

  // A body that is refused for its length is still on its way when the reply, which says close, is sent.
  server.addHook("onSend", ({ raw: { complete, socket } }, reply, _payload, done) => {
    if (!complete && reply.getHeader("connection") === "close") lingerOn(socket);
    done();
  });

  // Node ends a socket on which nothing moves for this long, and sets another time when the reply is taken.
  server.addHook("onSend", ({ raw }, _reply, _payload, done) => {
    // Requests that tests inject come on no socket.
    const socket: Partial<Pick<Socket, "setTimeout">> = raw.socket;
    socket.setTimeout?.(times.stallTimeoutMs);
    done();
  });
}

const TELL_EVERY_MS = 60_000;

/** How long what a refused client still sends is read and thrown away: closed at once, it would see a reset in place of the reply. */
const LINGER_MS = 1_000;

/** Node destroys a socket as soon as its last reply has left. This one ends then, and is destroyed a moment later. */
function lingerOn(socket: Socket): void {
  socket.destroySoon = () => {
    socket.end();
    const linger = setTimeout(() => socket.destroy(), LINGER_MS).unref();
    socket.once("close", () => clearTimeout(linger));
  };
}

const refused = new WeakSet<Socket>();

/**
 * Answers what never became a request: bytes that are no HTTP, headers that are too large, what took too long. The connection ends with it,
 * and the reply says so: a client that keeps connections must not send its next request on this one.
 */
function refuseUnreadable(error: NodeJS.ErrnoException, socket: Socket): void {
  // Each further chunk raises another error.
  if (refused.has(socket)) return;
  refused.add(socket);
  const answer = answerOn(socket);
  if (error.code === "ECONNRESET" || !socket.writable || (answer && !answer.writableEnded)) return void socket.destroy();
  if (!answer || answer.writableFinished) return sendRefusal(error, socket);
  // What came before is answered, though not all of it has left: the refusal is the next reply, and the one that says close.
  answer.once("finish", () => sendRefusal(error, socket));
}

function sendRefusal(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable) return void socket.destroy();
  const [status, problem] = REFUSALS[error.code ?? ""] ?? [400, "the request is not valid HTTP/1.1"];
  const body = JSON.stringify(invalidRequest(problem).message);
  const headers = {
    connection: "close",
    "content-type": "application/json; charset=utf-8",
    "content-length": Buffer.byteLength(body),
    ...DATA_HEADERS,
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join("")}\r\n${body}`);
  const linger = setTimeout(() => socket.destroy(), LINGER_MS).unref();
  socket.once("close", () => clearTimeout(linger));
}

const REFUSALS: Readonly<Record<string, readonly [status: number, problem: string]>> = {
  HPE_HEADER_OVERFLOW: [431, "the headers are larger than 16 KiB"],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, "the chunk extensions are larger than 16 KiB"],
  ERR_HTTP_REQUEST_TIMEOUT: [408, "the request took too long to arrive (PARLEY_HEADERS_TIMEOUT, PARLEY_REQUEST_TIMEOUT)"],
};

/** The reply that the next bytes to this client belong to: to a request that it has sent completely. Node knows; it has no public name for it. */
function answerOn(socket: Socket & { readonly _httpMessage?: ServerResponse<IncomingMessage> | null }) {
  const { _httpMessage: response } = socket;
  return response && (response.headersSent || response.req.complete) ? response : undefined;
}

/**
 * A front end that is leaving asks with each reply that the connection be given up. Where connections are balanced and not requests, as by a Service of
 * Kubernetes, a client would stay until the last moment, and what it sends at that moment would be lost.
 */
export function letConnectionsGo(server: FastifyInstance, { draining }: Pick<Lifecycle, "draining">): void {
  server.addHook("onRequest", (_request, reply, done) => {
    if (draining.aborted) reply.raw.setHeader("connection", "close");
    done();
  });
}
