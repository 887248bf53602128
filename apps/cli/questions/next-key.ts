/** What a task asks a person next, once they have answered at the terminal. */
import { setTimeout as sleep } from "node:timers/promises";
import { ApiError, type ApiClient } from "../client/api-client.ts";
import { readAsk } from "./answer-ask.ts";

/** A tool asks on within some hundredths of a second. A person waits no longer than this for what may not come. */
const WAIT_MS = 1_000;
const LOOK_EVERY_MS = 100;

/**
 * Undefined if the task asks this person nothing but `known` and what they have put aside, or not soon enough, or if that cannot be read: the answer
 * before counts all the same.
 */
export async function nextKey(api: ApiClient, taskId: string, known: ReadonlySet<string>): Promise<string | undefined> {
  const passed = new Set(known);
  try {
    for (let waitedMs = 0; ; waitedMs += LOOK_EVERY_MS) {
      const task = await api.get("/tasks/{taskId}", { path: { taskId } }).catch(missing);
      for (const { key } of task?.asks.filter((each) => !passed.has(each.key)) ?? []) {
        const ask = await readAsk(api, taskId, key);
        if (ask?.state === "open" && ask.snoozedUntil === undefined) return key;
        passed.add(key);
      }
      const isOver = task && task.status !== "working" && task.status !== "input_required";
      if (isOver || waitedMs >= WAIT_MS) return undefined;
      await sleep(LOOK_EVERY_MS);
    }
  } catch (error) {
    if (error instanceof ApiError) return undefined;
    throw error;
  }
}

/** While it asks them nothing, a task of somebody else does not exist for them. */
function missing(error: unknown): undefined {
  if (error instanceof ApiError && error.status === 404) return undefined;
  throw error;
}
