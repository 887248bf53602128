/**
 * Tasks of an upstream of revision 2025-11-25: it answers a call with a task, which is polled until it ends. Questions arrive on the stream of
 * `tasks/result` and can be answered in the same session by any process that knows its id. So nothing is held:
 *
 *   tools/call {task} ─▶ session and task, recorded ─▶ tasks/get ─▶ input_required: the stream of tasks/result is read for its questions, and left
 *                                                  ─▶ ended:          tasks/result
 *
 * The session outlives the connection in which it was opened, and ends with its task. A stream that is no longer read is cancelled; otherwise its
 * server would send the next question there, unread.
 *
 * Source: specification 2025-11-25, basic/utilities/tasks.
 */
import { randomUUID } from "node:crypto";
import { type FetchLike, ProtocolError, SdkError, SdkErrorCode, SdkHttpError } from "@modelcontextprotocol/client";
import type { JsonObject } from "@parley/core";
import { z } from "zod";
import { REFUSED } from "../wire/question.ts";
import { messagesOf, type RpcMessage, statusMessage, taskMeta, type TaskRequests, type UpstreamTask } from "./upstream-tasks.ts";

const RELATED_TASK = "io.modelcontextprotocol/related-task";
const REVISION = "2025-11-25";
/** The longest timer of JavaScript: a server in that language with a longer ttl would forget the task at once. */
const TTL_MAX_MS = 2_147_483_647;
/** How long the stream of a task in `input_required` is read for its question. */
const LISTEN_MS = 5_000;
/** Questions that were sent together arrive within this time. */
const TOGETHER_MS = 50;

const task = z.looseObject({
  taskId: z.string().min(1).max(512),
  status: z.enum(["working", "input_required", "completed", "failed", "cancelled"]),
  pollInterval: z.number().int().min(0).optional(),
  statusMessage,
  _meta: taskMeta,
});
const created = z.looseObject({ task });
const names = z.tuple([z.string().max(512), z.string().max(512)]);

export interface SessionTasksOptions {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly fetch: FetchLike;
  /** The ttl that is requested for a task. */
  readonly ttlMs: number;
  /** The session in which the call is made; polls find theirs in the task's id. */
  readonly sessionId?: string;
  readonly listenMs?: number;
  /** Notifications that arrive with a reply, such as those that a task sent since the last poll. */
  readonly onNotification?: ((method: string, params: unknown) => void) | undefined;
}

/** Whether the id names a task in a session. */
export function isSessionTask(id: string): boolean {
  return id.startsWith("[");
}

export function createSessionTasks(options: SessionTasksOptions): TaskRequests {
  const { url, headers, fetch, ttlMs, listenMs = LISTEN_MS, onNotification } = options;

  function post(sessionId: string, message: JsonObject, signal: AbortSignal): Promise<Response> {
    return fetch(url, {
      method: "POST",
      headers: { ...headersOf(sessionId), "content-type": "application/json", accept: "application/json, text/event-stream" },
      body: JSON.stringify({ jsonrpc: "2.0", ...message }),
      signal,
    });
  }

  function headersOf(sessionId: string): Record<string, string> {
    return { ...headers, "mcp-protocol-version": REVISION, "mcp-session-id": sessionId };
  }

  /** Yields the requests sent in reply. Ends with the reply itself, or when `signal` is aborted. */
  async function* replies(sessionId: string, request: JsonObject & { id: string }, signal: AbortSignal): AsyncGenerator<RpcMessage> {
    const response = await post(sessionId, request, signal);
    for await (const message of messagesOf(response)) {
      if (message.method !== undefined && message.id === undefined) onNotification?.(message.method, message["params"]);
      else yield message;
      if (message.method === undefined && message.id === request.id) return;
    }
    const { status, statusText } = response;
    throw new SdkHttpError(SdkErrorCode.ClientHttpNotImplemented, "no reply", { status, statusText });
  }

  async function request(sessionId: string, method: string, params: JsonObject, signal: AbortSignal): Promise<JsonObject> {
    for await (const message of replies(sessionId, { id: randomUUID(), method, params }, signal)) {
      if (message.method === undefined) return resultOf(message);
    }
    throw new SdkError(SdkErrorCode.InvalidResult, "no reply");
  }

  /** Returns what the task asks, by request id; or its result, if it has ended in the meantime. */
  async function questions(
    sessionId: string,
    taskId: string,
    signal: AbortSignal,
  ): Promise<Pick<UpstreamTask, "inputRequests"> | JsonObject> {
    const leave = new AbortController();
    const id = randomUUID();
    const found: Record<string, { method: string; params?: unknown }> = {};
    let timer = setTimeout(() => leave.abort(), listenMs);
    try {
      const both = AbortSignal.any([signal, leave.signal]);
      for await (const message of replies(sessionId, { id, method: "tasks/result", params: { taskId } }, both)) {
        if (message.method === undefined) return { ended: resultOf(message) };
        found[JSON.stringify(message.id)] = { method: message.method, params: message["params"] };
        clearTimeout(timer);
        timer = setTimeout(() => leave.abort(), TOGETHER_MS);
      }
    } catch (error) {
      if (!leave.signal.aborted || signal.aborted) throw error;
    } finally {
      clearTimeout(timer);
      leave.abort();
    }
    const over = AbortSignal.any([signal, AbortSignal.timeout(listenMs)]);
    await post(sessionId, { method: "notifications/cancelled", params: { requestId: id, reason: "read again later" } }, over).catch(
      () => undefined,
    );
    return { inputRequests: found };
  }

  async function end(sessionId: string): Promise<void> {
    await fetch(url, { method: "DELETE", headers: headersOf(sessionId), signal: AbortSignal.timeout(listenMs) }).catch(() => undefined);
  }

  return {
    async call(params, signal) {
      const { sessionId = "" } = options;
      const result = await request(sessionId, "tools/call", { ...params, task: { ttl: Math.min(ttlMs, TTL_MAX_MS) } }, signal);
      const { data } = created.safeParse(result);
      // A server may answer with the result instead of a task.
      if (!data) return result;
      const { pollInterval, taskId, status, statusMessage: message } = data.task;
      const named = JSON.stringify([sessionId, taskId]);
      return {
        resultType: "task",
        taskId: named,
        status: status === "input_required" ? "working" : status,
        ...(pollInterval !== undefined && { pollIntervalMs: pollInterval }),
        ...(message !== undefined && { statusMessage: message }),
      };
    },
    async get(named, signal) {
      const [sessionId, taskId] = partsOf(named);
      const found = await request(sessionId, "tasks/get", { taskId }, signal).catch((error: unknown) => {
        throw error instanceof SdkHttpError && error.status === 404 ? sessionForgotten() : error;
      });
      const { data } = task.safeParse(found);
      if (!data) throw new SdkError(SdkErrorCode.InvalidResult, "no task");
      const { status, pollInterval, statusMessage: message, _meta } = data;
      const of = { taskId: named, statusMessage: message, _meta, ...(pollInterval !== undefined && { pollIntervalMs: pollInterval }) };
      switch (status) {
        case "working":
          return { ...of, status };
        case "input_required": {
          const asked = await questions(sessionId, taskId, signal);
          if (!("ended" in asked)) return { ...of, status, ...asked };
          await end(sessionId);
          return { ...of, status: "completed", result: asked["ended"] as JsonObject };
        }
        case "cancelled":
          await end(sessionId);
          return { ...of, status };
        // A result with isError is a result; a JSON-RPC error is thrown.
        case "completed":
        case "failed": {
          try {
            return { ...of, status: "completed", result: await request(sessionId, "tasks/result", { taskId }, signal) };
          } finally {
            await end(sessionId);
          }
        }
      }
    },
    async update(named, inputResponses, signal) {
      const [sessionId] = partsOf(named);
      for (const [id, result] of Object.entries(inputResponses)) {
        const { body, status } = await post(sessionId, { id: JSON.parse(id) as string, result: result as JsonObject }, signal);
        await body?.cancel();
        if (status === 404) throw sessionForgotten();
      }
    },
    async cancel(named, signal) {
      const [sessionId, taskId] = partsOf(named);
      try {
        await request(sessionId, "tasks/cancel", { taskId }, signal);
      } finally {
        await end(sessionId);
      }
    },
  };
}

const sessionForgotten = () => new ProtocolError(REFUSED, "the upstream has forgotten the session of its task");

function partsOf(named: string): readonly [string, string] {
  return names.parse(JSON.parse(named));
}

function resultOf({ result, error }: RpcMessage): JsonObject {
  if (error) throw ProtocolError.fromError(error.code, error.message, error.data);
  if (!result) throw new SdkError(SdkErrorCode.InvalidResult, "no result");
  const { [RELATED_TASK]: _, ...meta } = (result["_meta"] ?? {}) as JsonObject;
  // The metadata names the upstream's task. The caller knows only Parley's.
  return { ...result, _meta: meta } as JsonObject;
}
