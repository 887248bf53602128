import { useEffect, useState } from "preact/hooks";

const PAUSE_MS = 500;

/**
 * Half a second in which nothing is sent. The second click of a double click, or a second Enter, was meant for what was on the page before: without the pause
 * it would answer the next question unread.
 */
export function usePause(isPausedAtFirst: boolean): readonly [isPaused: boolean, pause: () => void] {
  const [isPaused, setPaused] = useState(isPausedAtFirst);
  useEffect(() => {
    if (!isPaused) return;
    const timer = setTimeout(() => setPaused(false), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [isPaused]);
  return [isPaused, () => setPaused(true)];
}

/** A key that is held down sends a form once. In a text of several lines it adds lines. */
export function submitOnce(event: KeyboardEvent): void {
  if (event.key === "Enter" && event.repeat && !(event.target instanceof HTMLTextAreaElement)) event.preventDefault();
}
