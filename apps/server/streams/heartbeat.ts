import { LONGEST_TIMER_MS } from "@parley/core";

/** One timer for all open streams of the process, of which there may be ten thousand. */
export interface Heartbeat {
  /** Calls `beat` regularly until the returned function is called. */
  onBeat(beat: () => void): () => void;
  stop(): void;
}

export function heartbeat(everyMs: number): Heartbeat {
  const beats = new Set<() => void>();
  const beatAll = () => {
    for (const beat of beats) beat();
  };
  // Node treats a longer interval as one millisecond.
  const timer = setInterval(beatAll, Math.min(everyMs, LONGEST_TIMER_MS));
  timer.unref();
  return {
    onBeat(beat) {
      beats.add(beat);
      return () => beats.delete(beat);
    },
    stop() {
      clearInterval(timer);
      beats.clear();
    },
  };
}
