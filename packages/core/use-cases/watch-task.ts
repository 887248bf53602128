import { OVER } from "../over.ts";
import type { TaskChange } from "../ports.ts";
import type { Services } from "./services.ts";

/** A task's wake-ups, as something to wait for. Read the task after it began, and again after each `next`: no change is missed. */
export interface TaskWatch {
  /**
   * Resolves when something may have changed since the last call: a wake-up, `wake`, or five seconds without either. With the revision at which the task
   * was last read, wake-ups for that one and those before do not count.
   */
  next(readAt?: number): Promise<void>;
  wake(): void;
  close(): void;
}

/** Bounds what a lost wake-up can cost. */
const REREAD_MS = 5_000;

/** Resolves once no later change of the task can be missed; the task need not exist yet. */
export async function watchTask({ wakeUps, clock }: Pick<Services, "wakeUps" | "clock">, taskId: string): Promise<TaskWatch> {
  /** The newest revision of which a wake-up came since the last `next`; infinite where it is not known. */
  let heard = 0;
  let onHeard: () => void = () => undefined;
  const hear = ({ revision }: Pick<TaskChange, "revision"> = { revision: Infinity }) => {
    heard = Math.max(heard, revision);
    onHeard();
  };
  const close = await wakeUps.watch(taskId, hear);
  // What changed before is seen by the first read.
  heard = 0;
  return {
    async next(readAt = 0) {
      if (heard <= readAt) {
        const rest = new AbortController();
        await new Promise<void>((resolve) => {
          onHeard = () => {
            if (heard > readAt) resolve();
          };
          void clock.sleep(REREAD_MS, rest.signal).then(resolve);
        });
        rest.abort(OVER);
      }
      heard = 0;
    },
    wake: () => hear(),
    close,
  };
}
