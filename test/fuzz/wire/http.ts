/** Sends one request as it is told to, and shows all that came back. Never throws for what the server does: the judge says what that is worth. */
import { Agent, type IncomingHttpHeaders, type IncomingMessage, request } from "node:http";
import { type Message, readEvents, readMessages } from "./messages.ts";

export interface Request {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string | Buffer;
}

export type Outcome =
  /** The whole response is there. */
  | "complete"
  /** A stream that was read as far as it was of interest, and left. */
  | "left"
  /** Nothing, or not all of it, came in time. */
  | "timed out"
  /** More came than is allowed; the rest was not read. */
  | "too large"
  /** The connection broke before the response was complete. */
  | "broken";

export interface Response {
  readonly outcome: Outcome;
  /** 0 when there was none. */
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: number;
  /** The beginning of it, where it is too large. */
  readonly text: string;
  /** The body, or the stream's events with data. */
  readonly messages: readonly Message[];
  readonly ms: number;
}

export interface Reading {
  readonly timeoutMs: number;
  readonly bytesMax: number;
  /** A stream is left when this is true of what has come, or after `lingerMs` in silence. */
  readonly enough?: (messages: readonly Message[]) => boolean;
  readonly lingerMs?: number;
}

/** Of a text that is too large, so much is kept. */
const KEPT_CHARS = 4_096;

export class Http {
  readonly #agent = new Agent({ keepAlive: true });
  readonly #open = new Set<IncomingMessage>();
  readonly #url: URL;

  /** Of the server, without a path. */
  constructor(url: string) {
    this.#url = new URL(url);
  }

  get host(): string {
    return this.#url.host;
  }

  send({ method, path, headers, body }: Request, { timeoutMs, bytesMax, enough, lingerMs = 0 }: Reading): Promise<Response> {
    const { hostname, port } = this.#url;
    const startedAtMs = performance.now();
    return new Promise((resolve) => {
      let incoming: IncomingMessage | undefined;
      const chunks: Buffer[] = [];
      let bytes = 0;
      let silence: NodeJS.Timeout | undefined;

      const outgoing = request({
        agent: this.#agent,
        hostname,
        port,
        path,
        method,
        headers: { ...headers, ...(body !== undefined && { "content-length": String(Buffer.byteLength(body)) }) },
      });
      const timeout = setTimeout(() => end("timed out"), timeoutMs);
      const end = (outcome: Outcome) => {
        clearTimeout(timeout);
        clearTimeout(silence);
        if (incoming) this.#open.delete(incoming);
        if (outcome !== "complete") outgoing.destroy();
        const whole = Buffer.concat(chunks).toString();
        const isStream = incoming?.headers["content-type"]?.startsWith("text/event-stream") === true;
        resolve({
          outcome,
          status: incoming?.statusCode ?? 0,
          headers: incoming?.headers ?? {},
          bytes,
          text: bytes > bytesMax ? whole.slice(0, KEPT_CHARS) : whole,
          messages: bytes > bytesMax ? [] : isStream ? readEvents(whole) : readMessages(whole),
          ms: performance.now() - startedAtMs,
        });
      };
      outgoing.on("error", () => end("broken"));
      outgoing.on("response", (response) => {
        incoming = response;
        this.#open.add(response);
        const isStream = response.headers["content-type"]?.startsWith("text/event-stream") === true;
        const linger = () => {
          clearTimeout(silence);
          if (isStream && enough) silence = setTimeout(() => end("left"), lingerMs);
        };
        linger();
        response.on("data", (chunk: Buffer) => {
          bytes += chunk.length;
          if (bytes <= bytesMax || chunks.length === 0) chunks.push(chunk);
          if (bytes > bytesMax) end("too large");
          else if (isStream && enough?.(readEvents(Buffer.concat(chunks).toString()))) end("left");
          else linger();
        });
        response.on("end", () => end(response.complete ? "complete" : "broken"));
        response.on("error", () => end("broken"));
        response.on("aborted", () => end("broken"));
      });
      outgoing.end(body);
    });
  }

  close(): void {
    for (const incoming of this.#open) incoming.destroy();
    this.#agent.destroy();
  }
}
