import type { Services } from "./services.ts";

/**
 * Adds every run that is overdue: deadlines, sleeps, and runs that a lost wake-up, a dead front end or a dead worker
 * left behind. Returns how many it added. Called every second for each partition, by one worker or several: adding a
 * run twice adds it once.
 */
export async function sweep({ store, queue, clock, settings, log }: Services, { partition }: { partition: number }): Promise<number> {
  const runs = await store.overdue({ partition, nowMs: clock.now(), limit: settings.sweepLimit });
  await Promise.all(runs.map((run) => queue.add({ ...run, cause: "overdue" })));
  if (runs.length > 0) log.info({ partition, runs: runs.length }, "overdue runs added");
  return runs.length;
}
