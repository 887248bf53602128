/**
 * events/stream: what happens, as it happens, until either side ends it.
 *
 *   active ─▶ event … ─▶ error, while the outbox cannot be read … ─▶ heartbeat … ─▶ the result, if this side ends it: at a shutdown, or when the caller's token expires
 *
 * The heartbeat says how far the server has looked, so a client that comes back reads on from there.
 */
import { cursorOfPlace, type OccurrencesRead } from "@parley/core";
import { eventStream, INTERNAL_ERROR, invalidRequest, resultMessage, type StreamEvents } from "@parley/protocol";
import type { Exchange } from "../../../front-end/exchange.ts";
import type { FrontEnd } from "../../../front-end/front-end.ts";
import { enterStream } from "../../../front-end/gate.ts";
import { untilExpiry } from "../../../front-end/until-expiry.ts";
import { ANSWERED, answerFailure, type Handled } from "../shared/answer.ts";
import { filterOf, outboxOf, placeOf } from "./requests.ts";

const EVENTS_AT_ONCE = 100;
const UNREADABLE = "what happens cannot be read at the moment; it is tried again, and the stream goes on";

/** Throws OVERLOADED, QUOTA_EXCEEDED, INVALID_CURSOR, INVALID_ARGUMENTS, UNAVAILABLE. */
export async function streamEvents(route: FrontEnd, intent: StreamEvents, exchange: Exchange): Promise<Handled> {
  const { channel, id, caller, encode, method } = exchange;
  const { outbox, occurrences } = outboxOf(route, method);
  const filter = filterOf(route, intent);
  if (!channel.acceptsStream) {
    channel.answer({ httpStatus: 406, message: invalidRequest("events/stream opens a stream: accept text/event-stream", id).message });
    return ANSWERED;
  }
  const from = await placeOf(outbox, intent);
  const leave = enterStream(route, caller);
  const say = eventStream(id);
  const { closing, release } = untilExpiry(route, caller);

  const deliver = async ({ occurrences, isTruncated }: OccurrencesRead) => {
    // A gap is said before what comes after it.
    if (isTruncated) channel.send(say.active(cursorOfPlace(following.place), true));
    for (const each of occurrences) channel.send(say.event(each, cursorOfPlace(each.place)));
    await channel.drained();
  };
  channel.send(say.active(cursorOfPlace(from), false));
  const following = occurrences.follow({
    caller,
    filter,
    from,
    limit: EVENTS_AT_ONCE,
    ...(route.urlOf && { urlOf: route.urlOf }),
    ...(intent.maxAgeMs !== undefined && { maxAgeMs: intent.maxAgeMs }),
    deliver,
    troubled: () => channel.send(say.error({ code: INTERNAL_ERROR, message: UNREADABLE, data: { reason: "unavailable" } })),
    failed(error) {
      stop();
      answerFailure(route, exchange, { intent, error });
    },
  });
  const stopBeat = route.heartbeat.onBeat(() => channel.send(say.heartbeat(cursorOfPlace(following.place))));
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
