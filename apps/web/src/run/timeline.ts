/** Reads the timeline of a task, on the only route that is not MCP (docs/playground.md). */
import type { TaskTimeline } from "@parley/core/timeline";
import { RpcError } from "../wire/endpoint.ts";

export interface ReadTimeline {
  readonly taskId: string;
  readonly after: string | undefined;
  /** Who asks, as headers. */
  readonly who: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** Throws RpcError with the server's message. */
export async function readTimeline({ taskId, after, who, signal }: ReadTimeline): Promise<TaskTimeline> {
  const url = new URL(`api/tasks/${encodeURIComponent(taskId)}/timeline`, document.baseURI);
  if (after !== undefined) url.searchParams.set("after", after);
  const response = await fetch(url, { headers: who, signal, cache: "no-store" });
  const body = (await response.json()) as TaskTimeline & { readonly error?: { readonly message: string } };
  if (!response.ok) throw new RpcError({ code: 0, message: body.error?.message ?? `HTTP ${response.status}` }, response.status);
  return body;
}
