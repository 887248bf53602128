/**
 * Divides a worker's places for runs between its queues and its lanes. Together they use no more places than the worker has, and no job is fetched to
 * wait here while another worker is free: each queue keeps one place for itself and fetches no more than the lanes leave it.
 *
 * One share (a tenant, or a caller without one) may use all of them, since places that nobody else wants would be idle. Handlers cannot be
 * interrupted, so another share would then wait for one of them to end. For it there are a few places more, in reserve: a lane gives one to a
 * share that has no run in this worker.
 *
 *   places     A A A A A A A A       A has taken everything
 *   reserve    B                     B's first run begins at once; its second waits for its turn
 */
export interface Places {
  /** The queues took a run, by their own count; it was theirs to take. */
  entered(share?: string): void;
  left(share?: string): void;
  /** For a lane: takes a place if one is free, and returns the function that gives it back; never waits. */
  tryTake(share?: string): (() => void) | undefined;
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

/** One place in reserve for so many places, at least one. */
export const PLACES_PER_RESERVED = 8;

export function createPlaces({ concurrency, queues, changed }: PlacesOptions): Places {
  const reserve = Math.ceil(concurrency / PLACES_PER_RESERVED);
  let ofQueues = 0;
  let ofLanes = 0;
  let reserved = 0;
  /** Runs at work, by share. */
  const atWork = new Map<string, number>();

  function count(share: string | undefined, by: 1 | -1): void {
    if (share === undefined) return;
    const runs = (atWork.get(share) ?? 0) + by;
    if (runs > 0) atWork.set(share, runs);
    else atWork.delete(share);
  }

  function change(by: 1 | -1): void {
    ofLanes += by;
    changed();
  }

  return {
    entered(share) {
      ofQueues += 1;
      count(share, 1);
    },
    left(share) {
      ofQueues -= 1;
      count(share, -1);
    },
    tryTake(share) {
      const isFree = ofLanes < concurrency - queues() && ofLanes + ofQueues < concurrency;
      if (!isFree && (share === undefined || atWork.has(share) || reserved >= reserve)) return undefined;
      if (isFree) change(1);
      else reserved += 1;
      count(share, 1);
      return () => {
        count(share, -1);
        if (isFree) change(-1);
        else reserved -= 1;
      };
    },
    perQueue: () => Math.max(1, Math.ceil((concurrency - ofLanes) / Math.max(1, queues()))),
  };
}
