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
/** Tasks whose places are kept in this process: those that were wanted last. */
const KEPT_MAX = 10_000;
/** Asks of a task with more of them are read each time. */
const ASKS_KEPT_MAX = 20;

export interface OwnAsked {
  places(request: { readonly principal: string; readonly order: AskOrder; readonly tasksMax: number }): Promise<readonly AskPlace[]>;
}

export interface OwnAskedOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly partitions: number;
  readonly turn: Summaries["turn"];
  readonly load: (taskId: string) => Promise<Task | undefined>;
  /** Default: 10,000 tasks, of some 500 bytes for each thing that they ask. */
  readonly keptMax?: number;
}

interface Waiting {
  readonly taskId: string;
  readonly revision: number;
}

type Places = Readonly<Record<AskOrder, readonly AskPlace[]>>;

export function createOwnAsked({ redis, keys, partitions, turn, load, keptMax = KEPT_MAX }: OwnAskedOptions): OwnAsked {
  const scripts = loadScripts(redis, { names: ["waiting"], folder: "owner/", keyCount: () => 1 });
  /** By task; those that were wanted last come last. */
  const kept = new Map<string, { readonly revision: number; readonly places: Places }>();

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

  async function placesOf({ taskId, revision }: Waiting): Promise<Places | undefined> {
    const known = kept.get(taskId);
    kept.delete(taskId);
    if (known?.revision === revision) {
      kept.set(taskId, known);
      return known.places;
    }
    const task = await turn(() => load(taskId));
    if (!task) return undefined;
    const places = Object.fromEntries(
      ASK_ORDERS.map((order) => [order, task.asks.map((ask) => placeOf(order, taskId, ask))]),
    ) as unknown as Places;
    // Once its key is there, it has asks at the same revision.
    if (!task.unreadable && task.asks.length <= ASKS_KEPT_MAX) kept.set(taskId, { revision: task.revision, places });
    for (const oldest of kept.keys()) {
      if (kept.size <= keptMax) break;
      kept.delete(oldest);
    }
    return places;
  }

  return {
    async places({ principal, order, tasksMax }) {
      const places = await Promise.all((await waiting(principal, tasksMax)).map(placesOf));
      return places.flatMap((each) => each?.[order] ?? []);
    },
  };
}

function placeOf(order: AskOrder, taskId: string, ask: Ask): AskPlace {
  return { atMs: placeMs(order, ask), ...(ask.route ?? { taskId, key: ask.key }) };
}
