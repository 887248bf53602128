/**
 * The session that the client opened by `initialize`. When the server has lost it, another is opened in the same words, so that the client need
 * not know: its log level and its subscriptions are set again.
 */
import { isObject, own, type RpcRequest } from "@parley/protocol";

export interface Session {
  readonly id: string | undefined;
  /** As agreed; what the MCP-Protocol-Version header says from then on. */
  readonly version: string | undefined;
  /** Ends its own stream. */
  readonly over: AbortController;
}

/** Resources that are subscribed to again. */
const SUBSCRIPTIONS_MAX = 1_000;

export class SessionMemory {
  #initialize: RpcRequest | undefined;
  #initialized = false;
  readonly #settings = new Map<string, RpcRequest>();
  current: Session | undefined;

  open(initialize: RpcRequest): void {
    this.#initialize = initialize;
    this.#initialized = false;
    this.#settings.clear();
  }

  get initialize(): RpcRequest | undefined {
    return this.#initialize;
  }

  get initialized(): boolean {
    return this.#initialized;
  }

  noteInitialized(): void {
    this.#initialized = true;
  }

  /** What another session must be told too. */
  note(request: RpcRequest): void {
    const { method, params } = request;
    const uri = own(params, "uri");
    if (method === "logging/setLevel") this.#settings.set(method, request);
    else if (typeof uri !== "string") return;
    else if (method === "resources/unsubscribe") this.#settings.delete(`resource ${uri}`);
    else if (method === "resources/subscribe" && this.#settings.size < SUBSCRIPTIONS_MAX) this.#settings.set(`resource ${uri}`, request);
  }

  get settings(): readonly RpcRequest[] {
    return [...this.#settings.values()];
  }

  headers(session = this.current): Record<string, string> {
    return {
      ...(session?.id !== undefined && { "mcp-session-id": session.id }),
      ...(session?.version !== undefined && { "mcp-protocol-version": session.version }),
    };
  }
}

/** What `initialize` was answered with. */
export function agreedVersion(message: unknown): string | undefined {
  const result = isObject(message) ? own(message, "result") : undefined;
  const version = isObject(result) ? own(result, "protocolVersion") : undefined;
  return typeof version === "string" ? version : undefined;
}
