/**
 * `parley export`: exports tasks of a running deployment: those that wait, or those that have ended and keep their content. It only reads, except
 * for its audit record, and keeps one batch of tasks in memory at a time.
 */
import { type FileHandle, open } from "node:fs/promises";
import { isFinished } from "@parley/core";
import { readEnvironment } from "@parley/node";
import { connectRedis, type RedisBackend, redisSettings, sealWordOf, toRedisSettings } from "@parley/redis";
import { EXPORT_FORMAT, type RecordedTask, type Redaction, toRecordedTask, type UnreadableTask } from "@parley/sdk/replay";
import type { ExportTasks } from "./command.ts";
import { isAudited } from "../deployment/is-audited.ts";
import { onStderr } from "../terminal/on-stderr.ts";
import { jsonText, printJson, printToStderr } from "../terminal/terminal.ts";
import { counted } from "../terminal/counted.ts";

export async function exportTasks(
  taskId: string | undefined,
  { tool, all, ended, out, withContent, redact = [], limit, json }: ExportTasks,
): Promise<void> {
  if ([taskId, tool, all].filter((each) => each !== undefined).length !== 1)
    throw new Error("specify the tasks: the id of one task, --tool <name>, or --all");
  if (ended && taskId !== undefined)
    throw new Error("--ended needs --tool or --all: a task that is named is exported whether it waits or has ended");
  if (redact.length > 0 && !withContent) throw new Error("--redact needs --with-content: without it, everything is redacted");
  const redaction: Redaction = { withContent: withContent === true, fields: redact };
  const settings = toRedisSettings(readEnvironment(redisSettings, process.env));
  // Created before any task is read, and never overwritten: an existing file may be evidence.
  const file = out === undefined ? undefined : await openNew(out);
  const redis = await connectRedis(settings, { log: onStderr });
  try {
    const counts = { written: 0, unreadable: 0, isCut: false };
    const written = new Set<string>();
    const which = taskId !== undefined ? "any" : ended ? "ended" : "waiting";
    for await (const id of taskId !== undefined ? [taskId] : ended ? endedIds(redis) : idsOf(redis, tool)) {
      const recorded = await recordedTask(redis, id, { redaction, which, tool });
      if (!recorded && taskId !== undefined)
        throw new Error(`nothing is kept of the task ${taskId}: it has ended, and keepContent was not set for it, or it never existed`);
      if (!recorded || written.has(id)) continue;
      if (counts.written >= limit) {
        counts.isCut = true;
        break;
      }
      written.add(id);
      await write(file, `${jsonText(recorded)}\n`);
      counts.written += 1;
      if ("unreadable" in recorded) counts.unreadable += 1;
    }
    await file?.sync();
    if (await isAudited(redis, settings.audit)) {
      const what = withContent ? `exported with content${redact.length > 0 ? `, but ${redact.join(", ")}` : ""}` : "exported, redacted";
      await redis.audit.note({
        action: "export",
        verdict: `${counts.written} ${what}`,
        ...(taskId !== undefined && { taskId }),
        ...(tool !== undefined && { tool: `tool ${tool}` }),
      });
    }
    if (json && out !== undefined) printJson({ tasks: counts.written, unreadable: counts.unreadable, more: counts.isCut, file: out });
    printToStderr(
      `${counted(counts.written, which === "any" ? "task" : `${which} task`)} written${out === undefined ? "" : ` to ${out}`}, ${withContent ? "with content" : "redacted"}`,
    );
    if (counts.unreadable > 0) printToStderr(`${counts.unreadable} of them could not be read: the content key is missing, erased or wrong`);
    if (counts.isCut) {
      printToStderr(`there are more: --limit is ${limit}`);
      process.exitCode = 1;
    }
  } finally {
    await file?.close();
    await redis.close();
  }
}

async function openNew(path: string): Promise<FileHandle> {
  try {
    return await open(path, "wx", 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    throw new Error(`${path} exists: remove it, or name another file`, { cause: error });
  }
}

async function write(file: FileHandle | undefined, line: string): Promise<void> {
  if (file) return await file.appendFile(line);
  if (!process.stdout.write(line)) await new Promise((resolve) => process.stdout.once("drain", resolve));
}

/** Yields each id once, although a scan may return a task twice. */
export async function* idsOf({ partitions, waiting }: RedisBackend, tool: string | undefined): AsyncGenerator<string> {
  for (const partition of partitions) {
    const seen = new Set<string>();
    for await (const batch of waiting(partition)) {
      for (const { taskId, call } of batch) {
        if (seen.has(taskId) || (tool !== undefined && (call.kind !== "tool" || call.name !== tool))) continue;
        seen.add(taskId);
        yield taskId;
      }
    }
  }
}

/** An id may come twice. */
async function* endedIds({ store, taskIds }: RedisBackend): AsyncGenerator<string> {
  for await (const batch of taskIds()) {
    const summaries = await store.summaries(batch);
    yield* batch.filter((_, at) => isFinished(summaries[at]?.status ?? "working"));
  }
}

interface Wanted {
  readonly redaction: Redaction;
  readonly which: "waiting" | "ended" | "any";
  readonly tool?: string | undefined;
}

/** Undefined if the task is not of this kind: it may have ended in the meantime, or keep nothing. */
export async function recordedTask(
  redis: RedisBackend,
  taskId: string,
  { redaction, which, tool }: Wanted,
): Promise<RecordedTask | UnreadableTask | undefined> {
  const record = await redis.store.recorded(taskId);
  if (!record) return undefined;
  const { status, call, owed } = record.task;
  if (owed || (which !== "any" && isFinished(status) !== (which === "ended"))) return undefined;
  if (tool !== undefined && (call.kind !== "tool" || call.name !== tool)) return undefined;
  if (record.type === "unreadable") return { format: EXPORT_FORMAT, taskId, unreadable: record.reason };
  return toRecordedTask(record, { atMs: redis.now(), redaction, isSealed: sealWordOf(taskId) !== undefined });
}
