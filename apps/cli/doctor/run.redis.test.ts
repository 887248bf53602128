/** What the doctor says of a real Redis and the settings with which it is used. */
import { Redis } from "ioredis";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type SharedRedis, startOwnRedis } from "../../../test/support/shared-redis.ts";
import { checkUp } from "./run.ts";

let server: SharedRedis;
let admin: Redis;
beforeAll(async () => {
  server = await startOwnRedis();
  admin = new Redis(server.url);
});
afterAll(async () => {
  admin.disconnect();
  await server.close();
});

const ofRedis = async (environment: NodeJS.ProcessEnv = {}) =>
  (await checkUp({ REDIS_URL: server.url, PARLEY_TOOLS: "./nowhere.ts", ...environment })).filter(({ about }) => about === "Redis");

test("a Redis without maxmemory is told in one sentence, and one with it is not", async () => {
  expect(await ofRedis()).toEqual([
    { level: "fine", about: "Redis", says: expect.any(String) },
    {
      level: "advice",
      about: "Redis",
      says: "no maxmemory: nothing warns, and no new call is refused, before it has used up the memory of its machine",
      cure: expect.stringContaining("CONFIG SET maxmemory"),
    },
  ]);
  await admin.config("SET", "maxmemory", "200mb");
  expect(await ofRedis()).toHaveLength(1);
});

test.each([
  ["true", "advice"],
  ["yes", "advice"],
  ["false", "problem"],
  ["", "problem"],
  [undefined, "problem"],
] as const)("a Redis that evicts is with PARLEY_ALLOW_EVICTION=%s taken as %s, as processes take it", async (allowed, level) => {
  await admin.config("SET", "maxmemory-policy", "volatile-lru");
  const findings = await ofRedis(allowed === undefined ? {} : { PARLEY_ALLOW_EVICTION: allowed });
  await admin.config("SET", "maxmemory-policy", "noeviction");
  expect(findings).toContainEqual(
    expect.objectContaining({ level, says: "maxmemory-policy volatile-lru may drop tasks that wait for an answer" }),
  );
});
