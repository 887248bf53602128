import { type TaskWatch, watchNewTask, watchTask } from "@parley/core";
import type { FrontEnd } from "../../../front-end/front-end.ts";
import type { Gate } from "../../../front-end/gate.ts";

interface HoldOpen extends Pick<FrontEnd, "services"> {
  readonly waits: Pick<Gate, "enter">;
}

/**
 * Holds a request open for its task: takes a place among the waiting requests and watches the task while `work` runs. Throws the error of
 * `waits` if there is no place.
 */
export async function holdOpen<T>({ waits, services }: HoldOpen, taskId: string, work: (watch: TaskWatch) => Promise<T>): Promise<T> {
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

/** The same for a task that `work` creates. The watch begins beside the creation, and nothing waits for it. */
export async function holdNew<T>({ waits, services }: HoldOpen, taskId: string, work: (watch: TaskWatch) => Promise<T>): Promise<T> {
  const leave = waits.enter();
  const watch = watchNewTask(services, taskId);
  try {
    return await work(watch);
  } finally {
    watch.close();
    leave();
  }
}
