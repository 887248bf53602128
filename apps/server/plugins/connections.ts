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

/** For a browser whose request took too long to arrive, as an upload on a slow connection does. */
export interface LatePage {
  readonly text: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The options of the HTTP server. */
export function connectionOptions({ headersTimeoutMs, requestTimeoutMs, idleTimeoutMs }: ConnectionTimes, late: LatePage) {
  // Node rejects a headersTimeout that exceeds requestTimeout, and compares them before Fastify has set requestTimeout.
  const headersTimeout = Math.min(headersTimeoutMs, requestTimeoutMs);
  return {
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: idleTimeoutMs,
    http: { headersTimeout, requestTimeout: requestTimeoutMs, connectionsCheckingInterval: Math.min(1_000, headersTimeout) },
    clientErrorHandler: (error: NodeJS.ErrnoException, socket: Socket) => refuseUnreadable(error, socket, late),
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
function refuseUnreadable(error: NodeJS.ErrnoException, socket: Socket, late: LatePage): void {
  // Every further chunk raises another error.
  if (refused.has(socket)) return;
  refused.add(socket);
  const answer = answerOn(socket);
  if (error.code === "ECONNRESET" || !socket.writable || (answer && !answer.writableEnded)) return void socket.destroy();
  if (!answer || answer.writableFinished) return sendRefusal(error, socket, late);
  // The previous request is answered, but its reply is not sent completely. The refusal follows it and closes the connection.
  answer.once("finish", () => sendRefusal(error, socket, late));
}

function sendRefusal({ code = "" }: NodeJS.ErrnoException, socket: Socket, late: LatePage): void {
  if (!socket.writable) return void socket.destroy();
  const [status, problem] = REFUSALS[code] ?? [400, "the request is not valid HTTP/1.1"];
  const { text, headers } = code === LATE && isOfBrowser(socket) ? late : dataOf(problem);
  const all = { ...headers, connection: "close", "content-length": Buffer.byteLength(text) };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join("")}\r\n${text}`);
  const linger = setTimeout(() => socket.destroy(), LINGER_MS).unref();
  socket.once("close", () => clearTimeout(linger));
}

function dataOf(problem: string) {
  const headers = { ...DATA_HEADERS, "content-type": "application/json; charset=utf-8" };
  return { text: JSON.stringify(invalidRequest(problem).message), headers };
}

const LATE = "ERR_HTTP_REQUEST_TIMEOUT";

const REFUSALS: Readonly<Record<string, readonly [status: number, problem: string]>> = {
  HPE_HEADER_OVERFLOW: [431, "the headers are larger than 16 KiB"],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, "the chunk extensions are larger than 16 KiB"],
  [LATE]: [408, "the request took too long to arrive (PARLEY_HEADERS_TIMEOUT, PARLEY_REQUEST_TIMEOUT)"],
};

/** Node has no public property for the reply to the request that is being handled. */
type Handling = Socket & { readonly _httpMessage?: ServerResponse<IncomingMessage> | null };

/** The reply that is being sent on this socket, to a request that arrived completely. */
function answerOn({ _httpMessage: response }: Handling) {
  return response && (response.headersSent || response.req.complete) ? response : undefined;
}

/** Whether a person waits for the reply to the request whose body is arriving on this socket. */
function isOfBrowser({ _httpMessage: response }: Handling): boolean {
  return response?.req.headers.accept?.includes("text/html") === true;
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
