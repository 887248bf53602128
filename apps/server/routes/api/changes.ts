/**
 * A stream of changes to what a person is asked, as server-sent events: each says how many questions wait, and its id
 * is a digest of them.
 *
 * No replica keeps a log of events. A client that comes back sends the id that it saw last, and any replica tells from
 * it whether something has changed. Events that came too fast for a client are one event. So a stream holds its caller
 * and one id, also if more happens meanwhile.
 */
import { type Caller, type AskSummary, listAsks, namesOfCaller, DEFAULT_TENANT } from "@parley/core";
import { hash } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { FrontEnd } from "../../front-end/front-end.ts";
import { enterStream } from "../../front-end/gate.ts";
import { untilExpiry } from "../../front-end/until-expiry.ts";
import { Outlet } from "../../streams/outlet.ts";

/** As many are counted as `/asks/count` counts, and only their changes are seen. */
const ASKS_WATCHED_MAX = 100;
/** Shortest time between two reads of one stream. */
const READ_EVERY_MS = 200;
/** Questions to the owner of a task alone are not in the index: they are looked for in every so many heartbeats. */
const BEATS_BETWEEN_READS = 4;
const RETRY_MS = 2_000;

/**
 * Sends an event when the open asks that the caller may answer have changed since `Last-Event-ID`, until the client leaves, its token expires, or this
 * front end closes. Throws OVERLOADED and QUOTA_EXCEEDED before anything is sent.
 */
export async function followChanges(frontEnd: FrontEnd, caller: Caller, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const { services, times, heartbeat, log } = frontEnd;
  const leave = enterStream(frontEnd, caller);
  const outlet = new Outlet(request, reply, { heartbeat, stallTimeoutMs: times.stallTimeoutMs });
  const { closing, release } = untilExpiry(frontEnd, caller);
  const lastSeen = request.headers["last-event-id"];
  let sent = typeof lastSeen === "string" ? lastSeen : undefined;
  let isOver = false;
  let isReading = false;
  let isStale = false;

  async function read(): Promise<void> {
    isStale = true;
    if (isReading) return;
    isReading = true;
    try {
      while (isStale && !isOver) {
        isStale = false;
        // Slow readers are cut by the heartbeat of the outlet; until then nothing more is written for them.
        await outlet.drained();
        const { asks, nextCursor } = await listAsks(services, { caller, order: "newest", limit: ASKS_WATCHED_MAX });
        const id = digestOf(asks, nextCursor);
        if (id !== sent && !isOver) outlet.send({ count: asks.length, isMore: nextCursor !== undefined }, id);
        sent = id;
        await services.clock.sleep(READ_EVERY_MS, outlet.closed);
      }
    } catch (error) {
      log.info({ requestId: request.id, code: (error as { readonly code?: string }).code }, "stream of changes ended early");
      end();
    } finally {
      isReading = false;
    }
  }

  function end(): void {
    if (isOver) return;
    isOver = true;
    outlet.endUnanswered(RETRY_MS);
  }

  let beats = Math.floor(Math.random() * BEATS_BETWEEN_READS); // not all streams at once
  const stopBeat = heartbeat.onBeat(() => {
    beats += 1;
    if (beats % BEATS_BETWEEN_READS === 0) void read();
  });
  let stopWatching: (() => void) | undefined;
  closing.addEventListener("abort", end);
  outlet.onClose(() => {
    isOver = true;
    closing.removeEventListener("abort", end);
    stopBeat();
    stopWatching?.();
    release();
    leave();
  });
  const tenant = caller.tenant === DEFAULT_TENANT ? {} : { tenant: caller.tenant };
  outlet.open();
  try {
    stopWatching = await services.wakeUps.watchAsked({ ...tenant, names: namesOfCaller(caller) }, () => void read());
    if (isOver) stopWatching();
  } catch {
    return end();
  }
  // What changed before the watch began.
  if (closing.aborted) end();
  else await read();
}

function digestOf(asks: readonly AskSummary[], nextCursor: string | undefined): string {
  const text = JSON.stringify([
    asks.map(({ taskId, key, askedAtMs, accepted, claimedBy, commentCount }) => [
      taskId,
      key,
      askedAtMs,
      accepted,
      claimedBy?.principal,
      claimedBy?.untilMs,
      commentCount,
    ]),
    nextCursor !== undefined,
  ]);
  return hash("sha256", text, "base64url").slice(0, 22);
}
