/**
 * What the stream of a call sends, and with which event ids.
 *
 *   JSON ──a moment──▶ first id (prime) ─▶ messages, each with an id ─▶ response │ or an end without one: the client comes back, or is told not to
 *
 * An id is a cursor: it includes what its event says, so a client that resumes from it has read the event (F3).
 */
import { RpcFailure } from "@parley/core";
import { INTERNAL_ERROR, type Reply } from "@parley/protocol";
import type { CallCursor, Cursor, ResultCursor } from "../event-ids.ts";
import type { SessionExchange, SessionRoute } from "../session-route.ts";

/** `answered`: the response was sent. `left`: the stream ended without it and may be resumed. */
export type Followed = "answered" | "left";

/** The part of a call's cursor that an event changes. */
export type Seen = Pick<CallCursor, "seen" | "progress" | "waits">;

export interface StreamEvents {
  /** How far the client has read. */
  readonly cursor: CallCursor | ResultCursor;
  /** The client gets event ids with which it may come back before the response. */
  readonly canComeBack: boolean;
  readonly hasEventId: boolean;
  /** Event numbers must grow from one holder of the stream to the next. One holder may not know the other's last number, so they follow the clock. */
  numberFrom(nowMs: number): void;
  /** The feed was reported so far. Call it before the report is sent (F3). */
  reported(feed: string): void;
  /** Opens the stream with an event id, unless it has begun. */
  prime(): void;
  /**
   * A call that ends within a moment is answered as JSON. A longer one becomes a stream, which can be resumed from here on. One that cannot be
   * resumed yet becomes a stream later, so that no proxy and no client gives up a connection on which nothing arrives.
   */
  primeInTime(): void;
  /** Sends an id with which the client can come back. */
  giveEventId(): void;
  /** Primes the stream first, so that the client can come back for everything after the first id. */
  send(message: object, change?: Seen): void;
  /** The response, or the error in its place. It is the last message (F5). */
  answer(reply: Reply): Followed;
  /** The client comes back. Without an event id it gets the error: it would wait for an answer that never comes (F7). */
  leave(failure: (error: RpcFailure) => Reply): Followed;
  /**
   * The client is told not to come back: it is on another connection, or another client of its session uses the same id, and the two would
   * take the stream from each other for ever.
   */
  giveUp(): Followed;
  /** Nothing is opened any more. */
  stop(): void;
}

export interface StreamEventsOptions {
  readonly cursor: CallCursor | ResultCursor;
  /** The stream has no event ids. */
  readonly isJoined: boolean;
}

export function streamEvents(route: SessionRoute, exchange: SessionExchange, options: StreamEventsOptions): StreamEvents {
  const { services, times, eventIds } = route;
  const { channel, dialect, session } = exchange;
  const { isJoined } = options;
  const canComeBack = !isJoined && channel.acceptsStream && dialect.closesEarly;
  let { cursor } = options;
  let hasEventId = cursor.event > 0;
  let isPrimed = false;
  let stopPriming = () => undefined as void;

  const written = (at: Cursor) => (isJoined ? undefined : eventIds.write(session.id, at));
  /** Nothing follows an event with this id. */
  const lastId = () => written({ stream: "ended", event: cursor.event + 1 });

  function nextId(change: Seen = {}): string | undefined {
    cursor = { ...cursor, ...change, event: cursor.event + 1 };
    const eventId = written(cursor);
    hasEventId ||= eventId !== undefined;
    return eventId;
  }

  function giveEventId(): void {
    isPrimed = true;
    if (!channel.acceptsStream) return;
    const eventId = canComeBack ? nextId() : undefined;
    if (eventId === undefined) channel.open();
    else channel.prime(eventId, times.retryMs);
  }

  function prime(): void {
    if (!isPrimed) giveEventId();
  }

  function answer(reply: Reply): Followed {
    // Opening a stream after a JSON response would crash the process.
    stopPriming();
    // A client that comes back with this id is refused, so it never gets the response twice. The official client (@modelcontextprotocol/sdk)
    // does so after an error, which it does not take for the answer.
    channel.answer(reply, lastId);
    return "answered";
  }

  return {
    get cursor() {
      return cursor;
    },
    canComeBack,
    get hasEventId() {
      return hasEventId;
    },
    numberFrom: (nowMs) => void (cursor = { ...cursor, event: Math.max(cursor.event, nowMs) }),
    reported: (feed) => void (cursor = { ...cursor, feed }),
    prime,
    primeInTime() {
      stopPriming = services.clock.after(canComeBack ? times.resumableAfterMs : times.streamAfterMs, prime);
    },
    giveEventId,
    send(message, change) {
      prime();
      channel.send(message, nextId(change));
    },
    answer,
    leave(failure) {
      prime();
      if (!hasEventId) return answer(failure(connectionEnds()));
      channel.endUnanswered(dialect.closesEarly ? times.retryMs : undefined);
      return "left";
    },
    giveUp() {
      const last = lastId();
      if (last !== undefined) channel.prime(last, times.retryMs);
      channel.endUnanswered();
      return "left";
    },
    stop: () => stopPriming(),
  };
}

const connectionEnds = () =>
  new RpcFailure(
    INTERNAL_ERROR,
    "The server ends this connection before the call has ended. The call continues: ask again if you have its task id or its idempotency key.",
  );
