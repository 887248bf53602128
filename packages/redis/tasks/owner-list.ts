/**
 * The tasks of one principal, newest first: one stream per partition, merged while a page is read.
 *
 * A stream entry only names a task, so a page reads the tasks' summaries and removes entries whose task has expired.
 * The work for a page is bounded by what it shows, however large the tasks are and however many partitions and
 * expired tasks there are. Once a page has met an expired task, it reads on in growing portions, and a script removes
 * what has expired from each before any summary is read.
 */
import { invalidCursor, PAGE_SIZE_MAX, type TaskPage, type TaskSummary } from "@parley/core";
import type { Redis } from "ioredis";
import { type Keys, partitionOf } from "../keys.ts";
import { loadScripts } from "../scripts/load-scripts.ts";
import type { Summaries } from "./summaries.ts";

export interface OwnerList {
  key(taskId: string, principal: string): string;
  page(request: { readonly principal: string; readonly limit: number; readonly cursor?: string }): Promise<TaskPage>;
}

export interface OwnerListOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly partitions: number;
  readonly summaries: Summaries;
}

/** The position of an entry: by stream id, newest first, then by partition. */
interface Place {
  readonly ms: number;
  readonly sequence: number;
  readonly partition: number;
}

interface Row extends Place {
  readonly streamId: string;
  readonly taskId: string;
}

/** Entries of one partition that were read and not yet taken. */
interface Source {
  readonly key: string;
  readonly partition: number;
  rows: Row[];
  /** Where to continue reading. */
  from: string;
  /** How many entries were read at once. */
  portion: number;
  isRead: boolean;
  /** The tasks of its entries existed a moment ago. */
  isChecked: boolean;
}

interface Taken {
  readonly rows: readonly Row[];
  /** The number of expired entries that were left out and removed. */
  readonly skipped: number;
  /** As many were left out as may be, so there may be more entries. */
  readonly isCut: boolean;
}

/** Summaries to read before it is known whether they fit on the page. */
const LOOK_TOGETHER = 64;
/**
 * Entries that one page examines. A page that meets too many expired tasks ends early, and the next page does not
 * meet them again.
 */
const LOOKED_MAX = 5_000;
/** Entries to read at once over all partitions, or of one partition with expired tasks; and the minimum per partition. */
const ROWS_TOGETHER = 256;
const ROWS_MIN = 8;

const CURSOR = /^(\d{1,16})-(\d{1,16})\.(\d{1,4})$/;

export function createOwnerList({ redis, keys, partitions, summaries }: OwnerListOptions): OwnerList {
  const rowsOfEach = Math.max(ROWS_MIN, Math.ceil(ROWS_TOGETHER / partitions));

  const scripts = loadScripts(redis, { names: ["expired"], folder: "owner/", keyCount: () => undefined });

  async function fill(source: Source, count = rowsOfEach): Promise<void> {
    const { key, partition, from } = source;
    const found = await summaries.turn(() => redis.xrevrange(key, from, "-", "COUNT", count));
    source.rows = found.map(([streamId, fields]): Row => {
      const [ms, sequence] = streamId.split("-");
      return { streamId, taskId: fields[1] ?? "", ms: Number(ms), sequence: Number(sequence), partition };
    });
    source.isRead = found.length < count;
    source.isChecked = false;
    source.from = `(${found.at(-1)?.[0] ?? ""}`;
  }

  /** Leaves out and removes entries whose task has expired. Resolves to their number. */
  async function prune(source: Source): Promise<number> {
    const { key, partition, rows } = source;
    source.isChecked = true;
    // An entry that names no task of its partition is left to the page, which removes it.
    const checked = rows.filter(({ taskId }) => partitionOf(taskId) === partition);
    if (checked.length === 0) return 0;
    const taskKeys = checked.map(({ taskId }) => keys.task(taskId)?.[0] ?? "");
    const streamIds = checked.map(({ streamId }) => streamId);
    const exists = (await summaries.turn(() => scripts.expired([1 + taskKeys.length, key, ...taskKeys, ...streamIds]))) as number[];
    const gone = new Set(checked.filter((_, index) => exists[index] === 0));
    source.rows = rows.filter((row) => !gone.has(row));
    return gone.size;
  }

  /** Fills a source that is empty, with twice as many entries as before but at most `most`, and prunes it. */
  async function renew(source: Source, most: number): Promise<number> {
    if (source.rows.length === 0) {
      source.portion = Math.min(ROWS_TOGETHER, 2 * source.portion);
      await fill(source, Math.min(source.portion, Math.max(ROWS_MIN, most)));
    }
    return await prune(source);
  }

  /**
   * Returns the function that takes the principal's entries after `after`, newest first, over all partitions. `skipMax`:
   * it leaves out and removes expired ones until it has met so many. Undefined: it takes them too.
   */
  function entries(principal: string, after: Place | undefined) {
    const sources = Array.from({ length: partitions }, (_, partition): Source => {
      const [key, from] = [keys.owner(partition, principal), startBehind(after, partition)];
      return { key, partition, rows: [], from, portion: rowsOfEach, isRead: false, isChecked: false };
    });
    return async function take(count: number, skipMax: number | undefined): Promise<Taken> {
      const taken: Row[] = [];
      let skipped = 0;
      while (taken.length < count) {
        if (skipMax === undefined) {
          await Promise.all(sources.filter(({ rows, isRead }) => rows.length === 0 && !isRead).map((source) => fill(source)));
        } else {
          const stale = sources.filter(({ rows, isRead, isChecked }) => (rows.length === 0 ? !isRead : !isChecked));
          if (stale.length > 0) {
            if (skipped >= skipMax) return { rows: taken, skipped, isCut: true };
            const most = Math.ceil((skipMax - skipped) / stale.length);
            for (const gone of await Promise.all(stale.map((source) => renew(source, most)))) skipped += gone;
            // Entries of different partitions can be compared only once each partition has one, or has none left.
            continue;
          }
        }
        const newest = sources.filter(({ rows }) => rows.length > 0).reduce<Source | undefined>(newer, undefined);
        if (!newest) break;
        taken.push(...newest.rows.splice(0, 1));
      }
      return { rows: taken, skipped, isCut: false };
    };
  }

  async function remove(rows: readonly Row[], principal: string): Promise<void> {
    const byPartition = Map.groupBy(rows, ({ partition }) => partition);
    await Promise.all(
      [...byPartition].map(([partition, gone]) => redis.xdel(keys.owner(partition, principal), ...gone.map(({ streamId }) => streamId))),
    );
  }

  return {
    key: (taskId, principal) => keys.owner(partitionOf(taskId) ?? 0, principal),

    async page({ principal, limit, cursor }) {
      const tasks: TaskSummary[] = [];
      let size = 0;
      let place = cursor === undefined ? undefined : parseCursor(cursor);
      const take = entries(principal, place);
      let hasExpired = false;
      for (let looked = 0; looked < LOOKED_MAX;) {
        // One more than requested shows whether there is a next page.
        const count = Math.min(LOOK_TOGETHER, limit - tasks.length + 1);
        const { rows, skipped, isCut } = await take(count, hasExpired ? LOOKED_MAX - looked : undefined);
        if (rows.length === 0 && !isCut) return { tasks };
        looked += rows.length + skipped;
        const found = await summaries.of(rows.map(({ taskId }) => taskId));
        const gone = rows.filter((_, index) => found[index] === undefined);
        hasExpired ||= gone.length > 0;
        await remove(gone, principal);
        for (const [index, row] of rows.entries()) {
          const summary = found[index];
          if (summary) {
            size += JSON.stringify(summary).length;
            const isFull = tasks.length === limit || (tasks.length > 0 && size > PAGE_SIZE_MAX);
            if (isFull && place) return { tasks, nextCursor: formatCursor(place) };
            tasks.push(summary);
          }
          place = row;
        }
      }
      return place ? { tasks, nextCursor: formatCursor(place) } : { tasks };
    },
  };
}

function newer(one: Source | undefined, other: Source): Source {
  const [mine, theirs] = [one?.rows[0], other.rows[0]];
  return one && mine && theirs && newestFirst(mine, theirs) < 0 ? one : other;
}

function newestFirst(a: Place, b: Place): number {
  return b.ms - a.ms || b.sequence - a.sequence || a.partition - b.partition;
}

/** The newest id of `partition` after `after`. */
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
  const place = { ms: Number(ms), sequence: Number(sequence), partition: Number(partition) };
  // No entry has the id 0-0, and Redis refuses to look before it.
  if (formatCursor(place) !== cursor || (place.ms === 0 && place.sequence === 0)) throw invalidCursor();
  return place;
}
