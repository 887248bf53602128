/**
 * The script of the test page: the official clients, bundled by test/e2e/browser.e2e.test.ts.
 *
 * Each function calls a tool, answers its question, and returns what the tool returned.
 */
import { Client as ClientV2, StreamableHTTPClientTransport as TransportV2 } from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { connect } from "../../apps/cli/client/connect.ts";

/** From the URL of the MCP endpoint to what the tool said. */
type Play = (url: string) => Promise<string>;

const call = { name: "greet", arguments: { marker: "from a page" } };
const capabilities = { elicitation: { form: {} } };
const answer = { action: "accept" as const, content: { name: "Ann" } };

function said(result: unknown): string {
  return (result as { content: { text: string }[] }).content.map(({ text }) => text).join();
}

const v1: Play = async (url) => {
  const client = new Client({ name: "page", version: "1" }, { capabilities });
  client.setRequestHandler(ElicitRequestSchema, () => answer);
  const transport = new StreamableHTTPClientTransport(new URL(url));
  await client.connect(transport as never);
  const { sessionId } = transport;
  const text = said(await client.callTool(call));
  await transport.terminateSession();
  // Throws unless the page could read the id and end the session by it.
  if (sessionId === undefined || transport.sessionId !== undefined) throw new Error("the session did not end");
  await client.close();
  return text;
};

function v2(version: string): Play {
  return async (url) => {
    const options =
      version === "2026-07-28" ? { versionNegotiation: { mode: { pin: version } } } : { supportedProtocolVersions: [version] };
    const client = new ClientV2({ name: "page", version: "2" }, { capabilities, ...options });
    client.setRequestHandler("elicitation/create", () => answer);
    await client.connect(new TransportV2(new URL(url)));
    if (client.getNegotiatedProtocolVersion() !== version) throw new Error(`${version} was not agreed on`);
    const text = said(await client.callTool(call));
    await client.close();
    return text;
  };
}

/** A task of 2026-07-28, with a question that is answered by tasks/update. */
const tasks: Play = async (url) => {
  const { session, close } = await connect(url, { respond: (() => answer) as never });
  const execution = await session.callTool(call.name, call.arguments, { task: { preference: "require" } });
  const { outcome } = await execution.settle();
  if (outcome.status !== "completed") throw new Error(`the task is ${outcome.status}`);
  await close();
  return said(outcome.result);
};

/** What a page of an origin that is not trusted gets. */
const fetched: Play = async (url) => {
  const response = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body: "{}" });
  return `${response.status}`;
};

const plays: Readonly<Record<string, Play>> = {
  v1,
  "v2 2025-11-25": v2("2025-11-25"),
  "v2 2025-03-26": v2("2025-03-26"),
  "v2 2026-07-28": v2("2026-07-28"),
  tasks,
  fetched,
};

Object.assign(globalThis, {
  play: async (how: string, url: string): Promise<string> => {
    const way = plays[how];
    if (!way) throw new Error(`no way ${how}`);
    return await way(url).catch((error: unknown) => `failed: ${String(error)}`);
  },
});
