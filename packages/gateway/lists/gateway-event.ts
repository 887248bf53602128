/**
 * Makes an event type of an upstream an event type of Parley. Nothing of it is kept here: a cursor says where its client is, at the upstream.
 *
 *   front end, or the thread that posts ── poll ──▶ a worker, which has the connections ──▶ upstream
 *
 *   E1  A cursor is the upstream's own, and after which event of the page that follows it. So a page can be told in parts, and who continues in the
 *       middle of it hears the rest and nothing twice.
 *   E2  Every page is asked for with the same size, whatever the client wants, so that an upstream returns the same page from the same cursor, or a
 *       longer one.
 *   E3  What cannot be passed on is left out, and said to be missing (`isTruncated`).
 */
import {
  invalidCursor,
  type JsonObject,
  jsonExceeds,
  ParleyError,
  type PassedOnEvent,
  type PassedOnPage,
  type PassedOnType,
  STORED_DEPTH_MAX,
  type Taker,
} from "@parley/core";
import { z } from "zod";
import type { Upstream } from "../config/upstreams.ts";
import type { ListedEvent } from "./listing.ts";
import { ownMeta } from "./own-uri.ts";

export interface PollWanted {
  readonly name: string;
  readonly arguments: JsonObject;
  readonly cursor: string | null;
  readonly maxAgeMs?: number;
  readonly maxEvents: number;
}

/** What a front end asks workers to poll. */
export interface PollThrough {
  /** Throws as `ReadThrough.read` does. Returns what the upstream answered. */
  poll(upstream: Upstream, wanted: PollWanted, taker?: Taker): Promise<unknown>;
  /** The same. What another got a moment ago for the same may be the answer. */
  pollWithOthers(upstream: Upstream, wanted: PollWanted, taker?: Taker): Promise<unknown>;
}

/** As ChatGPT takes them; receivers of others take no more (characters of JSON). */
export const EVENT_CHARS_MAX = 262_144;
export const EVENT_ID_CHARS_MAX = 256;
/** Of an upstream's cursor. */
export const CURSOR_CHARS_MAX = 4_096;
/** Of what a client asks an upstream for, as JSON: it is sent with each poll, and kept with each subscription. */
export const EVENT_ARGUMENTS_CHARS_MAX = 16_384;
const PAGE_EVENTS = 100;
/** What an upstream may return instead, if it does not count as it was told: all of a page is read for each part of it. */
export const PAGE_EVENTS_MAX = 1_000;
const NEXT_POLL_MS = { least: 1_000, usual: 5_000, most: 60_000 };
const MARK = "u.";

const PAGE = z.looseObject({
  events: z.array(z.unknown()).max(PAGE_EVENTS_MAX),
  cursor: z.string().max(CURSOR_CHARS_MAX).nullish(),
  truncated: z.boolean().nullish(),
  hasMore: z.boolean().nullish(),
  nextPollMs: z.number().nonnegative().nullish(),
});

const EVENT = z.looseObject({
  eventId: z.string().min(1).max(EVENT_ID_CHARS_MAX),
  timestamp: z.iso.datetime({ offset: true }),
  data: z.record(z.string(), z.unknown()),
});

export interface GatewayEventDeps {
  readonly upstream: Upstream;
  readonly polls: PollThrough;
}

export function gatewayEvent(listed: ListedEvent, { upstream, polls }: GatewayEventDeps): PassedOnType {
  const { name, description, inputSchema, payloadSchema, _meta: meta } = listed;
  return {
    name: `${upstream.prefix}${name}`,
    ...(description !== undefined && { description }),
    inputSchema,
    payloadSchema,
    ...(meta && { meta: ownMeta(upstream, meta) }),
    async poll({ arguments: args, cursor, maxAgeMs, limit, taker, isShared }) {
      const from = placeOf(cursor);
      if (JSON.stringify(args).length > EVENT_ARGUMENTS_CHARS_MAX) {
        throw new ParleyError("INVALID_ARGUMENTS", `arguments must have at most ${EVENT_ARGUMENTS_CHARS_MAX} characters of JSON`);
      }
      const wanted: PollWanted = {
        name,
        arguments: args,
        cursor: from.cursor,
        maxEvents: PAGE_EVENTS,
        ...(maxAgeMs !== undefined && { maxAgeMs }),
      };
      const ask = isShared ? polls.pollWithOthers : polls.poll;
      const { success, data } = PAGE.safeParse(await ask(upstream, wanted, taker));
      if (!success) {
        const message = `the upstream ${upstream.name} answered a poll of events with something that the events extension does not allow`;
        throw new ParleyError("UPSTREAM_INVALID", message, { data: { upstream: upstream.name } });
      }
      return pageOf(data, { from, limit, upstream });
    },
  };
}

interface Place {
  readonly cursor: string | null;
  /** The upstream's id of the last event after the cursor that was told. */
  readonly after?: string | undefined;
}

function pageOf(
  { events, cursor = null, truncated, hasMore, nextPollMs }: z.output<typeof PAGE>,
  { from, limit, upstream }: { readonly from: Place; readonly limit: number; readonly upstream: Upstream },
): PassedOnPage {
  const passable = events.flatMap((event) => understoodOf(event) ?? []);
  // Two of one id are one event, as they are to receivers: where to go on after the second could not be said.
  const understood = [...new Map(passable.map((event) => [event.eventId, event])).values()];
  // If it is gone, all of the page is told: rather twice than never.
  const told = understood.findIndex(({ eventId }) => eventId === from.after) + 1;
  const rest = understood.slice(told);
  // Without a cursor nobody can go on in the middle of it.
  const isWhole = rest.length <= limit || from.cursor === null;
  const wanted = isWhole ? rest : rest.slice(0, limit);
  const here = wanted.map(({ eventId, timestamp, data }, index): PassedOnEvent => ({
    // Receivers know an event by its id, and two upstreams may give the same.
    id: `${upstream.name}:${eventId}`,
    atMs: Date.parse(timestamp),
    data: data as JsonObject,
    cursor: isWhole && index === wanted.length - 1 ? cursorOf({ cursor }) : cursorOf({ cursor: from.cursor, after: eventId }),
  }));
  return {
    events: here,
    cursor: isWhole ? cursorOf({ cursor }) : (here.at(-1)?.cursor ?? null),
    // Of a page that is told in parts, with the first.
    isTruncated: told === 0 && (truncated === true || passable.length < events.length),
    isMore: !isWhole || hasMore === true,
    nextPollMs: Math.min(Math.max(nextPollMs ?? NEXT_POLL_MS.usual, NEXT_POLL_MS.least), NEXT_POLL_MS.most),
  };
}

function understoodOf(event: unknown): z.output<typeof EVENT> | undefined {
  const { success, data } = EVENT.safeParse(event);
  if (!success) return undefined;
  try {
    const text = JSON.stringify(data.data);
    const isTooDeep = jsonExceeds(text, { depthMax: STORED_DEPTH_MAX, valuesMax: Infinity }) !== undefined;
    return text.length <= EVENT_CHARS_MAX && !isTooDeep ? data : undefined;
  } catch {
    // Parsing takes less of the stack than serializing.
    return undefined;
  }
}

/** Null where the upstream has no cursor: it cannot continue in the middle of a page either. */
function cursorOf({ cursor, after }: Place): string | null {
  if (cursor === null) return null;
  return MARK + Buffer.from(JSON.stringify(after === undefined ? [cursor] : [cursor, after])).toString("base64url");
}

const PLACE = z.tuple([z.string().max(CURSOR_CHARS_MAX), z.string().max(EVENT_ID_CHARS_MAX).optional()]);
/** Each character takes up to six in JSON, and three in base64 take four. */
const CHARS_MAX = 8 * (CURSOR_CHARS_MAX + EVENT_ID_CHARS_MAX) + 16;

/** Throws INVALID_CURSOR. */
function placeOf(text: string | undefined): Place {
  if (text === undefined) return { cursor: null };
  if (!text.startsWith(MARK) || text.length > CHARS_MAX) throw invalidCursor();
  try {
    const [cursor, after] = PLACE.parse(JSON.parse(Buffer.from(text.slice(MARK.length), "base64url").toString()));
    return { cursor, after };
  } catch {
    throw invalidCursor();
  }
}
