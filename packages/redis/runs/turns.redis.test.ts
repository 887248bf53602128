/** The order in which a worker takes new tasks of several shares, through store, queue and BullMQ. */
import { shareOf } from "@parley/core";
import { expect, test } from "vitest";
import { aCall, GRACE_MS, LEASE_MS, newTaskId, newToken } from "../../../test/contract/builders.ts";
import { openRedis } from "../../../test/contract/open-redis.ts";
import { until } from "../../../test/support/until.ts";

const ROOMY = { tasks: 1_000_000, bytes: 1_000_000_000 };

/**
 * Creates this many tasks of each tenant, one after the other, and returns the tenants in the order in which a worker
 * takes their tasks.
 */
async function taken(
  created: readonly (readonly [tenant: string, count: number])[],
  { counted = true, weights = new Map<string, number>() } = {},
) {
  const opened = await openRedis({ weights });
  const tenants = new Map<string, string>();
  for (const [tenant, count] of created) {
    for (let task = 0; task < count; task += 1) {
      const taskId = newTaskId();
      const call = aCall({ principal: `u of ${tenant}`, tenant });
      tenants.set(taskId, tenant);
      await Promise.all([
        opened.store.create({ taskId, call, graceMs: GRACE_MS, ...(counted && { quotas: { principal: ROOMY, tenant: ROOMY } }) }),
        opened.queue.add({ taskId, run: 1, cause: "created", ...(counted && { share: shareOf(call) }) }),
      ]);
    }
  }
  const order: string[] = [];
  await opened.consumeRuns({
    concurrency: 1,
    async run({ taskId }) {
      order.push(tenants.get(taskId) ?? "nobody");
      await opened.store.begin({ taskId, run: 1, token: newToken(), nowMs: Date.now(), leaseMs: LEASE_MS });
      await opened.store.cancel({ taskId, nowMs: Date.now(), message: "" });
    },
    sweep: async () => undefined,
  });
  await until(() => order.length === tenants.size);
  await opened.close();
  return order;
}

test("a tenant's few tasks run between those of one that has hundreds waiting, and not after them", async () => {
  const order = await taken([
    ["noisy", 300],
    ["quiet", 3],
  ]);
  expect(order.slice(0, 6).toSorted()).toEqual(["noisy", "noisy", "noisy", "quiet", "quiet", "quiet"]);
});

test("without a share they run in order of arrival", async () => {
  const order = await taken(
    [
      ["noisy", 100],
      ["quiet", 3],
    ],
    { counted: false },
  );
  expect(order.slice(-3)).toEqual(["quiet", "quiet", "quiet"]);
});

test("a tenant with three times the weight gets three turns to one", async () => {
  const order = await taken(
    [
      ["light", 40],
      ["heavy", 40],
    ],
    { weights: new Map([["tenant:heavy", 3]]) },
  );
  expect(order.slice(0, 20).filter((tenant) => tenant === "heavy")).toHaveLength(15);
});
