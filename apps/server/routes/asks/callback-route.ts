/** The addresses to which OAuth providers and other sites send people back. A sealed cookie in the browser tells which ask they left. */
import { OAUTH_CALLBACK_PATH } from "@parley/identity";
import type { FastifyInstance } from "fastify";
import type { FrontEnd } from "../../front-end/front-end.ts";
import type { Visitors } from "../../front-end/visitors.ts";
import { permit, showErrors } from "./every-page.ts";
import type { Grants } from "./grants.ts";
import { RETURNS_PATH, type Visits } from "./visits.ts";

export interface CallbackRoute {
  readonly frontEnd: FrontEnd;
  readonly grants: Grants;
  readonly visits: Visits;
  readonly visitors: Visitors;
}

export function callbackRoute(scope: FastifyInstance, { frontEnd, grants, visits, visitors }: CallbackRoute): void {
  // No HEAD routes: a program that only looks at the address must not use up the state with which a person comes back.
  scope.get(`${OAUTH_CALLBACK_PATH}/:provider`, { exposeHeadRoute: false }, async (request, reply) => {
    await permit(frontEnd, request, "answers");
    const { provider } = request.params as { readonly provider: string };
    return await grants.finish(request, reply, provider);
  });
  scope.get(`${RETURNS_PATH}/:state`, { exposeHeadRoute: false }, async (request, reply) => {
    await permit(frontEnd, request, "answers");
    const { state } = request.params as { readonly state: string };
    return await visits.finish(request, reply, state);
  });
  showErrors(scope, frontEnd, visitors);
}
