/** Requests of 2026-07-28 as they should be. */
import type { Draft } from "../draw/changes.ts";
import type { Json, JsonObject } from "../draw/json.ts";

export const STATELESS = "2026-07-28";
export const TASKS = "io.modelcontextprotocol/tasks";
export const PROTOCOL_VERSION = "io.modelcontextprotocol/protocolVersion";
export const CLIENT_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
export const CLIENT_INFO = "io.modelcontextprotocol/clientInfo";

/** Everything that a client can be asked. */
export const ASKABLE: JsonObject = { elicitation: { form: {}, url: {} }, sampling: { tools: {} }, roots: {} };
export const WITH_TASKS: JsonObject = { ...ASKABLE, extensions: { [TASKS]: {} } };

export interface Stateless {
  readonly method: string;
  readonly params: JsonObject;
  readonly capabilities?: JsonObject;
  readonly meta?: JsonObject;
  readonly id?: Json;
}

export function statelessDraft({ method, params, capabilities = WITH_TASKS, meta = {}, id = 1 }: Stateless): Draft {
  const name = params["name"] ?? params["uri"] ?? params["taskId"];
  const isNamed = /^(tools\/call|prompts\/get|resources\/read|tasks\/(get|update|cancel))$/.test(method);
  return {
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": STATELESS,
      "mcp-method": method,
      ...(isNamed && typeof name === "string" && { "mcp-name": headerValue(name) }),
      ...paramHeaders(params),
    },
    body: {
      jsonrpc: "2.0",
      id,
      method,
      params: {
        ...params,
        _meta: {
          [PROTOCOL_VERSION]: STATELESS,
          [CLIENT_CAPABILITIES]: capabilities,
          [CLIENT_INFO]: { name: "fuzz", version: "1" },
          ...meta,
        },
      },
    },
  };
}

/** The arguments of the tool `routed` that its schema wants in headers. */
function paramHeaders({ name, arguments: args }: JsonObject): Record<string, string> {
  if (name !== "routed" || typeof args !== "object" || args === null) return {};
  const { region, zone } = args as JsonObject;
  return {
    ...(typeof region === "string" && { "mcp-param-region": headerValue(region) }),
    ...(typeof zone === "number" && { "mcp-param-zone": String(zone) }),
  };
}

/** As it is where a header can carry it, else in base64. A header cannot tell a lone surrogate: those are not sent in names. */
export function headerValue(text: string): string {
  return /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !text.startsWith("=?")
    ? text
    : `=?base64?${Buffer.from(text).toString("base64")}?=`;
}
