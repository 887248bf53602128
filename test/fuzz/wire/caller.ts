/** A client that does everything right, in both families: sets up what the doors need, and looks at what became of it. */
import type { Draft } from "../draw/changes.ts";
import type { JsonObject } from "../draw/json.ts";
import { REPLY_TIMEOUT_MS } from "../limits.ts";
import { Http, type Reading, type Response } from "./http.ts";
import type { Loose, Message } from "./messages.ts";
import { ASKABLE, type Stateless, statelessDraft } from "./stateless.ts";
import { initializeDraft, type InSession, type Revision, sessionDraft, sessionHeaders } from "./sessions.ts";

/** What is right was not answered as it should be. */
export class SetUpFailed extends Error {}

/** Its requests are not judged: on a busy machine, where all doors open at once, they may take long. */
const READING = { timeoutMs: 60_000, bytesMax: 4_000_000 };

export class Caller {
  readonly #http: Http;
  readonly #credentials: Readonly<Record<string, string>>;

  constructor(url: string, credentials: Readonly<Record<string, string>> = {}) {
    this.#http = new Http(url);
    this.#credentials = credentials;
  }

  /** The result of a request of 2026-07-28. */
  async stateless(request: Stateless): Promise<Loose> {
    const response = await this.post(statelessDraft(request));
    return resultOf(request.method, response, 1);
  }

  async post({ headers, body }: Draft, enough?: (messages: readonly Message[]) => boolean): Promise<Response> {
    return await this.#http.send(
      { method: "POST", path: "/mcp", headers: { ...headers, ...this.#credentials }, body: JSON.stringify(body) },
      { ...READING, ...(enough && { enough, lingerMs: REPLY_TIMEOUT_MS }) },
    );
  }

  async open(revision: Revision, capabilities: JsonObject = ASKABLE): Promise<InSession> {
    const response = await this.post(initializeDraft(revision, capabilities));
    const sessionId = response.headers["mcp-session-id"];
    if (response.status !== 200 || typeof sessionId !== "string") throw new SetUpFailed(`initialize: ${response.status} ${response.text}`);
    return { sessionId, revision };
  }

  /** The result of a request in a session. */
  async inSession(session: InSession, method: string, params: JsonObject = {}, id = 1): Promise<Loose> {
    return resultOf(method, await this.post(sessionDraft(session, { method, params, id })), id);
  }

  /** A request in a session, read until the server asks something; its stream is left then, which cancels nothing. */
  async untilAsked(session: InSession, method: string, params: JsonObject, id: number): Promise<Message> {
    const isAsk = (message: Message) => message.method !== undefined && message.id !== undefined;
    const response = await this.post(sessionDraft(session, { method, params, id }), (messages) => messages.some(isAsk));
    const ask = response.messages.find(isAsk);
    if (!ask) throw new SetUpFailed(`${method} asked nothing: ${response.status} ${response.text.slice(0, 500)}`);
    return ask;
  }

  /** What follows an event. */
  async resume(session: InSession, lastEventId: string, reading: Required<Pick<Reading, "enough" | "lingerMs">>): Promise<Response> {
    const { "content-type": _, ...headers } = sessionHeaders(session);
    return await this.#http.send(
      {
        method: "GET",
        path: "/mcp",
        headers: { ...headers, ...this.#credentials, accept: "text/event-stream", "last-event-id": lastEventId },
      },
      { ...READING, ...reading },
    );
  }

  /** The answer to a request of the server's. */
  async reply(session: InSession, id: unknown, result: JsonObject): Promise<Response> {
    return await this.post({ headers: sessionHeaders(session), body: { jsonrpc: "2.0", id: id as string, result } });
  }

  async isAlive(session: InSession): Promise<boolean> {
    const { status } = await this.post(sessionDraft(session, { method: "ping", params: {} }));
    return status === 200;
  }

  async end(session: InSession): Promise<number> {
    const { "content-type": _, ...headers } = sessionHeaders(session);
    return (await this.#http.send({ method: "DELETE", path: "/mcp", headers: { ...headers, ...this.#credentials } }, READING)).status;
  }

  close(): void {
    this.#http.close();
  }
}

function resultOf(method: string, { status, text, messages, outcome }: Response, id: unknown): Loose {
  const answer = messages.find((message) => message.id === id && message.result !== undefined);
  if (answer?.result === undefined) throw new SetUpFailed(`${method}: ${outcome}, ${status} ${text.slice(0, 500)}`);
  return answer.result;
}
