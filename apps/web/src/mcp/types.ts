/** What all dialects have in common: a call that asks questions, receives answers, and ends. */
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
  /** Unique within the call. */
  readonly id: string;
  readonly message: string;
  /** The schema of the form; undefined for a question that sends the person to a page. */
  readonly schema: JsonObject | undefined;
  readonly url: string | undefined;
  /** How carefully to ask. */
  readonly hints?: Readonly<Record<string, unknown>>;
  /** By field: what a tool found wrong with the last answer, which the form's defaults repeat. */
  readonly problems?: Readonly<Record<string, string>>;
}

export type Reply = { readonly action: "accept"; readonly content?: JsonObject } | { readonly action: "decline" | "cancel" };

export interface Violation {
  readonly path: string;
  readonly message: string;
}

/** The outcome of a reply. */
export type ReplyOutcome =
  | { readonly type: "accepted" }
  /** The question has been answered or is closed. */
  | { readonly type: "late" }
  | { readonly type: "refused"; readonly message: string; readonly violations: readonly Violation[] };

export type Status = "working" | "input_required" | "completed" | "failed" | "cancelled";

export type End =
  | { readonly type: "result"; readonly result: Record<string, unknown> }
  | { readonly type: "error"; readonly message: string; readonly code?: number; readonly data?: unknown }
  | { readonly type: "cancelled" };

/** Receives the events of a running call. */
export interface CallListener {
  handle(taskId: string): void;
  state(status: Status, message?: string): void;
  /** All open questions. */
  questions(open: readonly Question[]): void;
  notice(notification: { readonly method: string; readonly params: Record<string, unknown> }): void;
  connected(isConnected: boolean): void;
  /** Called once, last. */
  ended(end: End): void;
  /** The state with which a reloaded page resumes a call without a task; undefined if there is nothing to resume. */
  keep(state: JsonObject | undefined): void;
}

export interface Running {
  answer(questionId: string, reply: Reply): Promise<ReplyOutcome>;
  cancel(): Promise<void>;
  /** Stops following. A task continues to run. */
  leave(): void;
}

export interface Dialect {
  readonly id: string;
  readonly title: string;
  readonly note: string;
  /** Whether calls are tasks, to which any client of the same person can return. */
  readonly hasTasks: boolean;
  listTools(): Promise<readonly Tool[]>;
  call(call: Call, listener: CallListener): Running;
  /** Follows an existing task, created by this client or another. */
  follow(taskId: string, listener: CallListener): Running;
  /** Resumes a call from the state it kept. */
  resume(kept: JsonObject, listener: CallListener): Running;
}

export const CLIENT_INFO = { name: "parley-playground", version: "0.1.0" };
export const ELICITATION = { elicitation: { form: {}, url: {} } };
