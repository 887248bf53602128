import { type ApprovalEnd, decisionWait, DECISION_WAITS_MS, type Task } from "@parley/core";
import { createMemoryApprovalRecord } from "@parley/core/memory";
import { expect, test } from "vitest";
import { approvalReport, DECIDERS_SHOWN, quantile } from "./report.ts";

const NOON_MS = Date.UTC(2026, 10, 29, 12);

function subject() {
  const approvals = createMemoryApprovalRecord();
  const statuses = new Map<string, Task["status"]>();
  let tasks = 0;
  return {
    approvals,
    statuses,
    async call(rule: string, end?: ApprovalEnd, { afterMs = 1_000, by = ["bob"], askedAtMs = NOON_MS } = {}) {
      tasks += 1;
      const asked = { tenant: "acme", rule, taskId: `0-${tasks}`, askedAtMs };
      statuses.set(asked.taskId, "working");
      await approvals.asked(asked);
      if (end) await approvals.settled({ ...asked, end, atMs: askedAtMs + afterMs, by });
      return asked.taskId;
    },
    report: (days = 1) =>
      approvalReport(
        { approvals, load: async (taskId) => (statuses.has(taskId) ? { status: statuses.get(taskId) as Task["status"] } : undefined) },
        { tenant: "acme", days, nowMs: NOON_MS },
      ),
  };
}

test("a rule that is always approved at once can be told from one that is judged", async () => {
  const { call, report } = subject();
  for (let at = 0; at < 20; at += 1) await call("stamp", "approved", { afterMs: 2_000 });
  for (let at = 0; at < 10; at += 1) await call("judged", at < 5 ? "approved" : "refused", { afterMs: 600_000 });
  const { rules, sinceMs } = await report();
  expect(new Date(sinceMs).toISOString()).toBe("2026-11-29T00:00:00.000Z");
  const [judged, stamp] = rules;
  expect(stamp).toMatchObject({ rule: "stamp", asked: 20, yes: 1, quick: 20, people: [{ principal: "bob", approved: 20, refused: 0 }] });
  expect(judged).toMatchObject({ rule: "judged", yes: 0.5, quick: 0 });
  expect(stamp?.medianMs).toBeLessThanOrEqual(2_000);
  expect(judged?.medianMs).toBeGreaterThan(300_000);
});

test("a rule on which nobody has decided has no share and no times", async () => {
  const { call, report } = subject();
  await call("quiet", "expired");
  const [rule] = (await report()).rules;
  expect(rule).toMatchObject({ asked: 1, expired: 1, quick: 0, people: [], waiting: 0 });
  expect(Object.keys(rule ?? {})).not.toEqual(expect.arrayContaining(["yes"]));
  expect([rule?.medianMs, rule?.p90Ms, rule?.oldest]).toEqual([undefined, undefined, undefined]);
});

test("the oldest waiting call is named, also of a rule by which nothing else happened these days", async () => {
  const { call, report } = subject();
  const taskId = await call("slow", undefined, { askedAtMs: NOON_MS - 2 * 86_400_000 });
  await call("slow", undefined, { askedAtMs: NOON_MS - 86_400_000 });
  const [rule] = (await report()).rules;
  expect(rule).toMatchObject({ asked: 0, waiting: 2, oldest: { taskId, askedAtMs: NOON_MS - 2 * 86_400_000 } });
});

test("calls that were cancelled or are gone wait no more, and count as withdrawn once", async () => {
  const { call, report, statuses } = subject();
  statuses.set(await call("deletes"), "cancelled");
  statuses.delete(await call("deletes"));
  const waits = await call("deletes");
  for (let reads = 0; reads < 2; reads += 1) {
    const [rule] = (await report()).rules;
    expect(rule).toMatchObject({ asked: 3, withdrawn: 2, waiting: 1, oldest: { taskId: waits } });
  }
});

test("the people who decided most often are named", async () => {
  const { call, report } = subject();
  for (let person = 1; person <= DECIDERS_SHOWN + 3; person += 1)
    for (let times = 0; times < person; times += 1) await call("deletes", times === 0 ? "refused" : "approved", { by: [`p${person}`] });
  const [rule] = (await report()).rules;
  expect(rule?.people).toHaveLength(DECIDERS_SHOWN);
  expect(rule?.people[0]).toEqual({ principal: "p8", approved: 7, refused: 1 });
});

test.each<[string, readonly [ms: number, count: number][], number, number | undefined]>([
  ["nothing", [], 0.5, undefined],
  ["one step, interpolated", [[1_500, 4]], 0.5, 1_500],
  [
    "the larger step",
    [
      [500, 9],
      [60_000, 1],
    ],
    0.9,
    1_000,
  ],
  [
    "the last decision",
    [
      [500, 1],
      [60_000, 9],
    ],
    0.9,
    56_667,
  ],
  ["the open step, from its beginning", [[40 * 86_400_000, 1]], 0.5, 31 * 86_400_000],
])("a share of the decisions of %s took at most as long", (_, given, share, ms) => {
  const waits = DECISION_WAITS_MS.map(() => 0);
  for (const [each, count] of given) waits[decisionWait(each)] = count;
  expect(quantile(waits, share)).toBe(ms);
});
