/**
 * The places of what a person's own tasks ask.
 *
 * An ask to its task's owner alone is in no index, so that it costs nothing (asked-list.ts). A script says which of the owner's tasks wait, and at which
 * revision; what they ask is read, and kept for as long as the revision is the same. So whoever looks again and again, as pages do, pays for what has
 * changed. What is kept are times and the names of questions; whether somebody may see one is decided when it is read.
 */
import { type Ask, ASK_ORDERS, type AskOrder, type AskPlace, placeMs, type Task } from "@parley/core";
import type { Redis } from "ioredis";
import type { Keys } from "../keys.ts";
import { loadScripts } from "../scripts/load-scripts.ts";
import type { Summaries } from "./summaries.ts";

/** Tasks that one script looks at: about a millisecond of Redis. */
const LOOKED_TOGETHER = 250;
/** Places that are kept in this process, of the tasks that were wanted last. */
const KEPT_MAX = 20_000;

export interface OwnAsked {
  places(request: { readonly principal: string; readonly order: AskOrder; readonly tasksMax: number }): Promise<readonly AskPlace[]>;
}

export interface OwnAskedOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly partitions: number;
  readonly turn: Summaries["turn"];
  readonly load: (taskId: string) => Promise<Task | undefined>;
  /** Default: 20,000 questions. */
  readonly keptMax?: number;
}

interface Waiting {
  readonly taskId: string;
  readonly revision: number;
}

/** A question, and where it has its place in each order. */
interface Placed extends Pick<AskPlace, "taskId" | "key"> {
  readonly atMs: Readonly<Record<AskOrder, number>>;
}

export function createOwnAsked({ redis, keys, partitions, turn, load, keptMax = KEPT_MAX }: OwnAskedOptions): OwnAsked {
  const scripts = loadScripts(redis, { names: ["waiting"], folder: "owner/", keyCount: () => 1 });
  /** By task; those that were wanted last come last. */
  const kept = new Map<string, { readonly revision: number; readonly asks: readonly Placed[] }>();
  let keptCount = 0;

  function forget(taskId: string): void {
    keptCount -= kept.get(taskId)?.asks.length ?? 0;
    kept.delete(taskId);
  }

  function keep(taskId: string, revision: number, asks: readonly Placed[]): void {
    forget(taskId);
    kept.set(taskId, { revision, asks });
    keptCount += asks.length;
    for (const oldest of kept.keys()) {
      if (keptCount <= keptMax) break;
      forget(oldest);
    }
  }

  /** Looks at the newest of each partition; if some have fewer than their part, at more of the others. */
  async function waiting(principal: string, tasksMax: number): Promise<readonly Waiting[]> {
    const found: Waiting[] = [];
    let sources = Array.from({ length: partitions }, (_, partition) => ({ partition, before: "+" }));
    for (let left = tasksMax; left > 0 && sources.length > 0;) {
      const count = Math.min(LOOKED_TOGETHER, Math.ceil(left / sources.length));
      const looks = sources.map(async ({ partition, before }) => {
        const args = [keys.owner(partition, principal), before, count, keys.taskPrefix(partition)];
        const [looked, last, ...flat] = (await turn(() => scripts.waiting(args))) as [number, string, ...string[]];
        left -= looked;
        for (let at = 0; at < flat.length; at += 2) found.push({ taskId: flat[at] ?? "", revision: Number(flat[at + 1]) });
        return last === "" ? [] : [{ partition, before: `(${last}` }];
      });
      sources = (await Promise.all(looks)).flat();
    }
    return found;
  }

  async function asksOf({ taskId, revision }: Waiting): Promise<readonly Placed[]> {
    const known = kept.get(taskId);
    if (known?.revision === revision) {
      keep(taskId, revision, known.asks);
      return known.asks;
    }
    const task = await turn(() => load(taskId));
    const asks = task?.asks.map((ask) => placed(taskId, ask)) ?? [];
    // One that cannot be read has none for now, at the same revision. One that has ended meanwhile is not wanted again.
    if (asks.length > 0 && task) keep(taskId, task.revision, asks);
    return asks;
  }

  return {
    async places({ principal, order, tasksMax }) {
      const asks = await Promise.all((await waiting(principal, tasksMax)).map(asksOf));
      return asks.flat().map(({ taskId, key, atMs }) => ({ taskId, key, atMs: atMs[order] }));
    },
  };
}

function placed(taskId: string, ask: Ask): Placed {
  const atMs = Object.fromEntries(ASK_ORDERS.map((order) => [order, placeMs(order, ask)])) as Record<AskOrder, number>;
  return { ...(ask.route ?? { taskId, key: ask.key }), atMs };
}
