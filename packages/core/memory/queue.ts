/** The run queue in memory: a list, handed out in order. */
import type { RunQueue, RunRef } from "../ports.ts";

export interface MemoryQueue extends RunQueue {
  /** Runs that wait for a worker. */
  readonly waiting: readonly RunRef[];
  /**
   * Starts to hand out runs, at most `concurrency` at once. A run that throws is dropped; the sweep will find its
   * task overdue.
   */
  consume(request: { readonly concurrency: number; readonly run: (ref: RunRef) => Promise<void> }): { close(): Promise<void> };
}

type AddedRun = Parameters<RunQueue["add"]>[0];

/** As in the Redis queue: a job that an answer added too early must not block the run that it overtook. */
function jobIdOf({ taskId, run, cause }: AddedRun): string {
  return cause === "overtaken" ? `${taskId}.${run}.${cause}` : `${taskId}.${run}`;
}

/**
 * A first-in, first-out queue. As in the Redis queue, a run is identified by task and number only while it is queued
 * or active.
 */
export function createMemoryQueue(): MemoryQueue {
  const waiting: AddedRun[] = [];
  const known = new Set<string>();
  let wake: () => void = () => undefined;

  return {
    waiting,
    async add(ref) {
      const jobId = jobIdOf(ref);
      if (known.has(jobId)) return;
      known.add(jobId);
      waiting.push(ref);
      wake();
    },
    consume({ concurrency, run }) {
      const atWork = new Set<Promise<void>>();
      let open = true;
      const take = () => {
        while (open && atWork.size < concurrency) {
          const ref = waiting.shift();
          if (!ref) return;
          const working = run(ref)
            .catch(() => undefined)
            .then(() => {
              known.delete(jobIdOf(ref));
              atWork.delete(working);
              take();
            });
          atWork.add(working);
        }
      };
      wake = () => queueMicrotask(take);
      wake();
      return {
        async close() {
          open = false;
          wake = () => undefined;
          await Promise.all(atWork);
        },
      };
    },
  };
}
