/** What every implementation of standing approvals promises. Run against memory and against Redis. */
import { STANDING_APPROVALS_MAX, type StandingAbout, type StandingApprovals } from "@parley/core";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

interface UnderTest {
  readonly standing: StandingApprovals;
  close(): Promise<void>;
}

const DAY_MS = 86_400_000;
/** Of today: Redis deletes what has ended by its own clock. */
const NOW_MS = Date.now();

export function describeStanding(where: string, open: () => Promise<UnderTest>): void {
  describe(`standing approvals ${where}`, () => {
    let under: UnderTest;
    beforeEach(async () => {
      under = await open();
    });
    afterEach(() => under.close());

    const about = (more: Partial<StandingAbout> = {}): StandingAbout => ({
      rule: "deletes",
      title: "Deleting files",
      tool: "files_delete",
      principal: "ada",
      by: "bob",
      grantedAtMs: NOW_MS,
      untilMs: NOW_MS + DAY_MS,
      uses: 2,
      ...more,
    });
    const grant = (id: string, more?: Partial<StandingAbout>, { tenant = "acme", taskId = "0-first" } = {}) =>
      under.standing.grant({ tenant, id, taskId, about: about(more) });
    const use = async (id: string, taskId: string, { tenant = "acme", nowMs = NOW_MS } = {}) =>
      (await under.standing.use({ tenant, id, taskId, nowMs }))?.left;
    const list = async (tenant = "acme", nowMs = NOW_MS) =>
      (await under.standing.list({ tenant, nowMs })).map(({ id, left }) => `${id} ${left}`);

    test("let as many calls pass as they were given for, of their tenant alone", async () => {
      expect(await grant("a")).toBe(true);
      expect(await under.standing.use({ tenant: "acme", id: "a", taskId: "0-1", nowMs: NOW_MS })).toEqual({ id: "a", ...about(), left: 1 });
      expect([await use("a", "0-2"), await use("a", "0-3")]).toEqual([0, undefined]);
      expect([await use("b", "0-4"), await use("a", "0-5", { tenant: "other" })]).toEqual([undefined, undefined]);
    });

    test("let one of many calls pass that come at once for the last use", async () => {
      await grant("a", { uses: 1 });
      const all = await Promise.all(Array.from({ length: 20 }, (_, task) => use("a", `0-${task}`)));
      expect(all.filter((left) => left !== undefined)).toEqual([0]);
    });

    test("are spent once by a task that asks again, also if it took the last use", async () => {
      await grant("a", { uses: 1 });
      expect([await use("a", "0-1"), await use("a", "0-1"), await use("a", "0-2")]).toEqual([0, 0, undefined]);
    });

    test("end in time, and not a millisecond before", async () => {
      await grant("a");
      expect(await use("a", "0-1", { nowMs: NOW_MS + DAY_MS - 1 })).toBe(1);
      expect(await list("acme", NOW_MS + DAY_MS - 1)).toEqual(["a 1"]);
      expect(await use("a", "0-2", { nowMs: NOW_MS + DAY_MS })).toBeUndefined();
      expect(await list("acme", NOW_MS + DAY_MS)).toEqual([]);
    });

    test("are listed for their tenant, the first to end first, also those that are used up", async () => {
      await grant("later", { untilMs: NOW_MS + 2 * DAY_MS });
      await grant("sooner", { uses: 1 });
      await use("sooner", "0-1");
      await grant("foreign", {}, { tenant: "other" });
      expect([await list(), await list("other"), await list("third")]).toEqual([["sooner 0", "later 2"], ["foreign 2"], []]);
    });

    test("are revoked once, and let nothing pass then", async () => {
      await grant("a");
      const revoke = (tenant = "acme") => under.standing.revoke({ tenant, id: "a" });
      expect([await revoke("other"), await revoke(), await revoke()]).toEqual([false, true, false]);
      expect([await use("a", "0-1"), await list()]).toEqual([undefined, []]);
    });

    test("are given anew by another approval, and not by the same one twice", async () => {
      await grant("a");
      await use("a", "0-1");
      expect(await grant("a")).toBe(true);
      expect(await list()).toEqual(["a 1"]);
      expect(await grant("a", { uses: 5 }, { taskId: "0-second" })).toBe(true);
      expect(await list()).toEqual(["a 5"]);
    });

    test("are at most a thousand for a tenant, and one that ends makes room", async () => {
      const ids = Array.from({ length: STANDING_APPROVALS_MAX - 1 }, (_, at) => `id-${at}`);
      await Promise.all(ids.map((id) => grant(id)));
      expect(await grant("short", { untilMs: NOW_MS + 3_600_000 })).toBe(true);
      expect([await grant("one-more"), await grant("short", { uses: 3 }, { taskId: "0-other" })]).toEqual([false, true]);
      expect(await grant("one-more", { grantedAtMs: NOW_MS + 2 * DAY_MS, untilMs: NOW_MS + 3 * DAY_MS })).toBe(true);
    });
  });
}
