import type { Services } from "./services.ts";

/** Nothing is looked at that changed later: a task may be about to take it. */
const IDLE_MS = 60 * 60_000;

/** Removes the files of tasks that there are no more, and what uploads left that a process did not survive. Any process may do it, several too. */
export async function sweepFiles({ store, files, log }: Pick<Services, "store" | "files" | "log">, idleMs = IDLE_MS): Promise<number> {
  let removed = 0;
  if (!files) return removed;
  for await (const taskId of files.idle(idleMs)) {
    if (await store.load(taskId)) continue;
    await files.remove(taskId);
    removed += 1;
  }
  if (removed > 0) log.info({ tasks: removed }, "files of ended tasks removed");
  return removed;
}
