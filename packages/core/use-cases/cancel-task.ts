import { withAudit } from "../audit.ts";
import { getOwnTask, type TaskRef } from "./get-task.ts";
import type { Services } from "./services.ts";

/** Ends the task as cancelled; `finished` when it had ended before (I1). A run that is at work learns of it within `renewEveryMs`. */
export async function cancelTask(services: Services, ref: TaskRef & { readonly reason?: string }): Promise<"cancelled" | "finished"> {
  // Who wants no result need not wait for the key that would open it.
  const { call } = await getOwnTask(services, ref);
  const message = ref.reason ?? "Cancelled by the client.";
  const audit = withAudit(services, ref, () => ({ action: "cancel", taskId: ref.taskId, tool: `${call.kind} ${call.name}` }));
  const became = await services.store.cancel({ taskId: ref.taskId, nowMs: services.clock.now(), message, ...audit });
  services.log.info({ taskId: ref.taskId, became }, "cancellation received");
  return became === "cancelled" ? "cancelled" : "finished";
}
