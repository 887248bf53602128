import type { Receipt } from "../task.ts";
import { compareAnswer, recordAnswer } from "./record-answer.ts";
import { getTask, type TaskRef } from "./get-task.ts";
import type { Services } from "./services.ts";
import { whereAsked } from "./where-asked.ts";

/**
 * Records that the client of a hidden task cannot handle one of its asks, so that the tool continues instead of
 * waiting in vain.
 *
 * Recorded like an answer, and races like one (I2): if two front ends declare it, one is accepted; an earlier reply
 * stays.
 */
export async function declareUnavailable(services: Services, { key, ...ref }: TaskRef & { readonly key: string }): Promise<Receipt> {
  const shown = await getTask(services, ref);
  const at = await whereAsked(services, { taskId: ref.taskId, key }, shown);
  if (!at) return { type: "unknown" };
  const task = at.taskId === ref.taskId ? shown : await getTask(services, { ...ref, taskId: at.taskId });
  const ask = task.asks.find((open) => open.key === at.key);
  const answer = { action: "unavailable" } as const;
  return ask
    ? await recordAnswer(services, { actor: ref, task, ask, answer })
    : await compareAnswer(services, { taskId: task.id, key: at.key, answer });
}
