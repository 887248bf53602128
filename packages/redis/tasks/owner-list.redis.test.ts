/**
 * The pages of a principal's tasks over several partitions: their order, what they read and where the next one
 * begins.
 */
import { PAGE_SIZE_MAX, type TaskSummary } from "@parley/core";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { openTestRedis, type TestRedis } from "../../../test/support/redis.ts";
import { createKeys } from "../keys.ts";
import { createOwnerList } from "./owner-list.ts";

const INVALID_CURSOR = { code: "INVALID_CURSOR" };

describe("the list of a principal's tasks", () => {
  let redis: TestRedis;
  /** Tasks that have expired. */
  const gone = new Set<string>();
  /** Summaries by task. */
  const sizes = new Map<string, number>();
  const looked: (readonly string[])[] = [];
  let turns: number;
  beforeEach(() => {
    redis = openTestRedis();
    gone.clear();
    sizes.clear();
    looked.length = 0;
    turns = 0;
  });
  afterEach(() => redis.close());

  const summary = (id: string): TaskSummary => {
    const empty = { id, principal: "ada", hidden: false, status: "working", createdAtMs: 1, updatedAtMs: 1, retentionMs: 1 } as const;
    const size = sizes.get(id);
    return size === undefined ? empty : { ...empty, message: "x".repeat(size - JSON.stringify({ ...empty, message: "" }).length) };
  };

  function aList(partitions = 2) {
    const summaries = {
      async of(taskIds: readonly string[]) {
        looked.push(taskIds);
        return taskIds.map((id) => (gone.has(id) ? undefined : summary(id)));
      },
      async turn<T>(work: () => Promise<T>) {
        turns += 1;
        return await work();
      },
    };
    const list = createOwnerList({ redis: redis.redis, keys: createKeys(redis.prefix), partitions, summaries });
    return {
      list,
      async page(limit: number, cursor?: string) {
        const { tasks, nextCursor } = await list.page({ principal: "ada", limit, ...(cursor !== undefined && { cursor }) });
        return [tasks.map(({ id }) => id), nextCursor];
      },
    };
  }
  const owner = (partition: number) => createKeys(redis.prefix).owner(partition, "ada");
  /** Entries of a partition, oldest first: stream id and task. */
  async function has(partition: number, ...entries: (readonly [streamId: string, taskId: string])[]) {
    for (const [streamId, taskId] of entries) await redis.redis.xadd(owner(partition), streamId, "id", taskId);
  }
  const left = async (partition: number) => (await redis.redis.xrange(owner(partition), "-", "+")).map(([, [, id]]) => id);

  test("is kept in the task's partition, under a digest of the principal", () => {
    const { list } = aList();
    expect(list.key(`1-${"t".repeat(22)}`, "ada")).toBe(owner(1));
    expect(list.key("no task", "ada")).toBe(owner(0));
  });

  test("is empty for a principal without tasks", async () => {
    expect(await aList().page(10)).toEqual([[], undefined]);
    expect(looked).toEqual([]);
  });

  test("is newest first over all partitions, of one moment by sequence and then by partition, page by page", async () => {
    await has(0, ["5-0", "a"], ["7-1", "d"], ["9-0", "f"]);
    await has(1, ["6-0", "b"], ["7-0", "c"], ["7-1", "e"], ["10-0", "g"]);
    const { page, list } = aList();
    expect(await page(10)).toEqual([["g", "f", "d", "e", "c", "b", "a"], undefined]);
    expect(await page(7)).toEqual([["g", "f", "d", "e", "c", "b", "a"], undefined]);
    expect(await page(6)).toEqual([["g", "f", "d", "e", "c", "b"], "6-0.1"]);
    expect(await page(3)).toEqual([["g", "f", "d"], "7-1.0"]);
    expect(await page(3, "7-1.0")).toEqual([["e", "c", "b"], "6-0.1"]);
    expect(await page(3, "7-1.1")).toEqual([["c", "b", "a"], undefined]);
    expect(await page(3, "6-0.1")).toEqual([["a"], undefined]);
    expect(await page(3, "5-0.0")).toEqual([[], undefined]);
    // A position whose entry no longer exists.
    expect(await page(10, "8-3.1")).toEqual([["d", "e", "c", "b", "a"], undefined]);
    expect(await list.page({ principal: "bob", limit: 3 })).toStrictEqual({ tasks: [] });
  });

  test("continues if a partition has more than is read at once, and reads each summary once", async () => {
    const entries = Array.from({ length: 20 }, (_, n) => [`${n + 1}-0`, `t${n + 1}`] as const);
    await has(40, ...entries);
    await has(3, ["11-5", "other"]);
    const { page } = aList(64);
    const ids = entries.map(([, id]) => id).toReversed();
    expect(await page(30)).toEqual([[...ids.slice(0, 9), "other", ...ids.slice(9)], undefined]);
    expect(looked.flat()).toHaveLength(21);
    // Eight of each partition at a time; those that had fewer are not read again.
    expect(turns).toBe(64 + 2);
  });

  test("reads 256 entries at once if one partition has all of them", async () => {
    const read = vi.spyOn(redis.redis, "xrevrange");
    await has(0, ["1-0", "a"]);
    await aList(1).page(10);
    expect(read.mock.calls).toEqual([[owner(0), "+", "-", "COUNT", 256]]);
    read.mockClear();
    await aList(3).page(10);
    expect(read.mock.calls.map((call) => call.at(-1))).toEqual([86, 86, 86]);
  });

  test("reads at most 64 tasks before it knows whether they fit, and one more than the page takes", async () => {
    await has(0, ...Array.from({ length: 70 }, (_, n) => [`${n + 1}-0`, `t${n + 1}`] as const));
    const { page } = aList(1);
    await page(3);
    expect(looked.map(({ length }) => length)).toEqual([4]);
    looked.length = 0;
    const [ids, next] = await page(66);
    expect([ids?.length, next]).toEqual([66, "5-0.0"]);
    expect(looked.map(({ length }) => length)).toEqual([64, 3]);
  });

  test("removes expired entries and shows others instead", async () => {
    await has(0, ["5-0", "a"], ["7-0", "c"]);
    await has(1, ["6-0", "b"], ["8-0", "d"]);
    gone.add("d").add("c");
    const { page } = aList();
    expect(await page(1)).toEqual([["b"], "6-0.1"]);
    expect([await left(0), await left(1)]).toEqual([["a"], ["b"]]);
    expect(await page(2)).toEqual([["b", "a"], undefined]);
    gone.add("a").add("b");
    expect(await page(2)).toEqual([[], undefined]);
    expect([await left(0), await left(1)]).toEqual([[], []]);
  });

  test("ends a page at its maximum size, and shows at least one task however large it is", async () => {
    await has(0, ["1-0", "a"], ["2-0", "b"], ["3-0", "c"]);
    const { page } = aList();
    sizes.set("c", PAGE_SIZE_MAX - 200).set("b", 200);
    expect(await page(3)).toEqual([["c", "b"], "2-0.0"]);
    sizes.set("b", 201);
    expect(await page(3)).toEqual([["c"], "3-0.0"]);
    sizes.set("c", PAGE_SIZE_MAX + 1);
    expect(await page(3)).toEqual([["c"], "3-0.0"]);
    expect(await page(3, "3-0.0")).toEqual([["b", "a"], undefined]);
    sizes.set("b", PAGE_SIZE_MAX + 1);
    expect(await page(3, "3-0.0")).toEqual([["b"], "2-0.0"]);
  });

  test("ends a page after 5,000 expired tasks, and the next one begins after them", async () => {
    const pipeline = redis.redis.pipeline();
    for (let n = 1; n <= 5_020; n += 1) {
      pipeline.xadd(owner(0), `${n}-0`, "id", `t${n}`);
      if (n > 20) gone.add(`t${n}`);
    }
    await pipeline.exec();
    const { page } = aList(1);
    // Fifty at a time.
    expect(await page(49)).toEqual([[], "21-0.0"]);
    const [rest, last] = await page(49, "21-0.0");
    expect([rest?.length, last]).toEqual([20, undefined]);
  });

  describe("with thousands of expired tasks", () => {
    const idIn = (partition: number, n: number) => `${partition}-${String(n).padStart(22, "t")}`;
    /** Writes tasks in the partitions in turn, oldest first; the last `expired` of them have expired. Resolves to their ids. */
    async function many({ existing, expired, partitions }: { existing: number; expired: number; partitions: readonly number[] }) {
      const keys = createKeys(redis.prefix);
      const pipeline = redis.redis.pipeline();
      const ids = Array.from({ length: existing + expired }, (_, n) => idIn(partitions[n % partitions.length]!, n));
      for (const [n, id] of ids.entries()) {
        pipeline.xadd(owner(partitions[n % partitions.length]!), `${n + 1}-0`, "id", id);
        if (n < existing) pipeline.hset(keys.task(id)![0], "status", "working");
        else gone.add(id);
      }
      await pipeline.exec();
      return ids;
    }
    /** Commands that read entries or remove expired ones, and reads of summaries. Those of several partitions share a round trip. */
    const commands = (deletes: number) => turns + looked.length + deletes;

    test.each<[partitions: number, used: readonly number[], most: number]>([
      [1, [0], 45],
      // Eight at first, and twice as many each time.
      [64, [40], 2 * 64 + 55],
      [4, [0, 1, 2, 3], 70],
    ])("a page over %i partitions, of which %j have 5,000, skips them in few commands", async (partitions, used, most) => {
      const ids = await many({ existing: 3, expired: 4_990, partitions: used });
      const deletes = vi.spyOn(redis.redis, "xdel");
      const { page } = aList(partitions);
      expect(await page(10)).toEqual([ids.slice(0, 3).toReversed(), undefined]);
      expect(commands(deletes.mock.calls.length)).toBeLessThanOrEqual(most);
      expect((await Promise.all(used.map(left))).flat().toSorted()).toEqual(ids.slice(0, 3).toSorted());
    });

    test("a page skips 5,000 and shows what is behind them; of more it leaves the rest to the next page", async () => {
      const ids = await many({ existing: 3, expired: 5_001, partitions: [0] });
      const { page } = aList(1);
      const [none, next] = await page(10);
      expect([none, await left(0)]).toEqual([[], ids.slice(0, 4)]);
      expect(await page(10, String(next))).toEqual([ids.slice(0, 3).toReversed(), undefined]);
      expect(await left(0)).toEqual(ids.slice(0, 3));
    });

    test("a page shows every task among expired ones, in order over all partitions, however many it takes", async () => {
      const ids = await many({ existing: 600, expired: 0, partitions: [0, 1, 2] });
      const expired = ids.filter((_, n) => n % 7 !== 0);
      for (const id of expired) {
        gone.add(id);
        await redis.redis.del(createKeys(redis.prefix).task(id)![0]);
      }
      const { page } = aList(3);
      const found: unknown[] = [];
      let cursor: string | undefined;
      do {
        const [shown, next] = (await page(20, cursor)) as [string[], string | undefined];
        found.push(...shown);
        cursor = next;
      } while (cursor !== undefined);
      expect(found).toEqual(ids.filter((_, n) => n % 7 === 0).toReversed());
    });
  });

  test.each(["", "1", "1-0", "1-0.", "x1-0.0", "1-0.0x", "01-0.0", "0-0.0", "1-0.12345", `${"1".repeat(17)}-0.0`, "1-00.0", "1-0.00"])(
    "refuses a cursor that it never gave: %j",
    async (cursor) => {
      await expect(aList().page(1, cursor)).rejects.toMatchObject(INVALID_CURSOR);
    },
  );

  test.each(["0-1.0", "1-0.0", `${"1".repeat(16)}-0.0`, "1-12.1234"])("accepts only valid cursors: %j", async (cursor) => {
    await aList().page(1, cursor);
  });
});
