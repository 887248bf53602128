/** What every implementation of the figures of approvals promises. Run against memory and against Redis. */
import {
  type ApprovalEnd,
  type ApprovalRecord,
  type ApprovalSettled,
  type CountedRule,
  DECIDERS_MAX,
  decisionWait,
  OPEN_APPROVALS_MAX,
  OPEN_APPROVALS_READ,
} from "@parley/core";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

interface UnderTest {
  readonly approvals: ApprovalRecord;
  close(): Promise<void>;
}

const NOON_MS = Date.UTC(2026, 10, 29, 12);
const DAY_MS = 86_400_000;

export function describeApprovals(where: string, open: () => Promise<UnderTest>): void {
  describe(`figures of approvals ${where}`, () => {
    let under: UnderTest;
    beforeEach(async () => {
      under = await open();
    });
    afterEach(() => under.close());

    const call = (task: number, { rule = "deletes", tenant = "acme", askedAtMs = NOON_MS } = {}) => ({
      tenant,
      rule,
      taskId: `0-${String(task).padStart(22, "0")}`,
      askedAtMs,
    });
    const ask = (task: number, more?: Parameters<typeof call>[1]) => under.approvals.asked(call(task, more));
    const settle = (task: number, end: ApprovalEnd, { afterMs = 1_500, ...more }: Partial<ApprovalSettled> & { afterMs?: number } = {}) =>
      under.approvals.settled({ ...call(task, more), ...more, end, atMs: (more.askedAtMs ?? NOON_MS) + afterMs });
    const read = (days = 1, { tenant = "acme", nowMs = NOON_MS } = {}) => under.approvals.read({ tenant, days, nowMs });
    const figures = async (...of: Parameters<typeof read>) => (await read(...of)).rules;
    const countsOf = ({ asked, approved, refused, expired, closed, withdrawn, void: isVoid }: CountedRule) => ({
      asked,
      approved,
      refused,
      expired,
      closed,
      withdrawn,
      void: isVoid,
    });

    test("count each call by its rule and by how it went on", async () => {
      for (const task of [1, 2, 3, 4, 5, 6]) await ask(task);
      await ask(7, { rule: "moves" });
      await settle(1, "approved");
      await settle(2, "approved", { isVoid: true });
      await settle(3, "refused");
      await settle(4, "expired");
      await settle(5, "closed");
      await settle(6, "withdrawn");
      const [deletes, moves] = await figures();
      expect(deletes?.rule).toBe("deletes");
      expect(countsOf(deletes as CountedRule)).toEqual({ asked: 6, approved: 2, refused: 1, expired: 1, closed: 1, withdrawn: 1, void: 1 });
      expect(countsOf(moves as CountedRule)).toEqual({ asked: 1, approved: 0, refused: 0, expired: 0, closed: 0, withdrawn: 0, void: 0 });
    });

    test("count a call once, however often and by how many at once it is noted", async () => {
      await Promise.all(Array.from({ length: 20 }, () => ask(1)));
      await Promise.all(Array.from({ length: 20 }, (_, at) => settle(1, at % 2 === 0 ? "approved" : "refused", { by: ["bob"] })));
      await settle(2, "approved");
      const [rule] = await figures();
      expect([rule?.asked, (rule?.approved ?? 0) + (rule?.refused ?? 0), rule?.people.length]).toEqual([1, 1, 1]);
    });

    test("tell how long decisions took, and what was decided", async () => {
      const times = [900, 1_000, 1_001, 8_000];
      for (const [task, afterMs] of times.entries()) {
        await ask(task);
        await settle(task, "approved", { afterMs });
      }
      await ask(9);
      await settle(9, "refused", { afterMs: -5 });
      await ask(10);
      await settle(10, "expired", { afterMs: 8_000 });
      await ask(11, { askedAtMs: NOON_MS - 40 * DAY_MS });
      await settle(11, "approved", { askedAtMs: NOON_MS - 40 * DAY_MS, afterMs: 40 * DAY_MS });
      const [rule] = await figures();
      expect([0, 1, decisionWait(8_000)].map((wait) => rule?.approvedAfter[wait])).toEqual([2, 1, 1]);
      expect(rule?.approvedAfter.at(-1)).toBe(1);
      expect(rule?.refusedAfter[0]).toBe(1);
      expect(rule?.refusedAfter.reduce((sum, count) => sum + count)).toBe(1);
    });

    test("tell who decided, whatever they are called", async () => {
      const people = ["bob", "an issuer | a subject", "x by y\nz", "approved after 3"];
      for (const [task, principal] of people.entries()) {
        await ask(task);
        await settle(task, task === 0 ? "refused" : "approved", { by: [principal, "ann"] });
      }
      const [rule] = await figures();
      const decided = (rule?.people ?? []).map(({ principal, approved, refused }) => [principal, approved, refused]);
      expect(new Set(decided)).toEqual(new Set([["bob", 0, 1], ["ann", 3, 1], ...people.slice(1).map((name) => [name, 1, 0])]));
    });

    test("tell apart a thousand people a day, and count the others together", async () => {
      const names = Array.from({ length: DECIDERS_MAX + 2 }, (_, at) => `person-${at}`);
      await ask(1);
      await settle(1, "approved", { by: names });
      await ask(2);
      await settle(2, "approved", { by: ["person-0", "person-x"] });
      const people = (await figures())[0]?.people ?? [];
      expect(people).toHaveLength(DECIDERS_MAX + 1);
      expect(people.find(({ principal }) => principal === "")?.approved).toBe(3);
      expect(people.find(({ principal }) => principal === "person-0")?.approved).toBe(2);
    });

    test("are of the days that are asked for, and of one tenant", async () => {
      await ask(1, { askedAtMs: NOON_MS - DAY_MS });
      await ask(2);
      await ask(3, { tenant: "other" });
      expect((await figures(1))[0]?.asked).toBe(1);
      expect((await figures(2))[0]?.asked).toBe(2);
      expect((await figures(1, { tenant: "other" }))[0]?.asked).toBe(1);
      expect(await figures(1, { tenant: "third" })).toEqual([]);
    });

    test("name the calls that have been open longest, up to the limit and not one beyond", async () => {
      await ask(0, { askedAtMs: NOON_MS + 5 });
      await ask(1, { askedAtMs: NOON_MS + 3 });
      await ask(2, { askedAtMs: NOON_MS + 4 });
      await settle(2, "approved");
      expect((await read()).open.map(({ taskId, askedAtMs }) => [taskId, askedAtMs])).toEqual([
        [call(1).taskId, NOON_MS + 3],
        [call(0).taskId, NOON_MS + 5],
      ]);
      for (let task = 3; task <= OPEN_APPROVALS_READ; task += 1) await ask(task);
      expect(await read()).toMatchObject({ isMoreOpen: false });
      await ask(1_000);
      const { open: named, isMoreOpen } = await read();
      expect([named.length, isMoreOpen]).toEqual([OPEN_APPROVALS_READ, true]);
    });

    test("name no tests of approvers among the open calls, which take no places of those, and count how they end", async () => {
      const tests = OPEN_APPROVALS_READ + 1;
      for (let task = 0; task < tests; task += 1) await ask(task, { rule: "+deletes", askedAtMs: NOON_MS - 1_000 });
      await ask(tests);
      expect(await read()).toMatchObject({ open: [{ rule: "deletes", taskId: call(tests).taskId }], isMoreOpen: false });
      await settle(0, "refused", { rule: "+deletes", askedAtMs: NOON_MS - 1_000 });
      await settle(0, "approved", { rule: "+deletes", askedAtMs: NOON_MS - 1_000 });
      expect((await figures()).find(({ rule }) => rule === "+deletes")).toMatchObject({ asked: tests, refused: 1, approved: 0 });
    });

    test("forget the oldest open call when there are too many, which is then counted as asked only", async () => {
      for (let from = 0; from <= OPEN_APPROVALS_MAX; from += 500) {
        const tasks = Array.from({ length: Math.min(500, OPEN_APPROVALS_MAX + 1 - from) }, (_, at) => from + at);
        await Promise.all(tasks.map((task) => ask(task, { askedAtMs: NOON_MS + task })));
      }
      await settle(0, "approved");
      await settle(1, "approved");
      expect((await figures())[0]).toMatchObject({ asked: OPEN_APPROVALS_MAX + 1, approved: 1 });
    });

    test("forget an open call after a month", async () => {
      await ask(1, { askedAtMs: NOON_MS - 31 * DAY_MS });
      await ask(2);
      expect((await read()).open.map(({ taskId }) => taskId)).toEqual([call(2).taskId]);
    });
  });
}
