/** The queue of runs, as BullMQ is: a run that waits or is at work is known by its task and number, and adding it again does nothing. */
import type { RunQueue, RunRef } from "@parley/core";

export interface WorkQueue extends RunQueue {
  readonly waiting: RunRef[];
  /** Every run that was ever added. */
  readonly added: RunRef[];
  /** A worker is done with a run. */
  done(run: RunRef): void;
  /** A worker died with a run: it is handed out again. */
  stalled(run: RunRef): void;
}

export function createWorkQueue(): WorkQueue {
  const known = new Set<string>();
  const nameOf = ({ taskId, run }: RunRef) => `${taskId} ${run}`;
  const waiting: RunRef[] = [];
  const added: RunRef[] = [];
  return {
    waiting,
    added,
    async add({ taskId, run }) {
      if (known.has(nameOf({ taskId, run }))) return;
      known.add(nameOf({ taskId, run }));
      waiting.push({ taskId, run });
      added.push({ taskId, run });
    },
    done: (run) => void known.delete(nameOf(run)),
    stalled: (run) => void waiting.push(run),
  };
}
