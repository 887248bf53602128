/** Counts tasks and bytes by name. Callers can be many, so only so many names are kept apart. */
const NAMES_MAX = 10_000;
const OTHERS = "others";

export interface Counted {
  readonly name: string;
  readonly tasks: number;
  readonly bytes: number;
}

export function createTally(namesMax = NAMES_MAX) {
  const counts = new Map<string, { tasks: number; bytes: number }>();
  return {
    add(given: string, bytes: number): void {
      const name = counts.has(given) || counts.size < namesMax ? given : OTHERS;
      const count = counts.get(name) ?? { tasks: 0, bytes: 0 };
      count.tasks += 1;
      count.bytes += bytes;
      counts.set(name, count);
    },
    /** Those with the most bytes first. */
    largest(limit: number): readonly Counted[] {
      const all = [...counts].map(([name, count]) => ({ name, ...count }));
      return all.toSorted((a, b) => b.bytes - a.bytes).slice(0, limit);
    },
  };
}
