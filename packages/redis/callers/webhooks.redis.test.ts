import { afterEach, beforeEach, expect, test } from "vitest";
import { type OpenRedis, openRedis } from "../../../test/contract/open-redis.ts";
import { DEAD_LETTERS_MAX } from "./webhooks.ts";

let redis: OpenRedis;
beforeEach(async () => void (redis = await openRedis()));
afterEach(() => redis.close());

test("each webhook has a state of its own, and none at first", async () => {
  await redis.webhooks.save("one", { place: "1.1-0" });
  expect(await redis.webhooks.load("one")).toEqual({ place: "1.1-0" });
  expect(await redis.webhooks.load("two")).toEqual({});
});

test("as many as the limit are kept, the newest", async () => {
  const { bury, dead } = redis.webhooks;
  // oxlint-disable-next-line no-await-in-loop -- in their order
  for (let at = 0; at < DEAD_LETTERS_MAX; at++) await bury("one", { at });
  expect(await dead("one")).toHaveLength(DEAD_LETTERS_MAX);
  await bury("one", { at: "newest" });
  const kept = await dead("one");
  expect([kept.length, kept[0], kept.at(-1)]).toEqual([DEAD_LETTERS_MAX, { at: "newest" }, { at: 1 }]);
  expect(await dead("two")).toEqual([]);
});
