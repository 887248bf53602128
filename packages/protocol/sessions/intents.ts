/** What a client of a session can want: the decoded requests, checked for shape but not for what they name. */
import type { ClientCapabilities, JsonObject, LogLevel } from "@parley/core";
import type { CancelTask, Complete, List, ProgressToken } from "../intents.ts";
import type { RequestId } from "../json-rpc.ts";

interface Tells {
  /** Present when the client wants progress notifications for this request. */
  readonly progressToken?: ProgressToken;
}

export interface Ping {
  readonly type: "ping";
}

export interface SetLogLevel {
  readonly type: "setLogLevel";
  readonly level: LogLevel;
}

export interface Subscribe {
  readonly type: "subscribe" | "unsubscribe";
  readonly uri: string;
}

export interface CallToolInSession extends Tells {
  readonly type: "callTool";
  readonly name: string;
  readonly arguments: JsonObject;
  /** `params.task`, where the revision has tasks: the client wants a handle. `ttlMs` is null for no limit. */
  readonly task?: { readonly ttlMs?: number | null };
}

export interface GetPromptInSession extends Tells {
  readonly type: "getPrompt";
  readonly name: string;
  readonly arguments: { readonly [name: string]: string };
}

export interface ReadResourceInSession {
  readonly type: "readResource";
  readonly uri: string;
}

/** One answer of proposal #1869, or of tasks/sendInput. */
export interface GivenAnswer {
  readonly elicitationId: string;
  /** `{ action, content? }`, as the client sent it. */
  readonly reply: unknown;
}

/** tasks/get. `answers` is empty unless `_meta` holds an elicitation-response. */
export interface GetTaskInSession {
  readonly type: "getTask";
  readonly taskId: string;
  readonly answers: readonly GivenAnswer[];
}

export interface TaskResult {
  readonly type: "taskResult";
  readonly taskId: string;
}

export interface ListTasks {
  readonly type: "listTasks";
  readonly cursor?: string;
}

/** FastMCP's tasks/sendInput. Without `elicitationId` the one open question is meant. */
export interface SendInput {
  readonly type: "sendInput";
  readonly taskId: string;
  readonly elicitationId?: string;
  readonly reply: unknown;
}

export type SessionIntent =
  | Ping
  | SetLogLevel
  | Subscribe
  | List
  | CallToolInSession
  | GetPromptInSession
  | ReadResourceInSession
  | Complete
  | GetTaskInSession
  | TaskResult
  | ListTasks
  | CancelTask
  | SendInput;

/** A notification that something is done about. */
export type Notice = { readonly type: "cancelled"; readonly requestId: RequestId; readonly reason?: string };

/** What `initialize` says. */
export interface Initialize {
  readonly id: RequestId;
  /** The revision to speak: the one asked for if it is served, else the newest with sessions. */
  readonly version: string;
  readonly capabilities: ClientCapabilities;
  readonly clientInfo?: { readonly name: string; readonly version: string };
}
