/** What every implementation of the last approved calls promises. Run against memory and against Redis. */
import { type ApprovedCall, LAST_APPROVED_CHARS_MAX, LAST_APPROVED_KEPT_MS, LAST_APPROVED_MAX, type LastApproved } from "@parley/core";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

interface UnderTest {
  readonly last: LastApproved;
  /** Of a task whose content is kept. */
  newTaskId(): string;
  close(): Promise<void>;
}

const NOW_MS = Date.now();

export function describeLastApproved(where: string, open: () => Promise<UnderTest>): void {
  describe(`last approved calls ${where}`, () => {
    let under: UnderTest;
    beforeEach(async () => {
      under = await open();
    });
    afterEach(() => under.close());

    const note = async (id: string, more: Partial<ApprovedCall> = {}, tenant = "acme") => {
      const call = { taskId: under.newTaskId(), principal: "ann", approvedAtMs: NOW_MS, arguments: '{"to":"ünï"}', ...more };
      await under.last.note({ tenant, id, ...call });
      return call;
    };
    const read = (id: string, { tenant = "acme", nowMs = NOW_MS } = {}) => under.last.read({ tenant, id, nowMs });

    test("are read as they were noted, by their kind and tenant alone", async () => {
      const noted = await note("a");
      expect(await read("a")).toEqual(noted);
      expect([await read("b"), await read("a", { tenant: "other" })]).toEqual([undefined, undefined]);
    });

    test("are those that were approved later, in whatever order they are noted, and the same one twice changes nothing", async () => {
      const later = await note("a", { approvedAtMs: NOW_MS + 2 });
      await note("a", { approvedAtMs: NOW_MS + 1 });
      expect(await read("a")).toEqual(later);
      await under.last.note({ tenant: "acme", id: "a", ...later });
      expect(await read("a")).toEqual(later);
      const latest = await note("a", { approvedAtMs: NOW_MS + 3 });
      expect(await read("a")).toEqual(latest);
    });

    test("have no arguments if these are longer than the bound, and then stand in place of an earlier one all the same", async () => {
      const most = await note("a", { arguments: "x".repeat(LAST_APPROVED_CHARS_MAX) });
      expect(await read("a")).toEqual(most);
      const { arguments: _, ...rest } = await note("a", { arguments: "x".repeat(LAST_APPROVED_CHARS_MAX + 1), approvedAtMs: NOW_MS + 1 });
      expect(await read("a")).toEqual(rest);
    });

    test("are kept for ninety days, and not a millisecond longer", async () => {
      const noted = await note("a");
      expect(await read("a", { nowMs: NOW_MS + LAST_APPROVED_KEPT_MS - 1 })).toEqual(noted);
      expect(await read("a", { nowMs: NOW_MS + LAST_APPROVED_KEPT_MS })).toBeUndefined();
    });

    test("are of at most a thousand kinds for a tenant: beyond it, the one that was approved longest ago is forgotten", async () => {
      for (let kind = 0; kind < LAST_APPROVED_MAX; kind += 1) await note(`kind-${kind}`, { approvedAtMs: NOW_MS + kind });
      expect(await read("kind-0")).toBeDefined();
      await note("one more", { approvedAtMs: NOW_MS + LAST_APPROVED_MAX });
      expect([await read("kind-0"), (await read("kind-1"))?.approvedAtMs]).toEqual([undefined, NOW_MS + 1]);
      // A kind that is known takes no other's place.
      await note("kind-1", { approvedAtMs: NOW_MS + LAST_APPROVED_MAX + 1 });
      expect(await read("kind-2")).toBeDefined();
    });
  });
}
