/** Lists of keys and grants: what somebody has written into a name or an address must not reach the terminal as a command. */
import { createKeys } from "@parley/redis";
import { afterEach, beforeEach, expect, test } from "vitest";
import { parley } from "../../../test/support/parley.ts";
import { openTestRedis, type TestRedis } from "../../../test/support/redis.ts";

/** Clears the screen (C0 and C1), and reverses what follows. */
const HOSTILE = "evil\u001b[2J\u009b2J\u202e";
let opened: TestRedis;
beforeEach(() => {
  opened = openTestRedis();
});
afterEach(() => opened.close());

async function listed(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await parley(args, { env: { REDIS_URL: opened.url, PARLEY_PREFIX: opened.prefix } });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toContain("evil");
  // oxlint-disable-next-line no-control-regex -- control characters are what must not be printed
  expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/);
  return stdout;
}

test("a list of keys has no control characters, and as JSON it has them escaped", async () => {
  const record = { digest: "d", name: HOSTILE, tenant: HOSTILE, scopes: [HOSTILE], createdAtMs: 0 };
  await opened.redis.hset(createKeys(opened.prefix).apiKeys, "k1", JSON.stringify(record));
  expect(await listed("keys", "list")).toMatch(/^k1 {2}evil/);
  expect(JSON.parse(await listed("keys", "list", "--json"))).toMatchObject({ id: "k1", name: HOSTILE, tenant: HOSTILE, scopes: [HOSTILE] });
});

test("a list of grants has no control characters, and as JSON it has them escaped", async () => {
  const keys = createKeys(opened.prefix);
  const about = { principal: HOSTILE, tenant: HOSTILE, upstream: HOSTILE, provider: HOSTILE, scopes: [HOSTILE] };
  await opened.redis.zadd(keys.granted(0), Date.now() + 60_000, "owner");
  await opened.redis.zadd(keys.grants("owner"), Date.now() + 60_000, "g1");
  await opened.redis.hset(keys.grant("owner", "g1"), { about: JSON.stringify(about), consent: "c", kept_at_ms: 0, used_at_ms: 0 });
  expect(await listed("grants", "list")).toMatch(/^g1 {2}evil/);
  expect(JSON.parse(await listed("grants", "list", "--json"))).toMatchObject({ id: "g1", ...about });
});
