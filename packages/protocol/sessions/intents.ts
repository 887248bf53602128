/** The intents of clients with sessions. */
import type { ClientCapabilities } from "@parley/core";
import type {
  CallTool,
  CancelTask,
  Complete,
  EventsIntent,
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
  | EventsIntent
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

/** A notification that the server acts on. */
export type Notice = { readonly type: "cancelled"; readonly requestId: RequestId; readonly reason?: string };

/** The content of `initialize`. */
export interface Initialize {
  readonly id: RequestId;
  /** The revision to speak: the requested one if it is served, otherwise the newest with sessions. */
  readonly version: string;
  readonly capabilities: ClientCapabilities;
  readonly clientInfo?: { readonly name: string; readonly version: string };
}
