import { noteAudit, toolOf, withAudit } from "../callers/audit.ts";
import { ParleyError } from "../errors.ts";
import { may } from "../callers/policy.ts";
import { wakeParent } from "./start-child.ts";
import { knownTask, type TaskRef } from "./get-task.ts";
import type { Services } from "./services.ts";

/**
 * Ends the task as cancelled; returns `finished` if it had already ended (I1). An active run notices within
 * `renewEveryMs`. Throws TASK_NOT_FOUND, and NOT_PERMITTED for a member of an audience.
 */
export async function cancelTask(services: Services, ref: TaskRef & { readonly reason?: string }): Promise<"cancelled" | "finished"> {
  // Cancelling needs no content, so it must not fail for lack of a key.
  const task = await knownTask(services, ref);
  const { call } = task;
  if (!may(ref.caller, "cancel", task)) {
    noteAudit(services, ref, () => ({ action: "cancel", taskId: ref.taskId, ...toolOf(call), verdict: "forbidden" }));
    throw new ParleyError("NOT_PERMITTED", "only the owner of a task cancels it");
  }
  const message = ref.reason ?? "Cancelled by the client.";
  const audit = withAudit(services, ref, () => ({ action: "cancel", taskId: ref.taskId, ...toolOf(call) }));
  const became = await services.store.cancel({
    taskId: ref.taskId,
    nowMs: services.clock.now(),
    message,
    owes: call.compensates === true,
    ...audit,
  });
  services.log.info({ taskId: ref.taskId, became: typeof became === "string" ? became : "cancelled" }, "cancellation received");
  if (typeof became === "object") await wakeParent(services, became, call);
  return became === "finished" || became === "unknown" ? "finished" : "cancelled";
}
