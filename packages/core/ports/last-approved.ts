/**
 * The last call of each kind that people approved, so that the next one can be shown beside it. Only rules that ask for it keep any. Losing one loses
 * nothing but the comparison.
 */
export interface LastApproved {
  /** Replaces an earlier one. Of two at once, the one that was approved later stays. */
  note(noted: NoteApproved): Promise<void>;
  /** Undefined if there is none, or it cannot be opened. */
  read(of: { readonly tenant: string; readonly id: string; readonly nowMs: number }): Promise<ApprovedCall | undefined>;
}

export interface ApprovedCall {
  /** Whose content it is: it is sealed as the task's arguments are. */
  readonly taskId: string;
  readonly principal: string;
  readonly approvedAtMs: number;
  /** What the rule shows of the arguments, as JSON. Absent if it is longer than LAST_APPROVED_CHARS_MAX. */
  readonly arguments?: string;
}

export interface NoteApproved extends ApprovedCall {
  readonly tenant: string;
  /** Names the kind of call. */
  readonly id: string;
}

/** Kinds of calls of one tenant. Beyond it, the one that was approved longest ago is forgotten. */
export const LAST_APPROVED_MAX = 1_000;
export const LAST_APPROVED_CHARS_MAX = 8_000;
export const LAST_APPROVED_KEPT_MS = 90 * 86_400_000;
