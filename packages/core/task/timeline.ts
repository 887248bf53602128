/**
 * A task's timeline as `GET /api/v1/tasks/<id>/timeline` and `GET /play/api/tasks/<id>/timeline` return it, and as the command line and the playground
 * read it. docs/playground.md shows an example.
 */
import type { JournalLine } from "../journal.ts";
import type { Audience, TaskStatus } from "../task.ts";

export interface TaskTimeline {
  readonly task: {
    readonly id: string;
    readonly kind: string;
    readonly name: string;
    /** What people read as its name; absent if it has no title. */
    readonly toolTitle?: string;
    readonly status: TaskStatus;
    readonly statusMessage?: string;
    readonly revision: number;
    readonly run: number;
    readonly generation: number;
    readonly createdAtMs: number;
    readonly updatedAtMs: number;
    /** Present for a finished task. */
    readonly expiresAtMs?: number;
    /** The id of the task whose tool called this one. */
    readonly parent?: string;
  };
  readonly nowMs: number;
  readonly asks: readonly TimelineAsk[];
  /** Unfinished tasks that the tool has called; absent for none. */
  readonly calls?: readonly TimelineCall[];
  readonly journal: {
    readonly entries: number;
    /** The number of entries that a replay settles. */
    readonly settled: number;
    /** In the order in which a replay settles them. If there are too many for one page, the newest. */
    readonly lines: readonly TimelineLine[];
  };
  readonly feed: {
    /** Items of the task's feed. Readers ignore types that they do not know. */
    readonly items: readonly { readonly type: string; readonly [member: string]: unknown }[];
    readonly cursor?: string;
    /** There are more items after the cursor. */
    readonly more: boolean;
  };
}

export interface TimelineLine extends Omit<JournalLine, "key"> {
  /** `step`, `ask`, `call`, … */
  readonly kind: string;
  /** Without the kind: `hold-table`. */
  readonly name: string;
}

export interface TimelineAsk {
  readonly key: string;
  readonly type: string;
  /** Absent if the ask has another audience, since only that audience may read it. */
  readonly message?: string;
  readonly askedAtMs: number;
  readonly deadlineMs: number;
  readonly onTimeout: string;
  readonly isPutToOthers: boolean;
  /** For an ask with a quorum: how many people have accepted, how many must, and whether the reader is one of them. */
  readonly accepted?: number;
  readonly quorum?: number;
  readonly mine?: boolean;
  /** Number of refused answers; absent for none. */
  readonly refusals?: number;
  /** When people were last reminded, who was asked as well, and what comes while nobody answers. Each is absent for never, nobody and nothing. */
  readonly remindedAtMs?: number;
  readonly escalatedTo?: readonly Audience["to"][];
  readonly upcoming?: readonly { readonly what: "reminded" | "escalated"; readonly atMs: number; readonly to?: Audience["to"] }[];
}

export interface TimelineCall {
  readonly key: string;
  readonly tool: string;
  /** The child's id. */
  readonly child: string;
  readonly askedAtMs: number;
  readonly deadlineMs: number;
}
