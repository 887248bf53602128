/**
 * A stream's hold on its session: says to the other front ends that the stream lives, so that each question is put on one stream only.
 */
import { type Ask, ParleyError, type PutAsk, type Services } from "@parley/core";
import type { Limits, Times } from "../../../front-end/limits.ts";
import { markOf } from "./asks.ts";
import type { SessionRoute } from "./session-route.ts";

export interface Held {
  /** True once another holder has taken the stream over, or the session is gone. */
  readonly lost: boolean;
  /** The questions of a task that were on the stream as it was taken over, as marks. */
  putBefore(taskId: string): readonly string[];
  /**
   * Whether a question is to be put on this stream, as its event of that number (`claimed`), was put on it before, or is for another stream.
   * Numbers of events must grow, also from one holder to the next.
   */
  claim(question: { readonly taskId: string; readonly ask: Ask; readonly event: number }): Promise<"claimed" | "put" | "elsewhere">;
  drop(): Promise<void>;
}

/** Questions that one session is asked on its streams at once. */
const CLAIMS_MAX = 2_000;

/** A hold lives this many heartbeats beyond its last renewal. */
const LEASE_BEATS = 3;

export interface HoldStream {
  readonly sessionId: string;
  readonly stream: string;
  /** The number of the last event that its client has read; 0 for a new one. */
  readonly after: number;
  /** Called when the session has changed, `lost` included: another stream began or ended, what it follows is another. */
  readonly onChange: () => void;
}

/** As much of a route as a hold needs. */
interface HoldRoute extends Pick<SessionRoute, "sessions" | "heartbeat" | "log"> {
  readonly limits: Pick<Limits, "sessionWaitsMax">;
  readonly services: Pick<Services, "ids" | "clock">;
  readonly times: Pick<Times, "keepAliveMs" | "sessionTtlMs">;
}

/** Throws UNAVAILABLE, TOO_MANY_CALLS; nothing is held then. */
export async function holdStream(route: HoldRoute, { sessionId, stream, after, onChange }: HoldStream): Promise<Held> {
  const { sessions, services, heartbeat, limits, times, log } = route;
  const token = services.ids.uuid();
  const hold = () => ({ sessionId, stream, token, nowMs: services.clock.now(), leaseMs: LEASE_BEATS * times.keepAliveMs });
  let holds = false;
  let lost = false;
  let put: ReadonlyMap<string, readonly PutAsk[]> = new Map();
  /** What holds the stream keeps the session, too. */
  const keep = async (after: () => void) => {
    try {
      const [kept] = await Promise.all([sessions.keepStream(hold()), sessions.touch(sessionId, times.sessionTtlMs)]);
      lost ||= kept === "lost";
      after();
    } catch (error) {
      // Redis is away: the next beat tries again.
      log.warn({ err: error }, "stream not renewed yet");
    }
  };
  // A change that arrives before the hold is written would find another holder, and end the stream as lost.
  let changedBefore = false;
  const unwatch = await sessions.watch(sessionId, () => {
    if (holds) void keep(onChange);
    else changedBefore = true;
  });
  const stopBeat = heartbeat.onBeat(() => void (holds && keep(() => lost && onChange())));
  async function drop(): Promise<void> {
    stopBeat();
    unwatch();
    await sessions.dropStream({ sessionId, stream, token }).catch((error: unknown) => log.warn({ err: error }, "stream not given up yet"));
  }
  try {
    const became = await sessions.holdStream({ ...hold(), after, most: limits.sessionWaitsMax });
    if (became.type === "full")
      throw new ParleyError("TOO_MANY_CALLS", `${limits.sessionWaitsMax} streams of this session (PARLEY_SESSION_WAITS_MAX) are open`);
    lost = became.type === "gone";
    put = became.type === "held" ? Map.groupBy(became.put, ({ taskId }) => taskId) : put;
  } catch (error) {
    // The hold may be written yet, and would block the questions of the session until its lease ends.
    void drop();
    throw error;
  }
  holds = true;
  if (changedBefore) void keep(onChange);
  return {
    get lost() {
      return lost;
    },
    putBefore: (taskId) => (put.get(taskId) ?? []).map(markOf),
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
