import { afterAll, beforeAll, expect, test } from "vitest";
import { openTestRedis, type TestRedis } from "../../../test/support/redis.ts";
import { createKeys } from "../keys.ts";
import { createMishaps } from "./mishaps.ts";

let redis: TestRedis;

beforeAll(() => {
  redis = openTestRedis();
});

afterAll(() => redis.close());

test("the last mishap of each kind and tool is kept for a month, for every process", async () => {
  const keys = createKeys(redis.prefix);
  const [noting, reading] = [createMishaps({ redis: redis.redis, keys }), createMishaps({ redis: redis.redis, keys })];
  expect(await reading.read()).toEqual([]);
  const last = [
    { kind: "given_up", tool: "book", atMs: 3 },
    { kind: "given_up", tool: "pay", atMs: 2 },
    { kind: "poisoned", tool: "book", atMs: 1 },
    { kind: "poisoned", tool: "a b", atMs: 4 },
  ] as const;
  for (const mishap of [{ ...last[0], atMs: 1 }, ...last]) await noting.note(mishap);
  expect((await reading.read()).toSorted((a, b) => a.kind.localeCompare(b.kind) || b.tool.localeCompare(a.tool))).toEqual([
    last[1],
    last[0],
    last[2],
    last[3],
  ]);
  const daysLeft = (await redis.redis.pttl(keys.mishaps)) / 86_400_000;
  expect(Math.round(daysLeft)).toBe(30);
});
