/** Unanswered requests of the client. One message holds several if it is a batch. */
import { cut } from "@parley/core";
import { IDEMPOTENCY_KEY, isObject, own, type RequestId, type RpcRequest } from "@parley/protocol";

export interface Exchange {
  /** The message as it is sent. */
  readonly text: string;
  readonly requests: readonly RpcRequest[];
  /** The revision of a stateless request (2026-07-28 and later); undefined if the request belongs to the session. */
  readonly revision: string | undefined;
  /** The unanswered ids, by their keys. */
  readonly pending: Map<string, RequestId>;
  /** Aborts the HTTP requests of the exchange. */
  readonly over: AbortController;
  /** Settles when the server has begun to respond. Messages about the request are sent after that. */
  readonly begun: PromiseWithResolvers<void>;
  /** The session in which it was last sent. */
  session: string | undefined;
  /** The client has cancelled the request. */
  cancelled: boolean;
  /** Whether the stream of subscriptions/listen was acknowledged to the client. */
  confirmed: boolean;
  /** The id of the last event that was read: where the response can be resumed. */
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

/** 1 and "1" are different ids. */
export function idKey(id: RequestId): string {
  return JSON.stringify(id);
}

/** Methods that only read, or that take effect once however often they are sent, such as an answer or a cancellation. */
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
 * Whether the request may be repeated if the server may have received it. A call with a requestState may: the server acknowledges recorded answers again.
 * So may one with an idempotency key: it creates one task, however often it arrives.
 */
export function isRepeatable({ requests }: Exchange): boolean {
  return requests.every(({ method, params }) => {
    if (REPEATABLE.has(method) || typeof params["requestState"] === "string") return true;
    const meta = params["_meta"];
    return method === "tools/call" && isObject(meta) && typeof own(meta, IDEMPOTENCY_KEY) === "string";
  });
}

export function isListen({ requests }: Exchange): boolean {
  return requests.length === 1 && requests[0]?.method === "subscriptions/listen";
}

/** Maximum characters of method names in an error message: a client can send names of any length. */
const NAMES_CHARS = 200;

export function namesOf({ requests }: Exchange): string {
  return cut([...new Set(requests.map(({ method }) => method))].join(", "), NAMES_CHARS);
}
