/** Requests of the client that are not answered yet. One message may hold several: a batch. */
import { cut } from "@parley/core";
import type { RequestId, RpcRequest } from "@parley/protocol";

export interface Exchange {
  /** As it goes out. */
  readonly text: string;
  readonly requests: readonly RpcRequest[];
  /** Of 2026-07-28 and later: each request says everything about itself. Undefined: the request is one of the session. */
  readonly revision: string | undefined;
  /** Its ids that are not answered, by their keys. */
  readonly pending: Map<string, RequestId>;
  /** Ends its HTTP requests. */
  readonly over: AbortController;
  /** Settles when the server has begun to answer: what is said about the request comes after it. */
  readonly begun: PromiseWithResolvers<void>;
  /** The session that it was last sent in. */
  session: string | undefined;
  /** The client wants no answer any more. */
  cancelled: boolean;
  /** A stream of subscriptions/listen that was confirmed to the client. */
  confirmed: boolean;
  /** Of the last event that was read: where the answer can be taken up again. */
  lastEventId: string | undefined;
  retryMs: number | undefined;
}

export function exchangeOf(text: string, requests: readonly RpcRequest[], revision: string | undefined): Exchange {
  return {
    text,
    requests,
    revision,
    pending: new Map(requests.map(({ id }) => [idKey(id), id])),
    over: new AbortController(),
    begun: Promise.withResolvers<void>(),
    session: undefined,
    cancelled: false,
    confirmed: false,
    lastEventId: undefined,
    retryMs: undefined,
  };
}

/** 1 and "1" are two ids. */
export function idKey(id: RequestId): string {
  return JSON.stringify(id);
}

/** What only looks, and what counts once however often it is sent: an answer, a cancellation. */
const REPEATABLE: ReadonlySet<string> = new Set([
  "ping",
  "server/discover",
  "tools/list",
  "prompts/list",
  "resources/list",
  "resources/templates/list",
  "resources/read",
  "resources/subscribe",
  "resources/unsubscribe",
  "completion/complete",
  "logging/setLevel",
  "subscriptions/listen",
  "tasks/get",
  "tasks/list",
  "tasks/result",
  "tasks/update",
  "tasks/cancel",
  "tasks/sendInput",
]);

/**
 * Whether it may be sent again when nobody knows if the server has seen it. A call that carries a requestState may: answers that were recorded are
 * acknowledged again.
 */
export function isRepeatable({ requests }: Exchange): boolean {
  return requests.every(({ method, params }) => REPEATABLE.has(method) || typeof params["requestState"] === "string");
}

export function isListen({ requests }: Exchange): boolean {
  return requests.length === 1 && requests[0]?.method === "subscriptions/listen";
}

/** In errors: a caller can make up a method of any length. */
const NAMES_CHARS = 200;

export function namesOf({ requests }: Exchange): string {
  return cut([...new Set(requests.map(({ method }) => method))].join(", "), NAMES_CHARS);
}
