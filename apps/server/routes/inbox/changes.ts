/**
 * A stream that tells an open inbox when to look again: its page then asks for itself, and receives 304 if it would be the same.
 *
 * An event says nothing but that something may have changed, so the stream reads nothing, holds nothing that another front end might need,
 * and passes no decision of the policy by: the page that is asked for does. Questions to the owner of a call alone are in no index, and make
 * no event; pages look for these now and then. What somebody asks the owner back is told to the owner by name (join-thread.ts in core).
 */
import { DEFAULT_TENANT, namesOfCaller } from "@parley/core";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { FrontEnd } from "../../front-end/front-end.ts";
import { enterStream, gates } from "../../front-end/gate.ts";
import { untilExpiry } from "../../front-end/until-expiry.ts";
import { Outlet } from "../../streams/outlet.ts";

/** Of one person, on one front end. A page that is not seen has none. */
export const INBOX_STREAMS_MAX = 20;
/** Shortest time between two events of one stream. */
const TELL_EVERY_MS = 250;
/** How soon a browser comes back when its stream has ended. */
const RETRY_MS = 2_000;

export type TellChanges = (request: FastifyRequest, reply: FastifyReply) => Promise<void>;

/**
 * The first event comes at once, for what has changed since the page was written. The stream ends when the page leaves, the login expires
 * or is ended (at the next heartbeat), the page reads nothing, or this front end closes. Throws OVERLOADED and QUOTA_EXCEEDED before anything is sent.
 */
export function createTellChanges(frontEnd: FrontEnd): TellChanges {
  const { services, times, heartbeat } = frontEnd;
  const ofPerson = gates("inbox pages of this person", INBOX_STREAMS_MAX, "QUOTA_EXCEEDED");

  return async (request, reply) => {
    const { caller } = request;
    const leavePerson = ofPerson.enter(caller.principal);
    let leaveAll: () => void;
    try {
      leaveAll = enterStream(frontEnd, caller);
    } catch (error) {
      leavePerson();
      throw error;
    }
    const outlet = new Outlet(request, reply, { heartbeat, stallTimeoutMs: times.stallTimeoutMs });
    const { closing, release } = untilExpiry(frontEnd, caller);
    let isOver = false;
    let isTelling = false;
    let isStale = false;
    let stopWatching: (() => void) | undefined;

    async function tell(): Promise<void> {
      isStale = true;
      if (isTelling) return;
      isTelling = true;
      while (isStale && !isOver) {
        // A page that reads nothing is cut off by the heartbeat of the outlet. Until then nothing more is written for it.
        await outlet.drained();
        isStale = false;
        if (!isOver) outlet.send({});
        await services.clock.sleep(TELL_EVERY_MS, outlet.closed);
      }
      isTelling = false;
    }

    function end(): void {
      if (isOver) return;
      isOver = true;
      outlet.endUnanswered(RETRY_MS);
    }

    closing.addEventListener("abort", end);
    outlet.onClose(() => {
      isOver = true;
      closing.removeEventListener("abort", end);
      stopWatching?.();
      release();
      leaveAll();
      leavePerson();
    });
    outlet.open();
    if (closing.aborted) return end();
    try {
      const tenant = caller.tenant === DEFAULT_TENANT ? {} : { tenant: caller.tenant };
      stopWatching = await services.wakeUps.watchAsked({ ...tenant, names: namesOfCaller(caller) }, () => void tell());
    } catch {
      return end();
    }
    if (isOver) stopWatching();
    else void tell();
  };
}
