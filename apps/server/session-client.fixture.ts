/**
 * A client of the revisions with sessions that sends exactly what a test specifies, to any front end, and returns everything it receives.
 */
import type { Message } from "./client.fixture.ts";
import type { Front } from "./deployment.fixture.ts";

/** Where a message goes. */
type At = Pick<Front, "url">;

export interface OpenOptions {
  readonly version?: string;
  readonly capabilities?: object;
  readonly principal?: string;
  /** Called for each request of the session. */
  readonly token?: () => string | undefined;
  readonly clientInfo?: { readonly name: string; readonly version: string };
}

export interface Event extends Message {
  readonly eventId?: string;
}

export interface Answered {
  readonly status: number;
  readonly contentType: string;
  readonly headers: Headers;
  /** The body or bodies, or the events of the stream; empty for 202. */
  readonly messages: readonly Event[];
}

export interface EventStream {
  readonly status: number;
  /** The next event with data. Rejects if the stream has ended. */
  next(): Promise<Event>;
  /** The id of the last event that was read, with or without data. */
  readonly lastEventId: string | undefined;
  readonly text: string;
  /** Resolves when the server has ended the stream. */
  ended(): Promise<void>;
  close(): void;
}

export interface SessionClient {
  readonly sessionId: string;
  readonly initialized: Message;
  /** Posts any body. */
  post(front: At, body: unknown, headers?: Record<string, string | undefined>, signal?: AbortSignal): Promise<Response>;
  /** Sends a request and reads its response to the end. */
  request(front: At, method: string, params?: object, id?: string | number): Promise<Answered>;
  /** Sends a request and reads its response event by event. */
  stream(front: At, method: string, params?: object, id?: string | number): Promise<EventStream>;
  /** Opens the session's own stream, or resumes another one. */
  listen(front: At, lastEventId?: string): Promise<EventStream>;
  /** Answers a request of the server. */
  reply(front: At, id: unknown, result: object): Promise<Response>;
}

const ELICITATION = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };

let ids = 0;

export async function openSession(front: At, options: OpenOptions = {}): Promise<SessionClient> {
  const { version = "2025-11-25", capabilities = ELICITATION, principal, token, clientInfo = { name: "test", version: "1" } } = options;
  const base = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    ...(principal !== undefined && { "x-principal": principal }),
  };
  const credentials = (): Record<string, string> => {
    const bearer = token?.();
    return bearer === undefined ? {} : { authorization: `Bearer ${bearer}` };
  };
  const opened = await fetch(front.url, {
    method: "POST",
    headers: { ...base, ...credentials() },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: "init",
      method: "initialize",
      params: { protocolVersion: version, capabilities, clientInfo },
    }),
  });
  const sessionId = opened.headers.get("mcp-session-id") ?? "";
  const initialized = (await opened.json()) as Message;
  const inSession: Record<string, string | undefined> = { ...base, "mcp-session-id": sessionId, "mcp-protocol-version": version };

  const send = (to: At, init: RequestInit, headers: Record<string, string | undefined> = {}) =>
    fetch(to.url, {
      ...init,
      headers: Object.fromEntries(
        Object.entries({ ...inSession, ...credentials(), ...headers }).filter(
          (header): header is [string, string] => header[1] !== undefined,
        ),
      ),
    });
  const post = (to: At, body: unknown, headers?: Record<string, string | undefined>, signal?: AbortSignal) =>
    send(to, { method: "POST", body: JSON.stringify(body), ...(signal && { signal }) }, headers);
  const message = (method: string, params: object = {}, id: string | number = (ids += 1)) => ({ jsonrpc: "2.0", id, method, params });

  return {
    sessionId,
    initialized,
    post,
    async request(to, method, params, id) {
      return await answered(await post(to, message(method, params, id)));
    },
    async stream(to, method, params, id) {
      const leave = new AbortController();
      return events(await send(to, { method: "POST", body: JSON.stringify(message(method, params, id)), signal: leave.signal }), leave);
    },
    async listen(to, lastEventId) {
      const leave = new AbortController();
      const headers = { accept: "text/event-stream", "content-type": undefined, "last-event-id": lastEventId };
      return events(await send(to, { method: "GET", signal: leave.signal }, headers), leave);
    },
    reply: (to, id, result) => post(to, { jsonrpc: "2.0", id, result }),
  };
}

export async function answered(response: Response): Promise<Answered> {
  const contentType = response.headers.get("content-type") ?? "";
  const text = await response.text();
  const messages = contentType.startsWith("text/event-stream")
    ? text.split("\n\n").flatMap(readEvent)
    : text === ""
      ? []
      : [JSON.parse(text) as Event | Event[]].flat();
  return { status: response.status, contentType, headers: response.headers, messages };
}

function events(response: Response, leave: AbortController): EventStream {
  if (!response.body) throw new Error(`no stream came back: ${response.status}`);
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  const waiting: Event[] = [];
  let text = "";
  let unread = "";
  let lastEventId: string | undefined;
  let over = false;

  /** Returns false if the stream has ended. */
  async function read(): Promise<boolean> {
    const { done, value } = await reader.read().catch(() => ({ done: true, value: undefined }));
    if (done || value === undefined) {
      over = true;
      return false;
    }
    const chunk = decoder.decode(value, { stream: true });
    text += chunk;
    const blocks = (unread + chunk).split("\n\n");
    unread = blocks.pop() ?? "";
    for (const block of blocks) {
      lastEventId = /^id: (.*)$/m.exec(block)?.[1] ?? lastEventId;
      waiting.push(...readEvent(block));
    }
    return true;
  }

  return {
    status: response.status,
    async next() {
      for (;;) {
        const first = waiting.shift();
        if (first) return first;
        if (over || !(await read())) throw new Error("the stream has ended");
      }
    },
    get lastEventId() {
      return lastEventId;
    },
    get text() {
      return text;
    },
    async ended() {
      while (await read());
    },
    close: () => leave.abort(),
  };
}

function readEvent(block: string): Event[] {
  const data = block
    .split("\n")
    .filter((line) => line.startsWith("data: "))
    .map((line) => line.slice("data: ".length))
    .join("\n");
  if (data === "") return [];
  const eventId = /^id: (.*)$/m.exec(block)?.[1];
  return [{ ...(JSON.parse(data) as Message), ...(eventId !== undefined && { eventId }) }];
}
