/** What every implementation of snoozes promises. Run against memory and against Redis. */
import { type Snooze, SNOOZES_MAX, type Snoozes, type SnoozingPerson } from "@parley/core";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

interface UnderTest {
  readonly snoozes: Snoozes;
  close(): Promise<void>;
}

/** Of today: Redis deletes what is over by its own clock. */
const NOW_MS = Date.now();
const HOUR_MS = 3_600_000;
const ADA = { person: "ada" };

export function describeSnoozes(where: string, open: () => Promise<UnderTest>): void {
  describe(`snoozes ${where}`, () => {
    let under: UnderTest;
    beforeEach(async () => {
      under = await open();
    });
    afterEach(() => under.close());

    const snooze = (key: string, more: Partial<Snooze> = {}): Snooze => ({
      taskId: "0-first",
      key,
      sinceMs: NOW_MS,
      untilMs: NOW_MS + HOUR_MS,
      seen: "digest.0.0.0.0",
      ...more,
    });
    const put = (key: string, more?: Partial<Snooze>, { person = ADA as SnoozingPerson, nowMs = NOW_MS } = {}) =>
      under.snoozes.put(person, snooze(key, more), nowMs);
    const keys = async (person: SnoozingPerson = ADA, nowMs = NOW_MS) =>
      (await under.snoozes.list(person, nowMs)).map(({ key }) => key).toSorted();

    test("come back as they were given, also with keys that have spaces", async () => {
      const all = [snooze("size"), snooze("a key/with:all sorts"), snooze("size", { taskId: "0-second", seen: "other.3.1.0.2" })];
      for (const each of all) expect(await under.snoozes.put(ADA, each, NOW_MS)).toBe("snoozed");
      const listed = await under.snoozes.list(ADA, NOW_MS);
      expect(listed).toHaveLength(all.length);
      expect(listed).toEqual(expect.arrayContaining(all));
    });

    test("are each person's own, in their tenant", async () => {
      await put("of-ada");
      await put("of-bob", {}, { person: { person: "bob" } });
      await put("of-another-ada", {}, { person: { tenant: "acme", person: "ada" } });
      expect(await keys()).toEqual(["of-ada"]);
      expect(await keys({ person: "bob" })).toEqual(["of-bob"]);
      expect(await keys({ tenant: "acme", person: "ada" })).toEqual(["of-another-ada"]);
      expect(await keys({ person: "carol" })).toEqual([]);
    });

    test("take the place of an earlier one of the same ask, and go when they are removed", async () => {
      await put("size");
      await put("size", { untilMs: NOW_MS + 2 * HOUR_MS });
      expect(await under.snoozes.list(ADA, NOW_MS)).toEqual([snooze("size", { untilMs: NOW_MS + 2 * HOUR_MS })]);
      await under.snoozes.remove({ person: "bob" }, { taskId: "0-first", key: "size" });
      expect(await keys()).toEqual(["size"]);
      await under.snoozes.remove(ADA, { taskId: "0-first", key: "size" });
      await under.snoozes.remove(ADA, { taskId: "0-first", key: "size" });
      expect(await keys()).toEqual([]);
    });

    test("are over at their time, and not a millisecond before", async () => {
      await put("size");
      expect(await keys(ADA, NOW_MS + HOUR_MS - 1)).toEqual(["size"]);
      expect(await keys(ADA, NOW_MS + HOUR_MS)).toEqual([]);
    });

    test(`are at most ${SNOOZES_MAX}; one that is over or removed makes room`, async () => {
      for (let at = 1; at < SNOOZES_MAX; at += 1) await put(`ask-${at}`);
      expect(await put("short", { untilMs: NOW_MS + 60_000 })).toBe("snoozed");
      expect(await put("one-more")).toBe("full");
      expect(await put("ask-1", { seen: "changed" }), "one that is known is only changed").toBe("snoozed");
      expect(await put("one-more", {}, { nowMs: NOW_MS + 60_000 })).toBe("snoozed");
      expect(await put("two-more", {}, { nowMs: NOW_MS + 60_000 })).toBe("full");
      await under.snoozes.remove(ADA, { taskId: "0-first", key: "ask-2" });
      expect(await put("two-more", {}, { nowMs: NOW_MS + 60_000 })).toBe("snoozed");
      expect(await keys(ADA, NOW_MS + 60_000)).toHaveLength(SNOOZES_MAX);
    });

    test("of two windows one gets the last place", async () => {
      for (let at = 1; at < SNOOZES_MAX; at += 1) await put(`ask-${at}`);
      const both = await Promise.all([put("left"), put("right")]);
      expect(both.toSorted()).toEqual(["full", "snoozed"]);
    });
  });
}
