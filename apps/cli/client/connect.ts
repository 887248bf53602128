/** Connects the official client with the tasks extension. */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import {
  type ApplicationInputHandler,
  createTaskSessionFromClient,
  DispatchError,
  type JsonRpcResponse,
  type RawClientDispatch,
  type TaskEnabledSession,
} from "@modelcontextprotocol/ext-tasks/client";
import { readText } from "../bridge/events.ts";

const REVISION = "2026-07-28";
const CLIENT_INFO = { name: "parley-cli", version: "0.1.0" };
const CAPABILITIES = { elicitation: { form: {}, url: {} } };

/** Answers a tool's question. */
export type Respond = ApplicationInputHandler["handle"];

export interface Connection {
  readonly client: Client;
  readonly session: TaskEnabledSession;
  close(): Promise<void>;
}

export interface ConnectOptions {
  readonly respond?: Respond;
  /** An access token. */
  readonly token?: string | undefined;
}

/** Throws an Error that says how to start a server if none responds at `url`. */
export async function connect(url: string, { respond, token }: ConnectOptions = {}): Promise<Connection> {
  const client = new Client(CLIENT_INFO, { capabilities: CAPABILITIES, versionNegotiation: { mode: { pin: REVISION } } });
  const headers: Record<string, string> = token ? { authorization: `Bearer ${token}` } : {};
  try {
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`no Parley server responds at ${url} (${reason}). Start one with \`parley start\`, or name another with --url.`, {
      cause: error,
    });
  }
  const session = createTaskSessionFromClient(client, {
    endpointId: url,
    rawDispatch: dispatchTo(url, headers),
    v2RequestFraming: { protocolVersion: REVISION, clientInfo: CLIENT_INFO, clientCapabilities: CAPABILITIES },
    ...(respond && { onInputRequest: respond }),
  });
  return {
    client,
    session,
    async close() {
      await session.close();
      await client.close();
    },
  };
}

interface Outgoing {
  readonly method: string;
  readonly params: { readonly name?: string; readonly taskId?: string };
}

/** Sends the extension's requests directly, because the client's own codecs do not know their shapes. */
function dispatchTo(url: string, credentialHeaders: Record<string, string>): RawClientDispatch {
  let ids = 0;
  return async (request, options = {}) => {
    const { method, params } = request as unknown as Outgoing;
    const id = `task-${(ids += 1)}`;
    const headers = new Headers({
      ...credentialHeaders,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": REVISION,
      "mcp-method": method,
      "mcp-name": headerValue(params.name ?? params.taskId ?? ""),
    });
    // The extension's client may set some of these headers itself, in another case.
    for (const [name, value] of Object.entries(options.context?.headers ?? {})) headers.set(name, value);
    const response = await fetch(url, {
      method: "POST",
      headers,
      body: JSON.stringify({ jsonrpc: "2.0", id, method, params }),
      signal: options.signal ?? null,
    }).catch((error: unknown) => {
      throw new DispatchError(`${url} does not respond`, true, { cause: error });
    });
    const text = await readText(response);
    for (const message of messagesOf(response, text)) {
      if (message.id !== id) continue;
      return message.error ? { kind: "error", error: message.error } : { kind: "result", result: message.result ?? null };
    }
    // A proxy without a server behind it returns 502 to 504, and a retry may succeed. Other errors are permanent.
    throw new DispatchError(`${url} answered ${response.status} without a JSON-RPC message`, response.status >= 502);
  };
}

type ErrorBody = Extract<JsonRpcResponse, { kind: "error" }>["error"];
type ResultBody = Extract<JsonRpcResponse, { kind: "result" }>["result"];

interface Incoming {
  readonly id?: unknown;
  readonly result?: ResultBody;
  readonly error?: ErrorBody;
}

function messagesOf(response: Response, text: string): Incoming[] {
  const type = response.headers.get("content-type") ?? "";
  if (type.startsWith("application/json")) return [JSON.parse(text) as Incoming];
  if (!type.startsWith("text/event-stream")) return [];
  return text.split("\n\n").flatMap((event) => {
    const data = event.split("\n").filter((line) => line.startsWith("data:"));
    return data.length === 0 ? [] : [JSON.parse(data.map((line) => line.slice(5)).join("\n")) as Incoming];
  });
}

/** Header values are ASCII. Other text is sent in the specification's form `=?base64?…?=`. */
function headerValue(text: string): string {
  return /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(text) ? text : `=?base64?${Buffer.from(text).toString("base64")}?=`;
}
