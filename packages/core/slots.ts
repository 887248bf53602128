/**
 * Limits of tools: how many runs of one are at work at once, and how many of its tasks begin in a time, in all workers together.
 *
 *   take ──taken──▶ keep … keep ──▶ give ──▶ the runs whose turn it is now
 *     └───wait──▶ the task parks; it stands in line by its age, and tries again when it is told or after `retryMs`
 *
 * A slot is a lease: one whose worker died is free again when the lease has run out. What waits holds none: a task that asks a person gives its slot back.
 */
import type { RunRef } from "./ports.ts";
import type { CallFacts, JsonObject } from "./task.ts";

/** What a tool says of itself. */
export interface Limit {
  /** Runs at work at once. */
  readonly concurrency?: number;
  /** A bucket of `count` tasks that fills again within `windowMs`. */
  readonly rate?: { readonly count: number; readonly windowMs: number };
  /** Whose limit it is: one for each key. Throws what ends the task. */
  keyOf(args: JsonObject, call: CallFacts): string | Promise<string>;
}

/** A limit as it is kept: of one key of one tool. */
export interface KeptLimit extends Pick<Limit, "concurrency" | "rate"> {
  /** Of tool and key. */
  readonly id: string;
}

export interface TakeSlot {
  readonly limit: KeptLimit;
  readonly taskId: string;
  /** The run that continues the task if this one has to wait. */
  readonly nextRun: number;
  /** When the task was made: the older one comes first. */
  readonly createdAtMs: number;
  /** The task has not begun: it counts for the rate, and comes behind those that have. */
  readonly isNew: boolean;
  readonly nowMs: number;
  readonly leaseMs: number;
}

export type SlotTaken =
  | { readonly type: "taken" }
  /** `by`: what it waits for. */
  | { readonly type: "wait"; readonly by: "concurrency" | "rate"; readonly retryMs: number };

export interface Slots {
  /** Taking what the task holds is taking it once. */
  take(request: TakeSlot): Promise<SlotTaken>;
  /** Renews the lease. */
  keep(request: Pick<TakeSlot, "limit" | "taskId" | "nowMs" | "leaseMs">): Promise<void>;
  /** Gives the slot back. Returns runs that can take one now, to be added. */
  give(request: Pick<TakeSlot, "limit" | "taskId" | "nowMs">): Promise<readonly RunRef[]>;
}

/** Tasks in one line; what comes then stands in none, and tries again. */
export const IN_LINE_MAX = 10_000;
/** What waits tries again within this time, also if it is told nothing. */
export const SLOT_RETRY_MAX_MS = 300_000;
/** What should have come by then, and some, is gone: it was cancelled, or its worker died. It finds its place again by its age. */
export const SLOT_PATIENCE_MS = 10_000;
