/** The one route beside MCP: what a task has done so far. docs/playground.md */
import type { Item } from "./activity.ts";

export interface TimelineLine {
  readonly kind: string;
  readonly name: string;
  readonly place?: number;
  readonly arrivedAtMs?: number;
  readonly state: "recorded" | "begun" | "closed" | "withdrawn";
}

export interface TimelineAsk {
  readonly key: string;
  readonly type: string;
  readonly askedAtMs: number;
  readonly deadlineMs: number;
  readonly onTimeout: string;
  readonly isPutToOthers: boolean;
}

export interface Timeline {
  readonly task: {
    readonly name: string;
    readonly run: number;
    readonly generation: number;
    readonly createdAtMs: number;
    readonly updatedAtMs: number;
  };
  readonly nowMs: number;
  readonly asks: readonly TimelineAsk[];
  readonly journal: { readonly entries: number; readonly settled: number; readonly lines: readonly TimelineLine[] };
  readonly feed: { readonly items: readonly Item[]; readonly cursor?: string; readonly more: boolean };
}

export interface ReadTimeline {
  readonly taskId: string;
  readonly after: string | undefined;
  readonly token: string | undefined;
  readonly signal: AbortSignal;
}

/** Throws an Error with what the server says. */
export async function readTimeline({ taskId, after, token, signal }: ReadTimeline): Promise<Timeline> {
  const url = new URL(`api/tasks/${encodeURIComponent(taskId)}/timeline`, document.baseURI);
  if (after !== undefined) url.searchParams.set("after", after);
  const response = await fetch(url, { headers: token ? { authorization: `Bearer ${token}` } : {}, signal, cache: "no-store" });
  const body = (await response.json()) as Timeline & { readonly error?: { readonly message: string } };
  if (!response.ok) throw new Error(body.error?.message ?? `HTTP ${response.status}`);
  return body;
}
