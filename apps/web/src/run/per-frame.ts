/** Calls `publish` at most once a frame, however often something changes; in a tab that nobody looks at, a few times a second. */
export function perFrame(publish: () => void): () => void {
  let isPlanned = false;
  return () => {
    if (isPlanned) return;
    isPlanned = true;
    const now = () => {
      if (!isPlanned) return;
      isPlanned = false;
      publish();
    };
    if (document.hidden) setTimeout(now, 200);
    else requestAnimationFrame(now);
  };
}
