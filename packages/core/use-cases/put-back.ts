/**
 * A worker that cannot run a task puts it back for another one.
 *
 * During a rolling deployment a worker may lack the tool, the version of the tool that the task keeps, or the code that knows one of its patches.
 * Another worker may have it already, or soon again. So the task goes back to the due set, is tried less and less often, and says in its message
 * what it waits for. Past a time limit it fails, or moves to the newest version if the deployment is configured to do that.
 */
import { nextPromptMs } from "../asks/prompts.ts";
import type { Prompt, Runnable, Tool } from "../catalogue.ts";
import { ParleyError } from "../errors.ts";
import type { RunReport } from "../ports.ts";
import type { Settings } from "../settings.ts";
import type { Open, Task } from "../task.ts";
import { finish } from "./finish-task.ts";
import type { Held, RunLease } from "./run-lease.ts";
import type { Services } from "./services.ts";

const HOUR = 60 * 60 * 1_000;

/** What this worker lacks to run a task. */
interface Missing {
  /** What a worker must have, for the task's message: `that serves the tool book_dinner`. */
  readonly worker: string;
  /** The message of the log line. */
  readonly line: string;
  readonly fields?: object;
  /** How long the task may wait. Default: as long as for a missing tool. */
  readonly timeoutMs?: number;
  /** The error that ends the task after that time. */
  readonly error: (waitedMs: number) => ParleyError;
}

function missingVersion({ call: { kind, name, version = "" } }: Task, { missingVersionTimeoutMs }: Settings): Missing {
  return {
    worker: `that serves version ${version} of the ${kind} ${name}`,
    line: "no worker serves the task's version, task put back",
    fields: { version },
    timeoutMs: missingVersionTimeoutMs,
    error: (waitedMs) =>
      new ParleyError("VERSION_NOT_FOUND", `no worker has served version ${version} of the ${kind} ${name} for ${waitedMs} ms`),
  };
}

function messageOf({ worker }: Missing): string {
  return `${AWAITING_WORKER}${worker}.`;
}

/** How long the task has been waiting for this, in milliseconds. */
function waitedFor(task: Task, missing: Missing, nowMs: number): number {
  return task.message === messageOf(missing) ? nowMs - task.updatedAtMs : 0;
}

/** The message of every task that was put back starts with this. */
export const AWAITING_WORKER = "Waiting for a worker ";

export function missingTool({ call: { kind, name } }: Task): Missing {
  return {
    worker: `that serves the ${kind} ${name}`,
    line: "no such tool on this worker, task put back",
    error(waitedMs) {
      const code = kind === "tool" ? "TOOL_NOT_FOUND" : "PROMPT_NOT_FOUND";
      return new ParleyError(code, `no worker has served the ${kind} ${name} for ${waitedMs} ms`);
    },
  };
}

/** The task took the new path of a patch that this worker's older code does not know. */
export function missingPatches({ call: { kind, name } }: Task, patches: readonly string[], error: ParleyError): Missing {
  return {
    worker: `whose ${kind} ${name} knows the patch ${patches.join(", ")}`,
    line: "the task is of newer code than this worker's, task put back",
    fields: { patches },
    error: () => error,
  };
}

interface PutBack {
  readonly begun: Held;
  /** Asks that are still open. */
  readonly asks: readonly Open[];
  readonly lease: RunLease;
  readonly missing: Missing;
}

/** Makes the task due again after a delay that grows with the time it has waited, or fails it when that time is over. */
export async function putBack(services: Services, { begun: { task, attempt }, asks, lease, missing }: PutBack): Promise<RunReport> {
  const { settings, clock, log } = services;
  const message = messageOf(missing);
  const isNew = task.message !== message;
  const nowMs = clock.now();
  const waitedMs = waitedFor(task, missing, nowMs);
  if (waitedMs > (missing.timeoutMs ?? settings.missingToolTimeoutMs))
    return await finish(services, task, lease, [], missing.error(waitedMs));
  log.warn({ taskId: task.id, [task.call.kind]: task.call.name, ...missing.fields }, missing.line);
  const dueAtMs = Math.ceil(earliest(nowMs + retryAfterMs(settings, waitedMs), asks));
  const parked = await lease.park({ entries: [], asks: [], attempt, dueAtMs, ...(isNew && { message }) });
  return { type: parked.type === "refused" ? "fenced" : "unserved" };
}

/** The longer a task has waited, the less often it is tried again. */
export function retryAfterMs({ missingToolRetryMs }: Settings, waitedMs: number): number {
  return Math.max(missingToolRetryMs, Math.min(waitedMs / 8, HOUR));
}

interface WithoutVersion extends Omit<PutBack, "missing"> {
  /** The version that the catalogue calls now. */
  readonly newest: Tool | Prompt;
}

/** Delay before a task is tried again whose version another worker serves. It may well reach this worker again. */
const PASS_ON_MS = 1_000;

/** This worker lacks the task's version of the tool. Returns the newest version if the task has waited long enough to move to it, else the report of the run. */
export async function withoutVersion(services: Services, { begun, asks, lease, newest }: WithoutVersion): Promise<Runnable | RunReport> {
  const { settings, clock, ids, log, serving } = services;
  const { task, attempt } = begun;
  const { name, version = "" } = task.call;
  const fields = { taskId: task.id, [task.call.kind]: name, version };
  const nowMs = clock.now();
  if ((await serving?.isServed(name, version)) === true) {
    log.debug(fields, "another worker serves the task's version, run passed on");
    const dueAtMs = Math.ceil(earliest(nowMs + PASS_ON_MS * (0.5 + ids.random()), asks));
    const parked = await lease.park({ entries: [], asks: [], attempt, dueAtMs });
    return { type: parked.type === "refused" ? "fenced" : "passed_on" };
  }
  const missing = missingVersion(task, settings);
  const waitedMs = waitedFor(task, missing, nowMs);
  if (settings.missingVersion === "fail" || waitedMs <= settings.missingVersionTimeoutMs) {
    const report = await putBack(services, { begun, asks, lease, missing });
    return report.type === "unserved" ? { type: "version_unserved" } : report;
  }
  log.warn({ ...fields, to: newest.version ?? "", waitedMs }, "no worker serves the task's version, task moves to the newest");
  await lease.report({ items: [], version: newest.version ?? "" });
  return newest;
}

/** Open asks keep their deadlines, reminders and escalations, even if the task also waits for something else. */
export function earliest(dueAtMs: number, asks: readonly Open[]): number {
  return Math.min(dueAtMs, ...asks.map((ask) => Math.min(ask.deadlineMs, nextPromptMs(ask))));
}
