/** Sends requests to the MCP endpoint and logs the messages. */
import { filled } from "../../texts/words.ts";
import { TEXTS } from "../play-texts.ts";
import { createEventReader } from "./events.ts";
import type { WireLog } from "./wire-log.ts";

export interface Endpoint {
  readonly url: string;
  readonly log: WireLog;
  token(): string | undefined;
  /** Headers that say who sends a request: by the token or, without one, by the cookie of a login. */
  who(): Readonly<Record<string, string>>;
  /** Called if the server requires a token or refuses this one. */
  refused(token: string | undefined): void;
  /** Resolves once the server may accept the token: at once, unless it refused the current one. Also resolves if `signal` is aborted. */
  permitted(signal: AbortSignal): Promise<void>;
}

export interface Message {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: Record<string, unknown>;
  readonly result?: Record<string, unknown>;
  readonly error?: RpcErrorBody;
}

export interface RpcErrorBody {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** The server returned an error. */
export class RpcError extends Error {
  readonly code: number;
  readonly data: unknown;
  readonly httpStatus: number;

  constructor({ code, message, data }: RpcErrorBody, httpStatus: number) {
    super(message);
    this.code = code;
    this.data = data;
    this.httpStatus = httpStatus;
  }
}

/** The server is unavailable, or the connection was lost before the response arrived. */
export class Lost extends Error {
  /** The server does not respond. If false, a stream ended early, as when a front end closes. */
  readonly isAway: boolean;

  constructor(message: string, { isAway = false, cause }: { readonly isAway?: boolean; readonly cause?: unknown } = {}) {
    super(message, { cause });
    this.isAway = isAway;
  }
}

export interface Send {
  /** Sent with POST. Without a message, the request is a GET. */
  readonly message?: object;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  readonly onMessage?: (message: Message, eventId: string | undefined) => void;
  /** Called for every event id, also of events without a message. */
  readonly onEventId?: (eventId: string) => void;
}

export interface Answered {
  readonly httpStatus: number;
  readonly headers: Headers;
}

/** Resolves when the response or its stream has ended. Throws Lost. */
export async function send(endpoint: Endpoint, { message, headers = {}, signal, onMessage, onEventId }: Send): Promise<Answered> {
  const token = endpoint.token();
  const method = message ? "POST" : "GET";
  if (message) endpoint.log.add("out", message, method);
  else endpoint.log.add("out", { method: "GET", ...headers }, "GET");
  const response = await fetch(endpoint.url, {
    method,
    headers: {
      ...(message && { "content-type": "application/json" }),
      accept: message ? "application/json, text/event-stream" : "text/event-stream",
      ...headers,
      ...endpoint.who(),
    },
    ...(message && { body: JSON.stringify(message) }),
    ...(signal && { signal }),
    cache: "no-store",
    credentials: token ? "omit" : "same-origin",
  }).catch((error: unknown) => {
    throw signal?.aborted ? error : new Lost(TEXTS.unreachable, { isAway: true, cause: error });
  });
  // A login on another page has the scope to answer, and not to call.
  const lacksScope = !token && /insufficient_scope/.test(response.headers.get("www-authenticate") ?? "");
  if (response.status === 401 || lacksScope) endpoint.refused(token);
  const type = response.headers.get("content-type") ?? "";
  const tell = (text: string, eventId: string | undefined, how: string) => {
    const heard = JSON.parse(text) as Message | Message[];
    endpoint.log.add("in", heard, how);
    for (const each of [heard].flat()) onMessage?.(each, eventId);
  };
  try {
    if (type.startsWith("text/event-stream") && response.body) {
      const read = createEventReader(({ id, data }) => {
        if (id !== undefined) onEventId?.(id);
        if (data !== "") tell(data, id, "stream");
      });
      const decoder = new TextDecoder();
      for (const reader = response.body.getReader(); ;) {
        const { done, value } = await reader.read();
        if (done) break;
        read(decoder.decode(value, { stream: true }));
      }
    } else {
      const text = await response.text();
      if (text !== "" && type.startsWith("application/json")) tell(text, undefined, String(response.status));
      else endpoint.log.add("in", { status: response.status, ...(text && { text: text.slice(0, 2_000) }) }, String(response.status));
    }
  } catch (error) {
    if (signal?.aborted || !(error instanceof TypeError)) throw error;
    throw new Lost(TEXTS.lost, { cause: error });
  }
  // The response of a proxy that cannot reach the server.
  if (response.status >= 502 && !type.startsWith("application/json"))
    throw new Lost(filled(TEXTS.awayStatus, { status: response.status }), { isAway: true });
  return { httpStatus: response.status, headers: response.headers };
}

export interface Request extends Omit<Send, "message"> {
  readonly method: string;
  readonly params: object;
  readonly id: string | number;
}

/** Returns the result of a request and passes other messages of its stream to `onMessage`. Throws RpcError or Lost. */
export async function request(
  endpoint: Endpoint,
  { method, params, id, onMessage, ...rest }: Request,
): Promise<{ readonly result: Record<string, unknown>; readonly headers: Headers }> {
  let answer: Message | undefined;
  const { httpStatus, headers } = await send(endpoint, {
    ...rest,
    message: { jsonrpc: "2.0", id, method, params },
    onMessage: (message, eventId) => {
      if (message.method === undefined && (message.id === id || message.error)) answer = message;
      else onMessage?.(message, eventId);
    },
  });
  return { result: resultOf(answer, httpStatus), headers };
}

export function resultOf(answer: Message | undefined, httpStatus: number): Record<string, unknown> {
  if (!answer) throw new Lost(filled(TEXTS.noResponse, { status: httpStatus }));
  if (answer.error) throw new RpcError(answer.error, httpStatus);
  return answer.result ?? {};
}

/** Header values are ASCII. Other text is sent in the specification's form `=?base64?…?=`. */
export function headerValue(text: string): string {
  if (/^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !text.startsWith("=?base64?")) return text;
  return `=?base64?${btoa(String.fromCharCode(...new TextEncoder().encode(text)))}?=`;
}
