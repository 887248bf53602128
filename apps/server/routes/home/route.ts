/** What is here, for somebody who opens the server's address: a page for browsers, the same as JSON for everybody else. */
import type { FastifyInstance, FastifyRequest } from "fastify";
import { sendJson } from "../../streams/outlet.ts";
import { homePage, STYLE } from "./page.ts";

export interface Home {
  /** Of the MCP endpoint, for clients; undefined: as they found this page. */
  readonly resourceUrl: string | undefined;
  readonly playground: boolean;
  readonly needsToken: boolean;
}

const ACCEPTS_HTML = /(?:^|,)\s*(?:text\/html|application\/xhtml\+xml)\s*(?:[;,]|$)/i;

export function home(scope: FastifyInstance, { resourceUrl, playground, needsToken }: Home): void {
  const endpointOf = ({ headers }: FastifyRequest) => resourceUrl ?? `http://${headers.host}/mcp`;

  scope.get("/", (request, reply) => {
    const endpoint = endpointOf(request);
    void reply.header("vary", "Accept, Host");
    if (ACCEPTS_HTML.test(request.headers.accept ?? "")) {
      return reply.type("text/html; charset=utf-8").send(homePage({ endpoint, playground, needsToken }));
    }
    sendJson(reply, 200, {
      name: "Parley",
      description: "A task-elicitation server for the Model Context Protocol",
      mcp: endpoint,
      ...(playground && { playground: new URL("play/", new URL("./", endpoint)).href }),
    });
    return reply;
  });

  scope.get("/home.css", (_request, reply) => reply.type("text/css; charset=utf-8").header("cache-control", "no-cache").send(STYLE));
}
