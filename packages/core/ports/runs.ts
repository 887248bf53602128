/** Runs, as ports speak of them: which one, why it was added, how it ended, and the token that fences its writes (I5). */
import type { Call } from "../task.ts";

export interface RunRef {
  readonly taskId: string;
  readonly run: number;
}

export interface OverdueRun extends RunRef {
  /** `shareOf` its task, if quotas count that. */
  readonly share?: string;
}

/**
 * Why a run was added:
 * - `created`: its task is new.
 * - `answered`: an answer was recorded.
 * - `overtaken`: the previous run parked although it has to continue, because an answer arrived in the meantime or
 *   the task restarted.
 * - `overdue`: the sweep found the task due: a deadline, a sleep, or work that a dead process left behind.
 */
export type RunCause = "created" | "answered" | "overtaken" | "overdue";

/**
 * How a run ended. `code` is the error of core's catalogue that ended the task, if one did. `deferred`: the run did
 * not begin, because another suspect (use-cases/suspects.ts) is running in this process; the sweep adds it again.
 */
export type RunReport =
  | { readonly type: "refused"; readonly reason: RefusedReason | "deferred" }
  | { readonly type: "finished"; readonly status: "completed" | "failed"; readonly code?: string }
  /**
   * `compensated`: the compensation undid the task's work. `given-up`: it failed, and an operator has to look at it.
   */
  | { readonly type: "compensated" | "given-up" }
  /**
   * - `unserved`: this worker does not have the tool; the task was put back.
   * - `version_unserved`: no worker has the tool in the task's version.
   * - `passed_on`: another worker has it.
   * - `limited`: the task waits for a slot of its tool's limit.
   * - `fenced`: another worker has taken the task over.
   */
  | { readonly type: "parked" | "retrying" | "unserved" | "version_unserved" | "passed_on" | "limited" | "fenced" };

export type RefusedReason = "finished" | "stale" | "held" | "unknown" | "key_missing";

/** A write of the run that holds `token`. */
export interface Fenced {
  readonly taskId: string;
  readonly token: string;
  readonly nowMs: number;
}

/**
 * The task was cancelled and the writer must stop. Its write took effect only if the task still has to be
 * compensated.
 */
export type Cancelled = "cancelled";

/** The writer no longer holds the task: another run took it over, or it ended or expired (I5). */
export type Refused = "refused";

/** What a task calls. */
export type Called = Pick<Call, "kind" | "name">;
