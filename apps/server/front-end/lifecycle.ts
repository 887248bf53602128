/**
 * The shutdown of a front end, as signals that its parts listen to.
 *
 *   serving ─▶ draining  /readyz returns 503, so that the load balancer stops sending requests; everything is still served
 *           ─▶ closing   no new connection is accepted; listen streams end with their result
 *           ─▶ ending    calls that still wait are handed over to another front end with a requestState
 */
export interface Lifecycle {
  readonly draining: AbortSignal;
  readonly closing: AbortSignal;
  readonly ending: AbortSignal;
  drain(): void;
  close(): void;
  end(): void;
}

export function lifecycle(): Lifecycle {
  const drain = new AbortController();
  const close = new AbortController();
  const end = new AbortController();
  return {
    draining: drain.signal,
    closing: close.signal,
    ending: end.signal,
    drain: () => drain.abort(),
    close: () => close.abort(),
    end: () => end.abort(),
  };
}
