/**
 * The fast lane: runs that the store hands to this worker directly, with the answer that made them due (scripts/answer.lua). No job is added, so
 * nothing has to be fetched, locked and put away; see docs/adr/0018-a-lane-beside-the-queue.md.
 *
 *   answer.lua ── PUBLISH <lane> "<task> <run> <told at ms>" ──▶ a place is free: begin, as with a job
 *                                                               none is, or the worker is leaving: it adds the job
 *
 * A word that is lost costs the time until the sweep finds the task, a second or two; one that comes beside a job of the same run is settled by
 * `begin`, as two jobs of one run are. Nothing of the task is kept here between its runs (I9).
 */
import type { Log, RunQueue } from "@parley/core";
import type { TakenRun } from "./consume-runs.ts";
import type { RedisEvents } from "./events.ts";
import { framesOf } from "./frames-of.ts";
import type { Places } from "./places.ts";

export interface LaneOptions {
  readonly channel: string;
  readonly events: Pick<RedisEvents, "listen">;
  readonly log: Log;
  readonly places: Places;
  readonly run: (run: TakenRun) => Promise<unknown>;
  readonly queue: Pick<RunQueue, "add">;
}

export interface Lane {
  /** Hears no more, and resolves when the runs that came this way have ended. */
  close(): Promise<void>;
}

/** Listens as soon as it can; until then nobody hears, and runs come by the queue. */
export function openLane({ channel, events, log, places, run, queue }: LaneOptions): Lane {
  const atWork = new Set<Promise<void>>();
  let isClosed = false;

  function heard(message?: string): void {
    // A connection that came back says so without a message: what was told meanwhile is found by the sweep.
    if (message === undefined) return;
    const [taskId = "", number, toldAtMs] = message.split(" ");
    const ref = { taskId, run: Number(number) };
    const work = (isClosed || !places.tryTake() ? passOn(ref) : begin({ ...ref, queuedAtMs: Number(toldAtMs) })).finally(() =>
      atWork.delete(work),
    );
    atWork.add(work);
  }

  async function begin(told: Pick<TakenRun, "taskId" | "run" | "queuedAtMs">): Promise<void> {
    try {
      await run({ ...told, cause: "answered", isSecondHand: false });
    } catch (error) {
      const what = error instanceof Error ? { error: error.name, stack: framesOf(error) } : {};
      log.error({ taskId: told.taskId, run: told.run, ...what }, "run failed");
    } finally {
      places.leave();
    }
  }

  async function passOn(ref: { readonly taskId: string; readonly run: number }): Promise<void> {
    // Redis is away: the sweep adds it.
    await queue.add({ ...ref, cause: "answered" }).catch(() => undefined);
  }

  const listening = events.listen(channel, heard).catch((error: unknown) => {
    log.warn({ channel, error: error instanceof Error ? error.message : String(error) }, "lane is not heard");
    return () => undefined;
  });

  return {
    async close() {
      isClosed = true;
      (await listening)();
      await Promise.all(atWork);
    },
  };
}
