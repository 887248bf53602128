/** Minimum time between two updates: a page that renders every one of a thousand lines per second does not respond to its reader. */
const APART_MS = 80;

/** Calls `publish` with the next frame, at most a dozen times per second, however often something changes. */
export function perFrame(publish: () => void): () => void {
  let isPlanned = false;
  let lastMs = Number.NEGATIVE_INFINITY;

  function now(): void {
    isPlanned = false;
    lastMs = performance.now();
    publish();
  }

  return () => {
    if (isPlanned) return;
    isPlanned = true;
    const waitMs = lastMs + APART_MS - performance.now();
    // A hidden tab has no animation frames.
    if (document.hidden) setTimeout(now, Math.max(0, waitMs));
    else if (waitMs > 0) setTimeout(() => requestAnimationFrame(now), waitMs);
    else requestAnimationFrame(now);
  };
}
