/**
 * The page on which people see the approvals that hold for later calls, and end them:
 *
 *   GET, HEAD  list those that the visitor gave, or that let the visitor's calls pass; for operators also how people decide, by rule
 *   POST       ends one of them
 *
 * A form is accepted only if it comes from a page of this server that showed this approval to this person (a signed token). Those of other people and
 * those that never were are answered alike.
 */
import { type Caller, endOwnStanding, lackedScopes, ownStanding, SCOPES, type StandingApproval } from "@parley/core";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { FrontEnd } from "../../front-end/front-end.ts";
import { APPROVALS_PATH, type PageAddresses } from "../../front-end/page-addresses.ts";
import type { Visitors } from "../../front-end/visitors.ts";
import type { Signatures } from "../../seals/signatures.ts";
import { filled, readerOf } from "../../texts/texts.ts";
import { DOOR, formBodies, isOwnForm, notice, permit, sendPage, showErrors } from "../asks/every-page.ts";
import { approvalsPage } from "./view.ts";

export interface ApprovalsRoute {
  readonly frontEnd: FrontEnd;
  readonly addresses: PageAddresses;
  readonly signatures: Signatures;
  readonly visitors: Visitors;
}

/** An id, a time, a signature and their names. */
const FORM_BYTES_MAX = 4_096;
/** Of the figures. Others are told by the command line and the API. */
const DAYS = 7;

export function approvalsRoute(scope: FastifyInstance, { frontEnd, addresses, signatures, visitors }: ApprovalsRoute): void {
  const { services } = frontEnd;
  formBodies(scope, FORM_BYTES_MAX);

  scope.get(APPROVALS_PATH, async (request, reply) => {
    await permit(frontEnd, request, "reads");
    return await show(request, reply, 200);
  });

  scope.post(APPROVALS_PATH, async (request, reply) => {
    if (!isOwnForm(request, addresses)) return notice(reply, "foreign");
    await permit(frontEnd, request, "answers");
    const { body, caller } = request;
    if (!(body instanceof URLSearchParams)) return notice(reply, "unreadable");
    const [id, granted, token] = [body.get("approval"), body.get("granted"), body.get("token")];
    if (id === null || granted === null || token === null || body.get("action") !== "end") return notice(reply, "unreadable");
    const grantedAtMs = Number(granted);
    const isShown = signatures.verify(formText(caller, { id, grantedAtMs }), token);
    const ended = isShown ? await endOwnStanding(services, { caller, door: DOOR, id, grantedAtMs }) : undefined;
    const { approvals } = readerOf(request).texts;
    if (!ended) return await show(request, reply, 409, { problem: approvals.gone });
    return await show(request, reply, 200, { done: filled(approvals.ended, { title: ended.title }) });
  });

  async function show(
    request: FastifyRequest,
    reply: FastifyReply,
    status: number,
    said: { readonly done?: string; readonly problem?: string } = {},
  ): Promise<FastifyReply> {
    const { caller, account } = request;
    const own = await ownStanding(services, caller);
    const approvals = own.map((approval) => ({ approval, token: signatures.sign(formText(caller, approval)) }));
    const figures = await figuresFor(caller);
    return sendPage(reply, status, approvalsPage({ reader: readerOf(request), approvals, figures, caller, account, ...said }));
  }

  /** For those who may read them at the API. */
  async function figuresFor({ scopes, tenant }: Caller) {
    const { approvals, clock, store } = services;
    if (!approvals || lackedScopes(scopes, [SCOPES.administer]).length > 0) return undefined;
    // A leaf: loaded only if an operator asks.
    const { approvalReport, QUICK_MS } = await import("@parley/approvals");
    const sources = { approvals, load: (taskId: string) => store.load(taskId) };
    const report = await approvalReport(sources, { tenant, days: DAYS, nowMs: clock.now() });
    return { ...report, days: DAYS, quickMs: QUICK_MS };
  }

  showErrors(scope, frontEnd, visitors);
}

/** What the token of a form signs: this person, and the approval as it was shown. */
function formText({ tenant, principal }: Caller, { id, grantedAtMs }: Pick<StandingApproval, "id" | "grantedAtMs">): string {
  return ["standing", tenant, principal, id, String(grantedAtMs)].join("\n");
}
