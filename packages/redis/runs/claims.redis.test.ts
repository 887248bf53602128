/** Claims, in Redis and in core's in-memory adapter. */
import { createMemoryClaims } from "@parley/core/memory";
import type { Claims } from "@parley/core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openTestRedis, type TestRedis } from "../../../test/support/redis.ts";
import { until } from "../../../test/support/until.ts";
import { createClaims } from "./claims.ts";
import { createKeys } from "../keys.ts";

let redis: TestRedis;

beforeAll(() => {
  redis = openTestRedis();
});

afterAll(() => redis.close());

describe.each([
  ["in Redis", () => createClaims({ redis: redis.redis, keys: createKeys(redis.prefix) })],
  ["in memory", () => createMemoryClaims({ clock: { now: () => Date.now() } })],
] as [string, () => Claims][])("a claim %s", (_where, open) => {
  test("belongs to one holder, who may take it again, until it is released", async () => {
    const claims = open();
    const name = crypto.randomUUID();
    const took = await Promise.all(["ann", "bob", "eve"].map((holder) => claims.take(name, holder, 10_000)));
    expect(took.filter(Boolean)).toHaveLength(1);
    const winner = ["ann", "bob", "eve"][took.indexOf(true)] ?? "";
    // A command that is sent again because its reply was lost.
    expect(await claims.take(name, winner, 10_000)).toBe(true);
    await claims.release(name, "somebody else");
    expect(await claims.take(name, "somebody else", 10_000)).toBe(false);
    await claims.release(name, winner);
    expect(await claims.take(name, "somebody else", 10_000)).toBe(true);
    expect(await claims.take(crypto.randomUUID(), "ann", 10_000)).toBe(true);
  });

  test("is seen by everybody while it lasts, and no other claim is", async () => {
    const claims = open();
    const [name, other] = [crypto.randomUUID(), crypto.randomUUID()];
    expect(await claims.isTaken(name)).toBe(false);
    await claims.take(name, "ann", 10_000);
    expect(await claims.isTaken(name)).toBe(true);
    expect(await claims.isTaken(other)).toBe(false);
    await claims.release(name, "bob");
    expect(await claims.isTaken(name)).toBe(true);
    await claims.release(name, "ann");
    expect(await claims.isTaken(name)).toBe(false);
  });

  test("expires", async () => {
    const claims = open();
    const name = crypto.randomUUID();
    expect(await claims.take(name, "ann", 30)).toBe(true);
    await until(async () => !(await claims.isTaken(name)));
    await until(async () => await claims.take(name, "bob", 10_000));
  });
});

test("leave no permanent key", async () => {
  const claims = createClaims({ redis: redis.redis, keys: createKeys(redis.prefix) });
  await claims.take("a name that is in no key", "ann", 10_000);
  const keys = (await redis.keys()).filter((key) => key.includes(":claim:"));
  expect(keys.length).toBeGreaterThan(0);
  expect(keys.join()).not.toContain("a name");
  for (const key of keys) expect(await redis.redis.pttl(key)).toBeGreaterThan(0);
});
