/**
 * What a revision with sessions exports. `initialize` opens a session, and every later message belongs to it. The front end manages sessions,
 * streams and ids.
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
  /** A stream may be closed before its answer: the client reconnects for the rest (2025-11-25). */
  readonly closesEarly: boolean;
  /** Decodes one message of a session. `readInitialize` reads `initialize`. */
  decode(message: unknown): SessionMessage;
  /** Whether a client with these capabilities can be asked this, in this revision. */
  canAsk(request: AskRequest, capabilities: ClientCapabilities): boolean;
  /** Translates the reply to a request of `ask` into the terms of the ask, for core's `readReply` to validate. */
  readReply(request: AskRequest, reply: unknown): unknown;
}

export type SessionMessage =
  | Request<SessionIntent>
  | { readonly type: "notification"; readonly method: string; readonly notice?: Notice }
  /** The reply to a request of the server. An error reads as `{ action: "cancel" }`: the client cannot or will not answer. */
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
   * An ask as a request to the client: elicitation/create, sampling/createMessage or roots/list. Pass `taskId` if the client knows the task; it adds
   * related-task. A form is translated to this revision. The message includes the problems of an earlier answer.
   */
  ask(ask: Ask, options: { readonly requestId: RequestId; readonly elicitationId: string; readonly taskId?: string }): RpcServerRequest;
  /** The notification that the request of an ask needs no reply any more. Pass `taskId` as to `ask`. */
  askOver(requestId: RequestId, taskId?: string): RpcNotification;
  /** Set if the revision has url mode: the notification that the page of an ask is complete. */
  readonly pageDone?: (elicitationId: string) => RpcNotification;
  /** Set if the revision has tasks. */
  readonly tasks?: TaskEncoder;
}

/** Encodes messages about tasks. `capabilities` are those of the session that reads them. */
export interface TaskEncoder {
  /** The answer to a call that became a task, nested and flat, with proposal #1869's `_meta`. */
  createTaskResult(task: Task, capabilities: ClientCapabilities): object;
  /** The answer to tasks/get, whether or not its `_meta` carried an answer. */
  task(task: Task, capabilities: ClientCapabilities): object;
  /** The answer to tasks/list: a list reads none of the questions of its tasks, so what it says of one that waits may differ from `task` (docs/dialects.md). */
  taskList(page: TaskPage, capabilities: ClientCapabilities): object;
  /** The answer to tasks/cancel: the cancelled task. */
  cancelledTask(task: Task, capabilities: ClientCapabilities): object;
  /** The answer to tasks/sendInput. */
  inputSent(accepted: boolean, task: Task, capabilities: ClientCapabilities): object;
  /** The answer to tasks/result of a finished task, with related-task. Throws RpcFailure with the task's own error, or one for a cancelled task. */
  taskResult(task: Task): object;
  /** notifications/tasks/status, with FastMCP's elicitation metadata while the task waits. */
  taskStatus(task: Task, capabilities: ClientCapabilities): RpcNotification;
}
