/** What became of the calls that rules made wait for approval. */
import { type ReportedRule } from "@parley/approvals";
import { APPROVAL_DAYS_MAX, SCOPES } from "@parley/core";
import { z } from "zod";
import { operation, type Operation } from "./operation.ts";
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
    waiting: count.describe("Calls that wait now"),
    oldest: z.object({ taskId: z.string(), askedAt: time }).optional().describe("The one of them that has waited longest"),
  }),
  "What became of the calls that one rule stopped",
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
];

function shown({ oldest, ...rule }: ReportedRule): z.input<typeof approvalRule> {
  return { ...rule, ...(oldest && { oldest: { taskId: oldest.taskId, askedAt: timeOf(oldest.askedAtMs) } }) };
}
