import { expect, test } from "vitest";
import { openTestRedis } from "../../../test/support/redis.ts";
import { createKeys } from "../keys.ts";
import { createServing, SERVED_FOR_MS } from "./serving.ts";

test("a worker's announcement is valid for half a minute", async () => {
  const { redis, prefix, close } = openTestRedis();
  let nowMs = 1_000_000;
  const keys = createKeys(prefix);
  const serving = createServing({ redis, keys, now: () => nowMs });
  expect(await serving.isServed("ship", "1")).toBe(false);
  await serving.announce([
    { tool: "ship", version: "1" },
    { tool: "ship", version: "2.0" },
  ]);
  await serving.announce([]);
  nowMs += SERVED_FOR_MS - 1;
  expect(await serving.isServed("ship", "1")).toBe(true);
  expect(await serving.isServed("ship", "3")).toBe(false);
  expect(await serving.list()).toEqual([
    { tool: "ship", version: "1" },
    { tool: "ship", version: "2.0" },
  ]);
  await serving.announce([{ tool: "ship", version: "2.0" }]);
  nowMs += 1;
  expect(await serving.isServed("ship", "1")).toBe(false);
  expect(await serving.list()).toEqual([{ tool: "ship", version: "2.0" }]);
  await serving.announce([{ tool: "ship", version: "2.0" }]);
  expect(await redis.zcard(keys.serving)).toBe(1);
  expect(await redis.pttl(keys.serving)).toBeGreaterThan(SERVED_FOR_MS);
  await close();
});

test("a worker whose clock is behind does not shorten another's announcement", async () => {
  const { redis, prefix, close } = openTestRedis();
  let nowMs = 1_000_000;
  const serving = createServing({ redis, keys: createKeys(prefix), now: () => nowMs });
  await serving.announce([{ tool: "ship", version: "1" }]);
  nowMs -= 20_000;
  await serving.announce([{ tool: "ship", version: "1" }]);
  nowMs += 20_000 + SERVED_FOR_MS - 1;
  expect(await serving.isServed("ship", "1")).toBe(true);
  await close();
});
