/** Libraries that limit how much is done at once, as plain code: when they start what, and which of their promises waits for which. Locks are in locks.ts. */
export const LIMITERS = ["p-limit", "p-map"] as const;
export type Limiter = (typeof LIMITERS)[number];

type Work<T> = () => Promise<T>;

/** Does work for each item, as people would with that library. */
export async function limited<T>(
  limiter: Limiter,
  items: readonly number[],
  concurrency: number,
  work: (item: number) => Promise<T>,
): Promise<readonly T[]> {
  switch (limiter) {
    case "p-limit": {
      const limit = createLimit(concurrency);
      return await Promise.all(items.map((item) => limit(() => work(item))));
    }
    case "p-map":
      return await mapped(items, work, concurrency);
  }
}

function createLimit(concurrency: number) {
  const queue: (() => void)[] = [];
  let active = 0;
  const resume = () => {
    if (active >= concurrency || queue.length === 0) return;
    active += 1;
    queue.shift()?.();
  };
  const run = async <T>(work: Work<T>, resolve: (result: Promise<T>) => void): Promise<void> => {
    const result = (async () => work())();
    resolve(result);
    try {
      await result;
    } catch {
      // Its caller is told.
    }
    active -= 1;
    resume();
  };
  const enqueue = <T>(work: Work<T>, resolve: (result: Promise<T>) => void) => {
    void new Promise<void>((turn) => queue.push(turn)).then(() => run(work, resolve));
    void (async () => {
      await Promise.resolve();
      resume();
    })();
  };
  return <T>(work: Work<T>) => new Promise<T>((resolve) => enqueue(work, resolve));
}

function mapped<T>(items: readonly number[], mapper: (item: number) => Promise<T>, concurrency: number): Promise<readonly T[]> {
  return new Promise((resolve, reject) => {
    const results: T[] = [];
    let index = 0;
    let open = items.length;
    const next = () => {
      const at = index;
      index += 1;
      if (at >= items.length) return;
      void (async () => {
        try {
          const item = await Promise.resolve(items[at] as number);
          results[at] = await mapper(item);
          open -= 1;
          if (open === 0) resolve(results);
          next();
        } catch (error) {
          reject(error as Error);
        }
      })();
    };
    for (let lane = 0; lane < concurrency; lane += 1) next();
  });
}
