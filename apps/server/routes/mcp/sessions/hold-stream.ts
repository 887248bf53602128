/**
 * A stream's hold on its session: says to the other front ends that the stream lives, so that each question is put on one stream only.
 */
import type { Services } from "@parley/core";
import type { Times } from "../../../front-end/limits.ts";
import type { SessionRoute } from "./session-route.ts";

export interface Held {
  /** True once another holder has taken the stream over, or the session is gone. */
  readonly lost: boolean;
  /** Whether the question is put on this stream: it is on no other that lives. */
  claims(taskId: string, key: string): Promise<boolean>;
  drop(): Promise<void>;
}

/** A hold lives this many heartbeats beyond its last renewal. */
const LEASE_BEATS = 3;

export interface HoldStream {
  readonly sessionId: string;
  readonly stream: string;
  /** Called when the session has changed, `lost` included: another stream began or ended, what it follows is another. */
  readonly onChange: () => void;
}

/** As much of a route as a hold needs. */
interface HoldRoute extends Pick<SessionRoute, "sessions" | "heartbeat" | "log"> {
  readonly services: Pick<Services, "ids" | "clock">;
  readonly times: Pick<Times, "keepAliveMs" | "sessionTtlMs">;
}

/** Throws UNAVAILABLE; nothing is held then. */
export async function holdStream(route: HoldRoute, { sessionId, stream, onChange }: HoldStream): Promise<Held> {
  const { sessions, services, heartbeat, times, log } = route;
  const token = services.ids.uuid();
  const hold = () => ({ sessionId, stream, token, nowMs: services.clock.now(), leaseMs: LEASE_BEATS * times.keepAliveMs });
  let holds = false;
  let lost = false;
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
    await sessions.holdStream(hold());
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
    claims: async (taskId, key) =>
      (await sessions.claimAsk({ sessionId, taskId, key, stream, nowMs: services.clock.now() })) !== "elsewhere",
    drop,
  };
}
