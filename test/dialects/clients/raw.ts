/**
 * The smallest clients of two dialects that no released client speaks: proposal #1869, which answers in the `_meta` of tasks/get, and
 * FastMCP's tasks/sendInput. They open no stream of their own, so a client that does not poll learns nothing.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { openPipe } from "../../support/pipe.ts";
import { type Call, type Dialect, type Question, type Told, toldBy } from "../dialect.ts";
import type { Reply } from "../scenarios.ts";
import { behindPipe } from "./transports.ts";

const PENDING = "io.modelcontextprotocol/pending-elicitations";
const RESPONSE = "io.modelcontextprotocol/elicitation-response";
const POLL_MS = 50;
const INVALID_PARAMS = -32602;

interface Pending extends Question {
  readonly elicitationId: string;
}

interface TaskState {
  readonly taskId: string;
  readonly status: string;
  readonly _meta?: { readonly [PENDING]?: readonly Pending[] };
}

export class RpcError extends Error {
  readonly code: number;
  constructor({ code, message }: { readonly code: number; readonly message: string }) {
    super(message);
    this.code = code;
  }
}

export interface Session {
  request<Result>(method: string, params: object): Promise<Result>;
  close(): Promise<void>;
}

export async function openSession(url: string, version = "2025-11-25"): Promise<Session> {
  const piped = behindPipe(url);
  return piped === undefined ? await openHttpSession(url, version) : await openPipeSession(piped, version);
}

async function openPipeSession(url: string, version: string): Promise<Session> {
  const pipe = openPipe(["--url", url]);
  async function request<Result>(method: string, params: object): Promise<Result> {
    const { result, error } = await pipe.request(method, params);
    if (error) throw new RpcError(error);
    return result as Result;
  }
  await request("initialize", {
    protocolVersion: version,
    capabilities: { elicitation: { form: {} } },
    clientInfo: { name: "oracle", version: "0" },
  });
  pipe.send({ jsonrpc: "2.0", method: "notifications/initialized" });
  return { request, close: () => pipe.close() };
}

async function openHttpSession(url: string, version: string): Promise<Session> {
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  let session: Record<string, string> = {};
  let ids = 0;
  const post = (message: object) =>
    fetch(url, { method: "POST", headers: { ...headers, ...session }, body: JSON.stringify({ jsonrpc: "2.0", ...message }) });

  async function request<Result>(method: string, params: object): Promise<Result> {
    const id = (ids += 1);
    const response = await post({ id, method, params });
    const body = await response.text();
    const data = response.headers.get("content-type")?.startsWith("text/event-stream")
      ? body.split("\n").flatMap((line) => (/^data: ./.test(line) ? [line.slice("data: ".length)] : []))
      : [body];
    const answer = data
      .map((text) => JSON.parse(text) as { id?: unknown; result?: Result; error?: RpcError })
      .find((each) => each.id === id);
    if (answer?.error) throw new RpcError(answer.error);
    if (answer?.result === undefined) throw new Error(`${method} was answered by ${response.status} ${body}`);
    const sessionId = response.headers.get("mcp-session-id");
    if (sessionId !== null) session = { "mcp-session-id": sessionId, "mcp-protocol-version": version };
    return answer.result;
  }

  const capabilities = { elicitation: { form: {} } };
  await request("initialize", { protocolVersion: version, capabilities, clientInfo: { name: "oracle", version: "0" } });
  await post({ method: "notifications/initialized" });
  return { request, close: () => Promise.resolve() };
}

interface Answer {
  readonly task: TaskState;
  readonly question: Pending;
  readonly reply: Reply;
}

type SendAnswer = (session: Session, answer: Answer) => Promise<TaskState>;

export const proposal1869: Dialect = {
  name: "proposal #1869",
  cannot: {},
  run: (call) =>
    run(call, (session, { task: { taskId }, question: { elicitationId }, reply }) =>
      session.request<TaskState>("tasks/get", { taskId, _meta: { [RESPONSE]: { elicitationId, ...reply } } }),
    ),
};

export const sendInput: Dialect = {
  name: "FastMCP's tasks/sendInput",
  cannot: {},
  run(call) {
    let asked: string | undefined;
    return run(call, (session, { task, question: { elicitationId }, reply }) => {
      // FastMCP's own clients name no question. That is enough for the only one.
      asked ??= pendingOf(task).length === 1 ? elicitationId : "";
      const named = asked === elicitationId ? {} : { elicitationId };
      return session.request<TaskState>("tasks/sendInput", { taskId: task.taskId, ...named, ...reply });
    });
  },
};

async function run(call: Call, send: SendAnswer): Promise<Told> {
  const sessions: Session[] = [];
  const open = async (url: string): Promise<Session> => {
    const session = await openSession(url);
    sessions.push(session);
    return session;
  };
  try {
    return await play(call, send, open);
  } finally {
    for (const session of sessions) await session.close();
  }
}

async function play(call: Call, send: SendAnswer, open: (url: string) => Promise<Session>): Promise<Told> {
  let session = await open(call.url);
  const params = { name: call.tool, arguments: call.args, task: {} };
  let task = await session.request<TaskState>("tools/call", params);
  const { taskId } = task;
  if (call.meanwhile === "cancel") {
    task = await untilAsked(session, task);
    void call.respond(pendingOf(task)[0] ?? { message: "" });
    task = await session.request<TaskState>("tasks/cancel", { taskId });
  }
  if (call.meanwhile === "leave") {
    task = await untilAsked(session, task);
    session = await open(call.url);
    task = await session.request<TaskState>("tasks/get", { taskId });
    call.back();
  }
  while (task.status === "working" || task.status === "input_required") {
    for (const question of pendingOf(task)) task = await answer(session, { task, question, send, call });
    if (task.status === "working") await sleep(POLL_MS);
    task = await session.request<TaskState>("tasks/get", { taskId });
  }
  if (task.status === "cancelled") return { failed: "cancelled" };
  return toldBy(await session.request<object>("tasks/result", { taskId }));
}

async function untilAsked(session: Session, created: TaskState): Promise<TaskState> {
  let task = created;
  for (; task.status === "working"; task = await session.request<TaskState>("tasks/get", { taskId: task.taskId })) await sleep(POLL_MS);
  return task;
}

/** An answer that is refused, or comes too late, changes nothing: the next look at the task says what is open. */
async function answer(
  session: Session,
  { task, question, send, call }: { readonly task: TaskState; readonly question: Pending; readonly send: SendAnswer; readonly call: Call },
): Promise<TaskState> {
  const reply = await call.respond(question);
  return await send(session, { task, question, reply }).catch((error: unknown) => {
    if (error instanceof RpcError && error.code === INVALID_PARAMS) return task;
    throw error;
  });
}

function pendingOf({ _meta }: TaskState): readonly Pending[] {
  return _meta?.[PENDING] ?? [];
}
