import { OVER } from "../over.ts";
import type { TaskChange } from "../ports.ts";
import type { Services } from "./services.ts";

/**
 * A task's wake-ups as something to wait for. Read the task after the watch began, and again after each `next`: no
 * change is missed.
 */
export interface TaskWatch {
  /**
   * Resolves when something may have changed since the last call: after a wake-up, `wake`, or five seconds without
   * either. Given the revision at which the task was last read, wake-ups for that revision and earlier ones do not
   * count.
   */
  next(readAt?: number): Promise<void>;
  wake(): void;
  close(): void;
}

/** Bounds the cost of a lost wake-up. */
const REREAD_MS = 5_000;

/** Resolves once no later change of the task can be missed. The task need not exist yet. */
export async function watchTask({ wakeUps, clock }: Pick<Services, "wakeUps" | "clock">, taskId: string): Promise<TaskWatch> {
  /** The highest revision of wake-ups since the last `next`; infinite if unknown. */
  let heard = 0;
  let onHeard: () => void = () => undefined;
  const hear = ({ revision }: Pick<TaskChange, "revision"> = { revision: Infinity }) => {
    heard = Math.max(heard, revision);
    onHeard();
  };
  const close = await wakeUps.watch(taskId, hear);
  // The first read sees all earlier changes.
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
