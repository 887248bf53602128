/**
 * Checks a request before anything is done for it: first the caller's scopes, then its rates. Both families use this for requests,
 * responses, notifications and streams alike. Core checks the policy of the task itself afterwards.
 */
import { isCounted, ParleyError, type Rated, type RatedCounts } from "@parley/core";
import { CREDENTIAL_ERRORS, errorMessage, INVALID_REQUEST, type RequestId } from "@parley/protocol";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { FrontEnd } from "../../../front-end/front-end.ts";
import { requireScopes } from "../../../front-end/protected-resource.ts";
import { sayWhen } from "../../../front-end/retry-after-header.ts";
import { sendJson } from "../../../streams/outlet.ts";
import { rateOf } from "./rates.ts";
import { scopesFor } from "./scopes.ts";
import type { Action } from "./action.ts";

interface Permit {
  readonly actions: readonly Action[];
  /** Id of the request, for the refusal. Absent for a batch, and if there is no message. */
  readonly id?: RequestId;
}

/**
 * Returns false, having sent the refusal, if the caller's scopes or rates do not cover all actions. None of them may be done then. Throws
 * UNAVAILABLE.
 */
export async function permitted(frontEnd: FrontEnd, request: FastifyRequest, reply: FastifyReply, permit: Permit): Promise<boolean> {
  const { actions, id } = permit;
  const rates = { counts: countsOf(actions), ...(id !== undefined && { id }) };
  return inScope(frontEnd, request, reply, permit) && (await withinRates(frontEnd, request, reply, rates));
}

function inScope(frontEnd: FrontEnd, request: FastifyRequest, reply: FastifyReply, { actions, id }: Permit): boolean {
  const { resource, log } = frontEnd;
  if (!resource) return true;
  const needed = new Set(actions.flatMap((action) => scopesFor(action, request.catalogue)));
  try {
    requireScopes(request.caller, [...needed], describeActions(actions));
    return true;
  } catch (error) {
    if (!(error instanceof ParleyError)) throw error;
    const { code: name, message, hint, data } = error;
    const { code, httpStatus } = CREDENTIAL_ERRORS.SCOPE_INSUFFICIENT;
    log.info({ requestId: request.id, code: name, problem: message }, "request refused");
    void reply.header("www-authenticate", resource.challenge(request, error));
    sendJson(reply, httpStatus, errorMessage(id, { code, message, data: { ...data, code: name, hint } }));
    return false;
  }
}

function countsOf(actions: readonly Action[]): RatedCounts {
  const counts: { [what in Rated]?: number } = {};
  for (const rate of actions.map(rateOf)) if (rate) counts[rate] = (counts[rate] ?? 0) + 1;
  return counts;
}

interface WithinRates extends Pick<Permit, "id"> {
  readonly counts: RatedCounts;
}

/** Returns false, having sent the refusal, if the caller has used up one of its rates. Nothing is taken then. Throws UNAVAILABLE. */
export async function withinRates(
  { rates, log }: Pick<FrontEnd, "rates" | "log">,
  request: FastifyRequest,
  reply: FastifyReply,
  { counts, id }: WithinRates,
): Promise<boolean> {
  if (!isCounted(request.caller) || Object.keys(counts).length === 0) return true;
  try {
    await rates.take(request.caller, counts);
    return true;
  } catch (error) {
    if (!(error instanceof ParleyError) || error.code !== "QUOTA_EXCEEDED") throw error;
    const { code, message, hint, data } = error;
    log.info({ requestId: request.id, code, problem: message }, "request refused");
    sayWhen(reply, error);
    sendJson(reply, 429, errorMessage(id, { code: INVALID_REQUEST, message, data: { ...data, code, hint } }));
    return false;
  }
}

function describeActions([first, ...others]: readonly Action[]): string {
  if (!first || others.length > 0) return "the batch";
  return first.type === "callTool" ? `the tool ${first.name}` : first.type;
}
