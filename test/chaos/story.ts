/** What is known of one lifecycle from outside: what was sent, acknowledged and read. The judge compares the system with it. */
import type { TaskState } from "./client.ts";
import type { Plan } from "./plan.ts";

/** An answer as one sender sent it, with all its tries. */
export interface Sent {
  readonly ask: string;
  /** Of this sender alone, unless it repeats what another one sent. */
  readonly value: string;
  /** The last word on it; undefined when no try was acknowledged. */
  receipt?: string;
}

export interface Story {
  readonly plan: Plan;
  /** Whether it was lived while nothing was broken. */
  readonly calm: boolean;
  /** Set once the call was acknowledged. */
  taskId?: string;
  readonly sent: Sent[];
  /** Undefined unless a cancellation was sent. `certain`: the task waited for this very person, so it had to become `cancelled`. */
  cancelled?: { acknowledged: boolean; readonly certain: boolean };
  /** The first finished state that was read. */
  finished?: TaskState;
  /** The person has gone and the task waits. */
  left: boolean;
  /** The run was over before the lifecycle was: nobody answers any more. */
  abandoned: boolean;
  /** What was seen to be wrong on the way. */
  readonly wrong: Finding[];
}

/** Each rule is one check of the report. */
export const RULES = {
  created: "every task that was acknowledged is there to the end",
  rest: "every task has finished or waits for a person, and none has failed",
  "first-answer": "of the answers to one ask at most one was accepted",
  "same-answer": "what a tool got is what was accepted, at the question it was given for",
  receipts: "every other sender was told the truth: late, or duplicate",
  fresh: "an ask whose answer was acknowledged is not shown open again",
  cancelled: "a cancellation that was acknowledged stays",
  unchanged: "a finished task never changes again",
  effects: "one effect of a step is recorded; every other one was tried with the same idempotency key and not acknowledged",
  calm: "while nothing is broken no effect happens twice",
  "wake-ups": "a waiting call is woken, and need not look again",
  expiry: "no key is left without an expiry, and all keys of a task expire together",
  due: "the due set holds exactly the unfinished tasks, and none that is overdue",
  open: "a task waits for input exactly while an ask of it is open",
  queues: "the run queues are empty, and each partition is swept",
  time: "the run ends within its time",
  processes: "no process ended by itself, and nothing gave an internal error",
} as const satisfies Record<string, string>;

export type Rule = keyof typeof RULES;

export interface Finding {
  readonly rule: Rule;
  /** Lifecycle, task or key. */
  readonly where: string;
  readonly what: string;
}

export function isFinished({ status }: Pick<TaskState, "status">): boolean {
  return status === "completed" || status === "failed" || status === "cancelled";
}

/** A receipt that says that this value is the ask's answer. */
export function isAcknowledged(receipt: string | undefined): boolean {
  return receipt === "accepted" || receipt === "duplicate";
}
