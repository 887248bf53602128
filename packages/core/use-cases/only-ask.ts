/** Which ask an answer belongs to that does not name one. */
import { entryKey } from "../journal.ts";
import { isInternalKey } from "../task.ts";
import { getTask, type TaskRef } from "./get-task.ts";
import type { Services } from "./services.ts";

export interface OnlyAsk {
  /** The key of the only ask so far, open or closed; absent if nothing has been asked, or possibly more than that. */
  readonly only?: string;
  /** The keys of the asks that are open to the caller. */
  readonly open: readonly string[];
}

const ASK = entryKey("ask", "");

/**
 * Finds the only ask of a task so far, to which an answer belongs that does not name its ask (I4). Once a task has
 * asked twice, such an answer may have been given to the first ask: sent again because its reply was lost, or late.
 * Throws TASK_NOT_FOUND.
 */
export async function findOnlyAsk(services: Services, ref: TaskRef): Promise<OnlyAsk> {
  const task = await getTask(services, ref);
  const open = task.asks.map(({ key }) => key);
  const lines = await services.store.journal(task.id);
  const closed = lines.flatMap(({ key }) => (key.startsWith(ASK) ? [key.slice(ASK.length)] : [])).filter((key) => !isInternalKey(key));
  // A restart empties the journal, and what a child asks is in the child's.
  const mayHaveAskedMore = task.generation > 0 || task.calls !== undefined || lines.some(({ child }) => child !== undefined);
  const asks = new Set([...open, ...closed]);
  const [only] = asks;
  if (only === undefined || asks.size > 1 || mayHaveAskedMore) return { open };
  return { only, open };
}
