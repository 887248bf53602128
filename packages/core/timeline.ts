/** A task's course as `GET /play/api/tasks/<id>/timeline` tells it, and as the playground and the command line read it. docs/playground.md shows an example. */
import type { JournalLine } from "./journal.ts";
import type { TaskStatus } from "./task.ts";

export interface TaskTimeline {
  readonly task: {
    readonly id: string;
    readonly kind: string;
    readonly name: string;
    readonly status: TaskStatus;
    readonly statusMessage?: string;
    readonly revision: number;
    readonly run: number;
    readonly generation: number;
    readonly createdAtMs: number;
    readonly updatedAtMs: number;
    /** Of one that has ended. */
    readonly expiresAtMs?: number;
    /** Of the task whose tool has called this one: its id. */
    readonly parent?: string;
  };
  readonly nowMs: number;
  readonly asks: readonly TimelineAsk[];
  /** Tasks that the tool has called and that have not ended; absent for none. */
  readonly calls?: readonly TimelineCall[];
  readonly journal: {
    readonly entries: number;
    /** How many of them a replay settles. */
    readonly settled: number;
    /** In the order in which a replay settles them; the newest, where there are more than a look shows. */
    readonly lines: readonly TimelineLine[];
  };
  readonly feed: {
    /** As the task's feed has them. A reader leaves out what it does not know how to show. */
    readonly items: readonly { readonly type: string; readonly [member: string]: unknown }[];
    readonly cursor?: string;
    /** More wait behind the cursor. */
    readonly more: boolean;
  };
}

export interface TimelineLine extends Omit<JournalLine, "key"> {
  /** `step`, `ask`, `call`, … */
  readonly kind: string;
  /** Without its kind: `hold-table`. */
  readonly name: string;
}

export interface TimelineAsk {
  readonly key: string;
  readonly type: string;
  /** Absent where the ask is put to others: it is theirs to read. */
  readonly message?: string;
  readonly askedAtMs: number;
  readonly deadlineMs: number;
  readonly onTimeout: string;
  readonly isPutToOthers: boolean;
  /** Of a question that several people must accept: how many have, of how many, and whether the reader is one of them. */
  readonly accepted?: number;
  readonly quorum?: number;
  readonly mine?: boolean;
  /** Answers that were refused; absent for none. */
  readonly refusals?: number;
}

export interface TimelineCall {
  readonly key: string;
  readonly tool: string;
  /** The id of the task that it made. */
  readonly child: string;
  readonly askedAtMs: number;
  readonly deadlineMs: number;
}
