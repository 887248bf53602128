/**
 * events/stream: what happens, as it happens, until either side ends it.
 *
 *   active ─▶ event … ─▶ error, while it cannot be read … ─▶ heartbeat … ─▶ the result, if this side ends it: at a shutdown, when the caller's token expires, or,
 *   after `terminated`, when there is nothing to hear any more
 *
 * The heartbeat says how far the server has looked, so a client that comes back reads on from there.
 */
import { cursorOfPlace, followPassedOn, type JsonObject, type PassedOnPage, type RpcFailure, takerOf } from "@parley/core";
import { eventStream, type Heard, INTERNAL_ERROR, invalidRequest, resultMessage, type StreamEvents } from "@parley/protocol";
import type { Exchange } from "../../../front-end/exchange.ts";
import type { FrontEnd } from "../../../front-end/front-end.ts";
import { enterStream } from "../../../front-end/gate.ts";
import { untilExpiry } from "../../../front-end/until-expiry.ts";
import { ANSWERED, answerFailure, type Handled } from "../shared/answer.ts";
import { filterOf, outboxOf, passedOnOf, placeOf } from "./requests.ts";

const EVENTS_AT_ONCE = 100;
const UNREADABLE = "what happens cannot be read at the moment; it is tried again, and the stream goes on";

/** What a stream tells from, of this deployment or of an upstream. */
interface Source {
  readonly cursor: string | null;
  follow(listener: Listener): Following;
}

interface Listener {
  deliver(heard: HeardTogether): Promise<void>;
  troubled(): void;
  failed(error: unknown): void;
  /** There is nothing to hear any more. */
  ended(error: RpcFailure): void;
}

interface HeardTogether {
  readonly events: readonly (Heard & { readonly cursor: string | null })[];
  readonly cursor: string | null;
  readonly isTruncated: boolean;
}

interface Following {
  cursor(): string | null;
  stop(): void;
}

/** Throws OVERLOADED, QUOTA_EXCEEDED, INVALID_CURSOR, INVALID_ARGUMENTS, UNAVAILABLE, and what polls at upstreams throw. */
export async function streamEvents(route: FrontEnd, intent: StreamEvents, exchange: Exchange): Promise<Handled> {
  const { channel, id, caller, encode, method } = exchange;
  outboxOf(route, method);
  if (!channel.acceptsStream) {
    channel.answer({ httpStatus: 406, message: invalidRequest("events/stream opens a stream: accept text/event-stream", id).message });
    return ANSWERED;
  }
  const source = (await upstreamsSource(route, intent, exchange)) ?? (await ownSource(route, intent, exchange));
  const leave = enterStream(route, caller);
  const say = eventStream(id);
  const { closing, release } = untilExpiry(route, caller);

  channel.send(say.active(source.cursor, false));
  const following = source.follow({
    async deliver({ events, cursor, isTruncated }) {
      // A gap is said before what comes after it.
      if (isTruncated) channel.send(say.active(events.length > 0 ? following.cursor() : cursor, true));
      for (const { cursor: after, ...event } of events) channel.send(say.event(event, after));
      await channel.drained();
    },
    troubled: () => channel.send(say.error({ code: INTERNAL_ERROR, message: UNREADABLE, data: { reason: "unavailable" } })),
    failed(error) {
      stop();
      answerFailure(route, exchange, { intent, error });
    },
    ended({ code, message, data }) {
      channel.send(say.terminated({ code, message, ...(data !== undefined && { data: data as object }) }));
      end();
    },
  });
  const stopBeat = route.heartbeat.onBeat(() => channel.send(say.heartbeat(following.cursor())));
  const stop = () => {
    stopBeat();
    following.stop();
    closing.removeEventListener("abort", end);
    release();
    leave();
  };
  const end = () => {
    stop();
    channel.answer({ httpStatus: 200, message: resultMessage(id, encode.answer(say.result)) });
  };
  channel.closed.addEventListener("abort", stop, { once: true });
  closing.addEventListener("abort", end);
  if (closing.aborted) end();
  if (channel.closed.aborted) stop();
  return ANSWERED;
}

/** Throws INVALID_CURSOR, INVALID_ARGUMENTS, UNAVAILABLE. */
async function ownSource(route: FrontEnd, intent: StreamEvents, { caller, method, catalogue }: Exchange): Promise<Source> {
  const { outbox, occurrences } = outboxOf(route, method);
  const filter = filterOf(route, intent, catalogue);
  const from = await placeOf(outbox, intent);
  return {
    cursor: cursorOfPlace(from),
    follow({ deliver, troubled, failed }) {
      const following = occurrences.follow({
        caller,
        filter,
        from,
        limit: EVENTS_AT_ONCE,
        ...(route.urlOf && { urlOf: route.urlOf }),
        ...(intent.maxAgeMs !== undefined && { maxAgeMs: intent.maxAgeMs }),
        deliver: ({ occurrences: heard, place, isTruncated }) =>
          deliver({
            events: heard.map((each) => ({ ...each, cursor: cursorOfPlace(each.place) })),
            cursor: cursorOfPlace(place),
            isTruncated,
          }),
        troubled,
        failed,
      });
      return { cursor: () => cursorOfPlace(following.place), stop: following.stop };
    },
  };
}

/**
 * Undefined if the event type is no upstream's. The first poll is answered before the stream opens, so that an upstream's error is the reply.
 * Throws what polls at upstreams throw.
 */
async function upstreamsSource(
  { passedOn, services: { clock } }: FrontEnd,
  { name, arguments: given, cursor, maxAgeMs }: StreamEvents,
  { caller, catalogue }: Exchange,
): Promise<Source | undefined> {
  const type = passedOnOf(catalogue, { name });
  if (!type) return undefined;
  const args = given as JsonObject;
  const taker = takerOf(caller);
  let first: PassedOnPage | undefined = await type.poll({
    arguments: args,
    limit: EVENTS_AT_ONCE,
    ...(cursor !== undefined && { cursor }),
    ...(maxAgeMs !== undefined && { maxAgeMs }),
    ...(taker && { taker }),
  });
  const from = cursor ?? first.cursor;
  return {
    cursor: from,
    follow({ deliver, troubled, failed, ended }) {
      // It may be large, and the stream may be open for long.
      const begun = first;
      first = undefined;
      const following = followPassedOn({
        name,
        look: () => passedOn(caller, name),
        arguments: args,
        from,
        ...(begun && { first: begun }),
        limit: EVENTS_AT_ONCE,
        taker,
        clock,
        deliver: ({ events, ...rest }) => deliver({ ...rest, events: events.map((each) => ({ ...each, type: name })) }),
        troubled,
        failed,
        ended,
      });
      return { cursor: () => following.cursor, stop: following.stop };
    },
  };
}
