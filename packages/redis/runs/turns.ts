/**
 * The order in which runs are taken: shares (a tenant, or a principal if there are no tenants) take turns, however many waiting tasks one of them has.
 *
 *   A: 1 2 3 4 … 1,000      the n-th task of each share runs with the n-th tasks of all others, so B's only task
 *   B: 1                    runs after A's first and not after A's thousandth
 *
 * A task's number is how many tasks of its share wait in its partition, divided by the share's weight, and is its job's priority in BullMQ. The
 * store counts (create.lua, begin.lua) and says the count with each task that it creates. A run is added in the same burst as its task,
 * so its number comes from the count before it: a share that this front end has not heard of for a second begins at the front, which puts one
 * task of it ahead of its turn.
 */
import { partitionOf } from "../keys.ts";

export interface Place {
  readonly taskId: string;
  readonly share: string;
}

export interface Turns {
  /** The priority of a new task's first run: 1 is the first, which comes after runs without a priority. */
  next(place: Place): number;
  /**
   * The priority of a run that became due later in its task's life, because it was answered, woken or retried. 0, which
   * is before all new tasks, for the first in a while of its share.
   */
  nextDue(place: Place): number;
  /** Whether hardly anything of the share waits, as far as this process knows. */
  isQuiet(place: Place): boolean;
  /** Learns how many tasks of the share wait, as counted by the store including this one. */
  learn(place: Place, waiting: number): void;
}

export interface TurnsOptions {
  /** Share → how many of its tasks run for one of the others; 1 for shares without a weight. */
  readonly weights: ReadonlyMap<string, number>;
  readonly now: () => number;
}

/** BullMQ's lowest priority. Tasks beyond it run in order of arrival. */
export const PRIORITY_MAX = 2 ** 21 - 1;
/** An older count is ignored: workers have taken tasks since. */
const FRESH_MS = 1_000;
/**
 * Nobody counts runs that wait for another reason than that their task is new, so a process goes by those that it has
 * added itself, and forgets half of them each second: a share with a run now and then stays at the front, and of a
 * hundred that become due together the last is a hundred turns away.
 */
const HALVED_MS = 1_000;
/** Maximum number of remembered shares; the least recently used is dropped. */
const SHARES_MAX = 10_000;

export function createTurns({ weights, now }: TurnsOptions): Turns {
  const counts = new Map<string, { waiting: number; readonly atMs: number }>();
  /** How many runs of a share became due lately. */
  const due = new Map<string, { readonly count: number; readonly atMs: number }>();
  const nameOf = ({ taskId, share }: Place) => `${partitionOf(taskId)} ${share}`;

  function recentlyDue(name: string): number {
    const known = due.get(name);
    return known ? known.count * 0.5 ** ((now() - known.atMs) / HALVED_MS) : 0;
  }

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
      // The next task may arrive before the store has counted this one.
      remember(name, before + 1);
      return Math.min(PRIORITY_MAX, 1 + Math.floor(before / (weights.get(place.share) ?? 1)));
    },
    nextDue(place) {
      const name = nameOf(place);
      const before = recentlyDue(name);
      due.delete(name);
      due.set(name, { count: before + 1, atMs: now() });
      const [oldest] = due.keys();
      if (due.size > SHARES_MAX && oldest !== undefined) due.delete(oldest);
      return Math.min(PRIORITY_MAX, Math.floor(before / (weights.get(place.share) ?? 1)));
    },
    isQuiet(place) {
      const known = counts.get(nameOf(place));
      // The count that came with the share's last task includes that one, which may have begun since.
      return !known || now() - known.atMs >= FRESH_MS || known.waiting <= 1;
    },
    learn(place, waiting) {
      remember(nameOf(place), waiting);
    },
  };
}
