/** Between two pictures of a flood: a page that draws each of a thousand lines a second has no time left for its reader. */
const APART_MS = 80;

/** Calls `publish` with the next frame, however often something changes, and not more than a dozen times a second. */
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
    // A tab that nobody looks at has no frames.
    if (document.hidden) setTimeout(now, Math.max(0, waitMs));
    else if (waitMs > 0) setTimeout(() => requestAnimationFrame(now), waitMs);
    else requestAnimationFrame(now);
  };
}
