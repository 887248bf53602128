/**
 * Whose a question is. A task shows what its children ask among its own questions, under keys with colons: `book:party-size` is "party-size" of the child
 * that it called as "book". Everything that is done about such a question is done at the child, by the same code and the same policy as for any other.
 */
import { CALL_DEPTH_MAX, isInternalKey, type Task } from "../task.ts";
import type { Services } from "./services.ts";

export interface Asked {
  readonly taskId: string;
  readonly key: string;
}

/** Whether a task that has it open would show it for a child. */
export function isOfChild(key: string): boolean {
  return key.includes(":") && !isInternalKey(key);
}

/** Undefined where there is, and was, no such child. `task` has been read already, if it is there. */
export async function whereAsked({ store }: Pick<Services, "store">, { taskId, key }: Asked, task?: Task): Promise<Asked | undefined> {
  if (!isOfChild(key)) return { taskId, key };
  const open = task?.asks.find((ask) => ask.key === key);
  if (open?.route) return open.route;
  // It is not open any more: the calls say whose it was.
  const calls = key.split(":");
  const own = calls.pop() ?? "";
  if (calls.length > CALL_DEPTH_MAX) return undefined;
  let at: string | undefined = taskId;
  for (const call of calls) at = at === undefined ? undefined : await store.child(at, call);
  return at === undefined ? undefined : { taskId: at, key: own };
}
