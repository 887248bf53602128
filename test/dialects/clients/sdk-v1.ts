/** `@modelcontextprotocol/sdk`, the client that most hosts use: blocking calls, and its experimental tasks. */
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { CallToolResultSchema, ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { type Call, type Dialect, failedWith, type Question, type Told, toldBy } from "../dialect.ts";
import { transportV1To } from "./transports.ts";

const CANCELLED = "the user has had enough";

async function connect({ url, respond }: Pick<Call, "url" | "respond">): Promise<Client> {
  const client = new Client({ name: "oracle", version: "1" }, { capabilities: { elicitation: { form: {}, url: {} } } });
  client.setRequestHandler(ElicitRequestSchema, async ({ params }) => await respond(params as Question));
  // The SDK's own types do not agree with exactOptionalPropertyTypes.
  await client.connect(transportV1To(url) as never);
  return client;
}

export const blocking: Dialect = {
  name: "sdk v1, blocking",
  cannot: {},
  async run(call) {
    const client = await connect(call);
    const leave = new AbortController();
    try {
      const called = client
        .callTool({ name: call.tool, arguments: call.args }, undefined, { signal: leave.signal })
        .then(toldBy, failedWith);
      if (call.meanwhile === "cancel") {
        await call.asked;
        leave.abort(CANCELLED);
        // The client does not wait until its notification has gone out.
        await call.closed();
      }
      if (call.meanwhile === "leave") {
        await call.asked;
        await call.cut();
        call.back();
      }
      return await called;
    } finally {
      await client.close();
    }
  },
};

export const experimentalTasks: Dialect = {
  name: "sdk v1, experimental.tasks",
  cannot: {},
  async run(call) {
    let client = await connect(call);
    try {
      const { created, settled } = callAsTask(client, call);
      if (call.meanwhile === "cancel") {
        await call.asked;
        await client.experimental.tasks.cancelTask(await created);
      }
      if (call.meanwhile === "leave") {
        await call.asked;
        const url = await call.vanish();
        await client.close();
        client = await connect({ ...call, url });
        call.back();
        return await client.experimental.tasks.getTaskResult(await created, CallToolResultSchema).then(toldBy);
      }
      return await settled;
    } finally {
      await client.close();
    }
  },
};

function callAsTask(client: Client, { tool, args }: Call): { readonly created: Promise<string>; readonly settled: Promise<Told> } {
  const created = Promise.withResolvers<string>();
  async function follow(): Promise<Told> {
    const messages = client.experimental.tasks.callToolStream({ name: tool, arguments: { ...args } }, CallToolResultSchema, {
      task: { ttl: 60_000 },
    });
    for await (const message of messages) {
      if (message.type === "taskCreated") created.resolve(message.task.taskId);
      if (message.type === "result") return toldBy(message.result);
      if (message.type === "error") return failedWith(message.error);
    }
    throw new Error("the stream of the call ended without an end");
  }
  return { created: created.promise, settled: follow() };
}
