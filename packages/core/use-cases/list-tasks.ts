import type { Caller } from "../callers/caller.ts";
import { owns } from "../callers/policy.ts";
import type { TaskPage } from "../ports.ts";
import type { Services } from "./services.ts";

export interface ListTasks {
  readonly caller: Caller;
  /** Tasks per page. */
  readonly limit: number;
  readonly cursor?: string;
}

/** The caller's own tasks, newest first. Throws INVALID_CURSOR for a cursor that no earlier page returned. */
export async function listTasks({ store }: Services, { caller, ...page }: ListTasks): Promise<TaskPage> {
  const { tasks, ...rest } = await store.list({ ...page, principal: caller.principal });
  return { ...rest, tasks: tasks.filter((task) => owns(caller, task)) };
}
