/** What a client of a session can want. */
import type { ClientCapabilities } from "@parley/core";
import type {
  CallTool,
  CancelTask,
  Complete,
  GetPrompt,
  GetTask,
  List,
  ListTasks,
  Ping,
  ReadResource,
  SendInput,
  SetLogLevel,
  Subscribe,
  TaskResult,
} from "../intents.ts";
import type { RequestId } from "../json-rpc.ts";

export type SessionIntent =
  | Ping
  | SetLogLevel
  | Subscribe
  | List
  | CallTool
  | GetPrompt
  | ReadResource
  | Complete
  | GetTask
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
