/**
 * The limits of every connection:
 *
 *   opened ─headersTimeout─▶ headers ─requestTimeout─▶ request ─(no limit while it is answered)─▶ reply ─stallTimeout─▶ read
 *                               ▲                                                                                        │
 *                               └───────────────────────────────── idleTimeout ──────────────────────────────────────────┘
 *
 * Streams are open-ended; `streams/outlet.ts` watches whether their clients read.
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

/** The options of the HTTP server. */
export function connectionOptions({ headersTimeoutMs, requestTimeoutMs, idleTimeoutMs }: ConnectionTimes) {
  // Node rejects a headersTimeout that exceeds requestTimeout, and compares them before Fastify has set requestTimeout.
  const headersTimeout = Math.min(headersTimeoutMs, requestTimeoutMs);
  return {
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: idleTimeoutMs,
    http: { headersTimeout, requestTimeout: requestTimeoutMs, connectionsCheckingInterval: Math.min(1_000, headersTimeout) },
    clientErrorHandler: refuseUnreadable,
  } satisfies FastifyHttpOptions<Server>;
}

interface ConnectionLimits {
  readonly limits: Pick<Limits, "connectionsMax">;
  readonly times: Pick<Times, "stallTimeoutMs">;
  readonly log: Log;
}

export function limitConnections(server: FastifyInstance, { limits, times, log }: ConnectionLimits): void {
  server.server.maxConnections = limits.connectionsMax;
  let dropped = 0;
  let loggedAtMs = -Infinity;
  server.server.on("drop", () => {
    dropped += 1;
    if (performance.now() - loggedAtMs < LOG_EVERY_MS) return;
    log.warn({ dropped, most: limits.connectionsMax }, "connections dropped: the limit is reached (PARLEY_CONNECTIONS_MAX)");
    loggedAtMs = performance.now();
    dropped = 0;
  });

  // A body that is refused for its size is still arriving when the reply, with `connection: close`, is sent.
  server.addHook("onSend", ({ raw: { complete, socket } }, reply, _payload, done) => {
    if (!complete && reply.getHeader("connection") === "close") lingerOn(socket);
    done();
  });

  // Node closes a socket on which nothing moves for this long, and sets another timeout once the client has read the reply.
  server.addHook("onSend", ({ raw }, _reply, _payload, done) => {
    // Requests that tests inject have no real socket.
    const socket: Partial<Pick<Socket, "setTimeout">> = raw.socket;
    socket.setTimeout?.(times.stallTimeoutMs);
    done();
  });
}

const LOG_EVERY_MS = 60_000;

/**
 * How long the rest of a refused request is read and discarded. If the socket closed at once, the client would see a reset instead of the
 * reply.
 */
const LINGER_MS = 1_000;

/** Node destroys a socket as soon as its last reply is sent. This only ends it then, and destroys it a moment later. */
function lingerOn(socket: Socket): void {
  socket.destroySoon = () => {
    socket.end();
    const linger = setTimeout(() => socket.destroy(), LINGER_MS).unref();
    socket.once("close", () => clearTimeout(linger));
  };
}

const refused = new WeakSet<Socket>();

/**
 * Answers input that never became a request: bytes that are not HTTP, headers that are too large, a request that took too long. The reply
 * closes the connection and says so, because a client that reuses connections must not send its next request on this one.
 */
function refuseUnreadable(error: NodeJS.ErrnoException, socket: Socket): void {
  // Every further chunk raises another error.
  if (refused.has(socket)) return;
  refused.add(socket);
  const answer = answerOn(socket);
  if (error.code === "ECONNRESET" || !socket.writable || (answer && !answer.writableEnded)) return void socket.destroy();
  if (!answer || answer.writableFinished) return sendRefusal(error, socket);
  // The previous request is answered, but its reply is not sent completely. The refusal follows it and closes the connection.
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

/** The reply that is being sent on this socket, to a request that arrived completely. Node has no public property for it. */
function answerOn(socket: Socket & { readonly _httpMessage?: ServerResponse<IncomingMessage> | null }) {
  const { _httpMessage: response } = socket;
  return response && (response.headersSent || response.req.complete) ? response : undefined;
}

/**
 * While the front end drains, every reply asks the client to close the connection. A balancer of connections, such as a Kubernetes Service,
 * would otherwise keep the client here until the process exits, and the request that the client sends at that moment would be lost.
 */
export function closeConnectionsWhileDraining(server: FastifyInstance, { draining }: Pick<Lifecycle, "draining">): void {
  server.addHook("onRequest", (_request, reply, done) => {
    if (draining.aborted) reply.raw.setHeader("connection", "close");
    done();
  });
}
