import type { Services } from "./services.ts";

/** Files that changed more recently are skipped: their task may be about to take them. */
const IDLE_MS = 60 * 60_000;

/**
 * Removes the files of tasks that no longer exist, and the remains of uploads whose process died. Any process may do
 * this, also several at once.
 */
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
