import type { TaskStore } from "@parley/core";

/** The store, with each call's duration told; failed ones too. */
export function timedStore(store: TaskStore, told: (operation: string, ms: number) => void): TaskStore {
  const timed = <Args extends unknown[], Reply>(operation: string, call: (...args: Args) => Promise<Reply>) => {
    return async (...args: Args): Promise<Reply> => {
      const startedAtMs = performance.now();
      try {
        return await call(...args);
      } finally {
        told(operation, performance.now() - startedAtMs);
      }
    };
  };
  // Each method keeps its type: only its time is taken.
  return Object.fromEntries(Object.entries(store).map(([name, call]) => [name, timed(name, call as never)])) as unknown as TaskStore;
}
