/** Bytes on a socket, and the HTTP responses that come back: for what a client library would never send. */
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Response } from "./http.ts";
import { readEvents, readMessages } from "./messages.ts";

export interface Piece {
  readonly bytes: Buffer;
  /** Before the next one. */
  readonly pauseMs?: number;
}

export interface RawExchange {
  readonly port: number;
  readonly pieces: readonly Piece[];
  /** What is done when all was written: wait for replies, say that nothing more will come, or be gone at once. */
  readonly afterwards: "wait" | "end" | "destroy";
  /** Read until so many responses are there. */
  readonly replies: number;
  readonly timeoutMs: number;
  /** Where nothing may be due: how long to wait for it. */
  readonly quietMs?: number;
}

export interface RawResult {
  readonly responses: readonly RawResponse[];
  /** The server has closed the connection. */
  readonly closed: boolean;
  /** The code of the socket's error, if it had one. */
  readonly error?: string;
  readonly timedOut: boolean;
  /** What came and is no response. */
  readonly rest: string;
  readonly ms: number;
}

export interface RawResponse extends Response {
  /** 100 Continue and its like. */
  readonly informational: boolean;
}

export async function exchangeRaw({ port, pieces, afterwards, replies, timeoutMs, quietMs }: RawExchange): Promise<RawResult> {
  const startedAtMs = performance.now();
  const socket = connect({ port, host: "127.0.0.1", noDelay: true, allowHalfOpen: true });
  const chunks: Buffer[] = [];
  let closed = false;
  let failed: NodeJS.ErrnoException | undefined;
  let wake: () => void = () => undefined;
  const onData = (chunk: Buffer) => {
    chunks.push(chunk);
    wake();
  };
  const onClosed = () => {
    closed = true;
    wake();
  };
  socket.on("data", onData);
  socket.on("end", onClosed);
  socket.on("error", (error) => {
    failed ??= error;
    onClosed();
  });
  socket.on("close", onClosed);
  const deadlineMs = startedAtMs + timeoutMs;
  const read = () => parseResponses(Buffer.concat(chunks), closed);
  const final = () => read().responses.filter(({ informational }) => !informational).length;
  let timedOut = false;
  try {
    for (const { bytes, pauseMs = 0 } of pieces) {
      // A server that has refused need not read the rest.
      if (closed) break;
      if (bytes.length > 0) await written(socket, bytes, deadlineMs);
      if (pauseMs > 0) await sleep(pauseMs);
    }
    if (afterwards === "destroy") return { responses: [], closed: true, timedOut: false, rest: "", ms: performance.now() - startedAtMs };
    if (afterwards === "end" && !closed) socket.end();
    const quietUntilMs = quietMs === undefined ? deadlineMs : performance.now() + quietMs;
    while (!closed && final() < replies) {
      const leftMs = Math.min(quietUntilMs, deadlineMs) - performance.now();
      if (leftMs <= 0) {
        timedOut = quietMs === undefined;
        break;
      }
      await Promise.race([new Promise<void>((resolve) => (wake = resolve)), sleep(leftMs, undefined, { ref: false })]);
    }
    // A server that means to close does so at once.
    if (!closed)
      await Promise.race([new Promise<void>((resolve) => (wake = () => closed && resolve())), sleep(5, undefined, { ref: false })]);
  } finally {
    socket.destroy();
  }
  return { ...read(), closed, timedOut, ms: performance.now() - startedAtMs, ...(failed && { error: failed.code ?? failed.message }) };
}

function written(socket: ReturnType<typeof connect>, bytes: Buffer, deadlineMs: number): Promise<void> {
  return new Promise((resolve) => {
    const giveUp = setTimeout(resolve, Math.max(0, deadlineMs - performance.now()));
    const done = () => {
      clearTimeout(giveUp);
      resolve();
    };
    socket.once("close", done);
    socket.write(bytes, done);
  });
}

/** The complete responses, and a stream as far as it has come. */
export function parseResponses(bytes: Buffer, closed: boolean): { readonly responses: readonly RawResponse[]; readonly rest: string } {
  const responses: RawResponse[] = [];
  let at = 0;
  for (;;) {
    const headEnd = bytes.indexOf("\r\n\r\n", at);
    if (headEnd < 0) break;
    const [statusLine = "", ...lines] = bytes.toString("latin1", at, headEnd).split("\r\n");
    const status = Number(/^HTTP\/1\.[01] (\d{3})\b/.exec(statusLine)?.[1]);
    if (!status) break;
    const headers = Object.fromEntries(
      lines.map((line) => [line.slice(0, line.indexOf(":")).toLowerCase(), line.slice(line.indexOf(":") + 1).trim()]),
    );
    const body = bodyOf(bytes, headEnd + 4, { status, headers, closed });
    if (!body) break;
    at = body.end;
    const text = body.bytes.toString();
    const isStream = headers["content-type"]?.startsWith("text/event-stream") === true;
    responses.push({
      outcome: body.complete ? "complete" : "left",
      status,
      headers,
      bytes: body.bytes.length,
      text,
      messages: isStream ? readEvents(text) : readMessages(text),
      ms: 0,
      informational: status < 200,
    });
    if (!body.complete) break;
  }
  return { responses, rest: bytes.toString("latin1", at) };
}

interface Body {
  readonly bytes: Buffer;
  readonly end: number;
  readonly complete: boolean;
}

function bodyOf(
  bytes: Buffer,
  start: number,
  { status, headers, closed }: { readonly status: number; readonly headers: Readonly<Record<string, string>>; readonly closed: boolean },
): Body | undefined {
  if (status < 200 || status === 204 || status === 304) return { bytes: Buffer.alloc(0), end: start, complete: true };
  if (headers["transfer-encoding"]?.toLowerCase() === "chunked") {
    const { chunks, end, complete } = readChunks(bytes, start);
    const isStream = headers["content-type"]?.startsWith("text/event-stream") === true;
    return complete || isStream ? { bytes: Buffer.concat(chunks), end, complete } : undefined;
  }
  const length = Number(headers["content-length"]);
  if (Number.isSafeInteger(length)) {
    const end = start + length;
    return end <= bytes.length ? { bytes: bytes.subarray(start, end), end, complete: true } : undefined;
  }
  return closed ? { bytes: bytes.subarray(start), end: bytes.length, complete: true } : undefined;
}

function readChunks(bytes: Buffer, start: number): { readonly chunks: Buffer[]; readonly end: number; readonly complete: boolean } {
  const chunks: Buffer[] = [];
  let at = start;
  for (;;) {
    const lineEnd = bytes.indexOf("\r\n", at);
    if (lineEnd < 0) return { chunks, end: bytes.length, complete: false };
    const size = Number.parseInt(bytes.toString("latin1", at, lineEnd), 16);
    const next = lineEnd + 2 + size + 2;
    if (Number.isNaN(size) || next > bytes.length) return { chunks, end: bytes.length, complete: false };
    if (size === 0) return { chunks, end: next, complete: true };
    chunks.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = next;
  }
}
