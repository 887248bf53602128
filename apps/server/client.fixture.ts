/** A client of MCP 2026-07-28 that sends exactly what a test specifies, and returns everything that it receives. */
import type { Front } from "./deployment.fixture.ts";

export interface Options {
  readonly capabilities?: object;
  /** Whether to declare the tasks extension; true by default. */
  readonly tasks?: boolean;
  readonly meta?: object;
  /** Undefined removes a header. */
  readonly headers?: Record<string, string | undefined>;
  readonly principal?: string;
  readonly signal?: AbortSignal;
}

// Allows tests to read any member. The tests of packages/protocol check the shapes.
type Loose = { readonly [key: string]: Loose } & { readonly [index: number]: Loose } & string & number & boolean;

export interface Message {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: Loose;
  readonly result?: Loose;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: Loose };
}

export interface Received extends Message {
  readonly status: number;
  readonly contentType: string;
  /** The messages before the answer. */
  readonly notifications: readonly Message[];
}

const TASKS = "io.modelcontextprotocol/tasks";
const ELICITATION = { elicitation: { form: {}, url: {} } };

let ids = 0;

/** Sends a request with every header and `_meta` entry that the specification requires. */
export function post(front: Front, method: string, params: object, options: Options = {}): Promise<Response> {
  const { tasks = true, capabilities = ELICITATION, meta, headers, principal, signal } = options;
  const named: { name?: string; uri?: string; taskId?: string } = params;
  const name = named.name ?? named.uri ?? named.taskId;
  const sent: Record<string, string | undefined> = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": method,
    "mcp-name": name,
    "x-principal": principal,
    ...headers,
  };
  const clientCapabilities = { ...capabilities, ...(tasks ? { extensions: { [TASKS]: {} } } : {}) };
  const body = {
    jsonrpc: "2.0",
    id: (ids += 1),
    method,
    params: {
      ...params,
      _meta: {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": clientCapabilities,
        "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
        ...meta,
      },
    },
  };
  return fetch(front.url, {
    method: "POST",
    headers: Object.fromEntries(Object.entries(sent).filter((header): header is [string, string] => header[1] !== undefined)),
    body: JSON.stringify(body),
    ...(signal && { signal }),
  });
}

/** Sends a request and waits for its answer, whether it is a body or a stream. */
export async function rpc(front: Front, method: string, params: object, options?: Options): Promise<Received> {
  const response = await post(front, method, params, options);
  const contentType = response.headers.get("content-type") ?? "";
  const messages = contentType.startsWith("text/event-stream")
    ? (await response.text()).split("\n\n").flatMap(readEvent)
    : [(await response.json()) as Message];
  const answer = messages.at(-1);
  if (!answer) throw new Error("nothing was answered");
  return { ...answer, status: response.status, contentType, notifications: messages.slice(0, -1) };
}

export interface Stream {
  /** The next message. Rejects if the stream has ended. */
  next(): Promise<Message>;
  /** All messages until the end, without comments. */
  rest(): Promise<Message[]>;
  /** The raw text so far. */
  readonly text: string;
  close(): void;
}

/** Opens a stream and reads it message by message. */
export async function stream(front: Front, method: string, params: object, options: Options = {}): Promise<Stream> {
  const leave = new AbortController();
  const response = await post(front, method, params, { ...options, signal: leave.signal });
  if (!response.body) throw new Error("no stream came back");
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  const waiting: Message[] = [];
  let text = "";
  let unread = "";
  const next = async (): Promise<Message> => {
    for (let first = waiting.shift(); ; first = waiting.shift()) {
      if (first) return first;
      const { done, value } = await reader.read();
      if (done) throw new Error("the stream has ended");
      const chunk = decoder.decode(value, { stream: true });
      text += chunk;
      const events = (unread + chunk).split("\n\n");
      unread = events.pop() ?? "";
      waiting.push(...events.flatMap(readEvent));
    }
  };
  return {
    next,
    async rest() {
      const messages: Message[] = [];
      for (;;) {
        try {
          messages.push(await next());
        } catch {
          return messages;
        }
      }
    },
    get text() {
      return text;
    },
    close: () => leave.abort(),
  };
}

function readEvent(event: string): Message[] {
  const data = event.split("\n").filter((line) => line.startsWith("data: "));
  return data.length === 0 ? [] : [JSON.parse(data.map((line) => line.slice("data: ".length)).join("\n")) as Message];
}
