import { createClient, type TaskState } from "../../bench/client.ts";
import { until } from "./until.ts";

/** Waits until the task is as wanted. `url`: of the endpoint; `token`: of the task's owner, where callers need one. */
export async function reaches(url: string, taskId: string, isWanted: (task: TaskState) => boolean, token?: string): Promise<TaskState> {
  const client = createClient(url, 1, token);
  try {
    return await until(async () => {
      const task = await client.get(taskId);
      return isWanted(task) && task;
    });
  } finally {
    client.close();
  }
}
