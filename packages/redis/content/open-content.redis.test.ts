/** What happens to waiting tasks when the keys of their tenant are erased. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { aContentKey } from "../../../test/contract/content-keys.ts";
import { openTestRedis, type TestRedis } from "../../../test/support/redis.ts";
import { createKeys } from "../keys.ts";
import { plainContent } from "./codec.ts";
import { fixedKeyRing } from "./key-ring.ts";
import { type OpenContent, openContent } from "./open-content.ts";

const NOW_MS = 1_700_000_000_000;
let redis: TestRedis;
beforeEach(() => void (redis = openTestRedis()));
afterEach(() => redis.close());

const open = (ring: OpenContent["ring"]) =>
  openContent({
    ring,
    epochMs: 60_000,
    redis: redis.redis,
    keys: createKeys(redis.prefix),
    partitions: [0, 12],
    now: () => NOW_MS,
    acknowledge: <T>(write: Promise<T>) => write,
    log: { debug() {}, info() {}, warn() {}, error() {} },
  });

test("without a ring content is in the clear, and there are no keys", () => {
  const stored = open(undefined);
  expect(Object.keys(stored)).toEqual(["codec", "digest"]);
  expect(stored.codec).toBe(plainContent);
  const digest = (text: string) => text;
  expect(stored.digest(digest)).toBe(digest);
});

test("an erasure waits until no process has the key, and makes only the tenant's waiting tasks due, in all partitions", async () => {
  const contentKey = aContentKey();
  const { keys, sealWord } = open(fixedKeyRing(contentKey));
  const [first, other] = [await sealWord!("acme"), await sealWord!("globex")];
  await keys!.nextEpoch("acme");
  const last = await open(fixedKeyRing(contentKey)).sealWord!("acme");
  const random = "t".repeat(22);
  const due = (partition: number) => createKeys(redis.prefix).due(partition);
  const later = NOW_MS + 5_000;
  const many = Array.from({ length: 300 }, (_, n) => `0-${first}-${String(n).padStart(22, "0")}`);
  await redis.redis.zadd(due(0), ...many.flatMap((each) => [later, each]));
  await redis.redis.zadd(due(0), later, `0-${other}-${random}`, later, `0-${random}`, NOW_MS - 7, `0-${last}-${random}`);
  await redis.redis.zadd(due(12), later, `12-${last}-${random}`);

  const waits: number[] = [];
  const erased = await keys!.erase("acme", async (ms) => {
    waits.push(ms);
    expect(await redis.redis.zcount(due(0), later, later)).toBe(302);
  });

  expect(erased).toStrictEqual({ keys: 2, waiting: 302 });
  expect(waits).toEqual([11_000]);
  expect(await redis.redis.zrangebyscore(due(0), later, later)).toEqual([`0-${other}-${random}`, `0-${random}`].toSorted());
  expect(await redis.redis.zcount(due(0), NOW_MS, NOW_MS)).toBe(300);
  // What was already due stays due.
  expect(await redis.redis.zscore(due(0), `0-${last}-${random}`)).toBe(String(NOW_MS - 7));
  expect(await redis.redis.zscore(due(12), `12-${last}-${random}`)).toBe(String(NOW_MS));
  expect(await keys!.erase("acme", () => Promise.reject(new Error("nothing to wait for")))).toStrictEqual({ keys: 0, waiting: 0 });
});

test("an erasure makes every waiting task due, however many reads the due set takes", async () => {
  const { keys, sealWord } = open(fixedKeyRing(aContentKey()));
  const word = await sealWord!("acme");
  const due = createKeys(redis.prefix).due(0);
  const later = NOW_MS + 5_000;
  const many = Array.from({ length: 2_500 }, (_, n) => `0-${word}-${String(n).padStart(22, "0")}`);
  await redis.redis.zadd(due, ...many.flatMap((each) => [later, each]));

  const erased = await keys!.erase("acme", async () => undefined);

  // A scan may return a task twice.
  expect(erased.waiting).toBeGreaterThanOrEqual(2_500);
  expect(await redis.redis.zcount(due, NOW_MS, NOW_MS)).toBe(2_500);
});
