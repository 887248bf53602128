/** What the view is given: by the result of the call that asks, and by each poll. Anything else is not for it. */
import type { JsonObject } from "@parley/core/form";
import { isObject, type ToolResult } from "./host.ts";

export interface Waiting {
  readonly taskId: string;
  readonly state: string;
  /** What was called, by its title. */
  readonly called: string;
  /** The newest question that was told. */
  readonly seen: number;
  readonly asks: readonly AskShown[];
  /** Questions beside these. */
  readonly more: number;
  /** The tools that take an answer and that wait; absent if they are not served. */
  readonly tools: { readonly answer?: string; readonly wait?: string };
}

export interface AskShown {
  readonly key: string;
  readonly question: string;
  /** Who is asked: `you`, or the names of others. */
  readonly who: string;
  /** ISO 8601. */
  readonly deadline: string;
  readonly page?: string;
  /** Absent if the question is answered on its page only. */
  readonly form?: { readonly schema: JsonObject; readonly hints?: JsonObject };
}

/** Undefined if the result says nothing that is open. Of another task than `taskId`, it is a tool's own. */
export function waitingIn({ structuredContent, _meta }: ToolResult, taskId?: string): Waiting | undefined {
  const given = structuredContent ?? _meta?.["parley/waiting"];
  if (!isObject(given) || typeof given["taskId"] !== "string" || (taskId !== undefined && given["taskId"] !== taskId)) return undefined;
  if (!Array.isArray(given["asks"]) || !isObject(given["tools"]) || typeof given["seen"] !== "number") return undefined;
  if (given["state"] !== "working" && given["state"] !== "input_required") return undefined;
  return given as unknown as Waiting;
}

/** What became of an answer. */
export interface Became {
  readonly receipt: "accepted" | "duplicate" | "late" | "invalid" | "forbidden" | "unknown" | "for_page";
  readonly violations?: readonly { readonly path: string; readonly message: string }[];
  readonly end?: { readonly end: string; readonly at?: string; readonly by?: { readonly name: string; readonly isCaller: boolean } };
}

export function becameIn({ structuredContent }: ToolResult): Became | undefined {
  return typeof structuredContent?.["receipt"] === "string" ? (structuredContent as unknown as Became) : undefined;
}
