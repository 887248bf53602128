/**
 * Reports whether waiting tasks continue with changed tools: replays each of them offline, as `parley replay` does, and a few times more with other
 * latencies of what they await outside `ctx`.
 */
import { readEnvironment } from "@parley/node";
import { connectRedis, redisSettings, toRedisSettings } from "@parley/redis";
import type { RecordedTask } from "@parley/sdk/replay";
import { idsOf, recordedTask } from "../changes/export.ts";
import { startReplayThread, type ReplayReport } from "../changes/replay-thread.ts";
import { showReplayed } from "../changes/show.ts";
import { onStderr } from "../terminal/on-stderr.ts";
import { print } from "../terminal/terminal.ts";

/** Maximum number of tasks to replay after a change, because the developer waits for it. */
export const TASKS_MAX = 100;
/** How long a handler may wait for something outside `ctx`. */
const PATIENCE_MS = 2_000;
/** Further replays of each task, in which what it awaits outside `ctx` takes longer or shorter. */
const SEEDS = [1, 2, 3];

export async function reportWaiting(modules: readonly string[], env: NodeJS.ProcessEnv): Promise<void> {
  const redis = await connectRedis(toRedisSettings(readEnvironment(redisSettings, env)), { log: onStderr });
  const thread = await startReplayThread({ tools: modules, baseline: undefined, patienceMs: PATIENCE_MS, seeds: SEEDS });
  async function* waiting(): AsyncGenerator<RecordedTask> {
    for await (const taskId of idsOf(redis, undefined)) {
      const task = await recordedTask(redis, taskId, { redaction: { withContent: true, fields: [] }, which: "waiting" });
      if (task && !("unreadable" in task)) yield task;
    }
  }
  try {
    for await (const line of outcomes(waiting(), thread.replay)) print(line);
  } finally {
    await thread.close();
    await redis.close();
  }
}

/** Prints a line for each task that does not continue, then one with the counts. */
export async function* outcomes(
  tasks: AsyncIterable<RecordedTask>,
  replay: (task: RecordedTask) => Promise<ReplayReport>,
): AsyncGenerator<string> {
  let all = 0;
  let continuing = 0;
  for await (const task of tasks) {
    if (all === TASKS_MAX) {
      yield `More than ${TASKS_MAX} tasks wait; the others were not replayed. \`parley export\` and \`parley replay\` do all.`;
      break;
    }
    all += 1;
    const report = await replay(task);
    if (report.verdict === "continues") continuing += 1;
    else yield showReplayed({ taskId: task.taskId, [task.call.kind]: task.call.name }, report);
  }
  if (all > 0) yield `${continuing} of ${all} waiting tasks continue with the changed tools`;
}
