/** Keys of tenants: created once, found by word, wrapped anew, replaced, erased; and tasks whose key is unavailable. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { aLife, anAsk, GRACE_MS, HOUR_MS, LEASE_MS } from "../../../test/contract/builders.ts";
import { ParleyError } from "@parley/core";
import { aContentKey } from "../../../test/contract/content-keys.ts";
import { type OpenRedis, openRedis } from "../../../test/contract/open-redis.ts";
import { openTestRedis, type TestRedis } from "../../../test/support/redis.ts";
import { until } from "../../../test/support/until.ts";
import { createKeys, sealWordOf } from "../keys.ts";
import { loadScripts } from "../scripts/load-scripts.ts";
import { createDataKeys } from "./data-keys.ts";
import { fixedKeyRing, type KeyRing } from "./key-ring.ts";

const begin = { run: 1, token: "token", leaseMs: LEASE_MS };
const wordOf = async ({ ids }: OpenRedis, tenant?: string) => sealWordOf(await ids.taskId(tenant)) ?? "";

/** All processes of one deployment, which leaves nothing behind. */
function deployment() {
  const opened: OpenRedis[] = [];
  return {
    async join(settings: Parameters<typeof openRedis>[0]): Promise<OpenRedis> {
      const prefix = opened[0]?.prefix;
      const member = await openRedis({ ...settings, ...(prefix !== undefined && { prefix }) });
      opened.push(member);
      return member;
    },
    async close() {
      for (const member of opened) await member.close();
    },
  };
}

describe("one process's view of data keys", () => {
  const START_MS = 1_700_000_000_000;
  /** sha256 of "parley tenant acme", as Redis holds it. */
  const ACME = "IdvpxmIfb0fVJzvtD_p23t";
  let redis: TestRedis;
  /** By this process's own clock, and by Redis'. */
  let processMs: number;
  let nowMs: number;
  let hgets: { readonly mock: { readonly calls: unknown[][] } };
  const logged: unknown[][] = [];
  const contentKey = aContentKey();
  const hash = () => `${redis.prefix}:content`;

  beforeEach(() => {
    redis = openTestRedis();
    processMs = 1_000;
    nowMs = START_MS;
    logged.length = 0;
    vi.spyOn(performance, "now").mockImplementation(() => processMs);
    hgets = vi.spyOn(redis.redis, "hget");
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    await redis.close();
  });

  const at =
    (level: string) =>
    (...line: unknown[]) =>
      void logged.push([level, ...line]);
  const log = { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
  const open = ({ ring = fixedKeyRing(contentKey), epochMs = HOUR_MS }: { ring?: KeyRing; epochMs?: number } = {}) =>
    createDataKeys({
      redis: redis.redis,
      hashKey: hash(),
      ring,
      now: () => nowMs,
      epochMs,
      acknowledge: <T>(write: Promise<T>) => write,
      log,
    });
  const looks = () => hgets.mock.calls.length;
  const fields = () => redis.redis.hgetall(hash());
  const failing = (error: Error): KeyRing => ({ ...fixedKeyRing(contentKey), wrap: () => Promise.reject(error) });

  test("equals what Redis holds: a tenant's words, and each wrapped key with its age, the ring's key and its tenant", async () => {
    const ring = fixedKeyRing(contentKey);
    const wrap = vi.spyOn(ring, "wrap");
    const keys = open({ ring });
    const word = await keys.current("acme");
    expect(word).toMatch(/^[A-Za-z0-9]{4}$/);
    const wrapped = expect.stringMatching(new RegExp(`^${START_MS} ${await ring.currentKeyId()} ${ACME} [\\w-]{80}$`)) as string;
    expect(await fields()).toStrictEqual({ [`tenant:${ACME}`]: word, [`key:${word}`]: wrapped });
    expect(wrap.mock.calls).toStrictEqual([[expect.any(Buffer), `parley data key ${word} ${ACME}`]]);
    expect(logged).toStrictEqual([["info", { word, keyId: await ring.currentKeyId() }, "data key made"]]);
    expect(keys.key(word)?.symmetricKeySize).toBe(32);
    const other = open();
    expect(await other.find(word)).toBe("open");
    expect(other.key(word)?.export()).toEqual(keys.key(word)?.export());

    await keys.nextEpoch("acme");
    expect((await fields())[`tenant:${ACME}`]).toMatch(new RegExp(`^${word} \\w{4}$`));
  });

  test.each([
    [5_000, 0, 0],
    [5_001, 0, 1],
    [9_999, 0, 1],
    [10_000, 1, 1],
  ])("of a key is used for ten seconds, and refreshed in the background after five: %i ms", async (ageMs, before, beside) => {
    const word = await open().current("acme");
    const keys = open();
    await keys.find(word);
    const known = looks();
    processMs += ageMs;
    const found = keys.find(word);
    expect(typeof found).toBe(before === 0 ? "string" : "object");
    expect(looks() - known).toBe(beside);
    expect(await found).toBe("open");
    // The look, which has completed by now, refreshed it.
    await redis.redis.ping().then(() => turn());
    processMs += beside === 0 ? 0 : 5_000;
    expect(keys.find(word)).toBe("open");
    expect(looks() - known).toBe(beside);
  });

  test("is as old as the question to Redis, however long the reply takes", async () => {
    const word = await open().current("acme");
    const keys = open();
    const [found, current] = [keys.find(word), keys.current("acme")];
    processMs += 8_000;
    expect([await found, await current]).toEqual(["open", word]);
    processMs += 2_001;
    expect([typeof keys.find(word), typeof keys.current("acme")]).toEqual(["object", "object"]);
  });

  test("of a missing key is refreshed every two seconds, and reported each time", async () => {
    const keys = open();
    const [first, second] = [keys.find("abcd"), keys.find("abcd")];
    expect([await first, await second]).toEqual(["key_missing", "key_missing"]);
    expect(looks()).toBe(1);
    processMs += 1_999;
    expect(keys.find("abcd")).toBe("key_missing");
    processMs += 1;
    expect(await keys.find("abcd")).toBe("key_missing");
    expect(looks()).toBe(2);
    expect(keys.key("abcd")).toBeUndefined();
    const line = ["error", { word: "abcd" }, "data key is not in redis, tasks sealed with it wait"];
    expect(logged).toStrictEqual([line, line]);
  });

  test("of an erased key is never refreshed", async () => {
    const keys = open();
    const word = await keys.current("acme");
    await open().erase("acme");
    expect((await fields())[`key:${word}`]).toBe(`erased ${START_MS}`);
    processMs += 10_000;
    expect(await keys.find(word)).toBe("erased");
    expect(keys.key(word)).toBeUndefined();
    const known = looks();
    processMs += 1_000_000;
    expect(keys.find(word)).toBe("erased");
    expect(looks()).toBe(known);
  });

  test.each([
    [5_000, 0, 0],
    [5_001, 0, 1],
    [10_000, 0, 1],
    [10_001, 1, 1],
  ])("of a tenant is used for ten seconds, and refreshed in the background after five: %i ms", async (ageMs, before, beside) => {
    const keys = open();
    const word = await keys.current("acme");
    const known = looks();
    processMs += ageMs;
    const found = keys.current("acme");
    expect(typeof found).toBe(before === 0 ? "string" : "object");
    expect(looks() - known).toBe(beside);
    expect(await found).toBe(word);
    await expect.poll(() => looks() - known).toBe(2 * beside);
  });

  test("of a tenant's current key is outdated a millisecond after the epoch", async () => {
    const keys = open({ epochMs: 60_000 });
    const word = await keys.current("acme");
    nowMs += 60_000;
    expect(keys.current("acme")).toBe(word);
    expect(await open({ epochMs: 60_000 }).current("acme")).toBe(word);
    nowMs += 1;
    const next = await keys.current("acme");
    expect(next).not.toBe(word);
    expect(await open({ epochMs: 60_000 }).current("acme")).toBe(next);
    expect(keys.current("acme")).toBe(next);
    expect((await fields())[`tenant:${ACME}`]).toBe(`${word} ${next}`);
  });

  test("of a tenant is refreshed if its key is known to be erased", async () => {
    const keys = open();
    const word = await keys.current("acme");
    await open().erase("acme");
    processMs += 10_000;
    await keys.find(word);
    const next = await keys.current("acme");
    expect(next).not.toBe(word);
    expect((await fields())[`tenant:${ACME}`]).toBe(`${word} ${next}`);
  });

  test("is fetched once, however many wait for it", async () => {
    const keys = open();
    const [first, second] = [keys.current("acme"), keys.current("acme")];
    const word = await first;
    expect(await second).toBe(word);
    expect(looks()).toBe(1);
    const other = open();
    const found = [other.find(word), other.find(word)].map(async (each) => await each);
    expect(await Promise.all(found)).toEqual(["open", "open"]);
    expect(looks()).toBe(2);
  });

  test("gives way to a key that another process created in the meantime, and leaves none of its own", async () => {
    const other = open();
    const ring = fixedKeyRing(contentKey);
    const late: KeyRing = {
      ...ring,
      wrap: async (...given) => {
        await other.current("acme");
        return await ring.wrap(...given);
      },
    };
    const word = await open({ ring: late }).current("acme");
    expect(other.current("acme")).toBe(word);
    expect(Object.keys(await fields()).toSorted()).toEqual([`key:${word}`, `tenant:${ACME}`]);
  });

  test("changes a field only if it still has the value that was read; an absent one has none", async () => {
    const { swap } = loadScripts(redis.redis, { names: ["swap"], folder: "content/", keyCount: () => 1 });
    const change = (expected: string, value: string) => swap([hash(), "tenant:x", expected, value]);
    expect(await change("abcd", "abcd efgh")).toBe(0);
    expect(await change("", "abcd")).toBe(1);
    expect([await change("", "ijkl"), await change("abcd", "abcd efgh")]).toEqual([0, 1]);
    expect(await fields()).toEqual({ "tenant:x": "abcd efgh" });
    expect(await change("abcd efgh", "")).toBe(1);
    expect(await fields()).toEqual({});
    expect(await change("abcd efgh", "")).toBe(1);
  });

  test("is kept if the change that lists it is sent again, because its reply was lost", async () => {
    const define = redis.redis.defineCommand.bind(redis.redis);
    vi.spyOn(redis.redis, "defineCommand").mockImplementation((name, definition) => {
      define(name, definition);
      const send = Reflect.get(redis.redis, name) as (...given: unknown[]) => Promise<unknown>;
      Reflect.set(redis.redis, name, async (...given: unknown[]) => {
        await send.apply(redis.redis, given);
        return await send.apply(redis.redis, given);
      });
    });
    const word = await open().current("acme");
    expect(Object.keys(await fields()).toSorted()).toEqual([`key:${word}`, `tenant:${ACME}`]);
  });

  test("restores what Redis has lost, unchanged", async () => {
    const keys = open();
    const word = await keys.current("acme");
    const before = await fields();
    await redis.redis.hdel(hash(), `key:${word}`);
    logged.length = 0;
    processMs += 10_000;
    expect(await keys.find(word)).toBe("open");
    expect(await fields()).toEqual(before);
    expect(logged).toStrictEqual([["warn", { word }, "data key was missing in redis and has been put back"]]);
    processMs += 5_000;
    const known = looks();
    expect(keys.find(word)).toBe("open");
    expect(looks()).toBe(known);
  });

  test("that was put back is erased with its tenant even if Redis has also lost the tenant's list", async () => {
    const keys = open();
    const word = await keys.current("acme");
    const other = await keys.current("globex");
    const before = await fields();
    await redis.redis.hdel(hash(), `key:${word}`, `tenant:${ACME}`);
    processMs += 10_000;
    expect(await keys.find(word)).toBe("open");
    expect(await open().erase("acme")).toStrictEqual([word]);
    expect(await fields()).toMatchObject({ [`key:${word}`]: `erased ${START_MS}`, [`key:${other}`]: before[`key:${other}`] });
  });

  test("does not open with another ring, which is reported, and then no new task is sealed", async () => {
    const word = await open().current("acme");
    logged.length = 0;
    const bereft = open({ ring: fixedKeyRing(aContentKey()) });
    expect(await bereft.find(word)).toBe("key_missing");
    const keyId = await fixedKeyRing(contentKey).currentKeyId();
    expect(logged).toStrictEqual([["error", { word, keyId }, "the key ring does not open a data key, tasks sealed with it wait"]]);
    await expect(bereft.current("acme")).rejects.toThrow(new ParleyError("CONTENT_KEY_MISSING", "new tasks cannot be sealed"));
  });

  test.each([new ParleyError("UNAVAILABLE", "the service is away"), new ParleyError("CONTENT_KEY_MISSING", "the service lacks it")])(
    "continues with the last epoch's key while nobody wraps the next one: $message",
    async (error) => {
      const word = await open().current("acme");
      nowMs += HOUR_MS + 1;
      logged.length = 0;
      expect(await open({ ring: failing(error) }).current("acme")).toBe(word);
      expect(logged).toStrictEqual([["warn", { word, problem: error.message }, "no new data key, the last epoch continues"]]);
      await expect(open({ ring: failing(error) }).current("globex")).rejects.toBe(error);
    },
  );

  test("of an epoch that continues is used by calls that do not wait for the next key, until there is one", async () => {
    const word = await open().current("acme");
    nowMs += HOUR_MS + 1;
    const { wrap } = fixedKeyRing(contentKey);
    const held = Promise.withResolvers<void>();
    const away = new ParleyError("UNAVAILABLE", "away");
    const slowly = async (...given: Parameters<typeof wrap>) => await held.promise.then(() => wrap(...given));
    const slow = vi.fn(wrap).mockRejectedValueOnce(away).mockImplementationOnce(slowly);
    const keys = open({ ring: { ...fixedKeyRing(contentKey), wrap: slow } });
    for (let call = 0; call < 4; call += 1) expect(await keys.current("acme")).toBe(word);
    expect(slow).toHaveBeenCalledTimes(2);
    held.resolve();
    await expect.poll(() => keys.current("acme")).not.toBe(word);

    // The next epoch is waited for again.
    nowMs += HOUR_MS + 1;
    const next = await keys.current("acme");
    expect((await fields())[`tenant:${ACME}`]?.split(" ")).toEqual([word, expect.any(String), next]);
  });

  test("of an epoch that continues is given up for an error in the background that is not an outage", async () => {
    await open().current("acme");
    nowMs += HOUR_MS + 1;
    const defect = new Error("a defect");
    const wrap = vi.fn(() => Promise.reject(defect) as never).mockRejectedValueOnce(new ParleyError("UNAVAILABLE", "away") as never);
    const keys = open({ ring: { ...fixedKeyRing(contentKey), wrap } });
    for (let call = 0; call < 2; call += 1) await keys.current("acme");
    const current = async () => await keys.current("acme");
    await expect.poll(() => current().catch((error: unknown) => error)).toBe(defect);
  });

  test.each([new ParleyError("QUOTA_EXCEEDED", "too many"), new Error("a defect")])(
    "continues with no key where something else is wrong: $message",
    async (error) => {
      await open().current("acme");
      nowMs += HOUR_MS + 1;
      await expect(open({ ring: failing(error) }).current("acme")).rejects.toBe(error);
    },
  );

  test("is wrapped anew except for keys that were erased, even in the meantime", async () => {
    const keys = open();
    const word = await keys.current("acme");
    await keys.current("globex");
    await keys.current("gone");
    await keys.erase("gone");
    const [newer, older] = [fixedKeyRing(aContentKey()), fixedKeyRing(contentKey)];
    const contexts: string[] = [];
    const both: KeyRing = {
      ...newer,
      unwrap: async (wrapped, context) => {
        contexts.push(context);
        if (context.includes(word)) await keys.erase("acme");
        return await older.unwrap(wrapped, context);
      },
    };
    expect(await open({ ring: both }).wrapAnew()).toStrictEqual({ wrapped: 1, current: 0, lacking: 0 });
    expect(contexts).toHaveLength(2);
    const records = Object.entries(await fields()).filter(([field]) => field.startsWith("key:"));
    expect(records.filter(([, record]) => record === `erased ${START_MS}`)).toHaveLength(2);
    const [[field, record] = ["", ""]] = records.filter(([, each]) => !each.startsWith("erased"));
    expect(record.split(" ").slice(0, 2)).toEqual([String(START_MS), await newer.currentKeyId()]);
    expect(await open({ ring: newer }).find(field.slice(4))).toBe("open");
  });

  test("is each word's own, however many are read at once, now or in the background", async () => {
    const first = open();
    const [a, b, gone] = [await first.current("a"), await first.current("b"), await first.current("gone")];
    await first.erase("gone");
    const keys = open();
    expect(await Promise.all([keys.find(gone), keys.find(a), keys.find("none"), keys.find(b)])).toEqual([
      "erased",
      "open",
      "key_missing",
      "open",
    ]);
    expect([keys.key("none"), keys.key(gone)]).toEqual([undefined, undefined]);
    const known = looks();
    processMs += 6_000;
    expect([keys.find(a), keys.find(b)]).toEqual(["open", "open"]);
    expect(looks() - known).toBe(2);

    const other = open();
    const [next, same] = await Promise.all([other.current("gone"), other.current("b")]);
    expect([next === gone, same]).toEqual([false, b]);
  });

  test("is unwrapped once by a process, also after an outage, and not again to be wrapped under the same key", async () => {
    await open().current("acme");
    const unwrap = vi.fn(fixedKeyRing(contentKey).unwrap);
    const keys = open({ ring: { ...fixedKeyRing(contentKey), unwrap } });
    const word = await keys.current("acme");
    processMs += 6_000;
    vi.spyOn(redis.redis, "hget").mockRejectedValueOnce(new Error("Command timed out"));
    expect(keys.find(word)).toBe("open");
    await redis.redis.ping().then(() => turn());
    processMs += 5_000;
    expect(await keys.find(word)).toBe("open");
    expect(await keys.wrapAnew()).toStrictEqual({ wrapped: 0, current: 1, lacking: 0 });
    expect(unwrap).toHaveBeenCalledTimes(1);
  });

  test("is dropped once 10,000 others were used since, and looked up again when it is needed", async () => {
    const keys = open();
    const word = await keys.current("acme");
    const others = (from: number, to: number) =>
      Promise.all(Array.from({ length: to - from }, async (_, index) => await keys.find((from + index).toString(36).padStart(4, "-"))));
    await others(0, 9_999);
    expect(keys.key(word)).toBeDefined(); // Used again.
    await others(10_000, 20_000);
    expect(keys.key(word)).toBeUndefined();
    expect(await keys.find(word)).toBe("open");
    expect(keys.key(word)).toBeDefined();
  });

  test("is tried, like thousands of others, in several reads of Redis", async () => {
    const records = Array.from({ length: 2_500 }, (_, n) => [`key:${n}`, `${START_MS} otherkey ${ACME} wrapped`]);
    await redis.redis.hset(hash(), Object.fromEntries(records));
    expect(await open().tryKeys(10_000)).toStrictEqual({ open: 0, lacking: 2_500 });
  });

  test("is tried up to a limit, and erased keys are not", async () => {
    const keys = open();
    for (const tenant of ["a", "b", "c", "gone"]) await keys.current(tenant);
    await keys.erase("gone");
    for (const [most, tried] of [
      [2, 2],
      [3, 3],
      [4, 3],
    ] as const) {
      expect(await keys.tryKeys(most)).toStrictEqual({ open: tried, lacking: 0 });
      expect(await open({ ring: fixedKeyRing(aContentKey()) }).tryKeys(most)).toStrictEqual({ open: 0, lacking: tried });
    }
  });

  test("is not tried any more once its time is up", async () => {
    const keys = open();
    for (const tenant of ["a", "b", "c"]) await keys.current(tenant);
    expect(await keys.tryKeys(10, -1)).toStrictEqual({ open: 0, lacking: 0 });
    const now = vi.spyOn(performance, "now");
    onTestFinished(() => now.mockRestore());
    let atMs = 0;
    // Each reading of the clock is a second later; the first is when it begins.
    now.mockImplementation(() => (atMs += 1_000));
    expect(await keys.tryKeys(10, 2_000)).toStrictEqual({ open: 2, lacking: 0 });
  });

  test("begins a new epoch for the named tenant, or for all", async () => {
    const keys = open();
    const acme = await keys.current("acme");
    await keys.current("globex");
    expect(await keys.nextEpoch("acme")).toBe(1);
    expect(await keys.nextEpoch("nobody")).toBe(0);
    expect(await keys.nextEpoch()).toBe(2);
    const held = await fields();
    expect(held[`tenant:${ACME}`]).toMatch(new RegExp(`^${acme} \\w{4} \\w{4}$`));
    expect(Object.keys(held)).toHaveLength(2 + 5);
  });

  test("no longer has dropped words, and has those that were added in the meantime", async () => {
    const keys = open();
    const first = await keys.current("acme");
    await keys.nextEpoch("acme");
    const words = await keys.erase("acme");
    expect(words).toStrictEqual((await fields())[`tenant:${ACME}`]?.split(" "));
    expect(words[0]).toBe(first);
    expect(await keys.erase("nobody")).toStrictEqual([]);
    const next = await keys.current("acme");
    await keys.drop("acme", words);
    expect((await fields())[`tenant:${ACME}`]).toBe(next);
    const known = looks();
    await keys.drop("acme", words);
    expect(looks()).toBe(known + 1);
    // A list that another process changes between the read and the change is read again.
    const hget = redis.redis.hget.bind(redis.redis);
    vi.spyOn(redis.redis, "hget").mockImplementationOnce((async (key: string, field: string) => {
      const before = await hget(key, field);
      await redis.redis.hset(hash(), `tenant:${ACME}`, `${next} wxyz`);
      return before;
    }) as never);
    await keys.drop("acme", [next]);
    expect((await fields())[`tenant:${ACME}`]).toBe("wxyz");
    await redis.redis.hset(hash(), `tenant:${ACME}`, "one two three");
    await keys.drop("acme", ["two"]);
    expect((await fields())[`tenant:${ACME}`]).toBe("one three");
  });

  test("is empty for a tenant whose words were all dropped, and the next key is its first", async () => {
    const keys = open();
    await keys.current("acme");
    await keys.drop("acme", await keys.erase("acme"));
    expect((await fields())[`tenant:${ACME}`]).toBeUndefined();
    const next = await keys.current("acme");
    expect((await fields())[`tenant:${ACME}`]).toBe(next);
  });
});

describe("data keys", () => {
  let deployed: ReturnType<typeof deployment>;
  let now: ReturnType<typeof vi.spyOn> | undefined;
  beforeEach(() => {
    deployed = deployment();
  });
  afterEach(async () => {
    now?.mockRestore();
    now = undefined;
    await deployed.close();
  });

  /** Makes everything that this process knows of Redis too old. */
  function laterBy(ms: number): void {
    now?.mockRestore();
    const real = performance.now.bind(performance);
    now = vi.spyOn(performance, "now").mockImplementation(() => real() + ms);
  }

  const key = ({ prefix }: OpenRedis) => createKeys(prefix).content;

  test("are one per tenant, even if two processes create them at once, and are wrapped in Redis", async () => {
    const contentKeys = aContentKey();
    const [one, other] = [await deployed.join({ contentKeys }), await deployed.join({ contentKeys })];
    const drawn = await Promise.all([one, other, one, other].flatMap((each) => ["acme", "globex"].map((tenant) => wordOf(each, tenant))));
    const [acme = "", globex = ""] = drawn;
    expect(acme).not.toBe(globex);
    expect(new Set(drawn)).toEqual(new Set([acme, globex]));
    // "default" is the tenant of ids requested without one, as the test setup does.
    const fields = await one.redis.hgetall(key(one));
    expect(Object.keys(fields).filter((field) => field.startsWith("tenant:"))).toHaveLength(3);
    expect(Object.keys(fields).filter((field) => field.startsWith("key:"))).toHaveLength(3);
    expect(JSON.stringify(fields)).not.toContain("acme");
  });

  test("are replaced by age: new tasks use the next one, waiting tasks keep theirs", async () => {
    const contentKeys = aContentKey();
    const [day, hour] = [await deployed.join({ contentKeys }), await deployed.join({ contentKeys, contentEpochMs: 1 })];
    const waiting = await aLife(day.store, day.newTaskId).parked([anAsk("size")]);
    await until(async () => (await wordOf(hour)) !== sealWordOf(waiting));
    expect(await hour.store.load(waiting)).toMatchObject({ asks: [{ key: "size" }] });
    expect(await aLife(hour.store).answer(waiting, "size", "4")).toMatchObject({ receipt: "accepted" });
  });

  test("are replaced on command, for one tenant or for all, and other processes notice within ten seconds of use", async () => {
    const contentKeys = aContentKey();
    const [operator, server] = [await deployed.join({ contentKeys }), await deployed.join({ contentKeys })];
    const before = [await wordOf(server, "acme"), await wordOf(server, "globex")];

    expect(await operator.content.keys?.nextEpoch("acme")).toBe(1);
    expect(await operator.content.keys?.nextEpoch("nobody")).toBe(0);
    expect(await wordOf(server, "acme")).toBe(before[0]);
    laterBy(11_000);
    expect(await wordOf(server, "acme")).not.toBe(before[0]);
    expect(await wordOf(server, "globex")).toBe(before[1]);

    expect(await operator.content.keys?.nextEpoch()).toBe(3);
    laterBy(22_000);
    expect(await wordOf(server, "globex")).not.toBe(before[1]);
  });

  test("are wrapped anew while tasks are parked, after which the ring's old key is no longer needed", async () => {
    const [older, newer] = [aContentKey(), aContentKey()];
    const first = await deployed.join({ contentKeys: older });
    const waiting = await aLife(first.store, first.newTaskId).parked([anAsk("size")]);
    const both = await deployed.join({ contentKeys: `${newer},${older}` });
    expect(await both.content.keys?.wrapAnew()).toEqual({ wrapped: 1, current: 0, lacking: 0 });
    expect(await both.content.keys?.wrapAnew()).toEqual({ wrapped: 0, current: 1, lacking: 0 });

    const last = await deployed.join({ contentKeys: newer });
    expect(await last.store.load(waiting)).toMatchObject({ asks: [{ key: "size" }] });
    // The first has read the key before, and keeps it in memory.
    expect(await aLife(first.store).answer(waiting, "size", "4")).toMatchObject({ receipt: "accepted" });
    expect(await aLife(last.store).answer(waiting, "size", "4")).toMatchObject({ receipt: "duplicate" });
  });

  test("are found if the ring's key is replaced between reading the wrapped key and reading the ring", async () => {
    const [older, newer] = [aContentKey(), aContentKey()];
    const first = await deployed.join({ contentKeys: older });
    const word = await wordOf(first, "acme");
    const both = await deployed.join({ contentKeys: `${newer},${older}` });
    const last = fixedKeyRing(newer);
    const ring: KeyRing = {
      ...last,
      unwrap: async (wrapped, context) => {
        await both.content.keys?.wrapAnew();
        return await last.unwrap(wrapped, context);
      },
    };
    const acknowledge = <T>(write: Promise<T>) => write;
    const log = { debug() {}, info() {}, warn() {}, error() {} };
    const keys = createDataKeys({ redis: first.redis, hashKey: key(first), ring, now: Date.now, epochMs: HOUR_MS, acknowledge, log });
    expect(await keys.find(word)).toBe("open");
  });

  test("whose wrapping key the ring lacks are left as they are, and counted; no new task uses them", async () => {
    const first = await deployed.join({ contentKeys: aContentKey() });
    await wordOf(first, "acme");
    const before = await first.redis.hgetall(key(first));
    const other = await deployed.join({ contentKeys: aContentKey(), drawsIds: false });
    await expect(other.ids.taskId("acme")).rejects.toMatchObject({ code: "CONTENT_KEY_MISSING" });
    expect(await other.content.keys?.wrapAnew()).toEqual({ wrapped: 0, current: 0, lacking: 2 });
    expect(await first.redis.hgetall(key(first))).toEqual(before);
    expect(await wordOf(other, "globex")).toMatch(/^\w{4}$/);
  });

  test("that are missing from the ring harm no task: it cannot be read or run, and continues when the key is back", async () => {
    const folder = await mkdtemp(join(tmpdir(), "parley-ring-"));
    const contentRing = join(folder, "ring");
    const [theirs, ours] = [aContentKey(), aContentKey()];
    const whole = await deployed.join({ contentKeys: theirs });
    const waiting = await aLife(whole.store, whole.newTaskId).parked([anAsk("size")]);
    const fresh = await aLife(whole.store, whole.newTaskId).create();
    const plain = await deployed.join({});
    await writeFile(contentRing, ours);
    const bereft = await deployed.join({ contentRing, drawsIds: false });

    const before = await Promise.all(keysOfTask(whole, waiting).map((each) => whole.redis.dumpBuffer(each)));
    for (const { store } of [plain, bereft]) {
      expect(await store.load(waiting)).toMatchObject({ status: "input_required", asks: [], unreadable: "key_missing" });
      expect(await store.begin({ ...begin, taskId: fresh, nowMs: Date.now() })).toEqual({ type: "refused", reason: "key_missing" });
      expect(await store.summaries([waiting])).toMatchObject([{ id: waiting, status: "input_required" }]);
      const answer = { taskId: waiting, key: "size", digest: "digest-of-size", answer: { action: "decline" }, nowMs: Date.now() } as const;
      await expect(store.answer({ ...answer, graceMs: GRACE_MS })).rejects.toMatchObject({ code: "CONTENT_KEY_MISSING" });
    }
    expect(await Promise.all(keysOfTask(whole, waiting).map((each) => whole.redis.dumpBuffer(each)))).toEqual(before);
    expect(bereft.logged.map(({ message }) => message)).toContain("the key ring does not open a data key, tasks sealed with it wait");

    // Delayed, the task does not block others; an answer makes it due as usual.
    const nowMs = Date.now() + HOUR_MS;
    await bereft.store.postpone({ taskId: fresh, nowMs, dueAtMs: nowMs + 15_000 });
    const overdue = async (atMs: number) =>
      (await whole.store.overdue({ partition: 0, nowMs: atMs, limit: 100 })).map(({ taskId }) => taskId);
    expect(await overdue(nowMs)).not.toContain(fresh);
    expect(await overdue(nowMs + 15_000)).toContain(fresh);

    await writeFile(contentRing, `${ours}\n${theirs}`);
    laterBy(3_000);
    expect(await bereft.store.load(waiting)).toMatchObject({ asks: [{ key: "size" }] });
    expect(await bereft.store.begin({ ...begin, taskId: fresh, nowMs: Date.now() })).toMatchObject({ type: "begun" });
    await rm(folder, { recursive: true });
  });

  test("that were erased leave nothing to read: the tenant's tasks can only be ended, and those of others are unchanged", async () => {
    const contentKeys = aContentKey();
    const [operator, worker] = [await deployed.join({ contentKeys }), await deployed.join({ contentKeys })];
    const [acme, globex] = [await operator.ids.taskId("acme"), await operator.ids.taskId("globex")];
    const done = await operator.ids.taskId("acme");
    for (const taskId of [acme, globex, done]) {
      const life = aLife(operator.store, () => taskId);
      await life.create();
      const token = await life.begin({ taskId, run: 1 });
      if (taskId === done) await life.finish(taskId, token);
      else await life.park(taskId, token, [anAsk("size")]);
      expect(await worker.store.load(taskId)).not.toHaveProperty("unreadable");
    }

    const unreadable = { asks: [], unreadable: "erased" };
    // Another process knows the key for some seconds more, and the command waits for that.
    const forget = async (ms: number) => {
      expect(await operator.store.load(acme)).toMatchObject(unreadable);
      expect(await worker.store.load(acme)).not.toHaveProperty("unreadable");
      expect(await worker.store.overdue({ partition: 0, nowMs: Date.now(), limit: 100 })).toEqual([]);
      laterBy(ms);
    };
    const erasing = operator.content.keys?.erase("acme", () => Promise.reject(new Error("interrupted")));
    await expect(erasing).rejects.toThrow("interrupted");
    expect(await operator.content.keys?.erase("acme", forget)).toEqual({ keys: 1, waiting: 1 });
    expect(await operator.content.keys?.erase("acme", forget)).toEqual({ keys: 0, waiting: 0 });
    expect(await worker.store.load(acme)).toMatchObject({ status: "input_required", ...unreadable });
    expect(await worker.store.load(done)).toMatchObject({ status: "completed", ...unreadable });
    expect(await worker.store.load(globex)).toMatchObject({ asks: [{ key: "size" }] });

    const due = await worker.store.overdue({ partition: 0, nowMs: worker.now(), limit: 100 });
    expect(due).toEqual([{ taskId: acme, run: 2 }]);
    const began = { taskId: acme, run: 2, token: "token", nowMs: Date.now(), leaseMs: LEASE_MS };
    expect(await worker.store.begin(began)).toMatchObject({ type: "unreadable", reason: "erased", task: { id: acme } });
    const outcome = { type: "error", error: { code: -32603, message: "erased" } } as const;
    expect(await worker.store.finish({ taskId: acme, token: "token", nowMs: Date.now(), entries: [], outcome })).toBe("finished");
    expect(await worker.store.load(acme)).toMatchObject({ status: "failed", ...unreadable });
    expect(await worker.store.summaries([acme])).toMatchObject([{ status: "failed" }]);

    // The tenant may come back, with a key of its own.
    const anew = await operator.ids.taskId("acme");
    expect(sealWordOf(anew)).not.toBe(sealWordOf(acme));
    expect(await aLife(worker.store, () => anew).create()).toBe(anew);
  });

  test("that were erased are neither wrapped anew nor restored", async () => {
    const [older, newer] = [aContentKey(), aContentKey()];
    const [operator, server] = [
      await deployed.join({ contentKeys: `${newer},${older}` }),
      await deployed.join({ contentKeys: `${older},${newer}` }),
    ];
    const word = await wordOf(server, "acme");
    await operator.content.keys?.erase("acme", async () => undefined);
    await operator.content.keys?.wrapAnew();
    laterBy(61_000);
    expect(await wordOf(server, "acme")).not.toBe(word);
    expect(await operator.redis.hget(key(operator), `key:${word}`)).toMatch(/^erased \d+$/);
  });

  test("that Redis lost are restored by any process that still has them", async () => {
    const contentKeys = aContentKey();
    const [one, other] = [await deployed.join({ contentKeys }), await deployed.join({ contentKeys, drawsIds: false })];
    const waiting = await aLife(one.store, one.newTaskId).parked([anAsk("size")]);
    await one.redis.hdel(key(one), `key:${sealWordOf(waiting)}`);
    expect(await other.store.load(waiting)).toMatchObject({ unreadable: "key_missing" });
    laterBy(11_000);
    await one.store.load(waiting);
    await until(async () => (await one.redis.hexists(key(one), `key:${sealWordOf(waiting)}`)) === 1);
    laterBy(14_000);
    expect(await other.store.load(waiting)).toMatchObject({ asks: [{ key: "size" }] });
  });

  test("do not open in the place of another tenant's", async () => {
    const contentKeys = aContentKey();
    const one = await deployed.join({ contentKeys });
    const [acme, globex] = [await one.ids.taskId("acme"), await one.ids.taskId("globex")];
    await aLife(one.store, () => acme).create();
    const record = (await one.redis.hget(key(one), `key:${sealWordOf(globex)}`)) ?? "";
    await one.redis.hset(key(one), `key:${sealWordOf(acme)}`, record);
    const other = await deployed.join({ contentKeys });
    expect(await other.store.load(acme)).toMatchObject({ unreadable: "key_missing" });
  });

  const keysOfTask = ({ prefix }: OpenRedis, taskId: string) => (createKeys(prefix).task(taskId) ?? []).slice(0, 2);
});
