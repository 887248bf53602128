/** Work that nobody waits for, until the gateway closes. */
import { describeError, type Log } from "@parley/core";

export interface Background {
  /** Logs the error if the work fails. */
  start(work: Promise<void>): void;
  size(): number;
  /** Resolves when the work in progress has ended. */
  settled(): Promise<void>;
}

export function createBackground(log: Log): Background {
  const all = new Set<Promise<void>>();
  return {
    start(work) {
      const done = work
        .catch((error: unknown) => log.warn(describeError(error), "gateway could not follow up on a task"))
        .finally(() => void all.delete(done));
      all.add(done);
    },
    size: () => all.size,
    async settled() {
      await Promise.all(all);
    },
  };
}
