import type { TaskPage } from "../ports.ts";
import type { Services } from "./services.ts";

/** The principal's tasks, newest first. Throws INVALID_CURSOR for a cursor that no earlier page gave out. */
export async function listTasks({ store }: Services, request: { principal: string; limit: number; cursor?: string }): Promise<TaskPage> {
  return await store.list(request);
}
