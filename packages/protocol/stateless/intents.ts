/** The intents of stateless clients, and the facts about the client in each request. */
import type { ClientCapabilities } from "@parley/core";
import type {
  CallTool,
  CancelTask,
  Complete,
  Discover,
  EventsIntent,
  GetPrompt,
  GetTask,
  List,
  Listen,
  ReadResource,
  UpdateTask,
} from "../intents.ts";

export type StatelessIntent =
  | EventsIntent
  | Discover
  | List
  | CallTool
  | GetPrompt
  | ReadResource
  | Complete
  | Listen
  | GetTask
  | UpdateTask
  | CancelTask;

/** The facts about the client in a request. Nothing is taken from the connection. */
export interface ClientFacts {
  /** What the client can be asked in this request. */
  readonly capabilities: ClientCapabilities;
  /** The request declared `io.modelcontextprotocol/tasks`. Only such a request may be answered with a task. */
  readonly speaksTasks: boolean;
  /** As the client describes itself. Used only in logs. */
  readonly clientInfo?: { readonly name: string; readonly version: string };
}

/** What a listen stream reports. */
export type Filter = Pick<Listen, "taskIds" | "toolsListChanged" | "promptsListChanged" | "resourcesListChanged" | "resourceSubscriptions">;
