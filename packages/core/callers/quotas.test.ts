import { expect, test } from "vitest";
import { callerNamed } from "./caller.fixture.ts";
import { type Counted, isCounted, quotaExceeded, quotasIn, type TaskQuota, type TaskQuotas } from "./quotas.ts";

test("only callers that can be told apart are counted", () => {
  expect(isCounted(callerNamed("alice", { authenticatedBy: "oidc" }))).toBe(true);
  expect(isCounted(callerNamed("nobody", { authenticatedBy: "proxy" }))).toBe(true);
  expect(isCounted(callerNamed("anonymous", { authenticatedBy: "nobody" }))).toBe(false);
});

test.each<[Counted, keyof TaskQuota, string]>([
  ["principal", "tasks", "the caller has reached the maximum of 3 unfinished tasks (PARLEY_QUOTA_TASKS)"],
  ["principal", "bytes", "the caller has reached the maximum of 4000 bytes in unfinished tasks (PARLEY_QUOTA_BYTES)"],
  ["tenant", "tasks", "the caller's tenant has reached the maximum of 50 unfinished tasks (PARLEY_QUOTA_TASKS)"],
  ["tenant", "bytes", "the caller's tenant has reached the maximum of 60000 bytes in unfinished tasks (PARLEY_QUOTA_BYTES)"],
  ["principal", "stored", "the caller has reached the maximum of 5000 bytes in tasks, finished ones included (PARLEY_QUOTA_STORED)"],
  ["tenant", "stored", "the caller's tenant has reached the maximum of 70000 bytes in tasks, finished ones included (PARLEY_QUOTA_STORED)"],
])("a caller over the quota of a %s in %s learns this, the setting, and when to retry", (of, over, message) => {
  const error = quotaExceeded(
    { over, of },
    {
      principal: { tasks: 3, bytes: 4_000, stored: 5_000 },
      tenant: { tasks: 50, bytes: 60_000, stored: 70_000 },
    },
  );
  expect(error).toMatchObject({ name: "ParleyError", code: "QUOTA_EXCEEDED", message });
  expect(error.data).toStrictEqual({ retryAfterMs: 10_000 });
});

const GIGABYTE = 1_000_000_000;
const set: TaskQuotas = {
  principal: { tasks: 3, bytes: 4, stored: 1_000 * GIGABYTE },
  tenant: { tasks: 30, bytes: 40, stored: 10_000 * GIGABYTE },
};

/** How much is used of a gigabyte, when each of so many shares has taken what it can. Redis takes `cost` bytes for each byte that is counted. */
function usedBy(shares: number, cost: number): number {
  const kept = Array.from({ length: shares }, () => 0);
  const used = () => kept.reduce((sum, each) => sum + each * cost, 0);
  const step = GIGABYTE / 10_000;
  for (let hasGrown = true; hasGrown;) {
    hasGrown = false;
    for (let i = 0; i < shares; i += 1) {
      const { stored = 0 } = quotasIn(set, { tenant: "acme" }, { free: Math.max(0, GIGABYTE - used()), all: GIGABYTE }).tenant;
      if ((kept[i] ?? 0) + step > stored) continue;
      kept[i] = (kept[i] ?? 0) + step;
      hasGrown = true;
    }
  }
  return used() / GIGABYTE;
}

test.each([
  [1, 1, 0.83],
  [1, 1.7, 0.87],
  [2, 1.7, 0.91],
  [4, 1.7, 0.94],
  [6, 1.7, 0.95],
])(
  "%d shares that take what they can of the store's memory, at %s bytes for each that is counted, leave new calls of others room",
  (shares, cost, most) => {
    const used = usedBy(shares, cost);
    expect(used).toBeLessThanOrEqual(most);
    expect(used).toBeGreaterThan(0.8);
  },
);

test("a tenant divides what it may keep; callers without one are shares of their own; without a limit of memory the settings alone count", () => {
  const room = { free: GIGABYTE / 2, all: GIGABYTE };
  expect(quotasIn(set, { tenant: "acme" }, room)).toEqual({
    principal: { tasks: 3, bytes: 4, stored: 7 * GIGABYTE },
    tenant: { tasks: 30, bytes: 40, stored: 7 * GIGABYTE },
  });
  expect(quotasIn(set, { tenant: "default" }, room)).toEqual({ principal: { ...set.principal, stored: 7 * GIGABYTE }, tenant: set.tenant });
  expect(quotasIn({ ...set, principal: { tasks: 3, bytes: 4, stored: 5 } }, { tenant: "default" }, room).principal.stored).toBe(5);
  expect(quotasIn(set, { tenant: "acme" }, undefined)).toBe(set);
});

test("a caller that has its part of the memory is told so, and not to ask for a larger setting", () => {
  const inRoom = quotasIn(set, { tenant: "acme" }, { free: 100, all: 1_000 });
  const { message } = quotaExceeded({ over: "stored", of: "tenant" }, inRoom, set);
  expect(message).toBe(
    "the caller's tenant has reached the maximum of 280 bytes in tasks, finished ones included (its part of the memory of Redis, which is filling up)",
  );
});
