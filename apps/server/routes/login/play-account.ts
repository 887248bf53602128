/** How the playground knows who is logged in with the browser, and leads them to the login with the scopes of a client. */
import { personOf } from "@parley/core";
import type { FastifyInstance } from "fastify";
import type { FrontEnd } from "../../front-end/front-end.ts";
import type { PlaygroundLogin } from "../../front-end/visitors.ts";
import { sendJson } from "../../streams/outlet.ts";
import { showErrors } from "../asks/every-page.ts";

/** Tells the page who is logged in with the browser, and leads to the provider and back. `login`: undefined where people cannot log in. */
export function playAccount(scope: FastifyInstance, frontEnd: FrontEnd, login: PlaygroundLogin | undefined): void {
  scope.get("/play/api/account", { exposeHeadRoute: false }, async (request, reply) => {
    const caller = await login?.callerOf(request);
    const who = caller && { name: caller.displayName ?? caller.principal, person: personOf(caller) };
    sendJson(reply, 200, { hasLogin: login !== undefined, ...who });
    return reply;
  });
  if (login) scope.get("/play/login", { exposeHeadRoute: false }, (request, reply) => login.logIn(request, reply, "/play/"));
  showErrors(scope, frontEnd, {});
}
