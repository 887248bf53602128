/**
 * Divides a worker's places for runs between its queues and its lanes. Together they use no more places than the worker has, and no job is fetched to
 * wait here while another worker is free: each queue keeps one place for itself and fetches no more than the lanes leave it.
 */
export interface Places {
  /** The queues took a run, by their own count; it was theirs to take. */
  entered(): void;
  left(): void;
  /** For a lane: takes a place if one is free; never waits. */
  tryTake(): boolean;
  /** A run of a lane has ended. */
  giveBack(): void;
  /** How many runs each queue may have at work now: one at least. */
  perQueue(): number;
}

export interface PlacesOptions {
  readonly concurrency: number;
  /** Partitions that are served. */
  readonly queues: () => number;
  /** Called when `perQueue` may be another. */
  readonly changed: () => void;
}

export function createPlaces({ concurrency, queues, changed }: PlacesOptions): Places {
  let ofQueues = 0;
  let ofLanes = 0;

  function change(by: 1 | -1): void {
    ofLanes += by;
    changed();
  }

  return {
    entered: () => void (ofQueues += 1),
    left: () => void (ofQueues -= 1),
    tryTake() {
      if (ofLanes >= concurrency - queues() || ofLanes + ofQueues >= concurrency) return false;
      change(1);
      return true;
    },
    giveBack: () => change(-1),
    perQueue: () => Math.max(1, Math.ceil((concurrency - ofLanes) / Math.max(1, queues()))),
  };
}
