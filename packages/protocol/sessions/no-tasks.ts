/** For revisions without tasks: no request of theirs leads here, so whoever comes is mistaken. */
import type { TaskEncoder } from "./session-dialect.ts";

export function noTasks(version: string): TaskEncoder {
  const none = (): never => {
    throw new Error(`${version} has no tasks`);
  };
  return {
    createTaskResult: none,
    task: none,
    taskList: none,
    cancelledTask: none,
    inputSent: none,
    taskResult: none,
    taskStatus: none,
  };
}
