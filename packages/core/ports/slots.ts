/**
 * Limits of tools: how many runs of a tool are active at once, and how many of its tasks begin per time window,
 * across all workers.
 *
 *   take ──taken──▶ keep … keep ──▶ give ──▶ the runs whose turn it is now
 *     └───wait──▶ the task parks, queues by age, and tries again when it is woken or after `retryMs`
 *
 * A slot is a lease: if its worker dies, it is free again when the lease expires. A waiting task holds no slot: a
 * task that asks a person gives its slot back. A task has one slot, which belongs to the run that took it last: a run
 * that lost its task and ends later neither keeps nor gives back the slot of the run that has it.
 */
import type { RunRef } from "./runs.ts";
import type { CallFacts, JsonObject } from "../task.ts";

/** A tool's declared limit. */
export interface Limit {
  /** Maximum number of active runs. */
  readonly concurrency?: number;
  /** A bucket of `count` tasks that refills within `windowMs`. */
  readonly rate?: { readonly count: number; readonly windowMs: number };
  /** What the limit is counted by: each key has a limit of its own. An error ends the task. */
  keyOf(args: JsonObject, call: CallFacts): string | Promise<string>;
}

/** The limit of one key of one tool. */
export interface KeptLimit extends Pick<Limit, "concurrency" | "rate"> {
  /** Identifies tool and key. */
  readonly id: string;
}

export interface TakeSlot {
  readonly limit: KeptLimit;
  readonly taskId: string;
  /** Of the run that takes the slot, as `begin` issued it. */
  readonly token: string;
  /** The run that continues the task if it has to wait now. */
  readonly nextRun: number;
  /** When the task was created; older tasks go first. */
  readonly createdAtMs: number;
  /** The task has not begun. It counts towards the rate, and queues after tasks that have begun. */
  readonly isNew: boolean;
  readonly nowMs: number;
  readonly leaseMs: number;
}

export type SlotTaken =
  | { readonly type: "taken" }
  /** `by`: the part of the limit that is exhausted. */
  | { readonly type: "wait"; readonly by: "concurrency" | "rate"; readonly retryMs: number };

export interface Slots {
  /** A slot that the task already holds becomes this run's. */
  take(request: TakeSlot): Promise<SlotTaken>;
  /** Renews the lease of this run's slot. */
  keep(request: Pick<TakeSlot, "limit" | "taskId" | "token" | "nowMs" | "leaseMs">): Promise<void>;
  /** Gives this run's slot back. Returns runs that can take one now; the caller must add them. */
  give(request: Pick<TakeSlot, "limit" | "taskId" | "token" | "nowMs">): Promise<readonly RunRef[]>;
}

/** Maximum length of one queue. Tasks beyond it are not queued and only retry. */
export const IN_LINE_MAX = 10_000;
/** Maximum delay before a waiting task retries, even if it is never woken. */
export const SLOT_RETRY_MAX_MS = 300_000;
/**
 * How long past its retry a waiting task keeps its place: after that it was cancelled, or its worker died. If it comes
 * later, it queues again by its age.
 */
export const SLOT_PATIENCE_MS = 10_000;
