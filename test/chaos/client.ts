/**
 * A client that reports what it knows: a request was done, was refused, or may or may not have taken effect. MCP 2026-07-28 with tasks.
 *
 * It never repeats a request by itself: the model decides what is sent again.
 */
import { Agent, request } from "node:http";
import { ERRORS } from "@parley/core";

const REVISION = "2026-07-28";

export type Said<Result> =
  | { readonly type: "done"; readonly result: Result }
  /** An error that says that nothing happened. */
  | { readonly type: "refused"; readonly code: string }
  /** No reply in time, a broken connection, or an error that leaves it open. `defect`: one that Parley should never give. */
  | { readonly type: "unknown"; readonly defect?: string };

export interface TaskState {
  readonly taskId: string;
  readonly status: "working" | "input_required" | "completed" | "failed" | "cancelled";
  readonly lastUpdatedAt: string;
  readonly inputRequests?: Readonly<Record<string, unknown>>;
  readonly result?: ToolResult;
  readonly error?: { readonly message: string };
}

export interface ToolResult {
  readonly content: readonly { readonly text?: string }[];
  readonly isError?: boolean;
}

export interface Client {
  /** Of the tool `chaos`, or another one. */
  call(args: object, tool?: string): Promise<Said<TaskState>>;
  /** A call that holds its request open until the tool has ended. */
  callAndWait(args: object): Promise<Said<ToolResult>>;
  get(taskId: string): Promise<Said<TaskState>>;
  /** What became of each answer, by ask key. `values`: ask key → value. */
  answer(taskId: string, values: Readonly<Record<string, string>>): Promise<Said<Readonly<Record<string, string>>>>;
  cancel(taskId: string): Promise<Said<object>>;
  close(): void;
}

export interface ClientOptions {
  /** How long a reply may take. */
  readonly timeoutMs: number;
  readonly connections: number;
  /** What is sent at this moment, where callers are asked for it. */
  readonly token?: () => string;
}

/** What a system in trouble may say: it leaves open what happened. Every other code says that nothing did. */
const IN_TROUBLE = new Set(["UNAVAILABLE", "OVERLOADED", "CALL_TIMEOUT", "PROVIDER_UNAVAILABLE"]);

interface Reply {
  readonly result?: object;
  readonly error?: { readonly message: string; readonly data?: { readonly hint?: string } };
}

export function createClient(url: string, { timeoutMs, connections, token }: ClientOptions): Client {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const { hostname, port, pathname } = new URL(url);

  function send<Result>(method: string, name: string, params: object, speaksTasks = true): Promise<Said<Result>> {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: meta(speaksTasks) } });
    const headers = {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": REVISION,
      "mcp-method": method,
      "mcp-name": name,
      ...(token && { authorization: `Bearer ${token()}` }),
      "content-length": Buffer.byteLength(body),
    };
    return new Promise((resolve) => {
      const unknown = () => resolve({ type: "unknown" });
      const outgoing = request({ agent, hostname, port, path: pathname, method: "POST", headers, signal: AbortSignal.timeout(timeoutMs) });
      outgoing.on("error", unknown);
      outgoing.on("response", (incoming) => {
        const chunks: Buffer[] = [];
        incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
        incoming.on("error", unknown);
        incoming.on("close", unknown);
        incoming.on("end", () => resolve(said<Result>(Buffer.concat(chunks).toString())));
      });
      outgoing.end(body);
    });
  }

  return {
    call: (args, tool = "chaos") => send("tools/call", tool, { name: tool, arguments: args }),
    callAndWait: (args) => send("tools/call", "chaos", { name: "chaos", arguments: args }, false),
    get: (taskId) => send("tasks/get", taskId, { taskId }),
    async answer(taskId, values) {
      const replies = Object.entries(values).map(([key, value]) => [key, { action: "accept", content: { value } }]);
      type Acknowledged = { readonly _meta: { readonly "parley/receipts": Readonly<Record<string, string>> } };
      const answered = await send<Acknowledged>("tasks/update", taskId, { taskId, inputResponses: Object.fromEntries(replies) });
      return answered.type === "done" ? { type: "done", result: answered.result._meta["parley/receipts"] } : answered;
    },
    cancel: (taskId) => send("tasks/cancel", taskId, { taskId }),
    close: () => agent.destroy(),
  };
}

function said<Result>(text: string): Said<Result> {
  let reply: Reply;
  try {
    reply = JSON.parse(text) as Reply;
  } catch {
    return { type: "unknown" }; // the proxy's own answer, or half of one
  }
  if (reply.result !== undefined) return { type: "done", result: reply.result as Result };
  const hint = reply.error?.data?.hint;
  const [code] = Object.entries(ERRORS).find(([, known]) => known === hint) ?? [];
  if (code === undefined) return { type: "unknown", defect: reply.error?.message ?? text.slice(0, 200) };
  return IN_TROUBLE.has(code) ? { type: "unknown" } : { type: "refused", code };
}

function meta(speaksTasks: boolean): object {
  return {
    "io.modelcontextprotocol/protocolVersion": REVISION,
    "io.modelcontextprotocol/clientInfo": { name: "parley-chaos", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {
      elicitation: { form: {} },
      ...(speaksTasks && { extensions: { "io.modelcontextprotocol/tasks": {} } }),
    },
  };
}
