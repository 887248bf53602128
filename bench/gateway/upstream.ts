/**
 * A classic upstream for measurements, with the TypeScript SDK 1.
 *
 *   plain        returns the text that it is given
 *   ask          asks with elicitation/create, waits, and returns the text that it is given with the answer
 *   ask_thrice   asks three times, one question after the other
 *
 * Takes PORT. GET /readyz; GET /sessions: the number of open sessions; GET /requests: the number of requests from clients.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { CallToolRequestSchema, ElicitResultSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { createSessionServer } from "../../test/support/session-server.ts";

const inputSchema = { type: "object", properties: { text: { type: "string" } } } as const;
const requestedSchema = { type: "object", properties: { size: { type: "integer" } }, required: ["size"] } as const;
const HOUR_MS = 3_600_000;
/** How many questions each tool asks. */
const TOOLS: Readonly<Record<string, number>> = { plain: 0, ask: 1, ask_thrice: 3 };

function build(): Server {
  const server = new Server({ name: "measured", version: "1" }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: Object.keys(TOOLS).map((name) => ({ name, inputSchema })) }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { sendRequest }) => {
    const { text: given } = params.arguments ?? {};
    const text = typeof given === "string" ? given : "";
    const questions = TOOLS[params.name] ?? 0;
    const message = `How many for ${text}?`;
    const asked = { method: "elicitation/create", params: { mode: "form", message, requestedSchema } } as const;
    let answer = "";
    for (let sent = 0; sent < questions; sent += 1) {
      const { content } = await sendRequest(asked, ElicitResultSchema, { timeout: HOUR_MS });
      answer = `: ${String(content?.["size"])}`;
    }
    return { content: [{ type: "text", text: text + answer }] };
  });
  return server;
}

let requests = 0;
const { sessions, serve: serveSession } = createSessionServer(build);

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.url === "/readyz") return void response.end("ok");
  if (request.url === "/sessions") return void response.end(String(sessions.size));
  if (request.url === "/requests") return void response.end(String(requests));
  requests += 1;
  await serveSession(request, response);
}

createServer((request, response) => void serve(request, response)).listen(Number(process.env["PORT"]), "127.0.0.1");
process.once("SIGTERM", () => process.exit(0));
