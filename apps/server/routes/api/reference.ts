/** The reference of /api/v1 for people and programs: an OpenAPI document, and the same as a page without scripts. Neither has anyone's data. */
import type { FastifyInstance } from "fastify";
import { sendJson } from "../../streams/outlet.ts";
import { DOCUMENT } from "./document.ts";
import { referencePage, STYLE } from "./reference-page.ts";

/** For a scope below /api/v1 that sends plain pages and asks for no credentials. */
export function apiReference(scope: FastifyInstance): void {
  // Made when somebody reads it, not at every start.
  let page: string | undefined;
  scope.get("/openapi.json", (_request, reply) => {
    sendJson(reply, 200, DOCUMENT);
    return reply;
  });
  scope.get("/reference", (_request, reply) => reply.type("text/html; charset=utf-8").send((page ??= referencePage(DOCUMENT))));
  scope.get("/reference.css", (_request, reply) => reply.type("text/css; charset=utf-8").header("cache-control", "no-cache").send(STYLE));
}
