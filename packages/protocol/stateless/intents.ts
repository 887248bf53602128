/** What a client of a revision without sessions can want, and what its request says of it. */
import type { ClientCapabilities } from "@parley/core";
import type { CallTool, CancelTask, Complete, Discover, GetPrompt, GetTask, List, Listen, ReadResource, UpdateTask } from "../intents.ts";

export type StatelessIntent = Discover | List | CallTool | GetPrompt | ReadResource | Complete | Listen | GetTask | UpdateTask | CancelTask;

/** What a request says about its client: nothing comes from a connection. */
export interface ClientFacts {
  /** What the client can be asked for by this very request. */
  readonly capabilities: ClientCapabilities;
  /** The request declared `io.modelcontextprotocol/tasks`: only then may it be answered with a task. */
  readonly speaksTasks: boolean;
  /** For logs only, and said by the client itself. */
  readonly clientInfo?: { readonly name: string; readonly version: string };
}

/** What a listen stream tells of. */
export type Filter = Pick<Listen, "taskIds" | "toolsListChanged" | "promptsListChanged" | "resourcesListChanged" | "resourceSubscriptions">;
