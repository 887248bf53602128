/**
 * The order in which new tasks run: shares (a tenant, or a principal if there are no tenants) take turns, however many waiting tasks one of them has.
 *
 *   A: 1 2 3 4 … 1,000      the n-th task of each share runs with the n-th tasks of all others, so B's only task
 *   B: 1                    runs after A's first and not after A's thousandth
 *
 * A task's number is how many tasks of its share wait in its partition, divided by the share's weight, and is its job's priority in BullMQ. The
 * store counts (create.lua, begin.lua) and says the count with each task that it creates. A run is added in the same burst as its task,
 * so its number comes from the count before it: a share that this front end has not heard of for a second begins at the front, which puts one
 * task of it ahead of its turn.
 */
import { partitionOf } from "./keys.ts";

export interface Place {
  readonly taskId: string;
  readonly share: string;
}

export interface Turns {
  /** The priority of the first run of a task that is being created: 1 is the first, which comes behind runs without a priority. */
  next(place: Place): number;
  /** How many tasks of the share wait, as the store has counted with this one. */
  learn(place: Place, waiting: number): void;
}

export interface TurnsOptions {
  /** Share → how many of its tasks come with one of others; 1 for all that are not named. */
  readonly weights: ReadonlyMap<string, number>;
  readonly now: () => number;
}

/** BullMQ's largest priority. What comes behind that comes in the order of its arrival. */
export const PRIORITY_MAX = 2 ** 21 - 1;
/** A count that is older says nothing: workers took tasks meanwhile. */
const FRESH_MS = 1_000;
/** Shares that are remembered; the one that was heard of least lately goes. */
const SHARES_MAX = 10_000;

export function createTurns({ weights, now }: TurnsOptions): Turns {
  const counts = new Map<string, { waiting: number; readonly atMs: number }>();
  const nameOf = ({ taskId, share }: Place) => `${partitionOf(taskId)} ${share}`;

  function remember(name: string, waiting: number): void {
    counts.delete(name);
    counts.set(name, { waiting, atMs: now() });
    const [oldest] = counts.keys();
    if (counts.size > SHARES_MAX && oldest !== undefined) counts.delete(oldest);
  }

  return {
    next(place) {
      const name = nameOf(place);
      const known = counts.get(name);
      const before = known && now() - known.atMs < FRESH_MS ? known.waiting : 0;
      // The next one may come before the store has counted this one.
      remember(name, before + 1);
      return Math.min(PRIORITY_MAX, 1 + Math.floor(before / (weights.get(place.share) ?? 1)));
    },
    learn(place, waiting) {
      remember(nameOf(place), waiting);
    },
  };
}
