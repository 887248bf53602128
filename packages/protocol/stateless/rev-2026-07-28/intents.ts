/**
 * What a client of 2026-07-28 can want: the decoded requests, checked for shape but not for what they name.
 *
 * Nothing here comes from a connection: the revision is stateless, every request carries its client's capabilities.
 */
import type { ClientCapabilities, JsonObject, LogLevel } from "@parley/core";
import type { CancelTask, Complete, List, ProgressToken } from "../../intents.ts";

/** What a request says about its client and about how it wants to be told. */
export interface ClientFacts {
  /** What the client can be asked for by this very request. */
  readonly capabilities: ClientCapabilities;
  /** The request declared `io.modelcontextprotocol/tasks`: only then may it be answered with a task. */
  readonly speaksTasks: boolean;
  /** Present when the client wants log messages, and from which level on. */
  readonly logLevel?: LogLevel;
  /** Present when the client wants progress notifications for this request. */
  readonly progressToken?: ProgressToken;
  /** For logs only, and said by the client itself. */
  readonly clientInfo?: { readonly name: string; readonly version: string };
}

/** The second half of a call that was answered with `input_required`; both absent on a first call. */
export interface Retry {
  /** `inputResponses` by ask key, each as the client sent it: judge each on its own, ignore keys that were not asked. */
  readonly replies?: { readonly [key: string]: unknown };
  /** Under the client's control until it was opened. */
  readonly requestState?: string;
}

export interface Discover {
  readonly type: "discover";
}

export interface CallTool extends Retry {
  readonly type: "callTool";
  readonly name: string;
  readonly arguments: JsonObject;
}

export interface GetPrompt extends Retry {
  readonly type: "getPrompt";
  readonly name: string;
  readonly arguments: { readonly [name: string]: string };
}

export interface ReadResource extends Retry {
  readonly type: "readResource";
  readonly uri: string;
}

export interface GetTask {
  readonly type: "getTask";
  readonly taskId: string;
}

export interface UpdateTask {
  readonly type: "updateTask";
  readonly taskId: string;
  /** As `Retry.replies`. */
  readonly replies: { readonly [key: string]: unknown };
}

/** `subscriptions/listen`: its id is the subscription's id. */
export interface Listen {
  readonly type: "listen";
  /** Without repetitions; empty when no task is meant. */
  readonly taskIds: readonly string[];
  readonly toolsListChanged: boolean;
  readonly promptsListChanged: boolean;
  readonly resourcesListChanged: boolean;
  /** Uris whose changes are wanted; empty when none is. */
  readonly resourceSubscriptions: readonly string[];
}

export type Intent = (Discover | List | CallTool | GetPrompt | ReadResource | Complete | GetTask | UpdateTask | CancelTask | Listen) &
  ClientFacts;
