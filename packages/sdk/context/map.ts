/**
 * `ctx.map`: does work for each item of a list, several at once. Each item is a flow of its own, named by its key, so whatever it awaits, its calls
 * are told apart from those of other items in every run.
 */
import { type Effects, ParleyError } from "@parley/core";
import { nounFor } from "../values/plain-data.ts";

/** More items would fill the journal: a task may restart with the rest. */
export const MAP_ITEMS_MAX = 10_000;

/** What the work for an item is given besides the item. */
export interface MapItem {
  readonly key: string;
  readonly index: number;
  /** Aborted when another item has failed, if `cancel` is set. */
  readonly signal: AbortSignal;
}

/** Options of `ctx.map`. */
export interface MapOptions {
  /** How many items are worked on at once; all of them by default. */
  readonly concurrency?: number;
  /**
   * `"all"`, the default: as Promise.all, it rejects with the first failure, and no further item begins. `"allSettled"`: as Promise.allSettled, every item
   * is worked on, and the outcomes are returned.
   */
  readonly settle?: "all" | "allSettled";
  /** Abort the signals of the other items when one fails: questions and sleeps that were given the signal are withdrawn. */
  readonly cancel?: boolean;
}

/** The name of a property of the items, or a function. A key is unique within the list, and the same for its item in every run. */
export type MapKey<I> = (keyof I & string) | ((item: I, index: number) => string | number);

export type MapWork = (item: unknown, about: MapItem) => unknown;

export function createMap({ branch }: Pick<Effects, "branch">) {
  return async (items: Iterable<unknown>, key: MapKey<never>, work: MapWork, options: MapOptions = {}): Promise<readonly unknown[]> => {
    const { concurrency = Number.POSITIVE_INFINITY, settle = "all", cancel = false } = options;
    if (typeof work !== "function")
      throw new TypeError("ctx.map has no work: give the items, a key, and a function, such as ctx.map(orders, (order) => order.id, ship)");
    if (!(concurrency >= 1)) throw new RangeError(`the concurrency of ctx.map must be at least 1, and is ${String(concurrency)}`);
    if (settle !== "all" && settle !== "allSettled") throw new TypeError(`settle of ctx.map must be "all" or "allSettled"`);
    const list = [...items];
    if (list.length > MAP_ITEMS_MAX)
      throw new ParleyError(
        "TOO_LARGE",
        `ctx.map has ${list.length} items; the limit is ${MAP_ITEMS_MAX}: work on fewer, and restart with the rest`,
      );
    const keys = keysOf(list, key as MapKey<unknown>);
    const ended = new AbortController();
    const results: unknown[] = Array.from({ length: list.length });
    let next = 0;
    let hasFailed = false;

    const one = (index: number) => {
      const about = { key: keys[index] ?? "", index, signal: ended.signal };
      return branch(about.key, async () => await work(list[index], about));
    };
    /** Works on one item after another. */
    const lane = async (): Promise<void> => {
      while (next < list.length && !hasFailed) {
        const index = next;
        next += 1;
        try {
          const value = await one(index);
          results[index] = settle === "all" ? value : { status: "fulfilled", value };
        } catch (reason) {
          if (settle === "all") hasFailed = true;
          if (cancel) ended.abort(reason);
          if (settle === "all") throw reason;
          results[index] = { status: "rejected", reason };
        }
      }
    };
    await Promise.all(Array.from({ length: Math.min(concurrency, list.length) }, lane));
    return results;
  };
}

function keysOf(list: readonly unknown[], key: MapKey<unknown>): readonly string[] {
  const known = new Map<string, number>();
  return list.map((item, index) => {
    const given: unknown =
      typeof key === "function" ? key(item, index) : (item as { readonly [property: string]: unknown } | null | undefined)?.[key];
    if ((typeof given !== "string" && typeof given !== "number") || given === "")
      throw new TypeError(
        `the key of item ${index} of ctx.map must be a text or a number, and is ${nounFor(given)}: use something that identifies it`,
      );
    const own = String(given);
    const other = known.get(own);
    if (other !== undefined)
      throw new ParleyError(
        "AMBIGUOUS_EFFECT",
        `items ${other} and ${index} of ctx.map have the same key ${JSON.stringify(own)}, and replay could not tell them apart: use a key that identifies an item`,
      );
    known.set(own, index);
    return own;
  });
}
