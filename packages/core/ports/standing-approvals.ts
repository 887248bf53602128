/**
 * Approvals that hold for later calls: "this call, by this caller, until Friday".
 *
 *   granted ──use, use, …──▶ used up, or over, or revoked
 *
 * The id is a digest of everything that was approved: the rule, the tool as it is listed, the exact arguments and the caller. A call that differs in one of
 * them has another id, and finds nothing.
 */
export interface StandingApprovals {
  /** False if the tenant has STANDING_APPROVALS_MAX. Granting again for the same task changes nothing. */
  grant(granted: GrantStanding): Promise<boolean>;
  /** Spends one use. Undefined if there is none left. The same task spends once, however often it asks. */
  use(use: UseStanding): Promise<StandingApproval | undefined>;
  /** Those that are not over, the first to end first. */
  list(of: { readonly tenant: string; readonly nowMs: number }): Promise<readonly StandingApproval[]>;
  /** False if there is no such approval. */
  revoke(of: { readonly tenant: string; readonly id: string }): Promise<boolean>;
}

/** What people are shown of it: never the arguments. */
export interface StandingAbout {
  readonly rule: string;
  readonly title: string;
  readonly tool: string;
  /** Whose calls it lets pass. */
  readonly principal: string;
  /** Who gave it. */
  readonly by: string;
  readonly grantedAtMs: number;
  readonly untilMs: number;
  readonly uses: number;
}

export interface StandingApproval extends StandingAbout {
  readonly id: string;
  readonly left: number;
}

export interface GrantStanding {
  readonly tenant: string;
  readonly id: string;
  /** The task whose approval it came with. */
  readonly taskId: string;
  readonly about: StandingAbout;
}

export interface UseStanding {
  readonly tenant: string;
  readonly id: string;
  readonly taskId: string;
  readonly nowMs: number;
}

export const STANDING_APPROVALS_MAX = 1_000;
