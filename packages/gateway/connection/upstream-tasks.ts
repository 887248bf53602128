/**
 * Requests to an upstream of 2026-07-28 that has the Tasks extension: it may answer a call with a task, which is then polled until it ends. The
 * official client's codecs refuse the extension's shapes, so these requests are sent without it.
 *
 * Source: the extension's specification, and specification 2026-07-28, basic/transports/streamable-http.
 */
import { type FetchLike, ProtocolError, SdkError, SdkErrorCode, SdkHttpError } from "@modelcontextprotocol/client";
import type { JsonObject } from "@parley/core";
import { EventSourceParserStream } from "eventsource-parser/stream";
import { z } from "zod";
import { headerValue, type ParamHeaders } from "../wire/param-headers.ts";

/** Maximum number of messages of an upstream in one call: replies, questions and notifications. */
export const MESSAGES_MAX = 100_000;
export const TASKS_EXTENSION = "io.modelcontextprotocol/tasks";
const REVISION = "2026-07-28";
/**
 * Part of the metadata of a request of 2026-07-28: without it, the upstream must not send logs. Each reader of the task chooses among them by a level of
 * its own.
 */
export const ALL_LOGS = { "io.modelcontextprotocol/logLevel": "debug" } as const;

const inputRequests = z.record(z.string().max(256), z.looseObject({ method: z.string(), params: z.unknown().optional() }));
const error = z.looseObject({ code: z.number().int(), message: z.string(), data: z.unknown().optional() });
/** For people: anything that is no text is ignored. */
export const statusMessage = z.string().optional().catch(undefined);
/** By which another Parley says that it asks people whom the gateway cannot ask: in `_meta` of its tasks, its progress, and the calls that it hands over. */
export const WAITS = "parley/waits";
export const taskMeta = z
  .looseObject({ [WAITS]: z.literal(true) })
  .optional()
  .catch(undefined);
const task = z.looseObject({
  taskId: z.string().min(1).max(1_024),
  status: z.enum(["working", "input_required", "completed", "failed", "cancelled"]),
  pollIntervalMs: z.number().int().min(0).optional(),
  statusMessage,
  _meta: taskMeta,
  inputRequests: inputRequests.optional(),
  result: z.looseObject({}).optional(),
  error: error.optional(),
});
const reply = z.looseObject({
  id: z.unknown().optional(),
  method: z.string().optional(),
  result: z.looseObject({}).optional(),
  error: error.optional(),
});

export type RpcMessage = z.output<typeof reply>;
export type UpstreamTask = z.output<typeof task>;

export interface TaskRequests {
  /** Resolves with a result and its `resultType`. Throws the upstream's error as ProtocolError, and the errors of fetch. */
  call(params: JsonObject, signal: AbortSignal, headers?: ParamHeaders): Promise<JsonObject>;
  get(taskId: string, signal: AbortSignal): Promise<UpstreamTask>;
  update(taskId: string, inputResponses: object, signal: AbortSignal): Promise<void>;
  cancel(taskId: string, signal: AbortSignal): Promise<void>;
}

export interface TaskRequestsOptions {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly fetch: FetchLike;
  readonly clientInfo: JsonObject;
  readonly capabilities: JsonObject;
  /** Notifications that arrive with a reply. */
  readonly onNotification?: (method: string, params: unknown) => void;
}

interface Requesting {
  readonly signal: AbortSignal;
  readonly more?: ParamHeaders | undefined;
}

export function createTaskRequests({ url, headers, fetch, clientInfo, capabilities, onNotification }: TaskRequestsOptions): TaskRequests {
  let ids = 0;
  const envelope = {
    "io.modelcontextprotocol/protocolVersion": REVISION,
    "io.modelcontextprotocol/clientInfo": clientInfo,
    "io.modelcontextprotocol/clientCapabilities": { ...capabilities, extensions: { [TASKS_EXTENSION]: {} } },
    ...ALL_LOGS,
  };

  async function request(method: string, name: string, params: JsonObject, { signal, more }: Requesting): Promise<JsonObject> {
    ids += 1;
    const id = ids;
    const { _meta } = params;
    const body = JSON.stringify({
      jsonrpc: "2.0",
      id,
      method,
      params: { ...params, _meta: { ...(_meta as object | undefined), ...envelope } },
    });
    const response = await fetch(url, {
      method: "POST",
      headers: {
        ...headers,
        ...more,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": REVISION,
        "mcp-method": method,
        "mcp-name": headerValue(name),
      },
      body,
      signal,
    });
    const found = await readReply(response, id);
    if (found?.error) throw ProtocolError.fromError(found.error.code, found.error.message, found.error.data);
    if (found?.result) return found.result as JsonObject;
    throw new SdkHttpError(SdkErrorCode.ClientHttpNotImplemented, "no reply", { status: response.status, statusText: response.statusText });
  }

  async function readReply(response: Response, id: number): Promise<RpcMessage | undefined> {
    for await (const message of messagesOf(response)) {
      if (message.method !== undefined && message.id === undefined) onNotification?.(message.method, message["params"]);
      else if (message.id === id) return message;
    }
    return undefined;
  }

  return {
    call: (params, signal, more) =>
      request("tools/call", typeof params["name"] === "string" ? params["name"] : "", params, { signal, more }),
    get: async (taskId, signal) => readTask(await request("tasks/get", taskId, { taskId }, { signal })),
    async update(taskId, inputResponses, signal) {
      await request("tasks/update", taskId, { taskId, inputResponses: inputResponses as JsonObject }, { signal });
    },
    async cancel(taskId, signal) {
      await request("tasks/cancel", taskId, { taskId }, { signal });
    },
  };
}

/** Yields the messages of a response: one, or those of a stream as they arrive. Throws SdkError if there are too many. */
export async function* messagesOf(response: Response): AsyncGenerator<RpcMessage> {
  const type = (response.headers.get("content-type") ?? "").toLowerCase();
  if (type.startsWith("application/json")) {
    const { data } = reply.safeParse(await response.json());
    if (data) yield data;
    return;
  }
  if (!type.startsWith("text/event-stream") || !response.body) {
    await response.body?.cancel();
    return;
  }
  let messages = 0;
  for await (const { data } of response.body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream())) {
    for (const message of messageOf(data)) {
      messages += 1;
      if (messages > MESSAGES_MAX) throw new SdkError(SdkErrorCode.InvalidResult, "too many messages");
      yield message;
    }
  }
}

/** Throws SdkError if the result is not a task. */
export function readTask(result: JsonObject): UpstreamTask {
  const { data } = task.safeParse(result);
  if (!data) throw new SdkError(SdkErrorCode.InvalidResult, "not a task");
  return data;
}

function messageOf(data: string): RpcMessage[] {
  try {
    const { data: message } = reply.safeParse(JSON.parse(data));
    return message ? [message] : [];
  } catch {
    return [];
  }
}
