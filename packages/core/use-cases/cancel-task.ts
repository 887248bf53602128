import { getOwnTask, type TaskRef } from "./get-task.ts";
import type { Services } from "./services.ts";

/** Ends the task as cancelled; `finished` when it had ended before (I1). A run that is at work learns of it within `renewEveryMs`. */
export async function cancelTask(services: Services, ref: TaskRef & { readonly reason?: string }): Promise<"cancelled" | "finished"> {
  // Who wants no result need not wait for the key that would open it.
  await getOwnTask(services, ref);
  const message = ref.reason ?? "Cancelled by the client.";
  const became = await services.store.cancel({ taskId: ref.taskId, nowMs: services.clock.now(), message });
  services.log.info({ taskId: ref.taskId, became }, "cancellation received");
  return became === "cancelled" ? "cancelled" : "finished";
}
