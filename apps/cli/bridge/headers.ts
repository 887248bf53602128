/**
 * The headers in which 2026-07-28 repeats parts of a message. A client on a pipe cannot send headers, so the bridge derives them from the body.
 *
 * Source: specification 2026-07-28, basic/transports/streamable-http, "Request metadata".
 */
import { encodeHeaderValue, isObject, own, type RpcRequest, type Wire } from "@parley/protocol";
import { paramHeaders, PROTOCOL_VERSION } from "@parley/protocol/stateless";

/** The revision that a stateless request claims; undefined for any other request. */
export function claimedRevision({ params }: Pick<RpcRequest, "params">): string | undefined {
  const meta = own(params, "_meta");
  const version = isObject(meta) ? own(meta, PROTOCOL_VERSION) : undefined;
  return typeof version === "string" ? version : undefined;
}

const NAMED_BY: Readonly<Record<string, string>> = {
  "tools/call": "name",
  "prompts/get": "name",
  "resources/read": "uri",
  "tasks/get": "taskId",
  "tasks/update": "taskId",
  "tasks/cancel": "taskId",
};

export function requestHeaders(request: RpcRequest, revision: string, schemas: ToolSchemas): Record<string, string> {
  const { method, params } = request;
  const member = Object.hasOwn(NAMED_BY, method) ? NAMED_BY[method] : undefined;
  const name = member === undefined ? undefined : own(params, member);
  return {
    "mcp-protocol-version": encodeHeaderValue(revision),
    "mcp-method": encodeHeaderValue(method),
    ...(typeof name === "string" && { "mcp-name": encodeHeaderValue(name) }),
    ...(method === "tools/call" && typeof name === "string" && schemas.headersOf(name, params)),
  };
}

/** Which tool arguments are repeated in headers, according to the server's tool lists. */
export interface ToolSchemas {
  /** Reads a page of tools/list. */
  learn(result: unknown): void;
  headersOf(tool: string, params: Wire): Record<string, string>;
}

/** Maximum number of tools to remember. */
const TOOLS_MAX = 10_000;

export function toolSchemas(): ToolSchemas {
  const inputs = new Map<string, Wire>();
  return {
    learn(result) {
      const tools = isObject(result) ? own(result, "tools") : undefined;
      if (!Array.isArray(tools)) return;
      for (const tool of tools as unknown[]) {
        if (!isObject(tool)) continue;
        const { name, inputSchema } = tool;
        if (typeof name !== "string" || !isObject(inputSchema)) continue;
        if (paramHeaders({ inputSchema }).length === 0) inputs.delete(name);
        else if (inputs.size < TOOLS_MAX || inputs.has(name)) inputs.set(name, inputSchema);
      }
    },
    headersOf(tool, params) {
      const inputSchema = inputs.get(tool);
      if (!inputSchema) return {};
      const headers: Record<string, string> = {};
      for (const { headerName, path } of paramHeaders({ inputSchema })) {
        let value: unknown = own(params, "arguments");
        for (const key of path) value = isObject(value) ? own(value, key) : undefined;
        if (typeof value === "string" || typeof value === "boolean" || (typeof value === "number" && Number.isFinite(value)))
          headers[headerName] = encodeHeaderValue(String(value));
      }
      return headers;
    },
  };
}
