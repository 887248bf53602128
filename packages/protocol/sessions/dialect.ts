/**
 * What a revision with sessions exports: a session is opened by `initialize`, and every later message belongs to it. Sessions, streams and ids are
 * the front end's.
 */
import type { Ask, AskRequest, Catalogue, ClientCapabilities, Task, TaskPage } from "@parley/core";
import type { Dialect, Encoder, Rejected, Request } from "../dialect.ts";
import type { RequestId, RpcNotification } from "../json-rpc.ts";
import type { SessionVersion } from "../versions.ts";
import type { Notice, SessionIntent } from "./intents.ts";

export interface SessionDialect extends Dialect<unknown, SessionMessage, SessionEncoder> {
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
}

export type SessionMessage =
  | Request<SessionIntent>
  | { readonly type: "notification"; readonly method: string; readonly notice?: Notice }
  /** The reply to a request of ours. An error reply reads as `{ action: "cancel" }`: the client cannot or will not answer. */
  | { readonly type: "response"; readonly id: RequestId; readonly reply: unknown }
  | Rejected;

/** A request that the server sends to the client. */
export interface RpcServerRequest {
  readonly jsonrpc: "2.0";
  readonly id: RequestId;
  readonly method: string;
  readonly params: object;
}

export interface SessionEncoder extends Encoder {
  /** The answer to `initialize`. */
  initialize(catalogue: Catalogue): object;
  /** The answer to ping, logging/setLevel, resources/subscribe and resources/unsubscribe. */
  empty(): object;
  /**
   * An ask as a request to the client: elicitation/create, sampling/createMessage or roots/list. `taskId` adds related-task, for calls
   * whose task the client knows. A form is put in this revision's words. The message says what was wrong with an earlier answer.
   */
  ask(ask: Ask, options: { readonly requestId: RequestId; readonly elicitationId: string; readonly taskId?: string }): RpcServerRequest;
  /** Where the revision has url mode: nothing is left to be done at the page of an ask that was put. */
  readonly pageDone?: (elicitationId: string) => RpcNotification;
  /** Where the revision has tasks. */
  readonly tasks?: TaskEncoder;
}

/** What is said about tasks. */
export interface TaskEncoder {
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
}
