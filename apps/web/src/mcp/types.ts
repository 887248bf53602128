/** What every dialect comes to: a call that asks, is answered, and ends. */
import type { JsonObject } from "@parley/core/form";

export interface Tool {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema: JsonObject;
  readonly annotations?: { readonly destructiveHint?: boolean; readonly readOnlyHint?: boolean };
  readonly execution?: { readonly taskSupport?: "required" | "optional" | "forbidden" };
}

export interface Call {
  readonly tool: Tool;
  readonly args: JsonObject;
}

export interface Question {
  /** Unique in its call. */
  readonly id: string;
  readonly message: string;
  /** Of a form; undefined for a question that sends the person to a page. */
  readonly schema: JsonObject | undefined;
  readonly url: string | undefined;
}

export type Reply = { readonly action: "accept"; readonly content?: JsonObject } | { readonly action: "decline" | "cancel" };

export interface Violation {
  readonly path: string;
  readonly message: string;
}

/** What became of a reply. */
export type Taken =
  | { readonly type: "taken" }
  /** The question was answered before, or is over. */
  | { readonly type: "late" }
  | { readonly type: "refused"; readonly message: string; readonly violations: readonly Violation[] };

export type Status = "working" | "input_required" | "completed" | "failed" | "cancelled";

export type End =
  | { readonly type: "result"; readonly result: Record<string, unknown> }
  | { readonly type: "error"; readonly message: string; readonly code?: number; readonly data?: unknown }
  | { readonly type: "cancelled" };

/** Whom a running call tells what it learns. */
export interface Told {
  handle(taskId: string): void;
  state(status: Status, message?: string): void;
  /** All that are open. */
  questions(open: readonly Question[]): void;
  notice(notification: { readonly method: string; readonly params: Record<string, unknown> }): void;
  connected(isConnected: boolean): void;
  /** Once, last. */
  ended(end: End): void;
  /** What a reload needs to come back to a call that has no task; undefined: nothing any more. */
  keep(state: JsonObject | undefined): void;
}

export interface Running {
  answer(questionId: string, reply: Reply): Promise<Taken>;
  cancel(): Promise<void>;
  /** Stops following. A task continues without. */
  leave(): void;
}

export interface Dialect {
  readonly id: string;
  readonly title: string;
  readonly note: string;
  /** Calls are tasks that any client of the same person can come back to. */
  readonly hasTasks: boolean;
  listTools(): Promise<readonly Tool[]>;
  call(call: Call, told: Told): Running;
  /** Comes back to a task, called by this client or another. */
  follow(taskId: string, told: Told): Running;
  /** Comes back to a call by what it kept. */
  resume(kept: JsonObject, told: Told): Running;
}

export const CLIENT_INFO = { name: "parley-playground", version: "0.1.0" };
export const ELICITATION = { elicitation: { form: {}, url: {} } };
