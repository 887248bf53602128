/** What the queue stores in Redis for each run; consume-runs.redis.test.ts tests how workers take it. */
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Telemetry } from "bullmq";
import { Redis } from "ioredis";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { openTestRedis, type TestRedis } from "../../../test/support/redis.ts";
import { startEmbeddedRedis } from "../embedded/embedded.ts";
import { createKeys } from "../keys.ts";
import { createRedisQueue, EVENTS_KEPT, shareWord } from "./queue.ts";
import { createTurns } from "./turns.ts";

const TASK = `7-${"t".repeat(22)}`;

describe("the run queue", () => {
  let redis: TestRedis;
  const logged: unknown[][] = [];
  const log = { debug() {}, info() {}, warn: (...line: unknown[]) => void logged.push(line), error() {} };
  let queue: ReturnType<typeof createRedisQueue>;
  const turns = createTurns({ weights: new Map(), now: () => 1_000 });
  beforeEach(() => {
    logged.length = 0;
    redis = openTestRedis();
    const workers = { next: () => undefined };
    queue = createRedisQueue({ redis: redis.redis, keys: createKeys(redis.prefix), log, turns, workers });
  });
  afterEach(async () => {
    await queue.close();
    await redis.close();
  });

  const job = (id: string) => redis.redis.hgetall(`${redis.prefix}:{p7}:run:${TASK}.${id}`);

  test("has a job for each run: its name is the cause, it has no other data, and it is not kept", async () => {
    await queue.add({ taskId: TASK, run: 3, cause: "answered" });
    await queue.add({ taskId: TASK, run: 4 });
    await queue.add({ taskId: TASK, run: 4, cause: "overtaken" });
    expect(await job("3")).toMatchObject({ name: "answered", data: "{}", priority: "0" });
    const { opts = "" } = await job("3");
    expect(JSON.parse(opts)).toMatchObject({ removeOnComplete: true, removeOnFail: true });
    expect(await job("4")).toMatchObject({ name: "overdue", priority: "0" });
    expect(await job("4.overtaken")).toMatchObject({ name: "overtaken", priority: "0" });
    expect(await queue.counts(7)).toStrictEqual({ waiting: 3, active: 0 });
    expect(await queue.counts(0)).toStrictEqual({ waiting: 0, active: 0 });
  });

  test("says in the job of a new task what the task calls, if that can be said in one word", async () => {
    const created = { taskId: TASK, cause: "created" } as const;
    await queue.add({ ...created, run: 1, calls: { kind: "prompt", name: "a b" } });
    await queue.add({ ...created, run: 2, calls: { kind: "tool", name: "half \uD83D" } });
    await queue.add({ ...created, run: 3 });
    await queue.add({ taskId: TASK, run: 4, cause: "answered", calls: { kind: "tool", name: "plain" } });
    const data = await Promise.all(["1", "2", "3", "4"].map(async (run) => (await job(run))["data"]));
    expect(data).toEqual(['{"calls":"prompt:a%20b"}', "{}", "{}", "{}"]);
  });

  test("puts runs in their turn: new tasks after all others if not counted, by their share, or at their given place", async () => {
    await queue.add({ taskId: TASK, run: 1, cause: "created" });
    turns.learn({ taskId: TASK, share: "ada" }, 5);
    await queue.add({ taskId: TASK, run: 2, cause: "created", share: "ada" });
    await queue.add({ taskId: TASK, run: 3, cause: "created", share: "ada", place: 9 });
    await queue.add({ taskId: TASK, run: 4, cause: "answered", share: "ada" });
    await queue.add({ taskId: TASK, run: 5, cause: "overdue", share: "ada" });
    await queue.add({ taskId: TASK, run: 6, cause: "answered" });
    await queue.add({ taskId: TASK, run: 7, cause: "answered", place: 9, word: "ada" });
    const jobs = await Promise.all(["1", "2", "3", "4", "5", "6", "7"].map(job));
    expect(jobs.map((each) => each["priority"])).toEqual(["1", "6", "9", "0", "1", "0", "9"]);
    const ofAda = JSON.stringify({ share: shareWord("ada") });
    expect(jobs.map((each) => each["data"])).toEqual(["{}", ofAda, ofAda, ofAda, ofAda, "{}", '{"share":"ada"}']);
    expect(await queue.counts(7)).toStrictEqual({ waiting: 7, active: 0 });
  });

  test("keeps a hundred events instead of ten thousand", async () => {
    await queue.open([7]);
    expect(await redis.redis.hget(`${redis.prefix}:{p7}:run:meta`, "opts.maxLenEvents")).toBe(String(EVENTS_KEPT));
    expect(EVENTS_KEPT).toBe(100);
  });

  test("counts waiting and active runs", async () => {
    for (const run of [1, 2, 3]) await queue.add({ taskId: TASK, run });
    const list = (name: string) => `${redis.prefix}:{p7}:run:${name}`;
    await redis.redis.lmove(list("wait"), list("active"), "RIGHT", "LEFT");
    expect(await queue.counts(7)).toStrictEqual({ waiting: 2, active: 1 });
  });

  test("logs trouble with its connection", async () => {
    await queue.open([7]);
    redis.redis.emit("error", new Error("lost"));
    expect(logged).toStrictEqual([[{ partition: 7, error: "lost" }, "run queue in trouble"]]);
  });

  test("is traced if BullMQ's own interface for that is given", async () => {
    const spans: string[] = [];
    const span = { setSpanOnContext: () => ({}), setAttribute() {}, setAttributes() {}, addEvent() {}, recordException() {}, end() {} };
    const telemetry = {
      tracer: {
        startSpan(name: string) {
          spans.push(name);
          return span;
        },
      },
      contextManager: {
        with: (_context: unknown, work: () => unknown) => work(),
        active: () => ({}),
        getMetadata: () => "",
        fromMetadata: () => ({}),
      },
    } as unknown as Telemetry;
    const traced = createRedisQueue({
      redis: redis.redis,
      keys: createKeys(redis.prefix),
      log,
      turns,
      workers: { next: () => undefined },
      telemetry,
    });
    await queue.add({ taskId: TASK, run: 1 });
    expect(spans).toEqual([]);
    await traced.add({ taskId: TASK, run: 2 });
    expect(spans.length).toBeGreaterThan(0);
    await traced.close();
  });

  test("that could not be opened leaves nothing on the connection, and is opened anew by its next run", async () => {
    const dataDir = await mkdtemp(join(tmpdir(), "parley-queue-"));
    const server = await startEmbeddedRedis({ dataDir, sources: ["path", "wheel"] });
    const admin = new Redis(server.url);
    const grant = (...rights: string[]) => admin.call("ACL", "SETUSER", "tester", "on", ">secret", "~*", "&*", ...rights);
    await grant("+@all");
    const url = new URL(server.url);
    [url.username, url.password] = ["tester", "secret"];
    const connection = new Redis(url.href, { maxRetriesPerRequest: null });
    await once(connection, "ready");
    const reopened = createRedisQueue({ redis: connection, keys: createKeys(), log, turns, workers: { next: () => undefined } });
    const listeners = () => connection.eventNames().map((name) => [name, connection.listenerCount(name)]);
    const before = listeners();

    // BullMQ first reads the server's version.
    await grant("-info");
    for (const run of [1, 2]) await expect(reopened.add({ taskId: TASK, run })).rejects.toThrow(/^NOPERM/);
    expect(listeners()).toEqual(before);
    const added = reopened.add({ taskId: TASK, run: 2 });
    await Promise.all([expect(added).rejects.toThrow(/^NOPERM/), reopened.close()]);
    await grant("+info");
    await reopened.add({ taskId: TASK, run: 3 });
    expect(await reopened.counts(7)).toStrictEqual({ waiting: 1, active: 0 });

    await reopened.close();
    for (const each of [connection, admin]) each.disconnect();
    await server.close();
    await rm(dataDir, { recursive: true, force: true, maxRetries: 5 });
  });

  test("leaves the connection as it was when it closes", async () => {
    const listeners = () => redis.redis.eventNames().map((name) => [name, redis.redis.listenerCount(name)]);
    const before = listeners();
    await queue.open([7, 8]);
    expect(listeners()).not.toEqual(before);
    await queue.close();
    expect(listeners()).toEqual(before);
  });

  test("is opened once per partition", async () => {
    const send = vi.spyOn(redis.redis, "sendCommand");
    await queue.open([7, 8]);
    const sent = send.mock.calls.length;
    expect(sent).toBeGreaterThan(0);
    await queue.open([7, 8]);
    expect(send).toHaveBeenCalledTimes(sent);
    await queue.open([9]);
    expect(send.mock.calls.length).toBeGreaterThan(sent);
  });
});
