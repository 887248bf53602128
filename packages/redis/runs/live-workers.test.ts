import { describe, expect, test } from "vitest";
import { coverOf, type LiveWorker, serving } from "./live-workers.ts";

const PARTITIONS = 256;

const workers = (count: number, share: number): LiveWorker[] => Array.from({ length: count }, (_, n) => ({ id: `worker-${n}`, share }));

/** Worker → partitions that it serves. */
function assigned(all: readonly LiveWorker[], partitions = PARTITIONS): Map<string, number[]> {
  const of = new Map<string, number[]>(all.map(({ id }) => [id, []]));
  for (let partition = 0; partition < partitions; partition += 1) {
    for (const { id } of serving(partition, all, partitions)) of.get(id)!.push(partition);
  }
  return of;
}

describe("how many workers serve a partition", () => {
  test.each([
    [0, 7, 7],
    [PARTITIONS, 7, 7],
    [PARTITIONS - 1, 7, 7],
    [32, 1, 1],
    [32, 2, 2],
    [32, 16, 2],
    [32, 17, 3],
    [32, 64, 8],
    [1, 1_000, 4],
  ])("with a share of %i and %i workers: %i", (share, count, cover) => {
    expect(coverOf(share, count, PARTITIONS)).toBe(cover);
  });
});

describe("the assignment", () => {
  test.each([1, 2, 3, 16, 64])("of %i workers covers each partition twice, if there are two, by different ones", (count) => {
    const all = workers(count, 32);
    for (let partition = 0; partition < PARTITIONS; partition += 1) {
      const those = serving(partition, all, PARTITIONS);
      expect(those).toHaveLength(coverOf(32, count, PARTITIONS));
      expect(new Set(those).size).toBe(those.length);
      expect(those.length).toBeGreaterThanOrEqual(Math.min(2, count));
    }
  });

  test("gives 16 workers of 256 partitions about 32 each", () => {
    const sizes = [...assigned(workers(16, 32)).values()].map((partitions) => partitions.length);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(2 * PARTITIONS);
    expect(Math.min(...sizes)).toBeGreaterThan(16);
    expect(Math.max(...sizes)).toBeLessThan(48);
  });

  test("is the same on each worker, in any order of the others", () => {
    const all = workers(9, 32);
    for (const partition of [0, 1, 255]) {
      expect(serving(partition, all.toReversed(), PARTITIONS)).toEqual(serving(partition, all, PARTITIONS));
    }
  });

  test("is the same in every version of Parley, because workers of two versions share partitions during an upgrade", () => {
    const firstTwo = (partition: number) => serving(partition, workers(9, 32), PARTITIONS).map(({ id }) => id.replace("worker-", ""));
    expect([0, 1, 2, 128, 255].map((partition) => firstTwo(partition).join(" "))).toEqual(["7 3", "1 2", "2 3", "0 8", "1 4"]);
  });

  test("moves only the share of a worker that goes", () => {
    const before = assigned(workers(16, 32));
    const after = assigned(workers(15, 32)); // worker-15 is gone
    for (const [id, partitions] of after) expect(partitions).toEqual(expect.arrayContaining(before.get(id)!));
    const moved = [...after].reduce((sum, [id, partitions]) => sum + partitions.length - before.get(id)!.length, 0);
    expect(moved).toBe(before.get("worker-15")!.length);
  });

  test("leaves no partition without its first two workers while shares differ", () => {
    const mixed = workers(12, 32).map((worker, n) => ({ ...worker, share: [0, 16, 128][n % 3]! }));
    for (let partition = 0; partition < PARTITIONS; partition += 1) {
      const firstTwo = serving(partition, workers(12, 16), PARTITIONS).slice(0, 2);
      const those = serving(partition, mixed, PARTITIONS).map(({ id }) => id);
      expect(those).toEqual(expect.arrayContaining(firstTwo.map(({ id }) => id)));
    }
  });
});
