/** The port to what happened to tasks and questions, in order, for those outside who want to hear of it. */
import type { AskedRequest } from "../callers/open-asks.ts";
import type { ApprovalNews } from "../journal.ts";
import type { CallFacts } from "../task.ts";
import type { ThreadNews } from "./store.ts";

/**
 * What one change of a task consisted of. Without content: who reads it finds out what they may see from the task
 * itself.
 */
export interface OutboxEntry {
  /** In the order of changes of its partition; a task is in one partition. */
  readonly id: string;
  readonly partition: number;
  readonly taskId: string;
  /** The task's revision after the change. */
  readonly revision: number;
  /** By Redis' clock. */
  readonly atMs: number;
  readonly call: Pick<CallFacts, "kind" | "name" | "principal" | "tenant" | "hidden">;
  readonly changes: readonly OutboxChange[];
  /** The task's content cannot be opened now: nobody can say whom its questions are for. */
  readonly isKeyMissing?: true;
}

export interface OutboxChange {
  /**
   * `handed`: the question is put to this audience as well, because somebody has handed their part on or it was
   * escalated. `reminded` and `escalated`: nobody has answered it for a time. `claimed`, `released` and `commented`: somebody
   * is on it, is no longer, or has said something about it. `spent`: the call that was approved runs; `void`: it does not, the rules have changed.
   */
  readonly what:
    | "asked"
    | "handed"
    | ThreadNews
    | "answered"
    | "overdue"
    | "withdrawn"
    | "closed"
    | ApprovalNews
    | "completed"
    | "failed"
    | "cancelled";
  /** Of the ask; absent where the task ended. */
  readonly key?: string;
  /** The names in the ask's audience, as `names` returns them; empty if only the owner was asked. */
  readonly audience: readonly string[];
  /** A rule asks, and not the tool. Of what is older than this member, it is not known. */
  readonly isApproval?: true;
  /** Of an approval that was answered: `closed` if it was dismissed, which decides nothing. */
  readonly answeredAs?: "given" | "refused" | "closed";
}

/** How far each partition has been read. */
export type OutboxPlace = readonly PartitionPlace[];

export interface PartitionPlace {
  /** The last entry that was read entirely, or a time: `<ms>-<number>`. */
  readonly after: string;
  /** How many changes of the next entry were read as well. */
  readonly changes: number;
}

export interface OutboxPage {
  /** Oldest first, as far as partitions can be compared. */
  readonly entries: readonly OutboxEntry[];
  /** Where each partition continues after all of them. */
  readonly end: OutboxPlace;
  /** The newest entries were left out. */
  readonly isMore: boolean;
  /** What followed the place is no longer kept entirely. */
  readonly isTruncated: boolean;
  /** By the clock of the outbox. */
  readonly nowMs: number;
}

/** Of each partition: how many entries, and for how long (ms) after the newest. */
export interface OutboxBounds {
  readonly lengthMax: number;
  readonly ageMs: number;
}

/** Bounded by length and age: who is further behind has missed something, and is told so. */
export interface Outbox {
  /** Where it ends now. */
  now(): Promise<OutboxPlace>;
  /** At most `limit` entries of each partition. Throws UNAVAILABLE. */
  read(from: OutboxPlace, limit: number): Promise<OutboxPage>;
  /** What an audience with one of these names has in `OutboxChange.audience`. */
  names(asked: Pick<AskedRequest, "tenant" | "names">): Promise<ReadonlySet<string>>;
  /** Differs once `names` returns more for the callers of a tenant: content is sealed with a new key from time to time. Throws UNAVAILABLE. */
  namesVersion(tenant: string): Promise<string>;
}
