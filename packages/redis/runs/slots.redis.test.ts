/** How long the keys of a tool's limit are kept; test/contract/slots-contract.ts tests the limit itself. */
import { type KeptLimit, SLOT_PATIENCE_MS, SLOT_RETRY_MAX_MS } from "@parley/core";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openTestRedis, type TestRedis } from "../../../test/support/redis.ts";
import { createKeys } from "../keys.ts";
import { createSlots } from "./slots.ts";

const DAY_MS = 86_400_000;
/** Until every waiting task has come or counts as absent. */
const KEPT_MS = 2 * (SLOT_RETRY_MAX_MS + SLOT_PATIENCE_MS);
const NOW_MS = 1_700_000_000_000;

let opened: TestRedis;
beforeEach(() => void (opened = openTestRedis()));
afterEach(() => opened.close());

const slots = () => createSlots({ redis: opened.redis, keys: createKeys(opened.prefix) });
const asked = (limit: KeptLimit, taskId: string) => ({
  limit,
  taskId,
  token: "token",
  nextRun: 2,
  createdAtMs: NOW_MS,
  isNew: true,
  nowMs: NOW_MS,
  leaseMs: 7_000,
});

/** The lifetimes of what holds slots, of the line, and of the facts. */
async function lifetimes(limit: KeptLimit): Promise<number[]> {
  return await Promise.all(
    createKeys(opened.prefix)
      .limit(limit.id)
      .map((key) => opened.redis.pttl(key)),
  );
}

function expectAbout(actualMs: number | undefined, ms: number): void {
  expect(actualMs).toBeLessThanOrEqual(ms);
  expect(actualMs).toBeGreaterThan(ms - 30_000);
}

test("the keys of a limit are kept until every waiting task counts as absent, and longer while a run renews its slot", async () => {
  const limit: KeptLimit = { id: "one", concurrency: 1 };
  await slots().take(asked(limit, "0-1"));
  await slots().take(asked(limit, "0-2"));
  for (const left of await lifetimes(limit)) expectAbout(left, KEPT_MS);

  const [held, line] = createKeys(opened.prefix).limit(limit.id);
  for (const key of [held, line]) await opened.redis.pexpire(key, 1_000);
  await slots().keep(asked(limit, "0-1"));
  const [heldMs, lineMs] = await lifetimes(limit);
  expectAbout(heldMs, KEPT_MS);
  expectAbout(lineMs, KEPT_MS);
});

test("the bucket of a rate is kept until it would be full, also after a slot of the limit was given back", async () => {
  const limit: KeptLimit = { id: "daily", concurrency: 1, rate: { count: 3, windowMs: DAY_MS } };
  await slots().take(asked(limit, "0-1"));
  await slots().keep(asked(limit, "0-1"));
  await slots().give(asked(limit, "0-1"));
  const [, , factsMs] = await lifetimes(limit);
  expectAbout(factsMs, DAY_MS);
});

test("however many tasks have had a slot, whether they gave it back or died with it, nothing is left of them", async () => {
  const limit: KeptLimit = { id: "busy", concurrency: 2 };
  for (let task = 0; task < 40; task += 1) {
    const at = { ...asked(limit, `0-${task}`), nowMs: NOW_MS + task * 10_000 };
    expect(await slots().take(at)).toEqual({ type: "taken" });
    // The lease of every other one ends before the next comes.
    if (task % 2 === 0) await slots().give(at);
  }
  await slots().give({ ...asked(limit, "0-39"), nowMs: NOW_MS + 400_000 });
  expect(
    await Promise.all(
      createKeys(opened.prefix)
        .limit(limit.id)
        .map((key) => opened.redis.exists(key)),
    ),
  ).toEqual([0, 0, 0]);
});
