/** The person's own tasks, from the API (docs/api.md): only one of the dialects can list them. */
import { RpcError } from "../wire/endpoint.ts";

export interface OwnTask {
  readonly taskId: string;
  readonly tool: string;
  readonly toolTitle?: string;
  readonly status: string;
  readonly createdAt: string;
}

const LISTED = 20;

/** The newest. Throws RpcError with the server's message. */
export async function readOwnTasks(who: Readonly<Record<string, string>>): Promise<readonly OwnTask[]> {
  const url = new URL(`../api/v1/tasks?limit=${LISTED}`, document.baseURI);
  const response = await fetch(url, { headers: who, cache: "no-store" });
  const body = (await response.json()) as { readonly tasks?: readonly OwnTask[]; readonly detail?: string; readonly title?: string };
  if (!response.ok || !body.tasks)
    throw new RpcError({ code: 0, message: body.detail ?? body.title ?? `HTTP ${response.status}` }, response.status);
  return body.tasks;
}
