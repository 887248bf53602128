/** Ends a task with an error: decides what the caller sees, what the log keeps, and whether compensation is owed. */
import { describeError } from "../task/describe-error.ts";
import { withoutEventTokens } from "../task/event-token.ts";
import { codeOf } from "../errors.ts";
import type { KeyedEntry } from "../journal.ts";
import { defectIdOf, outcomeOf } from "../task/outcome.ts";
import type { RunReport } from "../ports.ts";
import type { Owed, Task } from "../task.ts";
import type { RunLease } from "./run-lease.ts";
import type { Services } from "./services.ts";
import { wakeParent } from "./start-child.ts";

export async function finish(
  services: Services,
  task: Task,
  lease: RunLease,
  entries: readonly KeyedEntry[],
  error: unknown,
): Promise<RunReport> {
  const { ids, settings, log } = services;
  const defectId = defectIdOf(error, () => ids.uuid());
  const shown = outcomeOf(error, task.call, { defectId, showErrors: settings.showErrors, sizeMax: settings.storedValueMax });
  const outcome = withoutEventTokens(task.id, shown);
  const owes = owedBy(task, error);
  const { parent } = task.call;
  const finished = await lease.finish({ entries, outcome, ...(owes && { owes }), ...(parent && { parent }) });
  if (finished === "refused") return await letGo(services, lease, entries);
  await wakeParent(services, finished, task.call);
  const status = outcome.type === "error" ? "failed" : "completed";
  const code = codeOf(error);
  log.warn({ ...about(task), status, defectId, ...described(task, error) }, "task finished with an error");
  return { type: "finished", status, ...(code !== undefined && { code }) };
}

/** Why a task that ends with this error must be compensated; undefined if its tool has no compensation. */
export function owedBy({ call }: Task, error: unknown): Exclude<Owed, "cancelled"> | undefined {
  if (!call.compensates) return undefined;
  return codeOf(error) === "RUN_TIMEOUT" ? "timeout" : "failed";
}

/** The task was cancelled just before, or taken over. If compensation is owed, the finished work is recorded for it. */
export async function letGo({ clock }: Services, lease: RunLease, entries: readonly KeyedEntry[]): Promise<RunReport> {
  await lease.park({ entries, asks: [], attempt: 0, dueAtMs: clock.now() });
  return { type: "fenced" };
}

/** For the log. A step that calls another system may fail with an error that quotes the event address it passed on. */
export function described({ id }: Task, error: unknown): object {
  return withoutEventTokens(id, describeError(error));
}

export function about({ id, run, call }: Task): object {
  return { taskId: id, run, [call.kind]: call.name };
}
