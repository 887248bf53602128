/** Writes how a run ended: parked, to be retried, put back, restarted or finished. */
import type { Prompt, Runnable, Tool } from "../catalogue.ts";
import { backoff } from "../values/backoff.ts";
import { kindOf, ParleyError, type ToolError } from "../errors.ts";
import type { KeyedEntry } from "../journal.ts";
import type { RunReport } from "../ports.ts";
import type { RunEnd } from "../replay.ts";
import { describeViolations } from "../values/schema-violation.ts";
import type { JsonObject, Open, Task } from "../task.ts";
import { inCheckTime, tooLongFor } from "./check-in-time.ts";
import { about, described, finish, letGo } from "./finish-task.ts";
import { earliest, missingPatches, putBack } from "./put-back.ts";
import type { Held, RunLease } from "./run-lease.ts";
import type { Services } from "./services.ts";
import { turnOf } from "../callers/shares.ts";
import { wakeParent } from "./start-child.ts";

interface Ended {
  readonly runnable: Runnable;
  /** The version that the catalogue calls now. */
  readonly newest: Tool | Prompt;
  readonly begun: Held;
  /** Asks that were open before the run and whose deadline has not passed. */
  readonly asks: readonly Open[];
  readonly lease: RunLease;
  readonly end: RunEnd;
}

export async function writeEnd(services: Services, { end, ...ended }: Ended): Promise<RunReport> {
  const { begun, asks, lease } = ended;
  switch (end.type) {
    case "returned":
      return await complete(services, ended, end);
    case "parked": {
      const dueAtMs = earliest(end.wakeAtMs ?? Infinity, end.asks);
      const attempt = end.isAgain ? begun.attempt : 0;
      return await park(services, { task: begun.task, lease, entries: end.entries, asks: end.asks, dueAtMs, attempt });
    }
    case "restarted":
      return await restart(services, ended, end.arguments);
    case "threw": {
      const retried = await retry(services, { ...ended, error: end.error, entries: end.entries });
      return retried ?? (await finish(services, begun.task, lease, end.entries, end.error));
    }
    case "diverged":
      if (end.patches.length === 0) return await endDiverged(services, ended, end);
      return await putBack(services, { begun, asks, lease, missing: missingPatches(begun.task, end.patches, end.error) });
    case "aborted":
      return await endStopped(services, ended, end);
  }
}

type Run = Omit<Ended, "end">;
type EndOf<Type extends RunEnd["type"]> = Extract<RunEnd, { readonly type: Type }>;

async function complete(services: Services, { begun: { task }, lease }: Run, { entries, result }: EndOf<"returned">): Promise<RunReport> {
  const { parent } = task.call;
  const finished = await lease.finish({ entries, outcome: { type: "result", result }, ...(parent && { parent }) });
  if (finished === "refused") return await letGo(services, lease, entries);
  await wakeParent(services, finished, task.call);
  services.log.info({ taskId: task.id, run: task.run, status: "completed" }, "task finished");
  return { type: "finished", status: "completed" };
}

async function restart(services: Services, { runnable, newest, begun: { task }, lease }: Run, args: JsonObject): Promise<RunReport> {
  const read = await inCheckTime(services.clock, runnable.readArguments(args));
  if (!read) {
    const message = tooLongFor(`the arguments of the restart of ${runnable.kind} ${runnable.name}`);
    return await finish(services, task, lease, [], new ParleyError("CALL_TIMEOUT", message));
  }
  if (!read.ok) {
    const { violations } = read;
    const message = `the arguments of the restart are invalid for ${runnable.kind} ${runnable.name}: ${describeViolations(violations)}`;
    return await finish(services, task, lease, [], new ParleyError("INVALID_ARGUMENTS", message, { violations }));
  }
  const dueAtMs = services.clock.now();
  const round = await renewed(services, newest, args, read.args);
  return await park(services, { task, lease, entries: [], asks: [], attempt: 0, dueAtMs, restart: round });
}

async function endDiverged(services: Services, run: Run, { error, thrown }: EndOf<"diverged">): Promise<RunReport> {
  const { begun, lease } = run;
  const retried = thrown && (await retry(services, { ...run, error: thrown.error, entries: [] }));
  if (retried) return retried;
  services.log.error({ ...about(begun.task), ...described(begun.task, error) }, "replay diverged");
  return await finish(services, begun.task, lease, [], error);
}

async function endStopped(
  services: Services,
  { runnable, begun, lease }: Run,
  { entries, diverging }: EndOf<"aborted">,
): Promise<RunReport> {
  const why = lease.stoppedBy();
  if (why === "timeout") return await finish(services, begun.task, lease, entries, diverging ?? runTimeout(runnable));
  // Cancelled: records what was in flight for the compensation. The store refuses this for a task that is owed none.
  // Draining: another worker continues at once instead of waiting for the lease to expire.
  const attempt = why === "draining" ? begun.attempt : 0;
  if (why !== undefined) await lease.park({ entries, asks: [], attempt, dueAtMs: services.clock.now() });
  return { type: "fenced" };
}

interface Retry extends Pick<Ended, "runnable" | "begun" | "asks" | "lease"> {
  readonly error: unknown;
  readonly entries: readonly KeyedEntry[];
}

/** Parks the run until its next attempt. Undefined if no attempt is left, or if the error comes out the same on every attempt. */
async function retry(services: Services, { runnable, begun, asks, lease, error, entries }: Retry): Promise<RunReport | undefined> {
  const { clock, log } = services;
  const { task, attempt } = begun;
  const { attempts, backoffMs } = runnable.settings;
  if (!isRetryable(error) || attempt + 1 >= attempts) return undefined;
  const dueAtMs = earliest(clock.now() + backoff(backoffMs, attempt), asks);
  log.warn({ ...about(task), attempt: attempt + 1, ...described(task, error) }, "run failed, will be retried");
  // Open asks stay open: the store keeps those that are not named here.
  const report = await park(services, { task, lease, entries, asks: [], dueAtMs, attempt: attempt + 1 });
  return report.type === "parked" ? { type: "retrying" } : report;
}

/** A new round has an empty journal, so it moves to the newest version if that accepts its arguments. */
async function renewed({ clock }: Services, newest: Runnable, args: JsonObject, kept: JsonObject): Promise<NonNullable<Park["restart"]>> {
  const { version } = newest;
  if (version === undefined) return { arguments: kept };
  const read = await inCheckTime(clock, newest.readArguments(args));
  return read?.ok ? { arguments: read.args, version } : { arguments: kept };
}

interface Park {
  readonly task: Task;
  readonly lease: RunLease;
  readonly entries: readonly KeyedEntry[];
  readonly asks: readonly Open[];
  readonly dueAtMs: number;
  readonly attempt: number;
  readonly restart?: { readonly arguments: JsonObject; readonly version?: string };
}

async function park(services: Services, { task, lease, ...request }: Park): Promise<RunReport> {
  const parked = await lease.park(request);
  if (parked.type === "refused") return { type: "fenced" };
  if (parked.type === "due") await services.queue.add({ taskId: task.id, run: parked.run, cause: "overtaken", ...turnOf(task.call) });
  services.log.info({ taskId: task.id, run: task.run, asks: request.asks.length }, request.restart ? "task restarted" : "task parked");
  return { type: "parked" };
}

function runTimeout(runnable: Runnable): ParleyError {
  return new ParleyError(
    "RUN_TIMEOUT",
    `${runnable.kind} ${runnable.name} worked longer than ${runnable.settings.runTimeoutMs} ms in one run`,
  );
}

/** ParleyErrors and recorded failures come out the same on every attempt. */
function isRetryable(error: unknown): boolean {
  const kind = kindOf(error);
  return kind === "tool" ? (error as ToolError).retryable : kind === undefined;
}
