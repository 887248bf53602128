/**
 * `parley replay --waiting`: replays the tasks that wait in Redis with the tools of this image or checkout, before its workers start. Runs as a
 * Job of a rollout, so its output is a log: it names tasks, tools, questions and steps, and repeats nothing that a person or a service said.
 */
import { parseDuration } from "@parley/core";
import { readEnvironment, toolModules } from "@parley/node";
import { connectRedis, type RedisBackend, redisSettings, toRedisSettings } from "@parley/redis";
import type { RecordedTask, UnreadableTask } from "@parley/sdk/replay";
import type { ReplayTasks } from "./command.ts";
import { counted } from "../terminal/counted.ts";
import { ofUpstreams } from "../deployment/is-from-upstream.ts";
import { onStderr } from "../terminal/on-stderr.ts";
import { print, printJson, printToStderr } from "../terminal/terminal.ts";
import { idsOf, recordedTask } from "./export.ts";
import { noCounts, showCounts } from "./replay.ts";
import { type ReplayReport, startReplayThread } from "./replay-thread.ts";
import { showReplayed } from "./show.ts";

export async function replayWaiting(
  file: string | undefined,
  { tools = toolModules(process.env["PARLEY_TOOLS"], process.env), baseline, timeout, limit, json, ...only }: ReplayTasks,
): Promise<void> {
  if (file !== undefined) throw new Error("name a file or use --waiting, not both");
  if (only.forkAt !== undefined || only.task !== undefined || only.answers !== undefined)
    throw new Error("--fork-at, --task and --answers need a file: `parley export <id> --with-content`");
  const isUpstreams = ofUpstreams(process.env["PARLEY_UPSTREAMS"]);
  const redis = await connectRedis(toRedisSettings(readEnvironment(redisSettings, process.env)), { log: onStderr });
  const counts = noCounts();
  let skipped = 0;
  let isCut = false;
  try {
    const thread = await startReplayThread({ tools, baseline, patienceMs: parseDuration(timeout) });
    try {
      let tasks = 0;
      for await (const task of waitingTasks(redis)) {
        if (tasks === limit) {
          isCut = true;
          break;
        }
        tasks += 1;
        const report = "unreadable" in task ? unreadable(task) : withoutContent(await thread.replay(task));
        if (report.isMissing && "call" in task && isUpstreams(task.call.name)) {
          skipped += 1;
          continue;
        }
        counts[report.verdict] += 1;
        const about = { taskId: task.taskId, ...("call" in task && { [task.call.kind]: task.call.name }) };
        if (report.verdict === "continues") continue;
        if (json) printJson({ ...about, ...report });
        else print(showReplayed(about, report));
      }
    } finally {
      await thread.close();
    }
  } finally {
    await redis.close();
  }
  if (json)
    printJson({ tasks: Object.values(counts).reduce((sum, count) => sum + count, 0), ...counts, ofUpstreams: skipped, more: isCut });
  else print(showCounts(counts));
  if (skipped > 0) printToStderr(`${counted(skipped, "task")} of upstreams: their code runs elsewhere, so there is nothing to replay`);
  if (isCut) printToStderr(`more tasks wait, and were not replayed: --limit is ${limit}`);
  if (counts.diverges + counts.fails > 0) process.exitCode = 1;
}

async function* waitingTasks(redis: RedisBackend): AsyncGenerator<RecordedTask | UnreadableTask> {
  for await (const taskId of idsOf(redis, undefined)) {
    const task = await recordedTask(redis, taskId, { redaction: { withContent: true, fields: [] }, which: "waiting" });
    if (task) yield task;
  }
}

function unreadable({ unreadable: why }: UnreadableTask): ReplayReport {
  return { verdict: "unknown", reason: `the task cannot be read: ${why}`, recorded: [], found: [] };
}

/** Without the texts of questions, and of errors, which may repeat what a caller or a person entered. */
function withoutContent(whole: ReplayReport): ReplayReport {
  const { changed: _, reason, ...report } = whole;
  if (reason === undefined) return report;
  return { ...report, reason: reason.replace(/(with the error [^\s:]*|outside of the handler)[\s\S]*/, "$1") };
}
