/**
 * What tool authors read from besides ctx, as plain code: caches, clients, memoised promises, batches. One for each process, so that one worker is
 * warm where another one is cold. Every read is to be awaited; it may be ready at once, in a few microtasks, or after a while.
 */
export const SOURCES = ["cache", "layered", "client", "memo", "batch", "retried", "failing"] as const;
export type Source = (typeof SOURCES)[number];

export interface Supply {
  /** Something far away. Takes a time of its own. */
  fetch(): Promise<void>;
  readonly config: Promise<void>;
  /** Whether something happens that depends on others: another task has read the same, the service is busy. */
  chance(probability: number): boolean;
  /** Lets time pass before another try. */
  pause(): Promise<void>;
}

export interface Library {
  /** What the module has begun to load before any run. */
  readonly config: Promise<void>;
  read(source: Source, row: string): Promise<void>;
}

/** How often another task has fetched a row before. */
const WARM = 0.35;
/** How often a row that was at hand has expired. */
const EXPIRED = 0.15;
const BUSY = 0.3;
const TRIES = 3;

class Busy extends Error {}

export function createLibrary({ fetch, config, chance, pause }: Supply): Library {
  const near = new Set<string>();
  const far = new Set<string>();
  const promised = new Map<string, Promise<string>>();
  let client: Promise<{ get(row: string): Promise<string> }> | undefined;
  let batch: { readonly rows: Set<string>; readonly loaded: Promise<void> } | undefined;

  async function fetchRow(row: string): Promise<string> {
    await fetch();
    return row;
  }

  function has(layer: Set<string>, row: string): boolean {
    if (layer.has(row) ? chance(EXPIRED) : !chance(WARM)) layer.delete(row);
    else layer.add(row);
    return layer.has(row);
  }

  async function cached(row: string): Promise<string> {
    if (has(near, row)) return row;
    const found = await fetchRow(row);
    near.add(row);
    return found;
  }

  /** A layer in memory, one that answers a few microtasks later, and the service. */
  async function layered(row: string): Promise<string> {
    const first = await Promise.resolve(has(near, row));
    if (first) return row;
    const second = await (async () => await Promise.resolve(has(far, row)))();
    const found = second ? row : await fetchRow(row);
    near.add(row);
    far.add(row);
    return found;
  }

  async function connect(): Promise<{ get(row: string): Promise<string> }> {
    await fetch();
    return { get: cached };
  }

  async function byClient(row: string): Promise<string> {
    client ??= connect();
    const connected = await client;
    return await connected.get(row);
  }

  /** Not an async function: callers share the promise itself, also one of an earlier run. */
  function memoised(row: string): Promise<string> {
    const promise = promised.get(row) ?? fetchRow(row);
    promised.set(row, promise);
    return promise;
  }

  /** As dataloader: what is asked for in one turn is fetched together. */
  async function batched(row: string): Promise<string> {
    if (!batch) {
      const loaded = Promise.withResolvers<void>();
      batch = { rows: new Set(), loaded: loaded.promise };
      process.nextTick(() => {
        batch = undefined;
        fetch().then(loaded.resolve, loaded.reject);
      });
    }
    batch.rows.add(row);
    await batch.loaded;
    return row;
  }

  async function attempt(row: string): Promise<string> {
    if (chance(BUSY)) throw new Busy();
    return await cached(row);
  }

  /** As p-retry. */
  async function retried<T>(work: () => Promise<T>): Promise<T> {
    for (let tried = 1; ; tried += 1) {
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof Busy)) throw error;
        if (tried < TRIES) await pause();
      }
    }
  }

  /** A cache that throws now and then, and is then passed by. */
  async function failing(row: string): Promise<string> {
    try {
      return await attempt(row);
    } catch {
      return await fetchRow(row);
    }
  }

  const reads: Readonly<Record<Source, (row: string) => Promise<string>>> = {
    cache: cached,
    layered,
    client: byClient,
    memo: memoised,
    batch: batched,
    retried: (row) => retried(() => attempt(row)),
    failing,
  };
  return {
    config,
    async read(source, row) {
      const found = await reads[source](row);
      if (found !== row) throw new Error(`${found} was read in place of ${row}`);
    },
  };
}
