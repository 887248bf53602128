/** One lifecycle as a client sees it: call, question, answer, result. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Client, TaskState } from "./client.ts";

export const ARGUMENTS = { note: "n".repeat(280) };
export const ACCEPTED = { action: "accept", content: { size: 4 } };
/** By the key that Parley gives the question of the tool that is measured. */
export const ANSWER = { size: ACCEPTED };

const GIVE_UP_AFTER_MS = 30_000;

export async function lifecycle(client: Client): Promise<void> {
  const { taskId, inputRequests } = await parked(client);
  await client.answer(taskId, answersTo(inputRequests));
  await pollUntil(client, taskId, "completed");
}

/** By the keys that a server gave. */
export function answersTo(inputRequests: TaskState["inputRequests"] = {}): Readonly<Record<string, object>> {
  return Object.fromEntries(Object.keys(inputRequests).map((key) => [key, ACCEPTED]));
}

/** Calls the tool and waits for its question. */
export async function parked(client: Client, tool = "ask"): Promise<TaskState> {
  const { taskId } = await client.call(tool, ARGUMENTS);
  return await pollUntil(client, taskId, "input_required");
}

export interface TaskReader {
  get(taskId: string): Promise<TaskState>;
}

/** As a client that polls at once, then after 20 ms, doubling. */
export async function pollUntil(client: TaskReader, taskId: string, status: string): Promise<TaskState> {
  const giveUpAt = Date.now() + GIVE_UP_AFTER_MS;
  for (let waitMs = 20; Date.now() < giveUpAt; waitMs *= 2) {
    const task = await client.get(taskId);
    if (task.status === status) return task;
    await sleep(Math.min(waitMs, 1_000));
  }
  throw new Error(`task ${taskId} did not become ${status} within ${GIVE_UP_AFTER_MS} ms`);
}
