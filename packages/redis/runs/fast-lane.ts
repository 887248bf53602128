/**
 * The fast lane: runs that the store offers to this worker directly, with the answer or the call that made them due
 * (scripts/answer.lua, scripts/create.lua). No job is added, so none has to be fetched, locked and removed; see
 * docs/adr/0018-a-lane-beside-the-queue.md.
 *
 *   answer.lua ── PUBLISH <lane> "<task> <run> <sent at ms> <priority> - <share>" ──▶ a place is free: begin, as with a job
 *   create.lua ── PUBLISH <lane> "<task> 1 <sent at ms> <priority> <called> <share>" ─▶ no place, or the worker is leaving: it adds the job
 *
 * Without identity there are no shares, and runs that are answered have no priority.
 *
 * A lost offer costs the time until the sweep finds the task, a second or two. An offer and a job for the same run
 * are settled by `begin`, like two jobs. The lane keeps nothing of a task between its runs (I9).
 */
import type { Called, Log } from "@parley/core";
import type { TakenRun } from "./consume-runs.ts";
import type { RedisWakeUps } from "../wake-ups/wake-ups.ts";
import type { Places } from "./run-places.ts";
import { readCalledWord, type RedisQueue } from "./queue.ts";
import { originOf } from "../connection/unavailable.ts";

export interface LaneOptions {
  readonly channel: string;
  readonly wakeUps: Pick<RedisWakeUps, "listen" | "leave">;
  readonly log: Log;
  readonly places: Places;
  readonly run: (run: TakenRun) => Promise<unknown>;
  readonly queue: Pick<RedisQueue, "add">;
}

/** A run that was offered to this worker, with the priority that it would have in the queue, if it takes turns. */
interface OfferedRun {
  readonly taskId: string;
  readonly run: number;
  readonly cause: "answered" | "created";
  readonly place?: number;
  readonly calls?: Called;
  /** shareWord. */
  readonly word?: string;
}

export interface Lane {
  /** Stops listening, and resolves when the runs that came through the lane have ended. */
  close(): Promise<void>;
}

/** Listens as soon as it can. Until then, runs come through the queue. */
export function openLane({ channel, wakeUps, log, places, run, queue }: LaneOptions): Lane {
  const atWork = new Set<Promise<void>>();
  let isClosed = false;

  function heard(message?: string): void {
    // A call without a message means that the connection was restored. The sweep finds offers that were lost.
    if (message === undefined) return;
    const [taskId = "", number, sentAtMs, place, called = "", word] = message.split(" ");
    const calls = readCalledWord(called);
    const offered: OfferedRun = {
      taskId,
      run: Number(number),
      // Nobody can answer a task before its first run.
      cause: number === "1" ? "created" : "answered",
      ...(place !== undefined && { place: Number(place) }),
      ...(calls && { calls }),
      ...(word !== undefined && { word }),
    };
    const giveBack = isClosed ? undefined : places.tryTake(word);
    const begun = giveBack ? begin(offered, Number(sentAtMs)).finally(giveBack) : passOn(offered);
    const work = begun.finally(() => atWork.delete(work));
    atWork.add(work);
  }

  async function begin({ taskId, run: number, cause, calls }: OfferedRun, queuedAtMs: number): Promise<void> {
    try {
      await run({ taskId, run: number, cause, queuedAtMs, isSecondHand: false, ...(calls && { calls }) });
    } catch (error) {
      log.error({ taskId, run: number, ...originOf(error) }, "run failed");
    }
  }

  async function passOn(offered: OfferedRun): Promise<void> {
    // Redis is unreachable: the sweep adds the run later.
    await queue.add(offered).catch(() => undefined);
  }

  const listening = wakeUps
    .listen(channel, heard)
    .catch((error: unknown) =>
      log.warn({ channel, error: error instanceof Error ? error.message : String(error) }, "lane is not subscribed"),
    );

  return {
    async close() {
      isClosed = true;
      await listening;
      await wakeUps.leave(channel); // what arrives until then is passed on
      await Promise.all(atWork);
    },
  };
}
