/**
 * What lists show of tasks: a few small fields of each, so that a thousand large tasks are read as fast as a thousand
 * small ones.
 *
 * All lists of this process read in turns. They queue here and not in the connection, where they would delay another
 * caller's `tasks/get`.
 */
import { type TaskSummary, type Turn, turns } from "@parley/core";
import type { ContentCodec } from "../content/codec.ts";
import type { Keys } from "../keys.ts";
import type { Reads } from "./reads.ts";
import { SUMMARY_FIELDS, unpackSummary } from "./task-hash.ts";

/** Tasks that all lists together read at once. */
const AT_ONCE = 32;

export interface Summaries {
  /** In the order of the ids; undefined for a task that no longer exists. */
  of(taskIds: readonly string[]): Promise<readonly (TaskSummary | undefined)[]>;
  /** For the other reads of a list. */
  readonly turn: Turn;
}

export interface SummariesOptions {
  readonly reads: Reads;
  readonly keys: Keys;
  readonly codec: ContentCodec;
}

export function createSummaries({ reads, keys, codec }: SummariesOptions): Summaries {
  const turn = turns(AT_ONCE);

  async function read(taskId: string): Promise<TaskSummary | undefined> {
    const taskKeys = keys.task(taskId);
    if (!taskKeys) return undefined;
    const values = await turn(() => reads.fields(taskKeys[0], SUMMARY_FIELDS));
    if (values[0] === null) return undefined;
    const isReadable = (await codec.access(taskId)) === "open";
    const content = codec.of(taskId);
    try {
      return unpackSummary(content, taskId, values, isReadable);
    } catch {
      // Damaged content. Anything else fails again.
      return unpackSummary(content, taskId, values, false);
    }
  }

  return { of: (taskIds) => Promise.all(taskIds.map((taskId) => read(taskId))), turn };
}
