/** The port for what people have put aside for themselves. */

/**
 * Questions that one person does not want to see for a while. They are that person's alone: nothing about who may answer changes, and nobody
 * else sees them. Of each person at most SNOOZES_MAX are kept, until their time is over.
 */
export interface Snoozes {
  /** Keeps it, in place of an earlier one of the same ask. `full`: the person has SNOOZES_MAX others whose time is not over. */
  put(person: SnoozingPerson, snooze: Snooze, nowMs: number): Promise<"snoozed" | "full">;
  remove(person: SnoozingPerson, ask: Pick<Snooze, "taskId" | "key">): Promise<void>;
  /** Those whose time is not over, in no order. */
  list(person: SnoozingPerson, nowMs: number): Promise<readonly Snooze[]>;
}

export interface SnoozingPerson {
  /** Absent for the default tenant. */
  readonly tenant?: string;
  /** As personOf returns it: one person through any client. */
  readonly person: string;
}

export interface Snooze {
  readonly taskId: string;
  readonly key: string;
  readonly sinceMs: number;
  readonly untilMs: number;
  /** What the question was like (snoozes.ts). Once it is another, it is no longer put aside. Without spaces. */
  readonly seen: string;
}

export const SNOOZES_MAX = 200;
