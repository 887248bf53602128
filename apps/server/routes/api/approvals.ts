/** What became of the calls that rules made wait for approval. */
import type { ReportedRule } from "@parley/approvals";
import { APPROVAL_DAYS_MAX, endOwnStanding, lackedScopes, ownStanding, SCOPES, type StandingApproval } from "@parley/core";
import { z } from "zod";
import { DOOR, operation, type Operation } from "./operation.ts";
import { Refused } from "./problems.ts";
import { named, time, timeOf } from "./shapes.ts";

const group = "Approvals";
const ms = z.number().describe("Milliseconds");
const count = z.number();

const approvalRule = named(
  "ApprovalRule",
  z.object({
    rule: z.string(),
    asked: count.describe("Calls that were made to wait"),
    approved: count,
    refused: count,
    expired: count.describe("Nobody decided in time"),
    closed: count.describe("The question ended without a decision"),
    withdrawn: count.describe("The call was cancelled while it waited"),
    void: count.describe("Approved, but not run: the rules or the tool had changed"),
    yes: z.number().optional().describe("Share of the decisions that were approvals, 0 to 1. Absent without a decision"),
    medianMs: ms.optional().describe("Median of the time from the question to the decision, in milliseconds"),
    p90Ms: ms.optional().describe("90 % of decisions took at most this many milliseconds"),
    quick: count.describe("Approvals within 5 seconds of the question"),
    people: z
      .array(z.object({ principal: z.string(), approved: count, refused: count }))
      .readonly()
      .describe("Those who decided most often"),
    tests: z
      .object({
        asked: count,
        caught: count.describe("Refused, as was right"),
        missed: count.describe("Approved"),
        missedBy: z
          .array(z.object({ principal: z.string(), missed: count }))
          .readonly()
          .describe("Those who approved most of them"),
      })
      .optional()
      .describe("Tests of those who approve: calls that nobody made, whose right answer is no"),
    waiting: count.describe("Calls that wait now"),
    oldest: z.object({ taskId: z.string(), askedAt: time }).optional().describe("The one of them that has waited longest"),
  }),
  "What became of the calls that one rule stopped",
);

const standingApproval = named(
  "StandingApproval",
  z.object({
    id: z.string(),
    rule: z.string(),
    title: z.string().describe("The rule's title"),
    tool: z.string(),
    caller: z.string().describe("Principal whose calls it lets pass"),
    by: z.string().describe("Principal who gave it"),
    grantedAt: time,
    until: time,
    uses: count.describe("How many calls it was given for"),
    left: count.describe("How many of them are left"),
  }),
  "An approval that holds for later calls with the same arguments. The arguments are not kept, only their digest",
);

export const APPROVAL_OPERATIONS: readonly Operation[] = [
  operation({
    name: "reportApprovals",
    method: "get",
    path: "/approvals",
    group,
    summary: "Returns what became of the calls of the caller's tenant that rules made wait for approval, for each rule",
    description: "For operators: with identity, it needs the scope `admin:read`, which no client gets by itself.",
    scopes: [SCOPES.administer],
    rate: "reads",
    query: z.strictObject({
      days: z.coerce
        .number({ error: "must be a number" })
        .int({ error: "must be a whole number" })
        .min(1, { error: "must be at least 1" })
        .max(APPROVAL_DAYS_MAX, { error: `must be at most ${APPROVAL_DAYS_MAX}` })
        .default(7)
        .describe("How many days are counted, including today (UTC)"),
    }),
    result: named("ApprovalReport", z.object({ since: time, rules: z.array(approvalRule), isMoreWaiting: z.boolean() })),
    async handle({ frontEnd: { services }, caller: { tenant }, query: { days } }) {
      const { approvals, clock, store } = services;
      const nowMs = clock.now();
      if (!approvals) return { since: timeOf(nowMs), rules: [], isMoreWaiting: false };
      // A leaf: loaded only if an operator asks.
      const { approvalReport } = await import("@parley/approvals");
      const { sinceMs, rules, isMoreWaiting } = await approvalReport(
        { approvals, load: (taskId) => store.load(taskId) },
        { tenant, days, nowMs },
      );
      return { since: timeOf(sinceMs), rules: rules.map(shown), isMoreWaiting };
    },
  }),
  operation({
    name: "listStandingApprovals",
    method: "get",
    path: "/approvals/standing",
    group,
    summary: "Lists the standing approvals that the caller gave, or that let the caller's own calls pass, the first to end first",
    description: "With the scope `admin:read`, all of the caller's tenant.",
    scopes: [SCOPES.read],
    rate: "reads",
    result: named("StandingApprovals", z.object({ approvals: z.array(standingApproval) })),
    async handle({ frontEnd: { services }, caller }) {
      const { standing, clock } = services;
      const isOperator = lackedScopes(caller.scopes, [SCOPES.administer]).length === 0;
      const all = isOperator ? await standing?.list({ tenant: caller.tenant, nowMs: clock.now() }) : await ownStanding(services, caller);
      return { approvals: (all ?? []).map(standingShown) };
    },
  }),
  operation({
    name: "revokeStandingApproval",
    method: "post",
    path: "/approvals/standing/{id}/revoke",
    group,
    summary: "Ends a standing approval that the caller gave, or that lets the caller's own calls pass: the next call asks again",
    scopes: [SCOPES.answer],
    rate: "answers",
    params: z.object({ id: z.string() }),
    body: named("Revocation", z.strictObject({}, { error: "must be an object without members" })),
    result: named("RevocationReceipt", z.object({ receipt: z.enum(["revoked"]) })),
    refusals: { 404: "There is no such standing approval, or the caller may not see it" },
    async handle({ frontEnd: { services }, caller, params: { id } }) {
      if (!(await endOwnStanding(services, { caller, door: DOOR, id })))
        throw new Refused({ status: 404, detail: "there is no such standing approval" });
      return { receipt: "revoked" as const };
    },
  }),
];

function standingShown({ id, rule, title, tool, principal, by, grantedAtMs, untilMs, uses, left }: StandingApproval) {
  return { id, rule, title, tool, caller: principal, by, grantedAt: timeOf(grantedAtMs), until: timeOf(untilMs), uses, left };
}

function shown({ oldest, ...rule }: ReportedRule): z.input<typeof approvalRule> {
  return { ...rule, ...(oldest && { oldest: { taskId: oldest.taskId, askedAt: timeOf(oldest.askedAtMs) } }) };
}
