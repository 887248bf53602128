/**
 * Events of this deployment for clients that subscribe to them (SEP-3415): list, poll, and a stream. Both families serve them alike.
 *
 * Source: the events extension, `io.modelcontextprotocol/events`.
 */
import {
  type Caller,
  type Catalogue,
  cursorOfPlace,
  type JsonObject,
  type OccurrenceFeed,
  type OccurrenceFilter,
  OCCURRENCES,
  type OccurrenceType,
  type Outbox,
  type OutboxPlace,
  ParleyError,
  type PassedOnType,
  placeOfCursor,
  readOccurrences,
  RpcFailure,
  takerOf,
} from "@parley/core";
import { EVENTS_ERRORS, eventOf, type EventsRequest, METHOD_NOT_FOUND, type ListEvents, type PollEvents } from "@parley/protocol";
import type { Exchange } from "../../../front-end/exchange.ts";
import type { FrontEnd } from "../../../front-end/front-end.ts";

/** How many events one poll returns unless the client wants fewer, and how soon it should poll again. */
const EVENTS_MAX = 100;
const NEXT_POLL_MS = 5_000;
/** How many event types an error names. */
const NAMED_MAX = 50;

/** Throws INVALID_CURSOR. */
export function listEvents(route: FrontEnd, { cursor }: ListEvents, { encode, method, catalogue }: Exchange): object {
  outboxOf(route, method);
  return encode.eventList(catalogue, cursor);
}

/** Throws UNAVAILABLE, INVALID_CURSOR, INVALID_ARGUMENTS, and what polls at upstreams throw. */
export async function pollEvents(route: FrontEnd, intent: PollEvents, { encode, caller, method, catalogue }: Exchange): Promise<object> {
  const { outbox } = outboxOf(route, method);
  const passedOn = passedOnOf(catalogue, intent);
  if (passedOn) return encode.answer(await pollPassedOn(passedOn, intent, caller));
  const filter = filterOf(route, intent, catalogue);
  const { maxAgeMs, maxEvents = EVENTS_MAX } = intent;
  const from = await placeOf(outbox, intent);
  if (intent.cursor === undefined) {
    return encode.answer({ events: [], cursor: cursorOfPlace(from), truncated: false, hasMore: false, nextPollMs: NEXT_POLL_MS });
  }
  const read = await readOccurrences(
    { ...route.services, outbox },
    {
      caller,
      filter,
      from,
      limit: Math.min(maxEvents, EVENTS_MAX),
      ...(route.urlOf && { urlOf: route.urlOf }),
      ...(maxAgeMs !== undefined && { maxAgeMs }),
    },
  );
  return encode.answer({
    events: read.occurrences.map((each) => eventOf(each)),
    cursor: cursorOfPlace(read.place),
    truncated: read.isTruncated,
    hasMore: read.isMore,
    nextPollMs: NEXT_POLL_MS,
  });
}

/** Where a subscription begins: at its cursor, or now. */
export async function placeOf(outbox: Outbox, { cursor }: Pick<EventsRequest, "cursor">): Promise<OutboxPlace> {
  return cursor === undefined ? await outbox.now() : placeOfCursor(cursor);
}

/** The outbox, or the error of a server that has no events. */
export function outboxOf(
  { services: { outbox }, occurrences }: Pick<FrontEnd, "services" | "occurrences">,
  method: string,
): { readonly outbox: Outbox; readonly occurrences: OccurrenceFeed } {
  if (outbox && occurrences) return { outbox, occurrences };
  throw new RpcFailure(METHOD_NOT_FOUND, `"${method}" is not served: this deployment publishes no events (PARLEY_OUTBOX)`);
}

/** Throws INVALID_ARGUMENTS. */
export function filterOf(
  { services }: Pick<FrontEnd, "services">,
  { name, arguments: args }: Pick<EventsRequest, "name" | "arguments">,
  { passedOn }: Pick<Catalogue, "passedOn">,
): OccurrenceFilter {
  if (!isType(name)) {
    const known = [...Object.keys(OCCURRENCES), ...(passedOn?.keys() ?? [])].slice(0, NAMED_MAX).join(", ");
    throw new RpcFailure(EVENTS_ERRORS.NotFound, `no event type ${JSON.stringify(name.slice(0, 100))}; there are ${known}`, {
      kind: "event",
    });
  }
  const violations = services.validate(OCCURRENCES[name].inputSchema, args);
  if (violations.length > 0) throw new ParleyError("INVALID_ARGUMENTS", `the arguments do not match what ${name} takes`, { violations });
  return { types: [name], ...args };
}

/** An event type of an upstream; undefined if it is of this deployment, or of nobody whom the caller may hear. */
export function passedOnOf({ passedOn }: Pick<Catalogue, "passedOn">, { name }: Pick<EventsRequest, "name">): PassedOnType | undefined {
  return isType(name) ? undefined : passedOn?.get(name);
}

async function pollPassedOn(type: PassedOnType, { arguments: args, cursor, maxAgeMs, maxEvents }: PollEvents, caller: Caller) {
  const taker = takerOf(caller);
  const page = await type.poll({
    arguments: args as JsonObject,
    limit: Math.min(maxEvents ?? EVENTS_MAX, EVENTS_MAX),
    ...(cursor !== undefined && { cursor }),
    ...(maxAgeMs !== undefined && { maxAgeMs }),
    ...(taker && { taker }),
  });
  return {
    events: page.events.map((each) => eventOf({ ...each, type: type.name })),
    cursor: page.cursor,
    truncated: page.isTruncated,
    hasMore: page.isMore,
    nextPollMs: page.nextPollMs,
  };
}

function isType(name: string): name is OccurrenceType {
  return Object.hasOwn(OCCURRENCES, name);
}
