import { type TaskWatch, watchTask } from "@parley/core";
import type { FrontEnd } from "../../../front-end/front-end.ts";
import type { Gate } from "../../../front-end/gate.ts";

interface Holds extends Pick<FrontEnd, "services"> {
  readonly waits: Pick<Gate, "enter">;
}

/**
 * Answers a request that stays open for its task: takes its place among those that wait, and watches the task, which need not exist yet, while
 * `work` runs. Throws what `waits` throws when there is no place.
 */
export async function holdOpen<T>({ waits, services }: Holds, taskId: string, work: (watch: TaskWatch) => Promise<T>): Promise<T> {
  const leave = waits.enter();
  try {
    const watch = await watchTask(services, taskId);
    try {
      return await work(watch);
    } finally {
      watch.close();
    }
  } finally {
    leave();
  }
}
