/**
 * The events extension: how its requests are read and its messages look, the same in every revision that can carry them.
 *
 * Source: SEP-3415, `io.modelcontextprotocol/events`. An event type of the extension is an occurrence here; `ctx.event`, with which a tool waits for
 * another system, is something else.
 */
import { type Catalogue, type JsonObject, OCCURRENCES, OCCURRENCE_TYPES } from "@parley/core";
import type { EventsRequest, ListEvents, PollEvents, StreamEvents, SubscribeEvents, UnsubscribeEvents } from "./intents.ts";
import { isObject, notificationMessage, type RequestId, type RpcNotification, type Wire } from "./json-rpc.ts";
import { type ListItem, present } from "./list-items.ts";
import { page } from "./page.ts";
import { BadParams, cursorOf, isString, member, optional, required } from "./params.ts";

export const EVENTS_EXTENSION = "io.modelcontextprotocol/events";
const SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId";

export type DeliveryMode = "poll" | "push" | "webhook";

/** Codes of the extension. They are in the range that JSON-RPC leaves to implementations. */
export const EVENTS_ERRORS = {
  NotFound: -32011,
  Forbidden: -32012,
  ResourceExhausted: -32013,
  Unsupported: -32014,
  CallbackEndpointError: -32015,
} as const;

export const EVENTS_METHODS = {
  "events/list": (params: Wire): ListEvents => ({ type: "listEvents", ...cursorOf(params) }),
  "events/poll": (params: Wire): PollEvents => {
    const maxEvents = optional(params, "maxEvents", isPositive, "a positive integer");
    return { type: "pollEvents", ...wanted(params), ...(maxEvents !== undefined && { maxEvents }) };
  },
  "events/stream": (params: Wire): StreamEvents => ({ type: "streamEvents", ...wanted(params) }),
  "events/subscribe": (params: Wire): SubscribeEvents => {
    const delivery = member(params, "delivery", isObject, "an object");
    const mode = optional(delivery, "mode", isString, "a string", "delivery.mode");
    if (mode !== undefined && mode !== "webhook") throw new BadParams('delivery.mode must be "webhook"');
    const ttlMs = optional(params, "ttlMs", isDuration, "a number of milliseconds, or null");
    return {
      type: "subscribeEvents",
      ...wanted(params),
      url: required(delivery, "url", "delivery.url"),
      secret: required(delivery, "secret", "delivery.secret"),
      ...(ttlMs !== undefined && { ttlMs }),
    };
  },
  "events/unsubscribe": (params: Wire): UnsubscribeEvents => {
    const delivery = member(params, "delivery", isObject, "an object");
    const { name, arguments: args } = wanted(params);
    return { type: "unsubscribeEvents", name, arguments: args, url: required(delivery, "url", "delivery.url") };
  },
};

/** A cursor of null means from now on, as does none. */
function wanted(params: Wire): EventsRequest {
  const cursor = optional(params, "cursor", isString, "a string or null");
  const maxAgeMs = optional(params, "maxAgeMs", isDuration, "a number of milliseconds");
  return {
    name: required(params, "name"),
    arguments: optional(params, "arguments", isObject, "an object") ?? {},
    ...(cursor !== undefined && { cursor }),
    ...(maxAgeMs !== undefined && { maxAgeMs }),
  };
}

function isPositive(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) > 0;
}

function isDuration(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}

export interface EventTypes {
  readonly delivery: readonly DeliveryMode[];
  readonly size: number;
  readonly cursor: string | undefined;
}

/** This deployment's own on the first page, those of upstreams after them. Throws ParleyError INVALID_CURSOR. */
export function eventTypes({ passedOn }: Pick<Catalogue, "passedOn">, { delivery, size, cursor }: EventTypes): object {
  const own = OCCURRENCE_TYPES.map((name) => ({ name, ...OCCURRENCES[name] }));
  const others = [...(passedOn?.values() ?? [])]
    .filter(({ name }) => !Object.hasOwn(OCCURRENCES, name))
    .map(({ name, description, inputSchema, payloadSchema, meta }) =>
      present({ name, description, inputSchema, payloadSchema, _meta: meta }),
    );
  const { items, ...rest } = page<ListItem>([...own, ...others], {
    key: ({ name }) => String(name),
    size: Math.max(size, own.length),
    cursor,
  });
  return { events: items.map((item) => ({ ...item, delivery })), ...rest };
}

/** An event, by the name under which it is heard. */
export interface Heard {
  readonly id: string;
  readonly type: string;
  readonly atMs: number;
  readonly data: JsonObject;
}

/** An EventOccurrence. */
export function eventOf({ id, type, atMs, data }: Heard, cursor?: string | null): object {
  const common = { eventId: id, name: type, timestamp: new Date(atMs).toISOString(), data };
  return cursor === undefined ? common : { ...common, cursor };
}

interface EventsFailure {
  readonly code: number;
  readonly message: string;
  readonly data?: object;
}

/** The notifications of one stream, which is known by the id of its request. */
export function eventStream(id: RequestId) {
  const say = (what: string, params: object): RpcNotification =>
    notificationMessage(`notifications/events/${what}`, { ...params, _meta: { [SUBSCRIPTION_ID]: id } });
  return {
    active: (cursor: string | null, truncated: boolean) => say("active", { cursor, truncated }),
    event: (event: Heard, cursor: string | null) => say("event", eventOf(event, cursor)),
    heartbeat: (cursor: string | null) => say("heartbeat", { cursor }),
    /** Something failed that is tried again: the stream goes on. */
    error: (error: EventsFailure) => say("error", { error }),
    /** Nothing follows but the result. */
    terminated: (error: EventsFailure) => say("terminated", { error }),
    /** What a stream ends with. */
    result: { _meta: { [SUBSCRIPTION_ID]: id } },
  };
}
