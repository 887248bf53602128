/** What a task that is over keeps in Redis: which fields, and how many bytes. */
import type { Call, JsonObject, Outcome } from "@parley/core";
import { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { aCall, aLife, anAsk, aStep, HOUR_MS, newTaskId } from "../../../test/contract/builders.ts";
import { keysOf, type OpenRedis, openRedis } from "../../../test/contract/open-redis.ts";
import { until } from "../../../test/support/until.ts";
import { type SharedRedis, startOwnRedis } from "../../../test/support/shared-redis.ts";

let server: SharedRedis;
let look: Redis;
let opened: OpenRedis;

beforeAll(async () => {
  server = await startOwnRedis();
  look = new Redis(server.url);
});
afterAll(async () => {
  look.disconnect();
  await server.close();
});
beforeEach(async () => void (opened = await openRedis({ url: server.url })));
afterEach(() => opened.close());

/** A task that asked once, took a step and returned `text`; the end is `endedAtMs`. */
async function finished(
  text: string,
  args: JsonObject,
  { retentionMs = HOUR_MS, endedAtMs = Date.now(), ...call }: Partial<Call> & { readonly endedAtMs?: number } = {},
): Promise<string> {
  const { store } = opened;
  const life = aLife(store);
  const taskId = await life.parked([anAsk("size")], { arguments: args, retentionMs, ...call });
  await life.answer(taskId, "size", "4");
  const token = await life.begin({ taskId, run: 2 });
  await store.report({ taskId, token, nowMs: endedAtMs, items: [{ type: "progress", progress: 1 }] });
  const outcome: Outcome = { type: "result", result: { content: [{ type: "text", text }] } };
  await store.finish({ taskId, token, nowMs: endedAtMs, entries: [aStep("hold", "held ".repeat(1_000))], outcome });
  return taskId;
}

async function usedMemory(): Promise<number> {
  return Number(/^used_memory:(\d+)/m.exec(await look.info("memory"))?.[1]);
}

describe("a task that is over", () => {
  test("keeps its outcome and a line for each entry, and neither its arguments, nor its answers, nor its steps", async () => {
    const text = "Confirmed for 4";
    const taskId = await finished(text, { secret: "s".repeat(5_000) });
    const [task = "", ...others] = (await keysOf(look, opened.prefix)).filter((key) => key.includes(taskId)).toSorted();
    expect(others.map((key) => key.replace(task, ""))).toEqual([":feed"]);
    const fields = await look.hgetall(task);
    expect(Object.keys(fields).toSorted()).toEqual(["call", "lines", "outcome", "state"]);
    expect(fields["lines"]?.split("\n").map((line) => line.split(" ").at(-1))).toEqual(["ask:size", "step:hold"]);
    expect(JSON.stringify(fields)).not.toContain("sss");
    expect(JSON.stringify(fields)).not.toContain("held");
    expect(await opened.store.load(taskId)).toMatchObject({ outcome: { result: { content: [{ text }] } } });
  });

  test("keeps its feed for five minutes, or for its retention if that is shorter", async () => {
    const endedAtMs = Date.now();
    const expiry = async (taskId: string) => Number(await look.call("PEXPIRETIME", `${opened.prefix}:{p0}:task:${taskId}:feed`));
    expect(await expiry(await finished("long", {}, { endedAtMs }))).toBe(endedAtMs + 5 * 60_000);
    expect(await expiry(await finished("short", {}, { endedAtMs, retentionMs: 60_000 }))).toBe(endedAtMs + 60_000);
  });

  test.each([10, 5_000])("that keeps its content keeps all of it, %i bytes of arguments too, until its retention is over", async (size) => {
    const endedAtMs = Date.now();
    const taskId = await finished("done", { text: "s".repeat(size) }, { endedAtMs, keepsContent: true });
    const keys = (await keysOf(look, opened.prefix)).filter((key) => key.includes(taskId)).toSorted();
    const [task = "", ...others] = keys;
    expect(others.map((key) => key.replace(task, ""))).toEqual([":feed", ":journal"]);
    for (const key of keys) expect(await look.call("PEXPIRETIME", key)).toBe(endedAtMs + HOUR_MS);
    expect(await opened.store.recorded(taskId)).toMatchObject({ task: { call: { arguments: { text: "s".repeat(size) } } } });
  });

  test("that was to keep its content, and was ended by a worker of an older version, is one that kept nothing", async () => {
    const taskId = await finished("done", { text: "x" }, { keepsContent: true });
    const key = `${opened.prefix}:{p0}:task:${taskId}`;
    await look.hset(key, "call", (await look.hget(key, "call"))!.split("\n")[0]!, "lines", "1 0 - - - step:hold");
    await look.del(`${key}:journal`);
    expect(await opened.store.recorded(taskId)).toBeUndefined();
    expect(await opened.store.load(taskId)).toMatchObject({ status: "completed", call: { keepsContent: true } });
    expect(await opened.store.journal(taskId)).toMatchObject([{ key: "step:hold" }]);
  });

  test("keeps the lines of all its asks, and of other entries as many as fit in 4 kB", async () => {
    const { store } = opened;
    const life = aLife(store);
    const taskId = await life.parked(Array.from({ length: 90 }, (_, i) => anAsk(`question-${i}`)));
    for (let i = 0; i < 90; i += 1) await life.answer(taskId, `question-${i}`, "yes");
    const token = await life.begin({ taskId, run: 2 });
    const entries = Array.from({ length: 500 }, (_, i) => aStep(`step-${i}`, "x", i + 1));
    await store.finish({ taskId, token, nowMs: Date.now(), entries, outcome: { type: "result", result: {} } });
    const lines = await store.journal(taskId);
    const ofAsks = lines.filter(({ key }) => key.startsWith("ask:"));
    expect(ofAsks).toHaveLength(90);
    expect(lines.length).toBeGreaterThan(90 + 100);
    expect(lines.length).toBeLessThan(90 + 300);
    for (const i of [0, 89]) expect(await life.answer(taskId, `question-${i}`, "yes")).toEqual({ receipt: "duplicate" });
    expect(await life.answer(taskId, "question-40", "no")).toEqual({ receipt: "late" });
  });

  test("is gone with its retention: however many tasks have ended, nothing is left of them, nor their places in their owner's list", async () => {
    const retentionMs = 200;
    /** What a wave of tasks has left: the bytes of each key, without what Redis allocates besides, and the length of the owner's list. */
    const wave = async () => {
      await Promise.all(
        Array.from({ length: 10 }, async () => {
          for (let i = 0; i < 20; i += 1) await finished("r".repeat(1_000), { text: "a".repeat(1_000) }, { retentionMs });
        }),
      );
      await until(async () => (await keysOf(look, opened.prefix)).every((key) => !key.includes(":task:")));
      const keys = await keysOf(look, opened.prefix);
      const bytes = await Promise.all(keys.map(async (key) => [key, await look.memory("USAGE", key, "SAMPLES", 0)] as const));
      const owner = keys.find((key) => key.includes(":owner:")) ?? "";
      return { bytes: Object.fromEntries(bytes.filter(([key]) => key !== owner)), places: await look.xlen(owner) };
    };
    const before = await wave();
    await wave();
    await wave();
    const after = await wave();
    expect(after.bytes).toEqual(before.bytes);
    // Each sixteenth call removes the oldest places, if their tasks have expired by then: how many remain depends on how fast the calls come.
    expect(after.places).toBeLessThan(2 * 200);
  });

  test("is counted in a hash that expires with the last of its caller's tasks, and has few fields", async () => {
    const { store } = opened;
    const roomy = { tasks: 1_000_000, bytes: 1e12, stored: 1e12 };
    const life = aLife(store);
    const end = async (nowMs: number, retentionMs: number) => {
      const taskId = newTaskId();
      const call = aCall({ principal: "ada", tenant: "acme", retentionMs, createdAtMs: nowMs });
      await store.create({ taskId, call, graceMs: 1_000, quotas: { principal: roomy, tenant: roomy } });
      const token = await life.begin({ taskId, run: 1 }, nowMs);
      await store.finish({ taskId, token, nowMs, entries: [], outcome: { type: "result", result: { text: "x".repeat(100) } } });
    };
    const nowMs = Date.now();
    // A day and a minute, one after another for two days: buckets of 90 minutes and of 4 s at most.
    for (let i = 0; i < 400; i += 1) await end(nowMs + i * 432_000, i % 2 === 0 ? 24 * HOUR_MS : 60_000);
    for (const whose of ["principal:ada", "tenant:acme"]) {
      const key = `${opened.prefix}:{p0}:kept:${whose}`;
      const { total, next: _, last, ...buckets } = await look.hgetall(key);
      expect(Object.keys(buckets).length).toBeLessThan(30);
      expect(Object.values(buckets).reduce((sum, bytes) => sum + Number(bytes), 0)).toBe(Number(total));
      expect(await look.call("PEXPIRETIME", key)).toBe(Number(last));
      // Those of the last day.
      expect(Number(total)).toBeGreaterThan(100 * 600);
      expect(Number(total)).toBeLessThan(120 * 800);
    }
    expect((await keysOf(look, opened.prefix)).filter((key) => key.includes(":usage:"))).toEqual([]);
  });

  test.each([
    { shipped: "1024", given: 280, returned: 20, atMost: 600 },
    { shipped: "64", given: 280, returned: 20, atMost: 900 },
    { shipped: "1024", given: 10_000, returned: 10_000, atMost: 12_500 },
    // A step of 5 kB among it.
    { shipped: "1024", given: 280, returned: 20, keepsContent: true, atMost: 7_500 },
  ])("takes at most $atMost bytes after $given of arguments and $returned of result, with listpacks up to $shipped", async (each) => {
    const { shipped, given, returned, keepsContent, atMost } = each;
    const end = () => finished("r".repeat(returned), { text: "a".repeat(given) }, keepsContent ? { keepsContent } : {});
    await look.config("SET", "hash-max-listpack-value", shipped);
    const count = 300;
    await Promise.all(Array.from({ length: 50 }, end));
    for (const key of await keysOf(look, opened.prefix)) if (key.endsWith(":feed")) await look.del(key);
    const before = await usedMemory();
    for (let i = 0; i < count; i += 50) await Promise.all(Array.from({ length: 50 }, end));
    for (const key of await keysOf(look, opened.prefix)) if (key.endsWith(":feed")) await look.del(key);
    // Redis has two tables of its keys while it grows one, and buffers of its clients that it frees later.
    await expect.poll(async () => ((await usedMemory()) - before) / count, { timeout: 20_000, interval: 200 }).toBeLessThanOrEqual(atMost);
  });

  test("keeps what people did around its asks, counts it, and it is gone with the task", async () => {
    const { store } = opened;
    const life = aLife(store);
    const taskId = await life.parked([anAsk("size")]);
    const history = [{ what: "commented", atMs: 1, by: "ada", text: "x".repeat(900) }] as const;
    await store.writeThread({ taskId, key: "size", digest: "digest-of-size", thread: { comments: 1 }, history, nowMs: Date.now() });
    const key = (await keysOf(look, opened.prefix)).find((each) => each.includes(taskId) && each.endsWith(":threads"))!;
    expect(await look.pttl(key)).toBeGreaterThan(365 * 24 * HOUR_MS);
    await life.cancel(taskId);
    expect(await look.pttl(key)).toBeLessThanOrEqual(HOUR_MS);
    expect(Number(await look.hget(key.replace(/:threads$/, ""), "threads"))).toBeGreaterThan(900);
    expect(await store.thread(taskId, "size")).toEqual(history);
  });
});
