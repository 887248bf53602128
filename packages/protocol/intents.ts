/**
 * Intents: what a decoded request asks for, the same in every dialect. Their shape has been checked, but not whether the things they name exist.
 * Each family lists the intents of its clients; a member that only some revisions have is optional.
 */
import type { JsonObject, LogLevel } from "@parley/core";

export interface Discover {
  readonly type: "discover";
}

export interface Ping {
  readonly type: "ping";
}

export interface SetLogLevel {
  readonly type: "setLogLevel";
  readonly level: LogLevel;
}

export interface List {
  readonly type: "listTools" | "listPrompts" | "listResources" | "listTemplates";
  readonly cursor?: string;
}

/** Continues a call that was answered with `input_required` (2026-07-28). Both members are absent from a first call. */
export interface Retry {
  /** `inputResponses` by ask key, each as the client sent it. Validate each separately, and ignore keys that were not asked. */
  readonly replies?: { readonly [key: string]: unknown };
  /** Untrusted until its seal has been opened. */
  readonly requestState?: string;
}

export interface CallTool extends Retry {
  readonly type: "callTool";
  readonly name: string;
  readonly arguments: JsonObject;
  /** `params.task` (2025-11-25): the client wants a handle. `ttlMs` is null for no limit. */
  readonly task?: { readonly ttlMs?: number | null };
  /** Calls of one caller with the same key count as one call. */
  readonly idempotencyKey?: string;
  readonly reason?: string;
}

export interface GetPrompt extends Retry {
  readonly type: "getPrompt";
  readonly name: string;
  readonly arguments: { readonly [name: string]: string };
  readonly reason?: string;
}

export interface ReadResource extends Retry {
  readonly type: "readResource";
  readonly uri: string;
}

export interface Complete {
  readonly type: "complete";
  readonly of: { readonly type: "prompt"; readonly name: string } | { readonly type: "template"; readonly uri: string };
  readonly argument: string;
  readonly value: string;
  /** The arguments that are filled in already. */
  readonly others: { readonly [name: string]: string };
}

export interface Subscribe {
  readonly type: "subscribe" | "unsubscribe";
  readonly uri: string;
}

/** `subscriptions/listen`. The request's id is the subscription's id. */
export interface Listen {
  readonly type: "listen";
  /** Without duplicates; empty if no task is followed. */
  readonly taskIds: readonly string[];
  readonly toolsListChanged: boolean;
  readonly promptsListChanged: boolean;
  readonly resourcesListChanged: boolean;
  /** Uris of the resources to follow. */
  readonly resourceSubscriptions: readonly string[];
}

/** One answer of proposal #1869, or of tasks/sendInput. */
export interface GivenAnswer {
  readonly elicitationId: string;
  /** `{ action, content? }`, as the client sent it. */
  readonly reply: unknown;
}

export interface GetTask {
  readonly type: "getTask";
  readonly taskId: string;
  /** The answers of an elicitation-response in `_meta` (proposal #1869). */
  readonly answers?: readonly GivenAnswer[];
}

export interface UpdateTask {
  readonly type: "updateTask";
  readonly taskId: string;
  /** As `Retry.replies`. */
  readonly replies: { readonly [key: string]: unknown };
}

/** FastMCP's tasks/sendInput. Without `elicitationId`, it answers the only question that the task has asked so far. */
export interface SendInput {
  readonly type: "sendInput";
  readonly taskId: string;
  readonly elicitationId?: string;
  readonly reply: unknown;
}

export interface TaskResult {
  readonly type: "taskResult";
  readonly taskId: string;
}

export interface ListTasks {
  readonly type: "listTasks";
  readonly cursor?: string;
}

export interface CancelTask {
  readonly type: "cancelTask";
  readonly taskId: string;
}

/** What a subscription to events is about (SEP-3415). */
export interface EventsRequest {
  readonly name: string;
  readonly arguments: { readonly [name: string]: unknown };
  /** Absent: from now on. */
  readonly cursor?: string;
  readonly maxAgeMs?: number;
}

export interface ListEvents {
  readonly type: "listEvents";
  readonly cursor?: string;
}

export interface PollEvents extends EventsRequest {
  readonly type: "pollEvents";
  readonly maxEvents?: number;
}

/** The request's id is the subscription's id. */
export interface StreamEvents extends EventsRequest {
  readonly type: "streamEvents";
}

export interface SubscribeEvents extends EventsRequest {
  readonly type: "subscribeEvents";
  readonly url: string;
  readonly secret: string;
  /** Absent: as the server likes. */
  readonly ttlMs?: number;
}

export interface UnsubscribeEvents extends Pick<EventsRequest, "name" | "arguments"> {
  readonly type: "unsubscribeEvents";
  readonly url: string;
}

export type EventsIntent = ListEvents | PollEvents | StreamEvents | SubscribeEvents | UnsubscribeEvents;

export type Intent =
  | EventsIntent
  | Discover
  | Ping
  | SetLogLevel
  | List
  | CallTool
  | GetPrompt
  | ReadResource
  | Complete
  | Subscribe
  | Listen
  | GetTask
  | UpdateTask
  | SendInput
  | TaskResult
  | ListTasks
  | CancelTask;

/** The member of `Wanted` with that type: the parameter of its handler. */
export type IntentOf<Wanted extends Intent, Type extends Wanted["type"]> = Wanted extends infer One extends Intent
  ? Type extends One["type"]
    ? One
    : never
  : never;

/** Chosen by the client, and repeated in the progress notifications of its request. */
export type ProgressToken = string | number;

/** Which notifications the sender of a request wants. Absent ones are not sent. */
export interface Wants {
  readonly progressToken?: ProgressToken;
  /** Log messages of this level and above. */
  readonly logLevel?: LogLevel;
}
