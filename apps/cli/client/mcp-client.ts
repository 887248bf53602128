/**
 * The MCP client of the client commands. It uses the bridge of `parley stdio`, so that both retry requests, renew tokens and resume streams in the same way.
 *
 * Calls and answers use 2026-07-28. Listing tasks and receiving their reports exist only in 2025-11-25: the client opens a session when one of them is
 * first needed.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { JsonObject } from "@parley/core";
import { type BridgeLimits, createBridge } from "../bridge/bridge.ts";
import { ask, type Remote, Unreachable } from "../bridge/remote.ts";
import { messageIn } from "../bridge/responses.ts";
import { accessToken } from "../credentials/token.ts";
import { checkEndpoint, noEndpoint } from "../url.ts";

const CLIENT_INFO = { name: "parley-cli", version: "0.1.0" };

/** The `_meta` of every request in 2026-07-28. */
const ENVELOPE = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": CLIENT_INFO,
  "io.modelcontextprotocol/clientCapabilities": {
    elicitation: { form: {}, url: {} },
    extensions: { "io.modelcontextprotocol/tasks": {} },
  },
};

/** A quota that only an operator or the end of tasks can free says ten seconds. */
const RETRY_AFTER_MAX_MS = 5_000;
/** For one request. */
const RATE_PATIENCE_MS = 60_000;

/** An error from the server, or from the bridge if the server's response was lost. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly code: number;
  readonly data: unknown;
  constructor({ code, message, data }: { readonly code: number; readonly message: string; readonly data?: unknown }) {
    super(message);
    this.code = code;
    this.data = data;
  }
  /** The server's code, such as `TASK_NOT_FOUND` (docs/errors.md). */
  get reason(): string | undefined {
    const { code } = (this.data ?? {}) as { readonly code?: unknown };
    return typeof code === "string" ? code : undefined;
  }
  /** How soon a request that a rate refused can be repeated. Nothing was done. Undefined for other errors, and if it would take long. */
  get retryAfterMs(): number | undefined {
    const { retryAfterMs } = (this.data ?? {}) as { readonly retryAfterMs?: unknown };
    return this.reason === "QUOTA_EXCEEDED" && typeof retryAfterMs === "number" && retryAfterMs < RETRY_AFTER_MAX_MS
      ? retryAfterMs
      : undefined;
  }
  /** Whether the outcome of the request is unknown. */
  get isLost(): boolean {
    return this.code === -32000;
  }
}

/** What a task reports while it runs. */
export interface Reports {
  onProgress(progress: number, total?: number, message?: string): void;
  onLog(level: string, data: unknown): void;
}

export interface McpClient {
  /** Throws RpcError. */
  request<Result = JsonObject>(method: string, params?: object): Promise<Result>;
  /** The same in 2025-11-25. */
  sessionRequest<Result = JsonObject>(method: string, params?: object): Promise<Result>;
  /** Receives the reports of a task until it ends or `signal` is aborted. Resolves when there are no more. */
  listen(taskId: string, reports: Reports, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

interface Message {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: JsonObject;
  readonly result?: JsonObject;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

interface Progress {
  readonly progressToken: string;
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

interface LogMessage {
  readonly level: string;
  readonly data: unknown;
  readonly _meta?: { readonly "io.modelcontextprotocol/related-task"?: { readonly taskId: string } };
}

interface Waiting {
  readonly resolve: (result: JsonObject) => void;
  readonly reject: (error: RpcError) => void;
}

export function mcpClient(remote: Remote, limits: Partial<BridgeLimits> = {}): McpClient {
  const waiting = new Map<string, Waiting>();
  const listeners = new Map<string, Reports>();
  let ids = 0;
  let session: Promise<unknown> | undefined;

  const bridge = createBridge({
    remote,
    limits,
    // The command that sent the request reports its errors.
    log: () => undefined,
    write(message) {
      for (const each of [message].flat() as Message[]) receive(each);
      return Promise.resolve();
    },
  });

  function receive({ id, method, params, result, error }: Message): void {
    if (method === undefined) {
      const asked = waiting.get(String(id));
      waiting.delete(String(id));
      if (error) asked?.reject(new RpcError(error));
      else asked?.resolve(result ?? {});
    } else if (method === "notifications/progress") {
      const { progressToken, progress, total, message } = (params ?? {}) as unknown as Progress;
      listeners.get(progressToken)?.onProgress(progress, total, message);
    } else if (method === "notifications/message") {
      const { level, data, _meta: meta } = (params ?? {}) as unknown as LogMessage;
      listeners.get(meta?.["io.modelcontextprotocol/related-task"]?.taskId ?? "")?.onLog(level, data);
    }
  }

  function send(method: string, params: object): Promise<JsonObject> {
    const id = `cli-${(ids += 1)}`;
    const answer = new Promise<JsonObject>((resolve, reject) => waiting.set(id, { resolve, reject }));
    bridge.take(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    return answer;
  }

  /** As `send`, and waits while the caller's rate is used up. */
  async function sendInTurn(method: string, params: object): Promise<JsonObject> {
    const startedAtMs = performance.now();
    for (;;) {
      try {
        return await send(method, params);
      } catch (error) {
        const waitMs = error instanceof RpcError ? error.retryAfterMs : undefined;
        if (waitMs === undefined || performance.now() - startedAtMs > RATE_PATIENCE_MS) throw error;
        await sleep(waitMs);
      }
    }
  }

  function opened(): Promise<unknown> {
    session ??= send("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: CLIENT_INFO }).then(
      () => bridge.take(JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" })),
      (error: unknown) => {
        session = undefined;
        throw error;
      },
    );
    return session;
  }

  return {
    request: async <Result>(method: string, params: object = {}) => {
      const { _meta: meta } = params as { _meta?: object };
      return (await sendInTurn(method, { ...params, _meta: { ...meta, ...ENVELOPE } })) as Result;
    },
    sessionRequest: async <Result>(method: string, params: object = {}) => {
      await opened();
      return (await sendInTurn(method, params)) as Result;
    },
    async listen(taskId, reports, signal) {
      listeners.set(taskId, reports);
      signal.addEventListener("abort", () => listeners.delete(taskId));
      // The caller polls for the end of the task. A server without such sessions sends no reports.
      await opened()
        .then(() => send("tasks/result", { taskId, _meta: { progressToken: taskId } }))
        .catch(() => undefined)
        .finally(() => listeners.delete(taskId));
    },
    close: () => bridge.close(),
  };
}

/** Of tokens in the environment, `parley login` is not the cure: they are used instead of its tokens. */
async function loginNeeded(url: string, response: Response): Promise<string> {
  const isGiven = (await accessToken()) !== undefined;
  const refusal = (await messageIn(response)) as Message | undefined;
  if (!isGiven) return `${url} requires a login: run \`parley login --url ${url}\`, or set PARLEY_TOKEN`;
  const why = typeof refusal?.error?.message === "string" ? `: ${refusal.error.message}` : "";
  return `${url} refuses the token in PARLEY_TOKEN or PARLEY_TOKEN_FILE${why}. Replace it, or remove it and run \`parley login --url ${url}\``;
}

/** Throws an Error that says what to do if no server responds at the URL, or if it requires a login. */
export async function checkThere(remote: Remote): Promise<void> {
  const headers = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": "2026-07-28",
  };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "server/discover", params: { _meta: ENVELOPE } });
  const url = await remote.url();
  checkEndpoint(url);
  let response: Response;
  try {
    const signal = AbortSignal.timeout(30_000);
    response = await ask(remote, { method: "POST", headers: { ...headers, "mcp-method": "server/discover" }, body, signal });
  } catch (error) {
    const isTimeout = error instanceof Error && error.name === "TimeoutError";
    // For example, the token cannot be read.
    if (!isTimeout && !(error instanceof Unreachable)) throw error;
    const why = isTimeout ? `${url} does not respond` : error.message;
    throw new Error(`no Parley server responds: ${why}. Start one with \`parley start\`, or name another with --url.`, { cause: error });
  }
  if (response.status === 401) throw new Error(await loginNeeded(url, response));
  await response.body?.cancel();
  if (response.status === 404) throw noEndpoint(url);
}
