/**
 * Finds the task that asks a question. A task shows its children's questions among its own, under keys with colons:
 * `book:party-size` is "party-size" of the child that it called as "book". Such a question is answered, refused or
 * visited at the child, by the same code and policy as any other.
 */
import { CALL_DEPTH_MAX, isInternalKey, type Task } from "../task.ts";
import type { Services } from "./services.ts";

export interface Asked {
  readonly taskId: string;
  readonly key: string;
}

/** Whether the key is one that a task shows for a child. */
export function isOfChild(key: string): boolean {
  return key.includes(":") && !isInternalKey(key);
}

/** Undefined if there is and was no such child. `task` saves a read if the caller has it. */
export async function whereAsked({ store }: Pick<Services, "store">, { taskId, key }: Asked, task?: Task): Promise<Asked | undefined> {
  if (!isOfChild(key)) return { taskId, key };
  const open = task?.asks.find((ask) => ask.key === key);
  if (open?.route) return open.route;
  // The ask is closed; the calls in its key say which child it belonged to.
  const calls = key.split(":");
  const own = calls.pop() ?? "";
  if (calls.length > CALL_DEPTH_MAX) return undefined;
  let at: string | undefined = taskId;
  for (const call of calls) at = at === undefined ? undefined : await store.child(at, call);
  return at === undefined ? undefined : { taskId: at, key: own };
}
