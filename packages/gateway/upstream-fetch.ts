/**
 * How the gateway speaks HTTP with upstreams: a call may wait for a person for days, so nothing here ends a quiet stream; and an upstream may
 * send anything, so each message is bounded, and all of a response.
 *
 * The client follows redirects itself, and so its requests need nothing of `fetch` but its shape: they are sent without it, which halves the CPU time of a call.
 */
import type { Readable } from "node:stream";
import { type FetchLike } from "@modelcontextprotocol/client";
import { Agent, fetch as send, request, type RequestInit } from "undici";

/** Bytes of one message of an upstream: a JSON body, or an event of a stream. */
export const MESSAGE_BYTES_MAX = 8 * 1024 * 1024;

/** Bytes of one response: a stream that tells of progress for as long as it is read ends some time. */
export const RESPONSE_BYTES_MAX = 16 * 1024 * 1024;

/**
 * How long a connection is kept for the next request. Servers in Node.js close theirs after 5 s, and a call that is sent at that moment is lost, since nobody
 * knows whether it was taken. So there are seconds between the two, in which this process may be busy.
 */
const IDLE_MS = 1_000;

export interface UpstreamFetch {
  readonly fetch: FetchLike;
  close(): Promise<void>;
}

export function createUpstreamFetch({ messageBytesMax = MESSAGE_BYTES_MAX, responseBytesMax = RESPONSE_BYTES_MAX } = {}): UpstreamFetch {
  // The defaults of fetch end a stream that says nothing for five minutes. How long a call may take is upstream-call.ts' matter.
  const dispatcher = new Agent({
    bodyTimeout: 0,
    headersTimeout: 0,
    pipelining: 1,
    keepAliveTimeout: IDLE_MS,
    keepAliveMaxTimeout: IDLE_MS,
  });
  const bounds = { messageBytesMax, responseBytesMax };

  async function follow(url: string | URL, init: RequestInit): Promise<Response> {
    const { body, status, statusText, headers } = await send(url, { ...init, dispatcher });
    const rest = { status, statusText, headers: [...headers] };
    if (!body) return new Response(null, rest);
    const reader = body.getReader();
    const chunks = { next: () => reader.read() as Promise<Chunk>, stop: () => reader.cancel() };
    return new Response(bounded(chunks, { ...bounds, isStream: isStream(headers.get("content-type")) }), rest);
  }

  /** Throws what fetch throws. */
  async function exchange(url: string | URL, { method = "GET", headers, body, signal }: globalThis.RequestInit): Promise<Response> {
    try {
      const sent = (body ?? null) as string | null;
      const reply = await request(url, {
        method: method as "GET",
        headers: Object.fromEntries(headers instanceof Headers ? headers : new Headers(headers)),
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
      if (whole === undefined) return new Response(bounded(chunksOf(reply.body), { ...bounds, isStream: true }), rest);
      // Nothing that comes now is of use, but only a connection that was read to the end of its response serves the next request.
      reply.body.dump({ limit: responseBytesMax }).catch(() => undefined);
      return wholeResponse(whole, { status, headers: [...rest.headers.filter(([name]) => name !== "content-type"), JSON_TYPE] });
    } catch (error) {
      if (signal?.aborted === true) throw signal.reason;
      throw new TypeError("fetch failed", { cause: error });
    }
  }

  return {
    fetch: (url, init = {}) =>
      init.redirect === "manual" && typeof (init.body ?? "") === "string"
        ? exchange(url, init)
        : follow(url, init as unknown as RequestInit),
    close: () => dispatcher.destroy(),
  };
}

/** A response of these has no body. */
const EMPTY: ReadonlySet<number> = new Set([101, 204, 205, 304]);

const isStream = (contentType: string | string[] | null | undefined) => String(contentType ?? "").startsWith("text/event-stream");

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

/** One that has come whole: its text is at hand, without the stream that a Response would make of it. */
function wholeResponse(text: string, init: ResponseInit): Response {
  return Object.assign(new Response(null, init), {
    text: async () => text,
    json: async () => JSON.parse(text) as unknown,
  });
}

/** As the client sends a request: its id comes last. */
const REQUEST_ID = /,"id":(\d{1,15})\}$/;
/** A stream that has one event, with the response, as far as it has come. */
const ONLY_EVENT = /^(?:event: ?message\r?\n)?(?:id: ?[^\r\n]*\r?\n)?data: ?(\{[^\r\n]+\})\r?\n\r?\n$/;

/**
 * The response to a request, where the stream of its events begins with nothing else: then the client can have it as JSON, and needs none of the three
 * streams by which it reads events. They cost a call more CPU time than all else that is done for it here. Empty for a stream that ended without an event;
 * otherwise undefined, and nothing was taken.
 */
function wholeOf(body: Readable, sent: string | null): string | undefined | Promise<string | undefined> {
  const [, id] = REQUEST_ID.exec(sent ?? "") ?? [];
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
      if (data !== undefined && isResponseTo(data, Number(id))) return settle(data);
      // At once: a body that was read empty ends in the next tick.
      body.unshift(first);
      settle(undefined);
    };
    const end = () => settle("");
    // Its next reader is told.
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

/** Counts what comes, and says what is wrong when it, or a message in it, is larger than it may be. An event ends with an empty line. */
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

type Chunk = { readonly done: true } | { readonly done?: false; readonly value: Uint8Array };

interface Chunks {
  next(): Promise<Chunk>;
  /** Also while a chunk is waited for. */
  stop(): Promise<void>;
}

function chunksOf(body: Readable): Chunks {
  const iterator = body[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
  // Who reads is told; nobody else has to be.
  body.on("error", () => undefined);
  return {
    next: async () => (await iterator.next()) as Chunk,
    async stop() {
      body.destroy();
    },
  };
}

/** Ends the stream with an error at its bounds. No TransformStream: a call that waits has two of these, and each would be 20 kB. */
function bounded(chunks: Chunks, bounds: Bounds): ReadableStream<Uint8Array> {
  const problemOf = counting(bounds);
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const chunk = await chunks.next();
        if (chunk.done === true) return controller.close();
        const problem = problemOf(chunk.value);
        if (problem === undefined) return controller.enqueue(chunk.value);
        await chunks.stop();
        throw new Error(problem);
      },
      cancel: () => chunks.stop(),
    },
    { highWaterMark: 0 },
  );
}
