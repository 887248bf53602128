/** One lifecycle as a client sees it: call, question, answer, result. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Client, TaskState } from "./client.ts";

const ARGUMENTS = { note: "n".repeat(280) };
const GIVE_UP_AFTER_MS = 30_000;

export async function lifecycle(client: Client): Promise<void> {
  const { taskId } = await parked(client);
  await client.answer(taskId, { size: { action: "accept", content: { size: 4 } } });
  await pollUntil(client, taskId, "completed");
}

/** Calls the tool and waits for its question. */
export async function parked(client: Client): Promise<TaskState> {
  const { taskId } = await client.call("ask", ARGUMENTS);
  return await pollUntil(client, taskId, "input_required");
}

/** As a client that polls at once, then after 20 ms, doubling. */
export async function pollUntil(client: Client, taskId: string, status: string): Promise<TaskState> {
  const giveUpAt = Date.now() + GIVE_UP_AFTER_MS;
  for (let waitMs = 20; Date.now() < giveUpAt; waitMs *= 2) {
    const task = await client.get(taskId);
    if (task.status === status) return task;
    await sleep(Math.min(waitMs, 1_000));
  }
  throw new Error(`task ${taskId} did not become ${status} within ${GIVE_UP_AFTER_MS} ms`);
}
