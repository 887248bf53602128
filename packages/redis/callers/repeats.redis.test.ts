/** Requests with an idempotency key, in Redis and in core's in-memory adapter. */
import { REPEATS_KEPT_MS, REPEATS_LEASE_MS, REPEATS_MAX, type Repeats } from "@parley/core";
import { createMemoryRepeats } from "@parley/core/memory";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openTestRedis, type TestRedis } from "../../../test/support/redis.ts";
import { createKeys } from "../keys.ts";
import { createRepeats } from "./repeats.ts";

let redis: TestRedis;

beforeAll(() => {
  redis = openTestRedis();
});

afterAll(() => redis.close());

const START_MS = 1_700_000_000_000;
const newCaller = () => crypto.randomUUID();
const of = (caller: string, more: { key?: string; fingerprint?: string; nowMs?: number } = {}) => ({
  caller,
  key: "k",
  fingerprint: "f",
  nowMs: START_MS,
  ...more,
});

describe.each([
  ["in Redis", () => createRepeats({ redis: redis.redis, keys: createKeys(redis.prefix) })],
  ["in memory", () => createMemoryRepeats()],
] as [string, () => Repeats][])("a request with an idempotency key, %s", (_where, open) => {
  test("is begun once, and has its reply once it has ended", async () => {
    const repeats = open();
    const request = of(newCaller());
    const began = await Promise.all([repeats.begin(request), repeats.begin(request), repeats.begin(request)]);
    expect(began.map(({ type }) => type).toSorted()).toEqual(["begun", "underway", "underway"]);
    await repeats.end(request, '{"ä": "two words"}');
    expect(await repeats.begin(request)).toEqual({ type: "ended", reply: '{"ä": "two words"}' });
    expect(await repeats.begin({ ...request, nowMs: START_MS + REPEATS_KEPT_MS - 1 })).toMatchObject({ type: "ended" });
    expect(await repeats.begin({ ...request, nowMs: START_MS + REPEATS_KEPT_MS })).toEqual({ type: "begun" });
  });

  test("keeps its key from any other request of the caller, and from no other caller's", async () => {
    const repeats = open();
    const caller = newCaller();
    await repeats.begin(of(caller));
    expect(await repeats.begin(of(caller, { fingerprint: "g" }))).toEqual({ type: "other" });
    expect(await repeats.begin(of(newCaller(), { fingerprint: "g" }))).toEqual({ type: "begun" });
    await repeats.end(of(caller, { fingerprint: "g" }), "of another request");
    await repeats.end(of(caller), "mine");
    expect(await repeats.begin(of(caller))).toEqual({ type: "ended", reply: "mine" });
    expect(await repeats.begin(of(caller, { fingerprint: "g" }))).toEqual({ type: "other" });
  });

  test("may be done again if it was forgotten, or if the process that did it has died", async () => {
    const repeats = open();
    const caller = newCaller();
    await repeats.begin(of(caller));
    await repeats.end(of(caller));
    expect(await repeats.begin(of(caller))).toEqual({ type: "begun" });
    expect(await repeats.begin(of(caller, { nowMs: START_MS + REPEATS_LEASE_MS - 1 }))).toEqual({ type: "underway" });
    expect(await repeats.begin(of(caller, { nowMs: START_MS + REPEATS_LEASE_MS }))).toEqual({ type: "begun" });
  });

  test("is remembered among the newest thousand of its caller", async () => {
    const repeats = open();
    const caller = newCaller();
    for (let index = 0; index <= REPEATS_MAX; index += 1) {
      const request = of(caller, { key: `k${index}`, nowMs: START_MS + index });
      await repeats.begin(request);
      await repeats.end(request, "done");
    }
    const nowMs = START_MS + REPEATS_MAX + 1;
    expect(await repeats.begin(of(caller, { key: "k1", nowMs }))).toMatchObject({ type: "ended" });
    expect(await repeats.begin(of(caller, { key: `k${REPEATS_MAX}`, nowMs }))).toMatchObject({ type: "ended" });
    expect(await repeats.begin(of(caller, { key: "k0", nowMs }))).toEqual({ type: "begun" });
  });
});
