/** What operators do with API keys is in the audit of a deployment that keeps one, whether or not their own environment says so. */
import { createKeys } from "@parley/redis";
import { afterEach, beforeEach, expect, test } from "vitest";
import { parley } from "../../../test/support/parley.ts";
import { openTestRedis, type TestRedis } from "../../../test/support/redis.ts";

let opened: TestRedis;
beforeEach(() => {
  opened = openTestRedis();
});
afterEach(() => opened.close());

async function created(name: string, more: Record<string, string> = {}): Promise<string> {
  const env = { REDIS_URL: opened.url, PARLEY_PREFIX: opened.prefix, ...more };
  const { stdout } = await parley(["keys", "create", name, "--json"], { env });
  return (JSON.parse(stdout) as { readonly id: string }).id;
}

async function recorded(): Promise<readonly string[]> {
  const rows = await opened.redis.xrange(createKeys(opened.prefix).audit(0), "-", "+");
  return rows.map(([, fields]) => (JSON.parse(fields.at(-1) ?? "") as { readonly verdict: string }).verdict);
}

test("a key that is created without PARLEY_AUDIT is recorded if the deployment has records, and not otherwise", async () => {
  await created("before");
  expect(await recorded()).toStrictEqual([]);
  const first = await created("first", { PARLEY_AUDIT: "true" });
  const second = await created("second");
  expect(await recorded()).toStrictEqual([`API key ${first} made for first`, `API key ${second} made for second`]);
});
