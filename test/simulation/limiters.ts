/** Libraries that limit how much is done at once, as plain code: when they start what, and which of their promises waits for which. */
export const LIMITERS = ["p-limit", "p-map", "p-queue", "async-mutex"] as const;
export type Limiter = (typeof LIMITERS)[number];

/** Locks: one that runs what is left with it, and one that lets others through. */
export const LOCKS = ["async-lock", "semaphore"] as const;
export type Lock = (typeof LOCKS)[number];

type Work<T> = () => Promise<T>;
type Exclusively = <T>(work: Work<T>) => Promise<T>;

export function createLocks(): Readonly<Record<Lock, Exclusively>> {
  return { "async-lock": createAsyncLock(), semaphore: createSemaphore() };
}

/** Runs the next one's work in a reaction to the one before. */
function createAsyncLock(): Exclusively {
  const queue: (() => void)[] = [];
  let isBusy = false;
  const letGo = () => {
    isBusy = false;
    queue.shift()?.();
  };
  return (work) =>
    new Promise((resolve, reject) => {
      const start = () => {
        isBusy = true;
        void work().then(
          (result) => {
            resolve(result);
            letGo();
          },
          (error: unknown) => {
            reject(error as Error);
            letGo();
          },
        );
      };
      if (isBusy) queue.push(start);
      else start();
    });
}

function createSemaphore(): Exclusively {
  const waiting: (() => void)[] = [];
  let isBusy = false;
  return async (work) => {
    if (isBusy) await new Promise<void>((proceed) => waiting.push(proceed));
    isBusy = true;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else isBusy = false;
    }
  };
}

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
    case "p-queue": {
      const queue = createQueue(concurrency);
      return await Promise.all(items.map((item) => queue.add(() => work(item))));
    }
    case "async-mutex": {
      const mutex = createMutex();
      return await Promise.all(items.map((item) => mutex.runExclusive(() => work(item))));
    }
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

function createQueue(concurrency: number) {
  const queue: (() => Promise<void>)[] = [];
  let pending = 0;
  const start = () => {
    if (pending >= concurrency) return;
    const job = queue.shift();
    if (!job) return;
    pending += 1;
    void job();
  };
  return {
    add<T>(work: Work<T>): Promise<T> {
      return new Promise((resolve, reject) => {
        queue.push(async () => {
          try {
            resolve(await work());
          } catch (error) {
            reject(error as Error);
          } finally {
            pending -= 1;
            start();
          }
        });
        start();
      });
    },
  };
}

function createMutex() {
  const queue: ((release: () => void) => void)[] = [];
  let isLocked = false;
  const dispatch = () => {
    const next = isLocked ? undefined : queue.shift();
    if (!next) return;
    isLocked = true;
    next(() => {
      isLocked = false;
      dispatch();
    });
  };
  const acquire = () =>
    new Promise<() => void>((resolve) => {
      queue.push(resolve);
      dispatch();
    });
  return {
    async runExclusive<T>(work: Work<T>): Promise<T> {
      const release = await acquire();
      try {
        return await work();
      } finally {
        release();
      }
    },
  };
}
