/**
 * The tasks of one principal, newest first: one stream per partition, merged as a page is read.
 *
 * A stream entry names a task and nothing else, so the page reads the tasks themselves, and takes entries out whose task has expired.
 */
import { ParleyError, type Task, type TaskPage } from "@parley/core";
import type { Redis } from "ioredis";
import { type Keys, partitionOf } from "./keys.ts";
import { unpackTask } from "./task-hash.ts";

export interface OwnerList {
  key(taskId: string, principal: string): string;
  page(request: { readonly principal: string; readonly limit: number; readonly cursor?: string }): Promise<TaskPage>;
}

/** Where an entry stands: by stream id, newest first, then by partition. */
interface Place {
  readonly ms: number;
  readonly sequence: number;
  readonly partition: number;
}

interface Row extends Place {
  readonly streamId: string;
  readonly taskId: string;
}

const CURSOR = /^(\d{1,16})-(\d{1,16})\.(\d{1,4})$/;

export function createOwnerList({
  redis,
  keys,
  partitions,
}: {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly partitions: number;
}): OwnerList {
  /** Up to `count` rows behind `after`, over all partitions. */
  async function rowsAfter(principal: string, after: Place | undefined, count: number): Promise<Row[]> {
    const found = await Promise.all(
      Array.from({ length: partitions }, async (_, partition) => {
        const rows = await redis.xrevrange(keys.owner(partition, principal), startBehind(after, partition), "-", "COUNT", count);
        return rows.map(([streamId, fields]): Row => {
          const [ms, sequence] = streamId.split("-");
          return { streamId, taskId: fields[1] ?? "", ms: Number(ms), sequence: Number(sequence), partition };
        });
      }),
    );
    return found.flat().toSorted(newestFirst).slice(0, count);
  }

  return {
    key: (taskId, principal) => keys.owner(partitionOf(taskId) ?? 0, principal),

    async page({ principal, limit, cursor }) {
      const tasks: Task[] = [];
      let after = cursor === undefined ? undefined : parseCursor(cursor);
      for (;;) {
        // One more than wanted tells whether there is a next page.
        const wanted = limit - tasks.length + 1;
        const rows = await rowsAfter(principal, after, wanted);
        const loaded = await Promise.all(rows.map((row) => load(row)));
        for (const [i, row] of rows.entries()) {
          const task = loaded[i];
          if (task && tasks.length === limit) return after ? { tasks, nextCursor: formatCursor(after) } : { tasks };
          after = row;
          if (task) tasks.push(task);
          else await redis.xdel(keys.owner(row.partition, principal), row.streamId);
        }
        if (rows.length < wanted) return { tasks };
      }
    },
  };

  async function load({ taskId }: Row): Promise<Task | undefined> {
    const taskKeys = keys.task(taskId);
    return taskKeys && unpackTask(taskId, await redis.hgetall(taskKeys[0]))?.task;
  }
}

function newestFirst(a: Place, b: Place): number {
  return b.ms - a.ms || b.sequence - a.sequence || a.partition - b.partition;
}

/** The newest id of `partition` that comes behind `after`. */
function startBehind(after: Place | undefined, partition: number): string {
  if (!after) return "+";
  const id = `${after.ms}-${after.sequence}`;
  return partition > after.partition ? id : `(${id}`;
}

function formatCursor({ ms, sequence, partition }: Place): string {
  return `${ms}-${sequence}.${partition}`;
}

function parseCursor(cursor: string): Place {
  const [, ms, sequence, partition] = CURSOR.exec(cursor) ?? [];
  if (ms === undefined) throw new ParleyError("INVALID_CURSOR", "the cursor is none of a task list");
  return { ms: Number(ms), sequence: Number(sequence), partition: Number(partition) };
}
