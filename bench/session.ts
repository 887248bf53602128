/** A cheap client of 2025-11-25: one session, requests whose answers are streams, and answers to questions in separate POSTs. */
import { Agent } from "node:http";
import { exchange, type Incoming } from "./exchange.ts";
import { ACCEPTED, pollUntil, type TaskReader } from "./lifecycle.ts";

const REVISION = "2025-11-25";

export interface Session extends TaskReader {
  /** The result of a request; what the server asks meanwhile is handed to `onRequest`. */
  request<Result>(method: string, params: object, onRequest?: (request: Incoming) => void): Promise<Result>;
  /** Answers a request of the server's. */
  reply(id: Incoming["id"], result: object): Promise<void>;
  readonly headers: Readonly<Record<string, string>>;
  close(): void;
}

export interface OpenSession {
  readonly url: string;
  /** Where answers go: another front end, where there is one. */
  readonly replyUrl?: string;
  /** Of clients that need one. */
  readonly token?: string;
}

export async function openSession({ url, replyUrl = url, token }: OpenSession): Promise<Session> {
  const agent = new Agent({ keepAlive: true });
  let headers: Record<string, string> = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
  };
  let ids = 0;

  const post = (to: string, body: object, onMessage: (message: Incoming) => void = () => undefined) =>
    exchange({ url: to, agent, headers, body: JSON.stringify({ jsonrpc: "2.0", ...body }) }, onMessage).ended;

  function request<Result>(method: string, params: object, onRequest?: (request: Incoming) => void): Promise<Result> {
    ids += 1;
    const id = ids;
    return new Promise((resolve, reject) => {
      const ended = post(url, { id, method, params }, (message) => {
        if (message.method !== undefined) onRequest?.(message);
        else if (message.error) reject(new Error(message.error.message));
        else if (message.id === id) resolve(message.result as Result);
      });
      ended.then(() => reject(new Error(`${method} was not answered`)), reject);
    });
  }

  const capabilities = { elicitation: { form: {} } };
  const params = { protocolVersion: REVISION, capabilities, clientInfo: { name: "parley-bench", version: "1" } };
  const opened = await post(url, { id: "initialize", method: "initialize", params });
  headers = { ...headers, "mcp-session-id": String(opened["mcp-session-id"]), "mcp-protocol-version": REVISION };
  await post(url, { method: "notifications/initialized" });
  return {
    request,
    get: (taskId) => request("tasks/get", { taskId }),
    async reply(id, result) {
      await post(replyUrl, { id, result });
    },
    headers,
    close: () => agent.destroy(),
  };
}

/** A call that is held: the question comes on its stream, the answer is POSTed, the result comes on the stream. */
export async function blockingLifecycle(session: Session, name: string, args: object): Promise<void> {
  let replied: Promise<void> | undefined;
  const result = await session.request<{ isError?: boolean }>("tools/call", { name, arguments: args }, ({ id, method }) => {
    if (method === "elicitation/create") replied = session.reply(id, ACCEPTED);
  });
  await replied;
  if (!replied || result.isError) throw new Error(`the held call went wrong: ${JSON.stringify(result)}`);
}

interface CalledTask {
  readonly task: { readonly taskId: string };
}

/** Calls a tool as a task of 2025-11-25, and waits until it asks. */
export async function parkedTask(session: Session, name: string, args: object): Promise<string> {
  const { task } = await session.request<CalledTask>("tools/call", { name, arguments: args, task: { ttl: 600_000 } });
  await pollUntil(session, task.taskId, "input_required");
  return task.taskId;
}

/** Has a parked task ask its question, answers, and waits for the result. */
export async function finishTask<Result>(session: Session, taskId: string, onAnswer: () => void = () => undefined): Promise<Result> {
  return await session.request<Result>("tasks/result", { taskId }, ({ id, method }) => {
    if (method !== "elicitation/create") return;
    onAnswer();
    // What goes wrong with it shows as a result that does not come.
    session.reply(id, ACCEPTED).catch(() => undefined);
  });
}
