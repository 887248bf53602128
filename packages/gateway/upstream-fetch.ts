/**
 * HTTP to upstreams. A call may wait for a person for days, so nothing here ends a quiet stream. An upstream may send anything, so each message and
 * each response is bounded.
 *
 * A redirect is followed within the upstream's origin only: at another one it would bring along the headers of the file, among them keys in headers
 * that fetch does not know as credentials, and the arguments of the call. The MCP client sees to that itself (`redirect: "manual"`).
 *
 * The requests are sent by undici's dispatcher without its fetch, which halves the CPU time of a call.
 */
import type { Readable } from "node:stream";
import { type FetchLike } from "@modelcontextprotocol/client";
import { Agent, request } from "undici";

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
      if (whole === undefined) return new Response(bounded(chunksOf(reply.body), { ...bounds, isStream: true, first }), rest);
      // The rest is not needed, but a connection can be reused only after its response was read to the end.
      reply.body.dump({ limit: responseBytesMax }).catch(() => undefined);
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
    json: async () => JSON.parse(text) as unknown,
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
 * Returns the response to a request if the event stream begins with it. The client then gets it as JSON and needs none of the three streams with which
 * it reads events; they would cost a call more CPU time than everything else here. Returns an empty string for a stream that ended without an event,
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
 * Replaces line ends of events, CR and CRLF, by LF. The client's parser holds the last event back if it ends in a CR, until it knows whether an LF
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

type Chunk = { readonly done: true } | { readonly done?: false; readonly value: Uint8Array };

interface Chunks {
  next(): Promise<Chunk>;
  /** Also ends a pending read. */
  stop(): Promise<void>;
}

function chunksOf(body: Readable): Chunks {
  const iterator = body[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
  // The reader gets the error; an unhandled rejection would add nothing.
  body.on("error", () => undefined);
  return {
    next: async () => (await iterator.next()) as Chunk,
    async stop() {
      body.destroy();
    },
  };
}

/** Ends the stream with an error at its limits. Not a TransformStream: a waiting call has two of these, and each would take 20 kB. */
function bounded(chunks: Chunks, { first, ...bounds }: Bounds & { readonly first: Uint8Array | undefined }): ReadableStream<Uint8Array> {
  const problemOf = counting(bounds);
  const sameLineEnds = bounds.isStream ? lineEnds() : (chunk: Uint8Array) => chunk;
  return new EventBytes(
    {
      start(controller) {
        if (first) controller.enqueue(first);
      },
      async pull(controller) {
        const chunk = await chunks.next();
        if (chunk.done === true) return controller.close();
        const problem = problemOf(chunk.value);
        if (problem === undefined) return controller.enqueue(sameLineEnds(chunk.value));
        await chunks.stop();
        throw new Error(problem);
      },
      cancel: () => chunks.stop(),
    },
    { highWaterMark: 0 },
  );
}

/**
 * The MCP client pipes these bytes through a TextDecoderStream, and the text through its parser. A loop does the work of both pipes: they would take
 * 13 kB of each call that waits. The text can therefore only be piped.
 */
class EventBytes extends ReadableStream<Uint8Array> {
  override pipeThrough<T>(...[transform, options]: Parameters<ReadableStream<Uint8Array>["pipeThrough"]>): ReadableStream<T> {
    if (!(transform instanceof TextDecoderStream)) return super.pipeThrough(transform, options) as ReadableStream<T>;
    const text = transform.readable;
    text.pipeThrough = <U>({ readable, writable }: ReadableWritablePair<U, string>) => {
      void decode(this, writable.getWriter());
      return readable;
    };
    return text as ReadableStream<T>;
  }
}

async function decode(bytes: ReadableStream<Uint8Array>, text: WritableStreamDefaultWriter<string>): Promise<void> {
  const decoder = new TextDecoder();
  const reader = bytes.getReader();
  // The events are read no further.
  text.closed.catch((reason: unknown) => reader.cancel(reason)).catch(() => undefined);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      await text.write(decoder.decode(value, { stream: true }));
    }
    await text.close();
  } catch (error) {
    await text.abort(error).catch(() => undefined);
  }
}
