import { OVER } from "../over.ts";
import type { Services } from "./services.ts";

/** A task's wake-ups, as something to wait for. Read the task after it began, and again after each `next`: no change is missed. */
export interface TaskWatch {
  /** Resolves when something may have changed since the last call: a wake-up, `wake`, or five seconds without either. */
  next(): Promise<void>;
  wake(): void;
  close(): void;
}

/** Bounds what a lost wake-up can cost. */
const REREAD_MS = 5_000;

/** Resolves once no later change of the task can be missed; the task need not exist yet. */
export async function watchTask({ wakeUps, clock }: Services, taskId: string): Promise<TaskWatch> {
  let woken = false;
  let resolveNext: () => void = () => undefined;
  const wake = () => {
    woken = true;
    resolveNext();
  };
  const close = await wakeUps.watch(taskId, wake);
  // What changed before is seen by the first read.
  woken = false;
  return {
    async next() {
      if (!woken) {
        const rest = new AbortController();
        await new Promise<void>((resolve) => {
          resolveNext = resolve;
          void clock.sleep(REREAD_MS, rest.signal).then(resolve);
        });
        rest.abort(OVER);
      }
      woken = false;
    },
    wake,
    close,
  };
}
