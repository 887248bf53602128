/** The official client of the tasks extension: as the command line uses it, and over a connection of 2025-11-25. */
import { Client, type ClientCapabilities } from "@modelcontextprotocol/client";
import { createTaskSessionFromClient, type TaskEnabledSession, type ToolExecution } from "@modelcontextprotocol/ext-tasks/client";
import { connect, type Respond } from "../../../apps/cli/client/connect.ts";
import { openPipe } from "../../support/pipe.ts";
import { type Call, type Dialect, failedWith, type Question, type Told, toldBy } from "../dialect.ts";
import { behindPipe, transportTo } from "./transports.ts";

interface Connection {
  readonly session: TaskEnabledSession;
  close(): Promise<void>;
}

type Connect = (url: string, respond: Respond) => Promise<Connection>;

export const tasks2026: Dialect = {
  name: "ext-tasks, 2026-07-28",
  cannot: {},
  run: (call) => run(call, connect2026),
};

export const tasks2025 = tasks2025By("ext-tasks, 2025-11-25", { elicitation: { form: {}, url: {} } });

export function tasks2025By(name: string, capabilities: ClientCapabilities): Dialect {
  return { name, cannot: {}, run: (call) => run(call, (url, respond) => connect2025(url, respond, capabilities)) };
}

async function connect2026(url: string, respond: Respond): Promise<Connection> {
  const piped = behindPipe(url);
  if (piped === undefined) return await connect(url, { respond });
  const pipe = openPipe(["--url", piped]);
  const clientInfo = { name: "oracle", version: "2" };
  const clientCapabilities = { elicitation: { form: {}, url: {} } };
  const client = new Client(clientInfo, { capabilities: clientCapabilities, versionNegotiation: { mode: { pin: "2026-07-28" } } });
  await client.connect(transportTo(url));
  const session = createTaskSessionFromClient(client, {
    endpointId: url,
    // The client's own codecs do not know the extension's shapes.
    rawDispatch: async (request) => {
      const { method, params } = request as unknown as { method: string; params: object };
      const { error, result = null } = await pipe.request(method, params);
      return error ? { kind: "error", error } : { kind: "result", result: result as never };
    },
    v2RequestFraming: { protocolVersion: "2026-07-28", clientInfo, clientCapabilities },
    onInputRequest: respond,
  });
  return {
    session,
    async close() {
      await session.close();
      await client.close();
      await pipe.close();
    },
  };
}

async function connect2025(url: string, respond: Respond, capabilities: ClientCapabilities): Promise<Connection> {
  const client = new Client({ name: "oracle", version: "2" }, { capabilities, supportedProtocolVersions: ["2025-11-25"] });
  await client.connect(transportTo(url));
  const session = createTaskSessionFromClient(client, { endpointId: url, onInputRequest: respond });
  return {
    session,
    async close() {
      await session.close();
      await client.close();
    },
  };
}

const INVALID_PARAMS = -32602;

async function run(call: Call, open: Connect): Promise<Told> {
  const respond = (async ({ params }: { params: Question }) => await call.respond(params)) as unknown as Respond;
  let { session, close } = await open(call.url, respond);
  try {
    const execution = await session.callTool(call.tool, { ...call.args }, { task: { preference: "require" } });
    if (execution.kind !== "task") throw new Error("the call did not become a task");
    const reference = execution.serializeReference();
    if (call.meanwhile === "cancel") {
      await call.asked;
      await execution.cancel();
    }
    if (call.meanwhile === "leave") {
      await call.asked;
      const url = await call.vanish();
      await execution.detach();
      await close();
      ({ session, close } = await open(url, respond));
      call.back();
      return await settle(await session.resumeTask({ ...reference, endpointId: url }));
    }
    const settled = await outcomeOf(execution);
    // An answer that was refused ends the client's own doing, not the task: a client that takes it up again is asked again.
    return settled.code === INVALID_PARAMS ? await settle(await session.resumeTask(reference)) : settled.told;
  } finally {
    await close();
  }
}

type Execution = ToolExecution<unknown>;

async function settle(execution: Execution): Promise<Told> {
  return (await outcomeOf(execution)).told;
}

async function outcomeOf(execution: Execution): Promise<{ readonly told: Told; readonly code?: number }> {
  const { outcome } = await execution.settle();
  if (outcome.status === "completed") return { told: toldBy(outcome.result as object) };
  if (outcome.status === "cancelled") return { told: { failed: "cancelled" } };
  const { error } = outcome;
  return { told: failedWith(error), ...(error.code !== undefined && { code: error.code }) };
}
