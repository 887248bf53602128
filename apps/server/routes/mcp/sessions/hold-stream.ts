/**
 * A front end's hold on a stream of a session. It shows the other front ends that the stream is alive, so that each ask is sent on one
 * stream only.
 */
import { type Ask, ParleyError, type PutAsk, type Services } from "@parley/core";
import type { Limits, Times } from "../../../front-end/limits.ts";
import { markOf } from "./asks.ts";
import type { SessionRoute } from "./session-route.ts";

export interface StreamHold {
  /** True once another holder has taken over the stream, or the session no longer exists. */
  readonly lost: boolean;
  /** Marks of the task's asks that were already on the stream when this hold took it over. */
  sentBefore(taskId: string): readonly string[];
  /**
   * Claims an ask for this stream as the event with that number. `claimed`: send it. `put`: it is already on this stream. `elsewhere`:
   * another stream has it. Event numbers must grow, also from one holder to the next.
   */
  claim(question: { readonly taskId: string; readonly ask: Ask; readonly event: number }): Promise<"claimed" | "put" | "elsewhere">;
  drop(): Promise<void>;
}

/** The name of the session's own stream. */
export const STANDALONE = "standalone";

/** Asks that one session has open on its streams at once. */
const CLAIMS_MAX = 2_000;

/** A hold expires this many heartbeats after its last renewal. */
const LEASE_BEATS = 3;

export interface HoldStream {
  readonly sessionId: string;
  readonly stream: string;
  /** Number of the last event that the client has read; 0 for a new stream. */
  readonly after: number;
  /** Called when the session changes: another stream begins or ends, the session follows something else, or the hold is lost. */
  readonly onChange: () => void;
}

/** The part of the route that a hold needs. */
interface HoldRoute extends Pick<SessionRoute, "sessions" | "heartbeat" | "log"> {
  readonly limits: Pick<Limits, "sessionWaitsMax">;
  readonly services: Pick<Services, "ids" | "clock">;
  readonly times: Pick<Times, "keepAliveMs" | "sessionTtlMs">;
}

/** Throws UNAVAILABLE, TOO_MANY_CALLS; nothing is held then. */
export async function holdStream(route: HoldRoute, { sessionId, stream, after, onChange }: HoldStream): Promise<StreamHold> {
  const { sessions, services, heartbeat, limits, times, log } = route;
  const token = services.ids.uuid();
  const hold = () => ({ sessionId, stream, token, nowMs: services.clock.now(), leaseMs: LEASE_BEATS * times.keepAliveMs });
  let isHeld = false;
  let lost = false;
  let put: ReadonlyMap<string, readonly PutAsk[]> = new Map();
  /** The session has changed since the last renewal began. */
  let changed = false;
  let isRenewing = false;
  /**
   * Renews the hold and the session. One renewal at a time: each stream that is opened or left is a change for all streams of the session, and
   * a client may open and leave a hundred of them again and again.
   */
  const renew = async () => {
    if (!isHeld || isRenewing) return;
    isRenewing = true;
    do {
      const isReported = changed;
      changed = false;
      try {
        const [kept] = await Promise.all([sessions.keepStream(hold()), sessions.touch(sessionId, times.sessionTtlMs)]);
        lost ||= kept === "lost";
        if (isReported || lost) onChange();
      } catch (error) {
        // Redis is unavailable: the next beat tries again.
        log.warn({ err: error }, "hold on a stream could not be renewed");
        changed ||= isReported;
        break;
      }
    } while (changed);
    isRenewing = false;
  };
  // Renewing before the hold is written would find another holder and report the stream as lost.
  const unwatch = await sessions.watch(sessionId, () => {
    changed = true;
    void renew();
  });
  const stopBeat = heartbeat.onBeat(() => void renew());
  async function drop(): Promise<void> {
    stopBeat();
    unwatch();
    await sessions
      .dropStream({ sessionId, stream, token })
      .catch((error: unknown) => log.warn({ err: error }, "hold on a stream could not be released"));
  }
  try {
    const became = await sessions.holdStream({ ...hold(), after, most: limits.sessionWaitsMax });
    if (became.type === "full")
      throw new ParleyError("TOO_MANY_CALLS", `${limits.sessionWaitsMax} streams of this session (PARLEY_SESSION_WAITS_MAX) are open`);
    lost = became.type === "gone";
    put = became.type === "held" ? Map.groupBy(became.put, ({ taskId }) => taskId) : put;
  } catch (error) {
    // The hold may still be written, and would block the asks of the session until its lease ends.
    void drop();
    throw error;
  }
  isHeld = true;
  if (changed) void renew();
  return {
    get lost() {
      return lost;
    },
    sentBefore: (taskId) => (put.get(taskId) ?? []).map(markOf),
    async claim({ taskId, ask: { key, refused }, event }) {
      const refusals = refused?.count ?? 0;
      const nowMs = services.clock.now();
      const claimed = await sessions.claimAsk({ sessionId, stream, token, taskId, key, refusals, event, nowMs, most: CLAIMS_MAX });
      if (claimed !== "full") return claimed;
      log.warn({ taskId, most: CLAIMS_MAX }, "session has too many open questions");
      return "elsewhere";
    },
    drop,
  };
}
