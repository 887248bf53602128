import type { TaskStore } from "@parley/core";

/** Returns the store with the duration of each call reported, failed calls included. */
export function timedStore(store: TaskStore, report: (operation: string, ms: number) => void): TaskStore {
  const timed = <Args extends unknown[], Reply>(operation: string, call: (...args: Args) => Promise<Reply>) => {
    return async (...args: Args): Promise<Reply> => {
      const startedAtMs = performance.now();
      try {
        return await call(...args);
      } finally {
        report(operation, performance.now() - startedAtMs);
      }
    };
  };
  // The cast is safe: each method keeps its type and is only timed.
  return Object.fromEntries(Object.entries(store).map(([name, call]) => [name, timed(name, call as never)])) as unknown as TaskStore;
}
