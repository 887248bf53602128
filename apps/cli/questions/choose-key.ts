/** Which question of a task a command is about, if it names none. */
import { select } from "./choices.ts";
import type { ApiClient } from "../client/api-client.ts";
import { cleanLine, isInteractive } from "../terminal/terminal.ts";

/** Of the open questions of the task that the person may answer. */
export async function openKeys(api: ApiClient, taskId: string): Promise<readonly string[]> {
  const { asks } = await api.get("/tasks/{taskId}", { path: { taskId } });
  return asks.map(({ key }) => key);
}

/** Of those that wait for the person's reply, and if there are none, of all. */
export async function keysToReply(api: ApiClient, taskId: string): Promise<readonly string[]> {
  const { asks } = await api.get("/asks", { query: { toReply: "only", limit: 100 } });
  const keys = asks.filter((ask) => ask.taskId === taskId).map(({ key }) => key);
  return keys.length > 0 ? keys : await openKeys(api, taskId);
}

/** Undefined if the person chooses none; empty if there is none. */
export async function chooseKey(keys: readonly string[]): Promise<string | undefined> {
  if (keys.length <= 1) return keys[0] ?? "";
  if (!isInteractive()) throw new Error(`several questions are open, name one: ${keys.join(", ")}`);
  const key = await select({
    message: "Which question?",
    options: keys.map((value) => ({ value, label: cleanLine(value) })),
    output: process.stderr,
  });
  return typeof key === "string" ? key : undefined;
}
