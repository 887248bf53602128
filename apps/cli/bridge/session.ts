/**
 * Remembers the session that the client opened with `initialize`. If the server loses it, the bridge opens another with the same request and restores its
 * log level and subscriptions, without the client's involvement.
 */
import { isObject, own, type RpcRequest } from "@parley/protocol";

export interface Session {
  readonly id: string | undefined;
  /** The negotiated revision, sent in the MCP-Protocol-Version header. */
  readonly version: string | undefined;
  /** Ends the session's standalone stream. */
  readonly over: AbortController;
}

/** Maximum subscriptions to restore. */
const SUBSCRIPTIONS_MAX = 1_000;

export class SessionMemory {
  #initialize: RpcRequest | undefined;
  #initialized = false;
  #level: RpcRequest | undefined;
  readonly #subscriptions = new Map<string, RpcRequest>();
  current: Session | undefined;

  open(initialize: RpcRequest): void {
    this.#initialize = initialize;
    this.#initialized = false;
    this.#level = undefined;
    this.#subscriptions.clear();
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

  /** Records a request that must be repeated in a new session. */
  note(request: RpcRequest): void {
    const { method, params } = request;
    const uri = own(params, "uri");
    if (method === "logging/setLevel") this.#level = request;
    else if (typeof uri !== "string") return;
    else if (method === "resources/unsubscribe") this.#subscriptions.delete(uri);
    else if (method === "resources/subscribe" && this.#subscriptions.size < SUBSCRIPTIONS_MAX) this.#subscriptions.set(uri, request);
  }

  get settings(): readonly RpcRequest[] {
    return [...(this.#level ? [this.#level] : []), ...this.#subscriptions.values()];
  }

  headers(session = this.current): Record<string, string> {
    return {
      ...(session?.id !== undefined && { "mcp-session-id": session.id }),
      ...(session?.version !== undefined && { "mcp-protocol-version": session.version }),
    };
  }
}

/** The protocol version in the result of `initialize`. */
export function agreedVersion(message: unknown): string | undefined {
  const result = isObject(message) ? own(message, "result") : undefined;
  const version = isObject(result) ? own(result, "protocolVersion") : undefined;
  return typeof version === "string" ? version : undefined;
}
