/** Asks as requests from the server to the client. */
import type { JsonObject } from "@parley/core";
import { isObject, type RequestId } from "../json-rpc.ts";
import type { RpcServerRequest } from "./dialect.ts";

export function serverRequest(id: RequestId, method: string, params: object): RpcServerRequest {
  return { jsonrpc: "2.0", id, method, params };
}

/** Before 2025-11-25, a message holds one content block, so each block becomes a message. */
export function singleBlocks(params: JsonObject): JsonObject {
  const { messages } = params;
  if (!Array.isArray(messages)) return params;
  return {
    ...params,
    messages: messages.flatMap((message) =>
      isObject(message) && Array.isArray(message["content"])
        ? message["content"].map((content) => ({ ...(message as JsonObject), content }))
        : [message],
    ),
  };
}
