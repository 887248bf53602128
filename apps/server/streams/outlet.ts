/**
 * The response to one request: a JSON body, or a stream of events that ends with the same message.
 *
 *   json ──open() or send()──▶ streaming ──answer() or endUnanswered()──▶ ended
 *     └───────────answer()────────────────────────────────────────────────┘
 *
 * The response stays JSON unless something is sent before the answer, so short calls cost no stream. Comments keep an idle stream open. A
 * sender of many messages awaits `drained` between them, and a client that reads nothing is disconnected.
 *
 * In a session, an event may carry an id with which the client resumes the stream.
 *
 * Source: specification 2026-07-28, basic/transports/streamable-http; specification 2025-11-25, basic/transports.
 */
import type { FastifyReply, FastifyRequest } from "fastify";
import { oneLine } from "@parley/core";
import type { Reply } from "@parley/protocol";
import type { Heartbeat } from "./heartbeat.ts";
import type { ReplyChannel } from "./reply-channel.ts";

const STREAM_HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache, no-transform",
  // Stops nginx from buffering the response.
  "x-accel-buffering": "no",
};

export interface OutletOptions {
  readonly heartbeat: Heartbeat;
  readonly stallTimeoutMs: number;
  /** Answers with a stream if the client lists streams first in Accept, even if nothing is sent before the answer. One that accepts nothing else always gets one. */
  readonly streamWherePreferred?: boolean;
}

export class Outlet implements ReplyChannel {
  /** Whether the client accepts JSON, a stream, or both. */
  readonly acceptsAnything: boolean;
  readonly acceptsStream: boolean;
  readonly #prefersStream: boolean;
  readonly #reply: FastifyReply;
  readonly #options: OutletOptions;
  #streaming = false;
  #closed: AbortController | undefined;
  #stopBeat: (() => void) | undefined;
  #silent = true;
  #stalledSinceMs: number | undefined;

  constructor(request: FastifyRequest, reply: FastifyReply, options: OutletOptions) {
    const accept = (request.headers.accept ?? "*/*").toLowerCase();
    this.acceptsAnything = /application\/(json|\*)|text\/(event-stream|\*)|\*\/\*/.test(accept);
    this.acceptsStream = /text\/(event-stream|\*)|\*\/\*/.test(accept);
    const acceptsJson = /application\/(json|\*)|\*\/\*/.test(accept);
    const isFirst = options.streamWherePreferred === true && accept.trimStart().startsWith("text/event-stream");
    this.#prefersStream = isFirst || (this.acceptsStream && !acceptsJson);
    this.#reply = reply;
    this.#options = options;
  }

  /** Created on first use, because most requests do not need it. */
  get closed(): AbortSignal {
    if (!this.#closed) {
      const controller = new AbortController();
      const { raw } = this.#reply;
      this.onClose(() => raw.writableFinished || controller.abort());
      this.#closed = controller;
    }
    return this.#closed.signal;
  }

  /** Calls the listener when either side ends the response, or at once if it has ended. */
  onClose(listener: () => void): void {
    const { raw } = this.#reply;
    if (raw.closed) listener();
    // `close` is emitted once. `once` would only add a wrapper to the memory of each stream.
    else raw.on("close", listener);
  }

  open(): void {
    if (this.#streaming) return;
    this.#streaming = true;
    const { raw } = this.#reply;
    this.#reply.hijack();
    // A hijacked reply bypasses Fastify, so the headers that plugins have set are copied here.
    raw.writeHead(200, { ...this.#reply.getHeaders(), ...STREAM_HEADERS } as Record<string, string>);
    const { socket } = raw;
    // Sent together with what follows in the same turn, usually the first event.
    socket?.cork();
    raw.flushHeaders();
    process.nextTick(() => socket?.uncork());
    // A broken socket aborts `closed`; it is not an error of this process.
    raw.on("error", () => undefined);
    this.#stopBeat = this.#options.heartbeat.onBeat(() => this.#beat());
    // Last, because the listener runs at once if the client has already disconnected.
    this.onClose(this.#stopBeat);
  }

  send(message: object, eventId?: string): void {
    this.open();
    this.#write(event(message, eventId));
  }

  prime(eventId: string, retryMs: number): void {
    this.open();
    this.#write(`id: ${eventId}\nretry: ${retryMs}\ndata: \n\n`);
  }

  async drained(): Promise<void> {
    const { raw } = this.#reply;
    if (!raw.writableNeedDrain || raw.destroyed) return;
    await new Promise<void>((resolve) => {
      const done = () => {
        raw.off("drain", done);
        raw.off("close", done);
        resolve();
      };
      raw.on("drain", done);
      raw.on("close", done);
    });
  }

  answer({ httpStatus, message, isCancelled, isUnwanted }: Reply, eventId?: () => string | undefined): void {
    if (this.#prefersStream && httpStatus === 200) this.open();
    this.#reply.request.isCancelled = isCancelled === true;
    if (isUnwanted && this.acceptsStream) return this.#endWithout(eventId?.());
    if (!this.#streaming) {
      sendJson(this.#reply, httpStatus, message);
      return;
    }
    noteError(this.#reply, message);
    this.#write(event(message, eventId?.()));
    this.#close();
  }

  endUnanswered(retryMs?: number): void {
    this.open();
    if (retryMs !== undefined) this.#write(`retry: ${retryMs}\n\n`);
    this.#close();
  }

  /** A stream is the only response that may be empty. The id tells the client that nothing follows. */
  #endWithout(eventId: string | undefined): void {
    this.open();
    if (eventId !== undefined) this.#write(`id: ${eventId}\ndata: \n\n`);
    this.#close();
  }

  /** Destroys the connection. Of a stream that was opened a moment ago, its headers are still sent. */
  abandon(): void {
    if (!this.#streaming) this.#reply.hijack();
    const { raw } = this.#reply;
    raw.socket?.uncork();
    raw.destroy();
  }

  #close(): void {
    this.#stopBeat?.();
    const { raw } = this.#reply;
    if (raw.destroyed) return;
    // The heartbeat has stopped, but the client may still have megabytes to read. The timeout of the socket gives it as long as for any
    // reply.
    raw.socket?.setTimeout(this.#options.stallTimeoutMs);
    raw.end();
  }

  #write(text: string): void {
    const { raw } = this.#reply;
    if (raw.destroyed || raw.writableEnded) return;
    this.#silent = false;
    raw.write(text);
  }

  #beat(): void {
    const { raw } = this.#reply;
    if (raw.writableNeedDrain) {
      this.#stalledSinceMs ??= Date.now();
      if (Date.now() - this.#stalledSinceMs >= this.#options.stallTimeoutMs) raw.destroy();
      return;
    }
    this.#stalledSinceMs = undefined;
    if (this.#silent) raw.write(": keep-alive\n\n");
    this.#silent = true;
  }
}

function event(message: object, id: string | undefined): string {
  return `${id === undefined ? "" : `id: ${id}\n`}event: message\ndata: ${oneLine(JSON.stringify(message))}\n\n`;
}

/** Serialises the body here, because Fastify's serialisation looks for schemas first. */
export function sendJson(reply: FastifyReply, httpStatus: number, body: object): void {
  noteError(reply, body);
  void reply
    .code(httpStatus)
    .header("content-type", "application/json; charset=utf-8")
    .send(oneLine(JSON.stringify(body)));
}

/** Notes the error code for the metrics, because a JSON-RPC error is sent with HTTP 200. */
function noteError(reply: FastifyReply, message: object): void {
  if ("error" in message) reply.request.rpcError = (message.error as { readonly code: number }).code;
}
