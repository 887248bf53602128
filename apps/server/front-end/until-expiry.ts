import type { Caller } from "@parley/core";
import type { FrontEnd } from "./front-end.ts";
import type { Lifecycle } from "./lifecycle.ts";

export interface Ends extends Pick<Lifecycle, "closing" | "ending"> {
  /** To be called when the request is over. */
  release(): void;
}

/**
 * The end of this front end, and of the caller's credentials, as a held request sees it. A request is judged once, when it comes, and would be
 * held for days after its token has expired. So the end of its token counts as the end of this front end: its stream ends, its call is handed
 * over, and its client comes back, with another token.
 *
 * Looked at with each heartbeat, since front ends hold ten thousand streams: that is how long one may outlive its token.
 */
export function untilExpiry(
  { lifecycle, heartbeat, services }: Pick<FrontEnd, "lifecycle" | "heartbeat" | "services">,
  { expiresAtMs }: Pick<Caller, "expiresAtMs">,
): Ends {
  const { closing, ending } = lifecycle;
  if (expiresAtMs === undefined) return { closing, ending, release: () => undefined };
  const [toClose, toEnd] = [new AbortController(), new AbortController()];
  const close = () => toClose.abort();
  const end = () => toEnd.abort();
  if (closing.aborted) close();
  if (ending.aborted) end();
  closing.addEventListener("abort", close);
  ending.addEventListener("abort", end);
  const stopBeat = heartbeat.onBeat(() => {
    if (services.clock.now() < expiresAtMs) return;
    close();
    end();
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
