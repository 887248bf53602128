/** The start page at /, which describes the server: HTML for browsers, the same as JSON for other clients. */
import type { FastifyInstance, FastifyRequest } from "fastify";
import { sendJson } from "../../streams/outlet.ts";
import { readerOf } from "../../texts/texts.ts";
import { homePage, STYLE } from "./page.ts";

export interface Home {
  /** URL of the MCP endpoint. If undefined, it is derived from the request's Host header. */
  readonly resourceUrl: string | undefined;
  readonly playground: boolean;
  readonly needsToken: boolean;
  /** Whether people can see and remove access that they granted. */
  readonly hasAccounts: boolean;
  /** Whether approvals may hold for later calls, and people see theirs. */
  readonly hasApprovals: boolean;
  /** Whether the address of the inbox needs no ticket. If it does, the page tells nobody: whoever opens it may be another program of this machine. */
  readonly hasInbox: boolean;
}

const ACCEPTS_HTML = /(?:^|,)\s*(?:text\/html|application\/xhtml\+xml)\s*(?:[;,]|$)/i;

export function home(scope: FastifyInstance, { resourceUrl, playground, needsToken, ...has }: Home): void {
  const endpointOf = ({ headers }: FastifyRequest) => resourceUrl ?? `http://${headers.host}/mcp`;

  scope.get("/", (request, reply) => {
    const endpoint = endpointOf(request);
    void reply.header("vary", "Accept, Accept-Language, Host");
    if (ACCEPTS_HTML.test(request.headers.accept ?? "")) {
      return reply.type("text/html; charset=utf-8").send(homePage({ reader: readerOf(request), endpoint, playground, needsToken, ...has }));
    }
    // If every Host is served, the Host header may not be a valid host name. The playground then has no URL.
    const play = playground ? URL.parse("play/", endpoint) : null;
    sendJson(reply, 200, {
      name: "Parley",
      description: "A task-elicitation server for the Model Context Protocol",
      mcp: endpoint,
      ...(play && { playground: play.href }),
    });
    return reply;
  });

  scope.get("/home.css", (_request, reply) => reply.type("text/css; charset=utf-8").header("cache-control", "no-cache").send(STYLE));
}
