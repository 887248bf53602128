/** What every implementation of tools' limits promises. Run against memory and against Redis. */
import { IN_LINE_MAX, type KeptLimit, SLOT_PATIENCE_MS, SLOT_RETRY_MAX_MS, type Slots, type TakeSlot } from "@parley/core";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

interface UnderTest {
  readonly slots: Slots;
  close(): Promise<void>;
}

const LEASE_MS = 7_000;
const START_MS = 1_700_000_000_000;

export function describeSlots(where: string, open: () => Promise<UnderTest>): void {
  describe(`slots ${where}`, () => {
    let under: UnderTest;
    let nowMs = START_MS;
    beforeEach(async () => {
      nowMs = START_MS;
      under = await open();
    });
    afterEach(() => under.close());

    const two: KeptLimit = { id: "two", concurrency: 2 };
    const taskId = (task: string) => `0-${task.padStart(22, "0")}`;
    /** Tasks are created in the order of their names: `1` before `2`. */
    const asked = (limit: KeptLimit, task: string, more: Partial<TakeSlot> = {}): TakeSlot => ({
      limit,
      taskId: taskId(task),
      token: `token-${task}`,
      nextRun: 2,
      createdAtMs: START_MS + Number(task),
      isNew: true,
      nowMs,
      leaseMs: LEASE_MS,
      ...more,
    });
    const take = (limit: KeptLimit, task: string, more?: Partial<TakeSlot>) => under.slots.take(asked(limit, task, more));
    const took = async (limit: KeptLimit, task: string, more?: Partial<TakeSlot>) => (await take(limit, task, more)).type === "taken";
    const keep = (limit: KeptLimit, task: string, more?: Partial<TakeSlot>) => under.slots.keep(asked(limit, task, more));
    const give = async (limit: KeptLimit, task: string, more?: Partial<TakeSlot>) =>
      (await under.slots.give(asked(limit, task, more))).map(({ taskId: id, run }) => `${Number(id.slice(2))}.${run}`);

    test("are taken up to the limit, one more waits, and taking one twice takes one", async () => {
      expect(await took(two, "1")).toBe(true);
      expect(await took(two, "1")).toBe(true);
      expect(await took(two, "2")).toBe(true);
      expect(await take(two, "3")).toEqual({ type: "wait", by: "concurrency", retryMs: LEASE_MS });
    });

    test("are taken exactly up to the limit when many ask at once", async () => {
      const all = await Promise.all(Array.from({ length: 50 }, (_, task) => took(two, String(task + 1))));
      expect(all.filter(Boolean)).toHaveLength(2);
    });

    test("are separate for each key", async () => {
      for (const id of ["a", "b"]) expect(await took({ id, concurrency: 1 }, "1")).toBe(true);
      expect(await took({ id: "a", concurrency: 1 }, "2")).toBe(false);
    });

    test("are offered, when released, to the oldest waiting task with its run, and no other task overtakes it", async () => {
      for (const task of ["1", "2", "4", "3"]) await take(two, task);
      expect(await give(two, "1")).toEqual(["3.2"]);
      expect(await took(two, "4")).toBe(false);
      expect(await took(two, "5")).toBe(false);
      expect(await took(two, "3")).toBe(true);
      expect(await give(two, "2")).toEqual(["4.2"]);
      expect(await give(two, "3")).toEqual(["4.2", "5.2"]);
    });

    test("go to tasks of one millisecond in the order of their ids", async () => {
      for (const task of ["1", "2", "3", "5", "4"]) await take(two, task, { createdAtMs: START_MS });
      expect([await give(two, "1"), await give(two, "2")]).toEqual([["3.2"], ["3.2", "4.2"]]);
    });

    test("go to tasks that have begun before tasks that have not, however old those are", async () => {
      for (const task of ["1", "2", "3"]) await take(two, task);
      await take(two, "9", { isNew: false, nextRun: 5 });
      expect(await give(two, "1")).toEqual(["9.5"]);
      expect(await took(two, "3")).toBe(false);
      expect(await took(two, "9", { isNew: false })).toBe(true);
    });

    test("are free when the lease of a dead worker has expired, and not before", async () => {
      await take(two, "1");
      await take(two, "2");
      nowMs += LEASE_MS - 1;
      expect(await took(two, "3")).toBe(false);
      nowMs += 1;
      expect(await took(two, "3")).toBe(true);
    });

    test("are not free while their lease is renewed", async () => {
      await take(two, "1");
      await take(two, "2");
      nowMs += LEASE_MS - 1;
      for (const task of ["1", "2"]) await keep(two, task);
      nowMs += LEASE_MS - 1;
      expect(await took(two, "3")).toBe(false);
    });

    test("pass over a task that was notified and does not come, and one that should have come by itself", async () => {
      for (const task of ["1", "2", "3", "4"]) await take(two, task);
      await give(two, "1");
      // The third may have been cancelled.
      nowMs += SLOT_PATIENCE_MS;
      await keep(two, "2");
      expect(await took(two, "4")).toBe(false);
      nowMs += 1;
      expect(await took(two, "4")).toBe(true);
    });

    test("get a new lease when their task takes them again", async () => {
      await take(two, "1");
      await take(two, "2");
      nowMs += LEASE_MS - 1;
      expect(await took(two, "1")).toBe(true);
      nowMs += LEASE_MS - 1;
      expect(await took(two, "3")).toBe(true);
      expect(await took(two, "4")).toBe(false);
    });

    test("belong to the run that took them last: one that lost its task neither gives back nor keeps what another has", async () => {
      const one: KeptLimit = { id: "one", concurrency: 1 };
      await take(one, "1");
      await take(one, "2");
      expect(await took(one, "1", { token: "later" })).toBe(true);
      expect(await give(one, "1")).toEqual([]);
      nowMs += LEASE_MS - 1;
      await keep(one, "1");
      expect(await took(one, "2")).toBe(false);
      nowMs += 1;
      expect(await took(one, "2")).toBe(true);
      await give(one, "2");
      // Expired, it belongs to no run any more, and the run that is still at work gets it back.
      await keep(one, "1");
      expect(await took(one, "3")).toBe(false);
      expect(await give(one, "1")).toEqual(["3.2"]);
    });

    test("are kept for a waiting task for ten seconds after it should have retried, and no longer", async () => {
      const one: KeptLimit = { id: "one", concurrency: 1 };
      await take(one, "1");
      expect(await take(one, "2")).toMatchObject({ retryMs: LEASE_MS });
      nowMs += LEASE_MS + SLOT_PATIENCE_MS;
      expect(await took(one, "3")).toBe(false);
      nowMs += 1;
      expect(await took(one, "3")).toBe(true);
    });

    test("are offered to a waiting task until ten seconds after it should have retried, and then to the next one", async () => {
      const waitedMs = LEASE_MS + SLOT_PATIENCE_MS;
      for (const [id, lateMs, offered] of [
        ["punctual", waitedMs, "2.2"],
        ["late", waitedMs + 1, "3.2"],
      ] as const) {
        const one: KeptLimit = { id, concurrency: 1 };
        nowMs = START_MS;
        for (const task of ["1", "2", "3"]) await take(one, task);
        nowMs += lateMs;
        expect(await give(one, "1")).toEqual([offered]);
      }
    });

    test("pass over all absent tasks at once", async () => {
      const one: KeptLimit = { id: "one", concurrency: 1 };
      for (let task = 1; task <= 60; task += 1) await take(one, String(task));
      nowMs += SLOT_RETRY_MAX_MS + SLOT_PATIENCE_MS + 1;
      expect(await took(one, "61")).toBe(true);
    });

    test("are asked for less often the further back a task waits, but at least every five minutes", async () => {
      const one: KeptLimit = { id: "one", concurrency: 1 };
      await take(one, "1");
      const retries: number[] = [];
      for (let task = 2; task <= 100; task += 1) {
        const taken = await take(one, String(task));
        if (taken.type === "wait") retries.push(taken.retryMs);
      }
      expect(retries.slice(0, 3)).toEqual([LEASE_MS, 2 * LEASE_MS, 3 * LEASE_MS]);
      expect(retries.at(-1)).toBe(SLOT_RETRY_MAX_MS);
    });

    test("are asked for after as many leases as it takes until all tasks ahead have had one", async () => {
      for (const task of ["1", "2"]) await take(two, task);
      const waits: unknown[] = [];
      for (const task of ["3", "4", "5", "6", "7"]) waits.push(await take(two, task));
      expect(waits).toMatchObject([1, 1, 2, 2, 3].map((leases) => ({ retryMs: leases * LEASE_MS })));
      // One slot is free, and the third is expected to take it.
      await give(two, "1");
      expect(await take(two, "4")).toMatchObject({ retryMs: LEASE_MS });
    });

    describe("of a rate", () => {
      const rated: KeptLimit = { id: "rated", rate: { count: 3, windowMs: 60_000 } };

      test("are as many as the bucket holds, and the next task learns when its turn comes", async () => {
        for (const task of ["1", "2", "3"]) expect(await took(rated, task)).toBe(true);
        expect(await take(rated, "4")).toEqual({ type: "wait", by: "rate", retryMs: 20_000 });
        expect(await take(rated, "5")).toEqual({ type: "wait", by: "rate", retryMs: 40_000 });
        nowMs += 20_000;
        expect(await took(rated, "5")).toBe(false);
        expect(await took(rated, "4")).toBe(true);
        nowMs += 20_000;
        expect(await took(rated, "5")).toBe(true);
      });

      test("neither count tasks that have begun nor make them wait", async () => {
        const other: KeptLimit = { ...rated, id: "other" };
        await take(other, "1");
        for (let run = 0; run < 5; run += 1) {
          await give(other, "1");
          expect(await took(other, "1", { isNew: false })).toBe(true);
        }
        for (const task of ["2", "3"]) expect(await took(other, task)).toBe(true);
        for (const task of ["1", "2", "3", "4"]) await take(rated, task);
        for (let run = 0; run < 5; run += 1) {
          expect(await took(rated, "1", { isNew: false })).toBe(true);
          expect(await give(rated, "1")).toEqual([]);
        }
      });

      test("combined with slots need both", async () => {
        const both: KeptLimit = { id: "both", concurrency: 1, rate: { count: 2, windowMs: 60_000 } };
        expect(await took(both, "1")).toBe(true);
        expect(await take(both, "2")).toMatchObject({ by: "concurrency" });
        expect(await give(both, "1")).toEqual(["2.2"]);
        expect(await took(both, "2")).toBe(true);
        expect(await take(both, "3")).toEqual({ type: "wait", by: "concurrency", retryMs: 30_000 });
        // A slot is free but no token is: no waiting task is notified in vain, and a task that waits for a token does not hold up one that has begun.
        expect(await give(both, "2")).toEqual([]);
        expect(await take(both, "3")).toEqual({ type: "wait", by: "rate", retryMs: 30_000 });
        expect(await took(both, "1", { isNew: false })).toBe(true);
      });

      test("are never more than the bucket holds, however long no task came", async () => {
        for (const task of ["1", "2", "3"]) await take(rated, task);
        nowMs += 3_600_000;
        for (const task of ["4", "5", "6"]) expect(await took(rated, task)).toBe(true);
        expect(await took(rated, "7")).toBe(false);
      });

      test("are offered to no more waiting tasks than there are tokens", async () => {
        const both: KeptLimit = { id: "both", concurrency: 3, rate: { count: 3, windowMs: 60_000 } };
        for (const task of ["1", "2", "3", "4", "5"]) await take(both, task);
        nowMs += 20_000;
        expect(await give(both, "1")).toEqual(["4.2"]);
      });

      test("are not offered: a task that waits for nothing else knows when to retry", async () => {
        for (const task of ["1", "2", "3", "4"]) await take(rated, task);
        nowMs += 20_000;
        expect(await give(rated, "1")).toEqual([]);
        expect(await took(rated, "4")).toBe(true);
      });

      test("are not needed by tasks that have begun, ahead of others or not", async () => {
        const both: KeptLimit = { id: "both", concurrency: 2, rate: { count: 2, windowMs: 2_000 } };
        for (const task of ["1", "2"]) expect(await took(both, task)).toBe(true);
        expect(await took(both, "3", { isNew: false })).toBe(false);
        expect(await took(both, "4")).toBe(false);
        expect(await give(both, "1")).toEqual(["3.2"]);
        nowMs += 1_000;
        expect(await give(both, "2")).toEqual(["3.2", "4.2"]);
        expect(await took(both, "4")).toBe(true);
        expect(await took(both, "3", { isNew: false })).toBe(true);
      });

      test("do not increase after a clock went back", async () => {
        for (const task of ["1", "2", "3"]) await take(rated, task);
        nowMs -= 60_000;
        expect(await took(rated, "4")).toBe(false);
      });
    });

    test("have a line of limited length: tasks beyond it wait without a place", async () => {
      const limits: readonly ["concurrency" | "rate", KeptLimit, number][] = [
        ["concurrency", { id: "one", concurrency: 1 }, LEASE_MS],
        ["rate", { id: "rated", rate: { count: 1, windowMs: 60_000 } }, 60_000],
      ];
      for (const [by, one, retryMs] of limits) {
        await take(one, "1");
        const batch = 500;
        for (let from = 2; from < IN_LINE_MAX + 2; from += batch) {
          await Promise.all(
            Array.from({ length: Math.min(batch, IN_LINE_MAX + 2 - from) }, (_, task) =>
              take(one, String(from + task), { createdAtMs: START_MS }),
            ),
          );
        }
        // It is the oldest of all, and still has no place.
        expect(await take(one, "99999", { createdAtMs: START_MS - 1 })).toEqual({ type: "wait", by, retryMs: SLOT_RETRY_MAX_MS });
        // A task that has a place keeps it.
        expect(await take(one, "2", { createdAtMs: START_MS - 2 })).toMatchObject({ retryMs });
      }
    });
  });
}
