/**
 * Deletes tasks that are over before their retention is, for operators whose Redis is filling up. A purge that was interrupted is continued by
 * another one, which finds what is left.
 */
import type { Cluster, Redis } from "ioredis";
import { type Keys, partitionOf } from "../keys.ts";
import { loadScripts } from "../scripts/load-scripts.ts";
import { absentKeyOf, SHARED_BY_TASKS } from "../scripts/scripts.ts";
import { reached } from "../connection/unavailable.ts";
import { scanTasks } from "./scan.ts";

/** Tasks that one script looks at: with the largest outcomes, some tens of milliseconds. */
const TOGETHER = 50;

/** What is not given matches every task that is over. */
export interface PurgeFilter {
  /** Tasks that ended then or before, in milliseconds since the epoch. */
  readonly endedBeforeMs: number;
  readonly kind?: "tool" | "prompt" | undefined;
  readonly name?: string | undefined;
  readonly principal?: string | undefined;
  /** `default` for tasks without a tenant. */
  readonly tenant?: string | undefined;
  /** Tasks that keep at least so many bytes. */
  readonly bytesMin?: number | undefined;
}

export interface FinishedTask {
  /** Kind and name: `tool book_dinner`. */
  readonly tool: string;
  readonly principal: string;
  readonly tenant: string;
  /** Of its fields. Redis takes about 200 bytes more. */
  readonly bytes: number;
}

export interface PurgeOptions {
  readonly redis: Redis | Cluster;
  readonly keys: Pick<Keys, "due" | "taskPrefix" | "prefix">;
  readonly now: () => number;
}

/** Throws UNAVAILABLE. */
export type Purge = (filter: PurgeFilter, options: { readonly isDry: boolean }) => AsyncGenerator<readonly FinishedTask[]>;

export function createPurge({ redis, keys, now }: PurgeOptions): Purge {
  const { purge } = loadScripts(redis as Redis, {
    names: ["purge"],
    folder: "",
    shared: SHARED_BY_TASKS,
    keyCount: () => 4,
    absentKey: absentKeyOf,
  });

  return async function* purgeTasks(filter, { isDry }) {
    const { endedBeforeMs, kind = "", name = "", principal = "", tenant = "", bytesMin = 0 } = filter;
    for await (const found of scanTasks(redis, keys)) {
      for (const [partition, taskIds] of Map.groupBy(found, partitionOf)) {
        for (let at = 0; at < taskIds.length; at += TOGETHER) {
          const due = keys.due(partition ?? 0);
          const wanted = [endedBeforeMs, kind, name, principal, tenant, bytesMin];
          const given = [due, due, due, due, isDry ? "1" : "", now(), ...wanted, ...taskIds.slice(at, at + TOGETHER)];
          yield unpack((await reached(purge(given))) as readonly (string | number)[]);
        }
      }
    }
  };
}

function unpack(flat: readonly (string | number)[]): readonly FinishedTask[] {
  return Array.from({ length: flat.length / 4 }, (_, at) => {
    const [tool, principal, tenant, bytes] = flat.slice(4 * at, 4 * at + 4);
    return { tool: String(tool), principal: String(principal), tenant: String(tenant), bytes: Number(bytes) };
  });
}
