import type { Caller } from "@parley/core";
import type { FrontEnd } from "./front-end.ts";
import type { Lifecycle } from "./lifecycle.ts";

export interface EndSignals extends Pick<Lifecycle, "closing" | "ending"> {
  /** Stops listening. Call it when the request is over. */
  release(): void;
}

/**
 * The signals that end a held request: the shutdown of this front end, the expiry of the caller's token, and a logout. Credentials are checked
 * only when a request arrives, so it could otherwise be held for days after its token has expired. Expiry is therefore treated like a
 * shutdown: the stream ends, the call is handed over, and the client comes back with another token.
 *
 * Both are checked at each heartbeat rather than with a timer per stream, because a front end holds ten thousand streams. A stream
 * outlives its token or login by one heartbeat at most.
 */
export function untilExpiry(
  { lifecycle, heartbeat, services }: Pick<FrontEnd, "lifecycle" | "heartbeat" | "services">,
  { expiresAtMs = Infinity, hasLoggedOut }: Pick<Caller, "expiresAtMs" | "hasLoggedOut">,
): EndSignals {
  const { closing, ending } = lifecycle;
  if (expiresAtMs === Infinity && !hasLoggedOut) return { closing, ending, release: () => undefined };
  const [toClose, toEnd] = [new AbortController(), new AbortController()];
  const close = () => toClose.abort();
  const end = () => toEnd.abort();
  if (closing.aborted) close();
  if (ending.aborted) end();
  closing.addEventListener("abort", close);
  ending.addEventListener("abort", end);
  const over = () => {
    close();
    end();
  };
  const stopBeat = heartbeat.onBeat(() => {
    if (services.clock.now() >= expiresAtMs) return over();
    // While Redis is away nobody can log out.
    return void hasLoggedOut?.().then(
      (has) => has && over(),
      () => undefined,
    );
  });
  return {
    closing: toClose.signal,
    ending: toEnd.signal,
    release() {
      closing.removeEventListener("abort", close);
      ending.removeEventListener("abort", end);
      stopBeat();
    },
  };
}
