/**
 * The host of the view, over postMessage: as much of MCP Apps as the view needs. The SDK for it (@modelcontextprotocol/ext-apps) is 129 kB compressed, and
 * many hosts load a view for each call.
 *
 *   ui/initialize ─▶ capabilities, context      ui/notifications/initialized ─▶ tool-result, host-context-changed, …
 *   tools/call, ui/open-link, ui/message, ui/update-model-context
 *
 * Source: https://github.com/modelcontextprotocol/ext-apps, specification 2026-01-26.
 */
import type { Json, JsonObject } from "@parley/core/form";

export const PROTOCOL_VERSION = "2026-01-26";
/** A host may ask its user first. */
const OPEN_LINK_MS = 10_000;

export interface HostCapabilities {
  /** The view may call tools of its server. */
  readonly serverTools?: object;
  readonly openLinks?: object;
  readonly updateModelContext?: object;
  readonly message?: object;
}

export interface HostContext {
  readonly theme?: "light" | "dark";
  readonly locale?: string;
  readonly timeZone?: string;
  readonly safeAreaInsets?: { readonly top: number; readonly right: number; readonly bottom: number; readonly left: number };
}

export interface ToolResult {
  readonly content?: readonly { readonly type: string; readonly text?: string }[];
  readonly structuredContent?: JsonObject;
  readonly isError?: boolean;
  readonly _meta?: JsonObject;
}

export interface HostEvents {
  result(result: ToolResult): void;
  cancelled(): void;
  context(changed: HostContext): void;
  /** The host removes the view. */
  teardown(): void;
}

export interface Host {
  readonly capabilities: HostCapabilities;
  readonly context: HostContext;
  /** Rejects with what the host says, and if it says nothing within that time. */
  callTool(name: string, args: JsonObject, withinMs: number): Promise<ToolResult>;
  /** False if the host does not open it, or does not say so. */
  openLink(url: string): Promise<boolean>;
  updateModelContext(text: string): void;
  sendMessage(text: string): void;
  resized(size: { readonly width: number; readonly height: number }): void;
}

/** Rejects if nobody answers within that time, as in a page that is no host. */
export async function connect(events: HostEvents, timeoutMs: number): Promise<Host> {
  const open = new Map<number, PromiseWithResolvers<JsonObject>>();
  let lastId = 0;
  // A view does not know where its host is from: hosts put it into frames of an origin of their own.
  const send = (message: object) => window.parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
  /** Some hosts declare what they never answer. */
  const request = (method: string, params: JsonObject, withinMs: number): Promise<JsonObject> => {
    const settled = Promise.withResolvers<JsonObject>();
    lastId += 1;
    const id = lastId;
    open.set(id, settled);
    send({ id, method, params });
    const timer = setTimeout(() => settled.reject(new Error(`the host did not answer ${method}`)), withinMs);
    return settled.promise.finally(() => {
      clearTimeout(timer);
      open.delete(id);
    });
  };

  function receive({ source, data }: MessageEvent<unknown>): void {
    if (source !== window.parent || !isObject(data) || data["jsonrpc"] !== "2.0") return;
    const { id, method, params, result, error } = data;
    if (typeof method !== "string") {
      const settled = typeof id === "number" ? open.get(id) : undefined;
      if (isObject(error)) settled?.reject(new Error(typeof error["message"] === "string" ? error["message"] : "the host refused"));
      else settled?.resolve(isObject(result) ? result : {});
      return;
    }
    const given = isObject(params) ? params : {};
    if (id !== undefined) return answer(id, method);
    if (method === "ui/notifications/tool-result") events.result(given as ToolResult);
    else if (method === "ui/notifications/tool-cancelled") events.cancelled();
    else if (method === "ui/notifications/host-context-changed") events.context(given as HostContext);
  }

  function answer(id: Json, method: string): void {
    if (method === "ui/resource-teardown") events.teardown();
    else if (method !== "ping") return send({ id, error: { code: -32601, message: `the view has no method ${method}` } });
    send({ id, result: {} });
  }

  window.addEventListener("message", receive);
  const { hostCapabilities, hostContext } = await request(
    "ui/initialize",
    { appInfo: { name: "parley-ask", version: "1" }, appCapabilities: {}, protocolVersion: PROTOCOL_VERSION },
    timeoutMs,
  );
  send({ method: "ui/notifications/initialized" });
  return {
    capabilities: (isObject(hostCapabilities) ? hostCapabilities : {}) as HostCapabilities,
    context: (isObject(hostContext) ? hostContext : {}) as HostContext,
    callTool: async (name, args, withinMs) => (await request("tools/call", { name, arguments: args }, withinMs)) as ToolResult,
    async openLink(url) {
      try {
        return (await request("ui/open-link", { url }, OPEN_LINK_MS))["isError"] !== true;
      } catch {
        return false;
      }
    },
    // Nothing waits for these.
    updateModelContext: (text) =>
      send({ id: (lastId += 1), method: "ui/update-model-context", params: { content: [{ type: "text", text }] } }),
    sendMessage: (text) => send({ id: (lastId += 1), method: "ui/message", params: { role: "user", content: [{ type: "text", text }] } }),
    resized: (size) => send({ method: "ui/notifications/size-changed", params: { ...size } }),
  };
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
