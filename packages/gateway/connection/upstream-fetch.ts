/**
 * HTTP to upstreams. A call may wait for a person for days, so nothing here ends a quiet stream. An upstream may send anything, so each message and
 * each response is bounded.
 *
 * A redirect is followed within the upstream's origin only: at another one it would bring along the headers of the file, among them keys in headers
 * that fetch does not know as credentials, and the arguments of the call. The MCP client sees to that itself (`redirect: "manual"`).
 *
 * Reading pauses after each burst: what is buffered could otherwise be read for seconds without a turn for anything else, such as the renewal of a lease.
 *
 * The requests are sent by undici's dispatcher without its fetch, which halves the CPU time of a call.
 */
import type { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { FetchLike } from "@modelcontextprotocol/client";
import { createParser, type EventSourceMessage } from "eventsource-parser";
import { Agent, request } from "undici";
import { mended } from "../wire/incoming.ts";

/** Maximum size of one message, in bytes: a JSON body, or an event of a stream. */
export const MESSAGE_BYTES_MAX = 8 * 1024 * 1024;

/** Maximum size of one response, in bytes: a stream cannot report progress forever. */
const RESPONSE_BYTES_MAX = 16 * 1024 * 1024;

/**
 * How long an idle connection is kept for the next request. Servers in Node.js close theirs after 5 s, and a call that is sent at that moment is lost,
 * because it may or may not have been taken. The margin between the two covers moments in which this process is busy.
 */
const IDLE_MS = 1_000;

export interface UpstreamFetch {
  readonly fetch: FetchLike;
  close(): Promise<void>;
}

export function createUpstreamFetch({ messageBytesMax = MESSAGE_BYTES_MAX, responseBytesMax = RESPONSE_BYTES_MAX } = {}): UpstreamFetch {
  // By default, fetch ends a stream that is silent for five minutes. The duration of a call is bounded in upstream-call.ts.
  const dispatcher = new Agent({
    bodyTimeout: 0,
    headersTimeout: 0,
    pipelining: 1,
    keepAliveTimeout: IDLE_MS,
    keepAliveMaxTimeout: IDLE_MS,
  });
  const bounds = { messageBytesMax, responseBytesMax };

  /** Throws the errors of fetch. */
  async function exchange(url: string | URL, { method = "GET", headers, body, signal }: globalThis.RequestInit): Promise<Response> {
    try {
      const sent = (body ?? null) as string | null;
      const sentHeaders = headers instanceof Headers ? headers : new Headers(headers);
      const reply = await request(url, {
        method: method as "GET",
        headers: Object.fromEntries(sentHeaders),
        body: sent,
        dispatcher,
        ...(signal && { signal }),
      });
      const { statusCode: status, headers: named } = reply;
      const rest = {
        status,
        headers: Object.entries(named).flatMap(([name, value = ""]) => [value].flat().map((one): [string, string] => [name, one])),
      };
      const isEvents = isStream(named["content-type"]) && !EMPTY.has(status);
      if (!isEvents) return wholeResponse(await textOf(reply.body, bounds), rest);
      const whole = await wholeOf(reply.body, sent);
      if (whole === "") return new Response("", rest);
      const first = primed(sentHeaders.get("last-event-id"));
      if (whole === undefined) return new Response(eventsOf(reply.body, { ...bounds, isStream: true, first }), rest);
      // The rest is not needed, but a connection can be reused only after its response was read to the end. Some servers never end it.
      reply.body.dump({ limit: responseBytesMax }).catch(() => undefined);
      const late = setTimeout(() => reply.body.destroy(), REST_MS).unref();
      reply.body.once("close", () => clearTimeout(late));
      return wholeResponse(whole, { status, headers: [...rest.headers.filter(([name]) => name !== "content-type"), JSON_TYPE] });
    } catch (error) {
      if (signal?.aborted === true) throw signal.reason;
      throw new TypeError("fetch failed", { cause: error });
    }
  }

  return {
    async fetch(url, init = {}) {
      let at = new URL(url);
      for (let redirects = 0; ; redirects += 1) {
        const response = await exchange(at, init);
        const next = init.redirect === "manual" || redirects === REDIRECTS_MAX ? undefined : redirectWithin(at, response);
        if (!next) return response;
        at = next;
      }
    },
    close: () => dispatcher.destroy(),
  };
}

const REDIRECTS_MAX = 5;

/** How many events, or bytes where they are read as bytes, are read before a pause, and its length. */
const BURST_EVENTS = 64;
const BURST_BYTES = 65_536;
const PAUSE_MS = 5;

/** How long a stream may continue after the response that it begins with. */
const REST_MS = 1_000;

/** The next address, if it is of the same origin and gets the same request. */
function redirectWithin({ href, origin }: URL, { status, headers }: Response): URL | undefined {
  const location = status === 307 || status === 308 ? headers.get("location") : null;
  const next = location === null ? null : URL.parse(location, href);
  return next?.origin === origin && next.username === "" && next.password === "" ? next : undefined;
}

/** Responses with these statuses have no body. */
const EMPTY: ReadonlySet<number> = new Set([101, 204, 205, 304]);

const isStream = (contentType: string | string[] | null | undefined) =>
  String(contentType ?? "")
    .toLowerCase()
    .startsWith("text/event-stream");

async function textOf(body: Readable, bounds: Omit<Bounds, "isStream">): Promise<string> {
  const problemOf = counting({ ...bounds, isStream: false });
  const chunks: Buffer[] = [];
  for await (const chunk of body as AsyncIterable<Buffer>) {
    const problem = problemOf(chunk);
    // Leaving the loop ends the response.
    if (problem !== undefined) throw new Error(problem);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

const JSON_TYPE: [string, string] = ["content-type", "application/json"];

/** A response that has arrived in full: its text is available without the stream that a Response would create. */
function wholeResponse(text: string, init: ResponseInit): Response {
  return Object.assign(new Response(null, init), {
    text: async () => text,
    json: async () => mended(JSON.parse(text), text),
  });
}

/** Finds the id in a request as the MCP client serializes it, at the end. */
const REQUEST_ID = /,"id":(\d{1,15})\}$/;

export function requestId(body: string): number | undefined {
  const [, id] = REQUEST_ID.exec(body) ?? [];
  return id === undefined ? undefined : Number(id);
}

/** A stream that starts with one event, which is the response. */
const ONLY_EVENT = /^(?:event: ?message\r?\n)?(?:id: ?[^\r\n]*\r?\n)?data: ?(\{[^\r\n]+\})\r?\n\r?\n$/;

/**
 * Returns the response to a request if the event stream begins with it. The client then gets it as JSON, which takes it less
 * CPU time than reading events. Returns an empty string for a stream that ended without an event,
 * and otherwise undefined, with nothing consumed.
 */
function wholeOf(body: Readable, sent: string | null): string | undefined | Promise<string | undefined> {
  const id = requestId(sent ?? "");
  if (id === undefined) return undefined;
  return new Promise((resolve) => {
    const settle = (whole: string | undefined) => {
      body.off("readable", come);
      body.off("end", end);
      body.off("error", fail);
      resolve(whole);
    };
    const come = () => {
      const first = body.read() as Buffer | null;
      if (first === null) return;
      const [, data] = ONLY_EVENT.exec(first.toString("utf8")) ?? [];
      if (data !== undefined && isResponseTo(data, id)) return settle(data);
      // In the same tick: a body that was read empty ends in the next one.
      body.unshift(first);
      settle(undefined);
    };
    const end = () => settle("");
    // The next reader gets the error.
    const fail = () => settle(undefined);
    body.on("readable", come).on("end", end).on("error", fail);
  });
}

function isResponseTo(data: string, id: number): boolean {
  try {
    const message = JSON.parse(data) as { id?: unknown; method?: unknown; result?: unknown; error?: unknown };
    const isResult = typeof message.result === "object" && message.result !== null;
    return message.id === id && message.method === undefined && (isResult || isRpcError(message.error));
  } catch {
    return false;
  }
}

function isRpcError(error: unknown): boolean {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  return Number.isInteger(code) && typeof message === "string";
}

const EVENT_ENDS = ["\n\n", "\r\n\r\n", "\r\r"];

interface Bounds {
  readonly messageBytesMax: number;
  readonly responseBytesMax: number;
  readonly isStream: boolean;
}

/**
 * The beginning of a stream that was resumed after this event. The client knows only the ids of events on the present stream: it could not resume one
 * that ends again before the next event, for example at a proxy that closes idle connections while a person thinks.
 */
function primed(lastEventId: string | null): Uint8Array | undefined {
  return lastEventId === null ? undefined : Buffer.from(`id: ${lastEventId}\ndata: \n\n`, "latin1");
}

/** Measures what arrives, and returns the problem once the response or a message in it exceeds its limit. An event ends with an empty line. */
function counting({ messageBytesMax, responseBytesMax, isStream: hasEvents }: Bounds): (chunk: Uint8Array) => string | undefined {
  let bytes = 0;
  let all = 0;
  return (chunk) => {
    const view = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    const end = hasEvents ? Math.max(...EVENT_ENDS.map((text) => view.lastIndexOf(text))) : -1;
    bytes = end === -1 ? bytes + chunk.byteLength : chunk.byteLength - end;
    all += chunk.byteLength;
    if (bytes > messageBytesMax) return `a message of the upstream is larger than ${messageBytesMax} bytes`;
    return all > responseBytesMax ? `a response of the upstream is larger than ${responseBytesMax} bytes` : undefined;
  };
}

/**
 * Replaces line ends of events, CR and CRLF, by LF. The parser holds the last event back if it ends in a CR, until it knows whether an LF
 * follows.
 */
function lineEnds(): (chunk: Uint8Array) => Uint8Array {
  let isAfterCr = false;
  return (chunk) => {
    if (!isAfterCr && !chunk.includes(CR)) return chunk;
    const text = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength).toString("latin1");
    const rest = isAfterCr && text.startsWith("\n") ? text.slice(1) : text;
    isAfterCr = text.endsWith("\r");
    return Buffer.from(rest.replaceAll(/\r\n?/g, "\n"), "latin1");
  };
}

const CR = 13;

/** Reads the next bytes; undefined at the end. */
type NextBytes = () => Promise<Uint8Array | undefined>;

/** The bytes of an event stream, with an error at its limits. */
function eventsOf(body: Readable, { first, ...bounds }: Bounds & { readonly first: Uint8Array | undefined }): EventBytes {
  const problemOf = counting(bounds);
  const sameLineEnds = lineEnds();
  const iterator = body[Symbol.asyncIterator]() as AsyncIterator<Uint8Array, undefined>;
  // The reader gets the error; an unhandled rejection would add nothing.
  body.on("error", () => undefined);
  let beginning = first;
  const next = async (): Promise<Uint8Array | undefined> => {
    if (beginning) {
      const bytes = beginning;
      beginning = undefined;
      return bytes;
    }
    const { done, value } = await iterator.next();
    if (done === true) return undefined;
    const problem = problemOf(value);
    if (problem === undefined) return sameLineEnds(value);
    body.destroy();
    throw new Error(problem);
  };
  return new EventBytes(next, () => void body.destroy());
}

/**
 * Readers of events pipe these bytes through a TextDecoderStream, and the text through a stream of their parser. Here they get the events directly: the
 * streams in between would take more CPU time than what is read.
 */
class EventBytes extends ReadableStream<Uint8Array> {
  readonly #next: NextBytes;
  readonly #cancel: () => void;

  constructor(next: NextBytes, cancel: () => void) {
    let burst = 0;
    const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
      if (burst >= BURST_BYTES) await sleep(PAUSE_MS);
      const bytes = await next();
      burst = (burst % BURST_BYTES) + (bytes?.byteLength ?? 0);
      if (bytes) controller.enqueue(bytes);
      else controller.close();
    };
    super({ pull, cancel }, { highWaterMark: 0 });
    this.#next = next;
    this.#cancel = cancel;
  }

  override pipeThrough<T>(...[transform, options]: Parameters<ReadableStream<Uint8Array>["pipeThrough"]>): ReadableStream<T> {
    if (!(transform instanceof TextDecoderStream)) return super.pipeThrough(transform, options) as ReadableStream<T>;
    const cancel = async () => this.#cancel();
    const pipeThrough = (parser: EventParser) => {
      const events = eventsIn(this.#next, { cancel, parser });
      return { getReader: () => ({ read: () => events.next(), cancel }), [Symbol.asyncIterator]: () => events };
    };
    return { pipeThrough } as unknown as ReadableStream<T>;
  }
}

type EventParser = TransformStream<string, EventSourceMessage>;

/** Cancels the stream if its reader leaves it before its end. */
async function* eventsIn(
  next: NextBytes,
  { cancel, parser: theirs }: { readonly cancel: () => Promise<void>; readonly parser: EventParser },
): AsyncGenerator<EventSourceMessage, undefined> {
  const decoder = new TextDecoder();
  let events: EventSourceMessage[] = [];
  let burst = 0;
  const parser = createParser({ onEvent: (event) => void events.push(event), onRetry: tellRetry(theirs) });
  try {
    for (let bytes = await next(); bytes; bytes = await next()) {
      parser.feed(decoder.decode(bytes, { stream: true }));
      const read = events;
      events = [];
      for (const event of read) {
        if (burst === BURST_EVENTS) await sleep(PAUSE_MS);
        burst = (burst % BURST_EVENTS) + 1;
        yield { ...event, data: mendedText(event.data) };
      }
    }
    return undefined;
  } finally {
    await cancel();
  }
}

/** A message that needs no mending, as nearly all, is not serialized again. */
function mendedText(data: string): string {
  try {
    const given: unknown = JSON.parse(data);
    const message = mended(given, data);
    return isDeepStrictEqual(message, given) ? data : JSON.stringify(message);
  } catch {
    return data;
  }
}

/** The MCP client learns only from its own parser when it may connect again. Few servers say so. */
function tellRetry({ readable, writable }: EventParser): (retryMs: number) => void {
  let writer: WritableStreamDefaultWriter<string> | undefined;
  return (retryMs) => {
    if (!writer) {
      writer = writable.getWriter();
      void readable.getReader().read();
    }
    void writer.write(`retry: ${retryMs}\n\n`);
  };
}
