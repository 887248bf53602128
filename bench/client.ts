/** A cheap client: MCP 2026-07-28 with tasks, over keep-alive connections. */
import { Agent, request } from "node:http";

const REVISION = "2026-07-28";
const TASKS = "io.modelcontextprotocol/tasks";
const META = {
  "io.modelcontextprotocol/protocolVersion": REVISION,
  "io.modelcontextprotocol/clientInfo": { name: "parley-bench", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {}, url: {} }, extensions: { [TASKS]: {} } },
};

export interface Message {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The request as it goes over the wire; autocannon sends the same. */
export function message(method: string, params: Readonly<Record<string, unknown>>, name: string): Message {
  return {
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": REVISION,
      "mcp-method": method,
      "mcp-name": name,
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: META } }),
  };
}

export interface Client {
  call(tool: string, args: object): Promise<TaskState>;
  get(taskId: string): Promise<TaskState>;
  answer(taskId: string, inputResponses: object): Promise<Acknowledgement>;
  cancel(taskId: string): Promise<unknown>;
  close(): void;
}

export interface Acknowledgement {
  readonly _meta: { readonly "parley/receipts": Readonly<Record<string, string>> };
}

export interface TaskState {
  readonly taskId: string;
  readonly status: string;
  /** ISO 8601. */
  readonly createdAt: string;
  readonly statusMessage?: string;
  readonly inputRequests?: Readonly<Record<string, unknown>>;
  /** Once it is completed. */
  readonly result?: { readonly content?: readonly { readonly text?: string }[] };
  /** Once it has failed. */
  readonly error?: { readonly message: string; readonly data?: { readonly code?: string } };
}

/** `token`: of clients that need one. */
export function createClient(url: string, connections: number, token?: string): Client {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const { hostname, port, pathname } = new URL(url);

  function send<Result>({ headers, body }: Message): Promise<Result> {
    return new Promise((resolve, reject) => {
      const outgoing = request({
        agent,
        hostname,
        port,
        path: pathname,
        method: "POST",
        headers: {
          ...headers,
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
          "content-length": Buffer.byteLength(body),
        },
      });
      outgoing.on("error", reject);
      outgoing.on("response", (incoming) => {
        const chunks: Buffer[] = [];
        incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
        incoming.on("end", () => {
          const text = Buffer.concat(chunks).toString();
          if (text === "") return reject(new Error(`an empty reply with status ${incoming.statusCode}`));
          const reply = JSON.parse(text) as { result?: Result; error?: { message: string } };
          if (reply.result === undefined) reject(new Error(reply.error?.message ?? "no result"));
          else resolve(reply.result);
        });
      });
      outgoing.end(body);
    });
  }

  return {
    call: (name, args) => send(message("tools/call", { name, arguments: args }, name)),
    get: (taskId) => send(message("tasks/get", { taskId }, taskId)),
    answer: (taskId, inputResponses) => send(message("tasks/update", { taskId, inputResponses }, taskId)),
    cancel: (taskId) => send(message("tasks/cancel", { taskId }, taskId)),
    close: () => agent.destroy(),
  };
}
