/** Repeatable random numbers: the same seed draws the same numbers. A fork has its own sequence, so that one consumer does not shift another's. */
import { hash } from "node:crypto";

export interface Random {
  /** In [0, 1). */
  next(): number;
  /** A whole number, both ends included. */
  between(least: number, most: number): number;
  chance(probability: number): boolean;
  pick<T>(list: readonly T[]): T;
  /** One of the names, as often as its weight says. */
  weighted<Name extends string>(weights: Readonly<Partial<Record<Name, number>>>): Name;
  shuffled<T>(list: readonly T[]): T[];
  fork(label: string | number): Random;
}

export function createRandom(seed: string | number): Random {
  let state = hash("sha256", String(seed), "buffer").readUInt32LE(0);

  /** mulberry32: small, fast, and even enough to choose who dies. */
  function next(): number {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  const random: Random = {
    next,
    between: (least, most) => least + Math.floor(next() * (most - least + 1)),
    chance: (probability) => next() < probability,
    pick<T>(list: readonly T[]): T {
      if (list.length === 0) throw new RangeError("nothing to pick from");
      return list[Math.floor(next() * list.length)] as T;
    },
    weighted<Name extends string>(weights: Readonly<Partial<Record<Name, number>>>): Name {
      const entries = Object.entries<number | undefined>(weights).map(([name, weight]) => [name as Name, weight ?? 0] as const);
      let rest = next() * entries.reduce((sum, [, weight]) => sum + weight, 0);
      for (const [name, weight] of entries) {
        rest -= weight;
        if (rest < 0) return name;
      }
      throw new RangeError("no weights");
    },
    shuffled<T>(list: readonly T[]): T[] {
      return list
        .map((item) => [next(), item] as const)
        .toSorted(([a], [b]) => a - b)
        .map(([, item]) => item);
    },
    fork: (label) => createRandom(`${seed}/${label}`),
  };
  return random;
}
