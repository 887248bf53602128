import { toolOf, withAudit } from "../audit.ts";
import { ParleyError } from "../errors.ts";
import { may } from "../policy.ts";
import { wakeParent } from "./start-child.ts";
import { knownTask, type TaskRef } from "./get-task.ts";
import type { Services } from "./services.ts";

/** Ends the task as cancelled; `finished` when it had ended before (I1). Throws TASK_NOT_FOUND, and NOT_PERMITTED for one who is only asked. A run that is at work learns of it within `renewEveryMs`. */
export async function cancelTask(services: Services, ref: TaskRef & { readonly reason?: string }): Promise<"cancelled" | "finished"> {
  // A result that nobody wants need not wait for the key that would open it.
  const task = await knownTask(services, ref);
  if (!may(ref.caller, "cancel", task)) throw new ParleyError("NOT_PERMITTED", "only the owner of a task cancels it");
  const { call } = task;
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
  if (typeof became === "object") await wakeParent(services, became);
  return became === "finished" || became === "unknown" ? "finished" : "cancelled";
}
