/**
 * /api/v1: what people are asked, and tasks, for programs and pages. docs/api.md is the guide.
 *
 * Use cases of core do the work and decide by the one policy (I13). Credentials come in the Authorization header. The cookie of a login
 * counts only for the playground's page (PlaygroundLogin), so no page of another site can act for a person.
 */
import { type Catalogues, ParleyError, type Repeats } from "@parley/core";
import type { FastifyInstance } from "fastify";
import type { FrontEnd } from "../../front-end/front-end.ts";
import { acceptJsonOnly } from "../../json-only.ts";
import { serve } from "./operation.ts";
import { OPERATIONS } from "./operations.ts";
import { problemOf, sendProblem } from "./problems.ts";

export interface Api {
  readonly frontEnd: FrontEnd;
  readonly catalogues: Catalogues;
  readonly repeats: Repeats;
}

/** For an authenticated scope below /api/v1. */
export function apiRoute(scope: FastifyInstance, api: Api): void {
  const { frontEnd } = api;
  const { limits, resource, log } = frontEnd;
  acceptJsonOnly(scope, limits);
  for (const each of OPERATIONS) serve(scope, api, each);

  scope.setErrorHandler((error: Error & { readonly code?: string }, request, reply) => {
    const insufficient = error instanceof ParleyError && error.code === "SCOPE_INSUFFICIENT";
    if (resource && insufficient) void reply.header("www-authenticate", resource.challenge(request, error));
    const { problem, retryAfterSeconds } = problemOf(frontEnd, error);
    if (problem.status < 500) log.info({ requestId: request.id, ...(problem.code && { code: problem.code }) }, "request refused");
    if (retryAfterSeconds !== undefined) void reply.header("retry-after", retryAfterSeconds);
    return sendProblem(reply, problem);
  });
}
