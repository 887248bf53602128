import { type TaskWatch, watchTask } from "@parley/core";
import type { FrontEnd } from "../../../front-end/front-end.ts";

/**
 * Answers a request that stays open for its task: takes its place among those that one front end holds, and watches the task, which need not
 * exist yet, while `work` runs. Throws OVERLOADED when there is no place.
 */
export async function holdOpen<T>(
  { waits, services }: Pick<FrontEnd, "waits" | "services">,
  taskId: string,
  work: (watch: TaskWatch) => Promise<T>,
): Promise<T> {
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
