/** What a task asks a person next, once they have answered at the terminal. */
import { setTimeout as sleep } from "node:timers/promises";
import { ApiError, type ApiClient } from "../client/api-client.ts";

/** A tool asks on within some hundredths of a second. A person waits no longer than this for what may not come. */
const WAIT_MS = 1_000;
const LOOK_EVERY_MS = 100;

/** Undefined if the task asks this person nothing but `known`, or not soon enough. */
export async function nextKey(api: ApiClient, taskId: string, known: ReadonlySet<string>): Promise<string | undefined> {
  for (let waitedMs = 0; ; waitedMs += LOOK_EVERY_MS) {
    const task = await api.get("/tasks/{taskId}", { path: { taskId } }).catch(missing);
    const next = task?.asks.find(({ key }) => !known.has(key));
    if (next) return next.key;
    const isOver = task && task.status !== "working" && task.status !== "input_required";
    if (isOver || waitedMs >= WAIT_MS) return undefined;
    await sleep(LOOK_EVERY_MS);
  }
}

/** While it asks them nothing, a task of somebody else does not exist for them. */
function missing(error: unknown): undefined {
  if (error instanceof ApiError && error.status === 404) return undefined;
  throw error;
}
