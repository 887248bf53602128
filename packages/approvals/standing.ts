/**
 * Approvals for later calls, if the rule allows them: whoever approves a call may let the same call pass for a while. "The same" is the digest of the decision
 * (rules.ts, R2): the rule, the tool as it is listed, its version, the exact arguments and the caller.
 */
import { hash } from "node:crypto";
import {
  DEFAULT_TENANT,
  type Duration,
  durationOf,
  type JsonObject,
  parseDuration,
  type StandingApproval,
  type StandingApprovals,
} from "@parley/core";
import type { Stopped } from "./record.ts";
import type { Decision, Standing } from "./rules.ts";

type Approve = Extract<Decision, { readonly type: "approve" }>;
export type StoppedToAsk = Omit<Stopped, "decided"> & { readonly decided: Approve };

/** In the answer of the approver. */
const FIELD = "standing";
const ONCE = "once";
const CHOICES: readonly (readonly [Duration, string])[] = [
  ["1 hour", "1 hour"],
  ["1 day", "1 day"],
  ["7 days", "7 days"],
];

/** The form of a question whose rule allows it; without `standing` there is nothing to fill in. */
export function approvalForm(standing: Standing | undefined): JsonObject {
  if (!standing) return { type: "object", properties: {} };
  const shorter = CHOICES.filter(([duration]) => parseDuration(duration) < standing.forMs);
  const choices = [...shorter.map(([, words]) => words), durationOf(standing.forMs)];
  return {
    type: "object",
    properties: {
      [FIELD]: {
        type: "string",
        title: "What you approve",
        description: `The same call is one by the same caller with exactly these arguments. It passes at most ${standing.uses} times, and no longer if the rule or the tool changes.`,
        oneOf: [
          { const: ONCE, title: "This call only" },
          ...choices.map((words) => ({ const: words, title: `This call, and the same call for ${words}` })),
        ],
        default: ONCE,
      },
    },
  };
}

/** For how long the approver lets the same call pass; undefined for this call only. Never longer than the rule allows. */
export function standingMs(content: Readonly<Record<string, unknown>> | undefined, standing: Standing | undefined): number | undefined {
  const chosen = content?.[FIELD];
  if (!standing || typeof chosen !== "string" || chosen === ONCE) return undefined;
  return Math.min(parseDuration(chosen as Duration), standing.forMs);
}

/** Of what the approval is for; it is shown to people, and part of a key. */
export function standingId({ digest, listed = "" }: Pick<Approve, "digest" | "listed">): string {
  return hash("sha256", `${digest} ${listed}`, "base64url").slice(0, 22);
}

export async function useStanding(
  standing: StandingApprovals,
  { taskId, call, decided }: StoppedToAsk,
  nowMs: number,
): Promise<StandingApproval | undefined> {
  return await standing.use({ tenant: call.tenant ?? DEFAULT_TENANT, id: standingId(decided), taskId, nowMs });
}

export async function grantStanding(
  standing: StandingApprovals,
  { taskId, call, decided }: StoppedToAsk,
  { by, grantedAtMs, forMs }: { readonly by: string; readonly grantedAtMs: number; readonly forMs: number },
): Promise<boolean> {
  const { rule, title, standing: allowed } = decided;
  const about = { rule, title, tool: call.name, principal: call.principal, by, grantedAtMs, untilMs: grantedAtMs + forMs };
  const granted = { tenant: call.tenant ?? DEFAULT_TENANT, id: standingId(decided), taskId };
  return await standing.grant({ ...granted, about: { ...about, uses: allowed?.uses ?? 1 } });
}
