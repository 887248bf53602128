import { type Caller, DEFAULT_TENANT, ParleyError } from "@parley/core";
import { Redis } from "ioredis";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type OpenRedis, openRedis } from "../../../test/contract/open-redis.ts";
import { createKeys } from "../keys.ts";
import { createRates } from "./rates.ts";

const PER_SECOND = { calls: 20, reads: 100, answers: 1, sessions: 2 };

function caller(principal: string, tenant = DEFAULT_TENANT): Caller {
  return { principal, tenant, scopes: [], authenticatedBy: "test", names: [], groups: [], roles: [] };
}

describe("rates", () => {
  let opened: OpenRedis;
  let nowMs: number;
  beforeEach(async () => {
    opened = await openRedis();
    nowMs = 1_700_000_000_000;
  });
  afterEach(() => opened.close());

  /** One front end, on a connection of its own. */
  function frontEnd(tenantFactor = 1_000) {
    const redis = new Redis(opened.url);
    const send = vi.spyOn(redis, "sendCommand");
    const rates = createRates({
      redis,
      keys: createKeys(opened.prefix),
      limits: { perSecond: PER_SECOND, tenantFactor },
      now: () => nowMs,
    });
    return {
      ...rates,
      close: () => redis.disconnect(),
      get commands() {
        return send.mock.calls.filter(([{ name }]) => name.startsWith("eval")).length;
      },
    };
  }

  /** How many of this many requests are admitted, one after the other. */
  async function letIn({ take }: Pick<ReturnType<typeof frontEnd>, "take">, who: Caller, what: keyof typeof PER_SECOND, count: number) {
    let taken = 0;
    for (let i = 0; i < count; i += 1) {
      const refused = await take(who, { [what]: 1 }).then(
        () => undefined,
        (error: unknown) => error,
      );
      if (refused === undefined) taken += 1;
      else expect(refused).toMatchObject({ code: "QUOTA_EXCEEDED" });
    }
    return taken;
  }

  test("admit what fills a bucket in five seconds, then as much as the rate allows, and no more", async () => {
    const front = frontEnd();
    const ann = caller("ann");
    expect(await letIn(front, ann, "calls", 200)).toBe(100);
    nowMs += 1_000;
    expect(await letIn(front, ann, "calls", 200)).toBe(20);
    nowMs += 3_600_000;
    expect(await letIn(front, ann, "calls", 200)).toBe(100);
    front.close();
  });

  test("of two callers of one name, in two tenants, are counted apart, at one front end as well", async () => {
    const front = frontEnd();
    const [here, there] = [caller("ann", "acme"), caller("ann", "umbrella")];
    expect(await letIn(front, here, "calls", 200)).toBe(100);
    expect(await letIn(front, there, "calls", 200)).toBe(100);
    expect(await letIn(front, here, "calls", 1)).toBe(0);
    front.close();
  });

  test("say whose they are, how much they admit and when to retry", async () => {
    const front = frontEnd();
    await letIn(front, caller("ann"), "answers", 5);
    const refused = front.take(caller("ann"), { answers: 1 });
    await expect(refused).rejects.toBeInstanceOf(ParleyError);
    await expect(refused).rejects.toMatchObject({
      message: "the caller may have 1 answers per second (PARLEY_QUOTA_ANSWERS)",
      data: { retryAfterMs: 1_000 },
    });
    nowMs += 999;
    await expect(front.take(caller("ann"), { answers: 1 })).rejects.toMatchObject({ data: { retryAfterMs: 1 } });
    nowMs += 1;
    await front.take(caller("ann"), { answers: 1 });
    front.close();
  });

  test("count each kind, and each caller, separately", async () => {
    const front = frontEnd();
    await letIn(front, caller("ann"), "answers", 6);
    await front.take(caller("ann"), { calls: 1 });
    await front.take(caller("bob"), { answers: 1 });
    front.close();
  });

  test("count over all front ends, except for one portion each", async () => {
    const fronts = [frontEnd(), frontEnd(), frontEnd()];
    const taken = await Promise.all(fronts.map((front) => letIn(front, caller("ann"), "reads", 1_000)));
    const all = taken.reduce((sum, each) => sum + each, 0);
    expect(all).toBeGreaterThanOrEqual(500 - 3 * 10);
    expect(all).toBeLessThanOrEqual(500);
    for (const front of fronts) front.close();
  });

  test("count all callers of a tenant together", async () => {
    const front = frontEnd(2);
    const people = ["ann", "bob", "cat", "dan"].map((name) => caller(name, "acme"));
    const taken: number[] = [];
    for (const person of people) taken.push(await letIn(front, person, "answers", 10));
    expect(taken).toEqual([5, 5, 0, 0]);
    await expect(front.take(people[3]!, { answers: 1 })).rejects.toMatchObject({
      message: "the caller's tenant may have 2 answers per second (PARLEY_QUOTA_ANSWERS)",
    });
    expect(await letIn(front, caller("eve", "umbrella"), "answers", 10)).toBe(5);
    front.close();
  });

  test("take nothing from a caller that its tenant's rate refuses", async () => {
    const front = frontEnd(2);
    const [ann, bob, cat] = ["ann", "bob", "cat"].map((name) => caller(name, "acme")) as [Caller, Caller, Caller];
    expect([await letIn(front, ann, "answers", 5), await letIn(front, bob, "answers", 3)]).toEqual([5, 3]);
    await expect(front.take(cat, { answers: 3 })).rejects.toMatchObject({ message: expect.stringContaining("tenant") });
    const bucket = createKeys(opened.prefix).rate("tenant:acme", "principal:cat");
    expect(await opened.redis.hgetall(bucket)).toEqual({});
    // Two of the tenant's are left, and the refusal of three does not refuse them.
    expect(await letIn(front, cat, "answers", 3)).toBe(2);
    front.close();
  });

  test("take requests of several kinds together, or none of them", async () => {
    const front = frontEnd();
    const ann = caller("ann");
    await letIn(front, ann, "answers", 5);
    await expect(front.take(ann, { calls: 40, answers: 1 })).rejects.toMatchObject({
      message: "the caller may have 1 answers per second (PARLEY_QUOTA_ANSWERS)",
    });
    expect(await letIn(front, ann, "calls", 101)).toBe(100);
    nowMs += 1_000;
    await front.take(ann, { calls: 20, answers: 1 });
    expect([await letIn(front, ann, "calls", 1), await letIn(front, ann, "answers", 1)]).toEqual([0, 0]);
    front.close();
  });

  test("take all that a bucket can hold for more at once, and leave nothing", async () => {
    const front = frontEnd();
    await front.take(caller("ann"), { answers: 6 });
    expect(await letIn(front, caller("ann"), "answers", 1)).toBe(0);
    front.close();
  });

  test("cost a busy caller a round trip per portion, and one that floods none until its wait is over", async () => {
    const front = frontEnd();
    await letIn(front, caller("ann"), "reads", 500);
    expect(front.commands).toBeLessThanOrEqual(51);
    await letIn(front, caller("ann"), "reads", 1);
    const before = front.commands;
    expect(await letIn(front, caller("ann"), "reads", 1_000)).toBe(0);
    expect(front.commands).toBe(before);
    front.close();
  });

  test("share one portion among simultaneous requests, and lose none of them", async () => {
    const front = frontEnd();
    await front.take(caller("bob"), { reads: 1 });
    const before = front.commands;
    await Promise.all(Array.from({ length: 10 }, () => front.take(caller("ann"), { reads: 1 })));
    expect(front.commands).toBe(before + 1);
    const outcomes = await Promise.allSettled(Array.from({ length: 600 }, () => front.take(caller("ann"), { reads: 1 })));
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(490);
    front.close();
  });

  test("take several at once, or none of them", async () => {
    const front = frontEnd();
    await front.take(caller("ann"), { answers: 3 });
    await expect(front.take(caller("ann"), { answers: 3 })).rejects.toMatchObject({ code: "QUOTA_EXCEEDED" });
    nowMs += 1_000;
    await front.take(caller("ann"), { answers: 3 });
    front.close();
  });

  test("drop what a caller has not used within ten seconds", async () => {
    const front = frontEnd();
    await front.take(caller("ann"), { reads: 1 });
    const before = front.commands;
    nowMs += 9_999;
    await front.take(caller("ann"), { reads: 1 });
    expect(front.commands).toBe(before);
    nowMs += 1;
    await front.take(caller("ann"), { reads: 1 });
    expect(front.commands).toBe(before + 1);
    front.close();
  });

  test("say of several kinds that are used up when the last of them is there again", async () => {
    const fronts = [frontEnd(), frontEnd(), frontEnd()];
    await fronts[0]!.take(caller("ann"), { calls: 100, answers: 5, sessions: 10 });
    const wait = { data: { retryAfterMs: 1_000 } };
    await expect(fronts[1]!.take(caller("ann"), { answers: 1, sessions: 1 })).rejects.toMatchObject(wait);
    await expect(fronts[2]!.take(caller("ann"), { calls: 1, answers: 1 })).rejects.toMatchObject(wait);
    for (const front of fronts) front.close();
  });

  test("remember portions of ten thousand callers, those that were used last", async () => {
    const front = frontEnd();
    const read = (name: string) => front.take(caller(name), { reads: 1 });
    const asks = async (name: string) => {
      const before = front.commands;
      await read(name);
      return front.commands > before;
    };
    const others = Array.from({ length: 9_999 }, (_, n) => `caller ${n}`);
    await Promise.all(["ann", ...others].map(read));
    expect(await asks("ann")).toBe(false);
    await read("one more");
    expect([await asks("ann"), await asks("caller 1"), await asks("caller 0")]).toEqual([false, false, true]);
    front.close();
  });

  test("are no more wrong with clocks that go back", async () => {
    const front = frontEnd();
    await letIn(front, caller("ann"), "answers", 5);
    nowMs -= 60_000;
    const other = frontEnd();
    expect(await letIn(other, caller("ann"), "answers", 5)).toBe(0);
    front.close();
    other.close();
  });

  test("neither lose nor gain by a clock that is behind", async () => {
    const [front, behind] = [frontEnd(), frontEnd()];
    expect(await letIn(front, caller("ann"), "answers", 2)).toBe(2);
    nowMs -= 60_000;
    expect(await letIn(behind, caller("ann"), "answers", 5)).toBe(3);
    nowMs += 60_000;
    expect(await letIn(front, caller("ann"), "answers", 5)).toBe(0);
    front.close();
    behind.close();
  });

  test("are counted for as long as the slowest bucket of a caller takes to fill", async () => {
    const redis = new Redis(opened.url);
    const perSecond = { ...PER_SECOND, answers: 0.01 };
    const rates = createRates({ redis, keys: createKeys(opened.prefix), limits: { perSecond, tenantFactor: 1 }, now: () => nowMs });
    await rates.take(caller("ann"), { answers: 1 });
    await rates.take(caller("ann"), { calls: 1 });
    const keys = await opened.redis.keys(`${opened.prefix}:rate:*`);
    expect(keys).toHaveLength(2);
    for (const key of keys) expect(await opened.redis.pttl(key)).toBeGreaterThan(90_000);
    redis.disconnect();
  });

  test("leave no permanent keys", async () => {
    const front = frontEnd();
    await front.take(caller("x".repeat(10_000)), { calls: 1 });
    const keys = await opened.redis.keys(`${opened.prefix}:rate:*`);
    expect(keys).toHaveLength(2);
    for (const key of keys) {
      expect(key.length).toBeLessThan(opened.prefix.length + 60);
      expect(await opened.redis.pttl(key)).toBeGreaterThan(0);
      expect(await opened.redis.pttl(key)).toBeLessThanOrEqual(5_000);
    }
    front.close();
  });
});
