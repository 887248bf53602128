/**
 * What the revisions before 2026 have in common: a session is opened by `initialize`, and every later message belongs to it. A revision is a
 * folder that exports one object of this kind; a method that it does not have is absent from its table of methods.
 *
 * All of it is pure: sessions, streams and ids are the front end's.
 */
import type { Ask, AskRequest, Catalogue, ClientCapabilities, FeedItem, JsonObject, ResourceContents, Task, TaskPage } from "@parley/core";
import type { ServerFacts } from "../server-facts.ts";
import type { SessionVersion } from "../versions.ts";
import type { Reply, RequestId, RpcNotification } from "../json-rpc.ts";
import type { Notice, SessionIntent } from "./intents.ts";

export interface SessionDialect {
  readonly version: SessionVersion;
  /** One body may hold several messages (2025-03-26). */
  readonly batches: boolean;
  /** A stream may be closed before its answer was sent: the client comes back for the rest (2025-11-25). */
  readonly closesEarly: boolean;
  /** One message of a session: `initialize` is read by `readInitialize`. */
  decode(message: unknown): SessionMessage;
  /** Whether a client that declared these capabilities can be put that ask, in this revision. */
  canAsk(request: AskRequest, capabilities: ClientCapabilities): boolean;
  /** A reply to a request that `ask` made, in the words of the ask: to be judged by core's `readReply`. */
  readReply(request: AskRequest, reply: unknown): unknown;
  encoder(facts: ServerFacts): SessionEncoder;
}

export type SessionMessage =
  | { readonly type: "request"; readonly id: RequestId; readonly method: string; readonly intent: SessionIntent }
  | { readonly type: "notification"; readonly method: string; readonly notice?: Notice }
  /** The reply to a request of ours. An error reply reads as `{ action: "cancel" }`: the client cannot or will not answer. */
  | { readonly type: "response"; readonly id: RequestId; readonly reply: unknown }
  | ({ readonly type: "rejected" } & Reply);

/** A request that the server sends to the client. */
export interface RpcServerRequest {
  readonly jsonrpc: "2.0";
  readonly id: RequestId;
  readonly method: string;
  readonly params: object;
}

export interface SessionEncoder {
  /** The answer to `initialize`. */
  initialize(catalogue: Catalogue): object;
  /** The answer to ping, logging/setLevel, resources/subscribe and resources/unsubscribe. */
  empty(): object;
  /** One page. Throws ParleyError INVALID_CURSOR. The same for the other three lists. */
  toolList(catalogue: Catalogue, cursor?: string): object;
  promptList(catalogue: Catalogue, cursor?: string): object;
  resourceList(catalogue: Catalogue, cursor?: string): object;
  templateList(catalogue: Catalogue, cursor?: string): object;
  resourceContents(contents: readonly ResourceContents[]): object;
  completion(values: readonly string[]): object;
  /** A tool's own result, `isError` or not, as the answer to tools/call. */
  callResult(result: JsonObject): object;
  promptResult(result: JsonObject): object;

  /** The answer to a call that became a task: nested and flat, with what proposal #1869 has in `_meta`. */
  createTaskResult(task: Task): object;
  /** The answer to tasks/get, with an answer in its `_meta` or without. */
  task(task: Task): object;
  taskList(page: TaskPage): object;
  /** The answer to tasks/cancel: the cancelled task. */
  cancelledTask(task: Task): object;
  /** The answer to tasks/sendInput. */
  inputSent(accepted: boolean, task: Task): object;
  /** The answer to tasks/result of a finished task, with related-task. Throws RpcFailure with the task's own error, or one for a cancelled task. */
  taskResult(task: Task): object;
  /** notifications/tasks/status, with FastMCP's elicitation metadata while the task waits. */
  taskStatus(task: Task): RpcNotification;

  /**
   * An ask as a request to the client: elicitation/create, sampling/createMessage or roots/list. `taskId` adds related-task, for calls
   * whose task the client knows. A form is said in this revision's words. What was wrong with an earlier answer stands in the message.
   */
  ask(ask: Ask, options: { readonly requestId: RequestId; readonly elicitationId: string; readonly taskId?: string }): RpcServerRequest;
  /** A feed item for the stream of its call; nothing when the client did not ask for that kind or level. `taskId` adds related-task. */
  feedNotification(item: FeedItem, wants: FeedWants): RpcNotification | undefined;
  listChanged(kind: "tools" | "prompts" | "resources"): RpcNotification;
  resourceUpdated(uri: string): RpcNotification;

  /** The reply to a request whose handling threw. See `isDefect` for what must be logged under `defectId`. */
  failure(failure: SessionFailure): Reply;
}

export interface FeedWants {
  readonly progressToken?: string | number;
  readonly logLevel?: string;
  readonly taskId?: string;
}

export interface SessionFailure {
  readonly id: RequestId;
  readonly intent?: SessionIntent;
  readonly error: unknown;
  readonly defectId: string;
}
