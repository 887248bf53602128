/** Approvals that hold for later calls, for those who gave them and those whose calls they let pass: seen, and ended. */
import { noteAudit } from "../callers/audit.ts";
import type { Caller } from "../callers/caller.ts";
import type { StandingApproval } from "../ports/standing-approvals.ts";
import type { Services } from "./services.ts";

type Keeping = Pick<Services, "standing" | "clock" | "audit" | "digest">;

/** The first to end first. Throws UNAVAILABLE. */
export async function ownStanding(
  { standing, clock }: Pick<Keeping, "standing" | "clock">,
  caller: Caller,
): Promise<readonly StandingApproval[]> {
  const all = (await standing?.list({ tenant: caller.tenant, nowMs: clock.now() })) ?? [];
  return all.filter((each) => isOwn(each, caller));
}

export interface EndStanding {
  readonly caller: Caller;
  readonly door: string;
  readonly id: string;
  /** When the one that the caller saw was given. A later one is not ended. Absent: whichever there is. */
  readonly grantedAtMs?: number;
}

/** Undefined if the caller has no such approval, whether or not somebody else does. Throws UNAVAILABLE. */
export async function endOwnStanding(
  services: Keeping,
  { caller, door, id, grantedAtMs }: EndStanding,
): Promise<StandingApproval | undefined> {
  const own = await ownStanding(services, caller);
  const found = own.find((each) => each.id === id && (grantedAtMs === undefined || each.grantedAtMs === grantedAtMs));
  if (!found || !(await services.standing?.revoke({ tenant: caller.tenant, id }))) return undefined;
  const { rule, tool } = found;
  noteAudit(services, { caller, door }, () => ({ action: "approval", did: "revoked", standing: id, rule, tool: `tool ${tool}` }));
  return found;
}

/** A rule names who approves, so a colleague of theirs is no approver of this call. */
function isOwn({ principal, by }: StandingApproval, caller: Caller): boolean {
  return principal === caller.principal || by === caller.principal;
}
