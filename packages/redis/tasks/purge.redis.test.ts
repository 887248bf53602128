/** What `parley purge` deletes, and what it leaves alone. */
import { Redis } from "ioredis";
import type { Call, Outcome } from "@parley/core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { aCall, aLife, anAsk, HOUR_MS, newTaskId } from "../../../test/contract/builders.ts";
import { keysOf, type OpenRedis, openRedis } from "../../../test/contract/open-redis.ts";
import { type SharedRedis, startOwnRedis } from "../../../test/support/shared-redis.ts";
import type { FinishedTask, PurgeFilter } from "./purge.ts";

const roomy = { tasks: 1_000_000, bytes: 1e12, stored: 1e12 };

let server: SharedRedis;
let look: Redis;
let opened: OpenRedis;
/** For all tests, by Redis' clock. */
let nowMs: number;

beforeAll(async () => {
  server = await startOwnRedis();
  look = new Redis(server.url);
});
afterAll(async () => {
  look.disconnect();
  await server.close();
});
beforeEach(async () => {
  opened = await openRedis({ url: server.url });
  nowMs = opened.now();
});
afterEach(() => opened.close());

async function finished(call: Partial<Call> = {}, { text = "done", endedAtMs = nowMs } = {}): Promise<string> {
  const { store } = opened;
  const taskId = newTaskId();
  await store.create({
    taskId,
    call: aCall({ createdAtMs: endedAtMs, ...call }),
    graceMs: 1_000,
    quotas: { principal: roomy, tenant: roomy },
  });
  const token = await aLife(store).begin({ taskId, run: 1 }, endedAtMs);
  await store.record({ taskId, token, nowMs: endedAtMs, leaseMs: 10_000, entries: [], asks: [anAsk("size")] });
  const thread = { thread: { comments: 0 }, history: [{ what: "asked", atMs: endedAtMs }] } as const;
  await store.writeThread({ taskId, key: "size", digest: "digest-of-size", ...thread, nowMs: endedAtMs });
  await store.report({ taskId, token, nowMs: endedAtMs, items: [{ type: "progress", progress: 1 }] });
  const outcome: Outcome = { type: "result", result: { content: [{ type: "text", text }] } };
  await store.finish({ taskId, token, nowMs: endedAtMs, entries: [], outcome });
  return taskId;
}

async function purge(filter: Partial<PurgeFilter> = {}, { isDry = false } = {}): Promise<readonly FinishedTask[]> {
  const found: FinishedTask[] = [];
  for await (const batch of opened.purge({ endedBeforeMs: nowMs, ...filter }, { isDry })) found.push(...batch);
  return found;
}

const isThere = async (taskId: string): Promise<boolean> => (await opened.store.load(taskId)) !== undefined;
/** Which of the tasks are still there, in order. */
const left = async (tasks: Readonly<Record<string, string>>): Promise<string[]> => {
  const found = await Promise.all(Object.entries(tasks).map(async ([name, id]) => ((await isThere(id)) ? [name] : [])));
  return found.flat();
};

describe("a purge", () => {
  test("deletes all keys of a task that is over, and a dry run none of them", async () => {
    const taskId = await finished({ principal: "ada", tenant: "acme" }, { text: "x".repeat(5_000) });
    const counted = [{ tool: "tool book_dinner", principal: "ada", tenant: "acme", bytes: expect.any(Number) }];
    const dry = await purge({}, { isDry: true });
    expect(dry).toEqual(counted);
    expect(dry[0]?.bytes).toBeGreaterThan(5_000);
    expect(dry[0]?.bytes).toBeLessThan(6_000);
    expect((await keysOf(look, opened.prefix)).filter((key) => key.includes(taskId))).toHaveLength(3);
    expect(await purge()).toEqual(counted);
    expect((await keysOf(look, opened.prefix)).filter((key) => key.includes(taskId))).toEqual([]);
    expect(await purge()).toEqual([]);
  });

  test("deletes what a task keeps with its content, shows its size, and gives all of it back", async () => {
    const keeping = { principal: "eve", tenant: "kept", keepsContent: true, arguments: { text: "x".repeat(5_000) } } as const;
    const taskId = await finished(keeping);
    const kept = async () => Number((await look.hget(`${opened.prefix}:{p0}:kept:principal:eve`, "total")) ?? 0);
    expect(await kept()).toBeGreaterThan(5_500);
    expect((await purge({}, { isDry: true }))[0]?.bytes).toBeGreaterThan(5_000);
    expect(await purge({ tenant: "kept" })).toHaveLength(1);
    expect((await keysOf(look, opened.prefix)).filter((key) => key.includes(taskId))).toEqual([]);
    expect(await kept()).toBe(0);
  });

  test("never deletes a task that waits, runs, or has to be compensated", async () => {
    const life = aLife(opened.store);
    const waits = await life.parked([anAsk("size")]);
    const runs = await life.create();
    await life.begin({ taskId: runs, run: 1 });
    const owes = await life.create({ compensates: true });
    await opened.store.finish({
      taskId: owes,
      token: await life.begin({ taskId: owes, run: 1 }),
      nowMs,
      entries: [],
      outcome: { type: "error", error: { code: -32603, message: "no table" } },
      owes: "failed",
    });
    expect(await purge({ endedBeforeMs: nowMs + HOUR_MS })).toEqual([]);
    expect(await left({ waits, runs, owes })).toEqual(["waits", "runs", "owes"]);
  });

  test.each<[what: string, filter: Partial<PurgeFilter>, deleted: string]>([
    ["of a tool, and not of the prompt of its name", { kind: "tool", name: "report" }, "aTool"],
    ["of a prompt, and not of the tool of its name", { kind: "prompt", name: "report" }, "aPrompt"],
    ["of a caller, and of no other", { principal: "bob" }, "ofBob"],
    ["of a tenant, and not of a caller of its name", { tenant: "bob" }, "inBob"],
    ["without a tenant", { tenant: "default", principal: "carol" }, "atHome"],
    ["of a caller in one of two tenants", { tenant: "acme", principal: "carol" }, "atAcme"],
    ["that are large", { bytesMin: 3_000 }, "large"],
  ])("deletes only tasks %s", async (_what, filter, deleted) => {
    const tasks = {
      aTool: await finished({ name: "report" }),
      aPrompt: await finished({ kind: "prompt", name: "report" }),
      ofBob: await finished({ principal: "bob" }),
      inBob: await finished({ principal: "ada", tenant: "bob" }),
      atHome: await finished({ principal: "carol" }),
      atAcme: await finished({ principal: "carol", tenant: "acme" }),
      large: await finished({}, { text: "x".repeat(3_000) }),
    };
    expect(await purge(filter)).toHaveLength(1);
    expect(await left(tasks)).toEqual(Object.keys(tasks).filter((name) => name !== deleted));
  });

  test("deletes only tasks that ended before the time that is given, to the millisecond", async () => {
    const at = nowMs - 1_000;
    const tasks = { before: await finished({}, { endedAtMs: at }), after: await finished({}, { endedAtMs: at + 1 }) };
    expect(await purge({ endedBeforeMs: at })).toHaveLength(1);
    expect(await left(tasks)).toEqual(["after"]);
  });

  test("gives back what quotas count, of the right caller and tenant, and of nothing twice", async () => {
    const kept = async (of: string) => Number((await look.hget(`${opened.prefix}:{p0}:kept:${of}`, "total")) ?? 0);
    const bob = { principal: "bob", tenant: "acme" };
    await finished({ principal: "ada", tenant: "acme" }, { text: "x".repeat(2_000) });
    const before = await kept("tenant:acme");
    expect(before).toBeGreaterThan(2_500);
    await finished(bob, { text: "y".repeat(1_000) });
    expect(await purge({ principal: "bob" })).toHaveLength(1);
    expect(await purge({ principal: "bob" })).toHaveLength(0);
    expect(await kept("principal:bob")).toBe(0);
    expect(await kept("principal:ada")).toBe(before);
    expect(await kept("tenant:acme")).toBe(before);
    await finished(bob);
    expect(await kept("principal:bob")).toBeGreaterThan(500);
    expect(await purge()).toHaveLength(2);
    expect([await kept("principal:ada"), await kept("principal:bob"), await kept("tenant:acme")]).toEqual([0, 0, 0]);
  });

  test("that is interrupted is continued by the next one", async () => {
    for (let i = 0; i < 120; i += 1) await finished();
    const first = opened.purge({ endedBeforeMs: nowMs }, { isDry: false });
    const { value } = await first.next();
    await first.return(undefined);
    const deleted = (value as readonly FinishedTask[]).length;
    expect(deleted).toBeLessThanOrEqual(50);
    expect(await purge()).toHaveLength(120 - deleted);
  });

  test("of a full Redis frees it", async () => {
    for (let i = 0; i < 100; i += 1) await finished({ principal: "ada" }, { text: "x".repeat(10_000) });
    const used = Number(/^used_memory:(\d+)/m.exec(await look.info("memory"))?.[1]);
    try {
      await look.config("SET", "maxmemory", String(used - 200_000));
      await expect(look.set("full", "1", "PX", 1)).rejects.toThrow("OOM");
      expect(await purge()).toHaveLength(100);
      expect(await look.hget(`${opened.prefix}:{p0}:kept:principal:ada`, "total")).toBe("0");
      expect(await look.set("full", "1", "PX", 1)).toBe("OK");
    } finally {
      await look.config("SET", "maxmemory", "0");
    }
  });

  test("finds the tasks of its own deployment alone, whatever its prefix", async () => {
    const other = await openRedis({ url: server.url });
    try {
      const taskId = await finished();
      for await (const batch of other.purge({ endedBeforeMs: nowMs }, { isDry: false })) expect(batch).toEqual([]);
      expect(await isThere(taskId)).toBe(true);
    } finally {
      await other.close();
    }
  });
});
