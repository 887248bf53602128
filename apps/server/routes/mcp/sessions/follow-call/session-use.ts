/**
 * A client that waits for a person uses its session: the stream renews it. If the session expired, the answer could not be delivered; when it has
 * ended, the stream ends too.
 */
import type { SessionExchange, SessionRoute } from "../session-route.ts";

/** A stream renews its session this many times per session TTL. */
const SESSION_RENEWALS = 4;

export interface SessionUse {
  readonly isOver: boolean;
  /** The stream is still open. From its first beat on the session is watched, because most calls do not last that long. */
  beat(): void;
  stop(): void;
}

export function useSession(route: SessionRoute, { session: { id } }: Pick<SessionExchange, "session">, onOver: () => void): SessionUse {
  const { services, sessions, times, log } = route;
  let isOver = false;
  let isWatching = false;
  let isStopped = false;
  let unwatch = () => undefined as void;
  let usedAtMs = services.clock.now();

  function over(): void {
    isOver = true;
    onOver();
  }

  function renew(): void {
    usedAtMs = services.clock.now();
    sessions.touch(id, times.sessionTtlMs).then(
      (session) => session ?? over(),
      (error: unknown) => log.warn({ err: error }, "session could not be renewed"),
    );
  }

  async function watch(): Promise<void> {
    isWatching = true;
    const stop = await sessions.watch(id, (hasEnded) => hasEnded && over()).catch(() => undefined);
    if (isStopped) return stop?.();
    if (stop) unwatch = stop;
    // It may have ended before. If Redis is away, a later renewal finds out.
    renew();
  }

  return {
    get isOver() {
      return isOver;
    },
    beat() {
      if (!isWatching) void watch();
      else if (services.clock.now() - usedAtMs >= times.sessionTtlMs / SESSION_RENEWALS) renew();
    },
    stop() {
      isStopped = true;
      unwatch();
    },
  };
}
