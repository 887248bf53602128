/** Sessions over Streamable HTTP as the official SDK keeps them: for upstreams of 2025, each session with a server of its own. */
import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";

export interface SessionServer {
  /** Those that are open, by their id. One that is taken out is forgotten, as by a server that was restarted. */
  readonly sessions: Map<string, StreamableHTTPServerTransport>;
  serve(request: IncomingMessage, response: ServerResponse): Promise<void>;
}

/** An unknown session is answered 404, as the specification has it. */
export function createSessionServer(build: (transport: StreamableHTTPServerTransport) => Pick<Server, "connect">): SessionServer {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  return {
    sessions,
    async serve(request, response) {
      const id = request.headers["mcp-session-id"];
      const known = sessions.get(String(id));
      if (known) return await known.handleRequest(request, response);
      if (id !== undefined) return void response.writeHead(404).end();
      const transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (given) => void sessions.set(given, transport),
        onsessionclosed: (given) => void sessions.delete(given),
      });
      await build(transport).connect(transport as never);
      await transport.handleRequest(request, response);
    },
  };
}
