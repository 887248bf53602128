/** What all parts of a backend share: connections, settings, and their end. Each part has tests of its own. */
import { setTimeout as wait } from "node:timers/promises";
import type { AuditFact } from "@parley/core";
import type { Telemetry } from "bullmq";
import { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { aCall, aLife, anAsk, GRACE_MS, newTaskId } from "../../test/contract/builders.ts";
import { type OpenRedis, openRedis } from "../../test/contract/open-redis.ts";
import { type SharedRedis, startOwnRedis } from "../../test/support/shared-redis.ts";
import { until } from "../../test/support/until.ts";
import { connectRedis } from "./backend.ts";
import { createKeys } from "./keys.ts";
import type { WaitingTask } from "./tasks/unfinished-tasks.ts";

const ADA = { principal: "ada", tenant: "acme", scopes: [], authenticatedBy: "test", names: [], groups: [], roles: [] };
const FACT: AuditFact = { action: "call", principal: "ada" };

describe("a backend", () => {
  let server: SharedRedis;
  let admin: Redis;
  let opened: OpenRedis | undefined;
  beforeAll(async () => {
    server = await startOwnRedis();
    admin = new Redis(server.url);
  });
  afterEach(async () => {
    await opened?.close();
    opened = undefined;
  });
  afterAll(async () => {
    admin.disconnect();
    await server.close();
  });

  const open = async (settings: Parameters<typeof openRedis>[0] = {}) => (opened = await openRedis({ url: server.url, ...settings }));

  /** The connections of backends, by their names. Those that BullMQ's workers block on have names of BullMQ's. */
  async function connected(): Promise<Readonly<Record<string, number>>> {
    const names = String(await admin.client("LIST")).matchAll(/ name=(parley-(?!embedded|look)\S+)/g);
    const counts: Record<string, number> = {};
    for (const [, name = ""] of names) counts[name] = (counts[name] ?? 0) + 1;
    return counts;
  }

  /** Redis does not reply while that happens. */
  async function hanging(happens: () => Promise<void>): Promise<void> {
    const [pid] = /(?<=process_id:)\d+/.exec(await admin.info("server")) ?? [];
    process.kill(Number(pid), "SIGSTOP");
    try {
      await happens();
    } finally {
      process.kill(Number(pid), "SIGCONT");
    }
  }

  test("opens a connection for commands and one for subscriptions, one more for all of its consumers, and closes them all", async () => {
    const { consumeRuns, close } = await open();
    opened = undefined;
    const plain = { "parley-commands": 1, "parley-subscriptions": 1 };
    await expect.poll(connected).toEqual(plain);
    const consumer = { concurrency: 2, run: async () => undefined, sweep: async () => undefined };
    await consumeRuns(consumer);
    await consumeRuns(consumer);
    await until(async () => Object.keys(await connected()).length === 3);
    expect(await connected()).toEqual({ ...plain, "parley-workers": 1 });
    await close();
    await until(async () => Object.keys(await connected()).length === 0);
  });

  test("leaves no connection if it cannot be opened", async () => {
    await admin.call("ACL", "SETUSER", "timeless", "on", ">secret", "~*", "&*", "+@all", "-time");
    const url = new URL(server.url);
    [url.username, url.password] = ["timeless", "secret"];
    await expect(open({ url: url.href })).rejects.toThrow("NOPERM");
    await until(async () => Object.keys(await connected()).length === 0);
  });

  test("waits at its end for the runs that are at work", async () => {
    const { consumeRuns, queue, close } = await open();
    opened = undefined;
    const work = Promise.withResolvers<void>();
    const run = vi.fn(() => work.promise);
    await consumeRuns({ concurrency: 1, run, sweep: async () => undefined });
    await queue.add({ taskId: newTaskId(), run: 1 });
    await expect.poll(() => run).toHaveBeenCalledTimes(1);
    const closed = close().then(() => "closed");
    expect(await Promise.race([closed, wait(200, "waiting")])).toBe("waiting");
    work.resolve();
    expect(await closed).toBe("closed");
  });

  test("traces its queues and its consumers, if BullMQ's own interface for that is given", async () => {
    const spans: string[] = [];
    const span = { setSpanOnContext: () => ({}), setAttribute() {}, setAttributes() {}, addEvent() {}, recordException() {}, end() {} };
    const contextManager = {
      with: (_context: unknown, work: () => unknown) => work(),
      active: () => ({}),
      getMetadata: () => "",
      fromMetadata: () => ({}),
    };
    const tracer = {
      startSpan(name: string) {
        spans.push(name);
        return span;
      },
    };
    const telemetry = { tracer, contextManager } as unknown as Telemetry;
    const { prefix } = await open();
    const log = { debug() {}, info() {}, warn() {}, error() {} };
    const traced = await connectRedis({ url: server.url, prefix }, { log, telemetry });
    const run = vi.fn(async () => undefined);
    await traced.consumeRuns({ concurrency: 1, run, sweep: async () => undefined });
    await traced.queue.add({ taskId: newTaskId(), run: 1 });
    await expect.poll(() => run).toHaveBeenCalledTimes(1);
    await traced.close();
    expect(spans).toEqual(expect.arrayContaining([expect.stringMatching(/^add /), expect.stringMatching(/^process /)]));
  });

  test("stops its looks at clocks and at workers when it is closed", async () => {
    const [set, clear] = [vi.spyOn(globalThis, "setInterval"), vi.spyOn(globalThis, "clearInterval")];
    const { queue, close } = await open();
    opened = undefined;
    // Workers are followed from the first request for one.
    queue.lane?.({ taskId: newTaskId(), cause: "answered" });
    await close();
    const cleared = new Set<unknown>(clear.mock.calls.map(([timer]) => timer));
    const timers = set.mock.results.map(({ value }) => value as unknown);
    expect(timers.length).toBeGreaterThanOrEqual(2);
    expect(timers.filter((timer) => !cleared.has(timer))).toEqual([]);
    vi.restoreAllMocks();
  });

  test("replies while Redis refuses writes, and is not writable", async () => {
    const { ping, writable, prefix } = await open();
    await writable();
    const leftMs = await admin.pttl(createKeys(prefix).ready);
    expect(leftMs).toBeGreaterThan(5_000);
    expect(leftMs).toBeLessThanOrEqual(10_000);
    await admin.config("SET", "min-replicas-to-write", 1);
    try {
      await expect(writable()).rejects.toMatchObject({ code: "UNAVAILABLE" });
      await ping();
    } finally {
      await admin.config("SET", "min-replicas-to-write", 0);
    }
  });

  test("gives a Redis that does not reply as long as its settings say", async () => {
    const { ping, writable } = await open({ commandTimeoutMs: 500 });
    await hanging(async () => {
      await expect(ping()).rejects.toMatchObject({ code: "UNAVAILABLE" });
      await expect(writable()).rejects.toMatchObject({ code: "UNAVAILABLE" });
    });
    await until(async () => await ping().then(() => true));
  });

  test("connects again to a Redis that hangs, for commands and for subscriptions", async () => {
    const { wakeUps, ping } = await open({ commandTimeoutMs: 500 });
    const ids = async () => {
      const own = String(await admin.client("LIST")).matchAll(/^id=(\d+) .* name=(parley-(?:commands|subscriptions)) /gm);
      return Object.fromEntries([...own].map(([, id, name]) => [name, id]));
    };
    const before = await ids();
    await hanging(async () => {
      await expect(Promise.all([ping(), wakeUps.watch(newTaskId(), () => undefined)])).rejects.toMatchObject({ code: "UNAVAILABLE" });
      await expect(ping()).rejects.toMatchObject({ code: "UNAVAILABLE" });
    });
    await until(async () => await ping().then(() => true));
    await until(async () => {
      const now = await ids();
      return ["parley-commands", "parley-subscriptions"].every((name) => now[name] !== undefined && now[name] !== before[name]);
    });
  });

  test("numbers its partitions from 0, and spreads new tasks over all of them", async () => {
    const { partitions, ids } = await open({ partitions: 3 });
    expect(partitions).toEqual([0, 1, 2]);
    const drawn = new Set<number>();
    for (let count = 0; count < 100; count += 1) drawn.add(Number((await ids.taskId()).split("-")[0]));
    expect(drawn).toEqual(new Set(partitions));
  });

  test("keeps as many audit records as its settings say, of its own and of its tasks", async () => {
    // Redis drops whole blocks of a hundred.
    const { audit, store, redis, prefix } = await open({ auditLengthMax: 100 });
    const key = createKeys(prefix).audit(0);
    const count = Array.from({ length: 300 });
    await Promise.all(count.map(() => audit.note(FACT)));
    expect(await redis.xlen(key)).toBeLessThan(200);
    await Promise.all(
      count.map(() => store.create({ taskId: newTaskId(), call: aCall({ hidden: true }), graceMs: GRACE_MS, audit: FACT })),
    );
    expect(await redis.xlen(key)).toBeLessThan(200);
    expect(await audit.read(0, 599, 10)).toMatchObject([{ number: 600 }]);
  });

  test("lists waiting tasks with what they call", async () => {
    const { store, waiting } = await open();
    const taskId = await aLife(store).parked([anAsk("size")]);
    const found: unknown[] = [];
    for await (const each of waiting(0)) found.push(...each);
    expect(found).toEqual([{ taskId, call: expect.objectContaining({ kind: "tool", name: "book_dinner" }) }]);
  });

  test("lists each of many waiting tasks with its version, and nothing else that is in the due set", async () => {
    const { store, waiting, redis, prefix } = await open();
    const taskIds = Array.from({ length: 20 }, newTaskId);
    for (const taskId of taskIds) await store.create({ taskId, call: aCall({ version: "2" }), graceMs: GRACE_MS });
    const [moved = ""] = taskIds;
    const token = await aLife(store).begin({ taskId: moved, run: 1 });
    await store.report({ taskId: moved, token, nowMs: Date.now(), items: [], version: "3" });
    // Those of tasks that are gone, and what no task has written.
    const others = Array.from({ length: 2_000 }, () => [Date.now(), newTaskId()]).flat();
    await redis.zadd(`${prefix}:{p0}:due`, ...others, Date.now(), "no task");
    const found: WaitingTask[] = [];
    for await (const each of waiting(0)) found.push(...each);
    const one = (taskId: string) => ({ taskId, call: { kind: "tool", name: "book_dinner", version: taskId === moved ? "3" : "2" } });
    expect(found.toSorted((a, b) => (a.taskId < b.taskId ? -1 : 1))).toMatchObject(taskIds.toSorted().map(one));
    await redis.zrem(`${prefix}:{p0}:due`, ...others.filter((_, at) => at % 2 === 1), "no task");
  });

  test("shares one secret, API keys, served versions, claims and rates with every process of its prefix", async () => {
    const one = await open();
    const other = await openRedis({ url: server.url, prefix: one.prefix });
    expect([await one.secret.agree("first"), await other.secret.agree("second")]).toEqual(["first", "first"]);
    const key = { id: "AAAAAAAAAAAA", digest: "d", name: "nightly", tenant: "acme", scopes: ["tools"], createdAtMs: 2 };
    await one.apiKeys.add(key);
    expect(await other.apiKeys.list()).toEqual([key]);
    await other.apiKeys.revoke(key.id);
    await one.serving.announce([{ tool: "ship", version: "1" }]);
    expect(await other.serving.list()).toEqual([{ tool: "ship", version: "1" }]);
    expect([await one.claims.take("c", "ann", 10_000), await other.claims.take("c", "bob", 10_000)]).toEqual([true, false]);
    const limits = { perSecond: { calls: 1, reads: 1, answers: 1, sessions: 1 }, tenantFactor: 1 };
    await one.rates(limits).take(ADA, { calls: 5 });
    await expect(other.rates(limits).take(ADA, { calls: 5 })).rejects.toMatchObject({ code: "QUOTA_EXCEEDED" });
    await other.close();
  });
});
