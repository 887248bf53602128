/** Everything that a person or a tool said passes the codec on its way into Redis and out of it. */
import type { FeedItem, Outcome } from "@parley/core";
import type { Redis } from "ioredis";
import { Redis as Connection } from "ioredis";
import { describe, expect, test, vi } from "vitest";
import { aLife, anAsk, GRACE_MS, HOUR_MS, LEASE_MS } from "../../test/contract/builders.ts";
import { keysOf, type OpenRedis, openRedis } from "../../test/contract/open-redis.ts";
import { sealingCodec } from "../../test/contract/sealing-codec.ts";
import { type ContentCodec, contentOf, plainContent } from "./content.ts";
import { createKeys } from "./keys.ts";
import { createRedisStore } from "./store.ts";

/** What is said, each with a marker of its own. `said(…)` gives the text and remembers it. */
function speaker() {
  const markers: string[] = [];
  const said = (what: string): string => {
    const marker = `MARKER-${what}-`;
    markers.push(marker);
    return `${marker}☃`;
  };
  return { said, markers };
}

/** Everything that Redis holds under the prefix, as text. */
async function dump(redis: Redis, prefix: string): Promise<string> {
  const keys = await keysOf(redis, prefix);
  const values = await Promise.all(
    keys.map(async (key) => {
      switch (await redis.type(key)) {
        case "hash":
          return await redis.hgetall(key);
        case "stream":
          return await redis.xrange(key, "-", "+");
        case "zset":
          return await redis.zrange(key, "0", "-1");
        case "list":
          return await redis.lrange(key, "0", "-1");
        case "set":
          return await redis.smembers(key);
        default:
          return await redis.get(key);
      }
    }),
  );
  return JSON.stringify([keys, values]);
}

/** Lives of tasks in which everything is said that can be. Returns what every kind of text was read back as. */
async function everythingSaid({ store, queue }: Pick<OpenRedis, "store" | "queue">, said: (what: string) => string) {
  const life = aLife(store);
  const forget = { retentionMs: HOUR_MS };
  const nowMs = Date.now();
  const readBack: unknown[] = [];

  // Small and large arguments, early replies, the seed; every kind of question with its default, left open.
  const asks = [
    anAsk("form", {
      request: { type: "form", message: said("question"), schema: { title: said("schema") } },
      onTimeout: { default: { a: said("default") } },
    }),
    anAsk("url", { request: { type: "url", message: said("url-message"), url: `https://example.com/?${said("url")}` } }),
    anAsk("sampling", { request: { type: "sampling", params: { systemPrompt: said("sampling") } } }),
    anAsk("refused"),
    anAsk("answered"),
  ];
  for (const size of [1, 5_000]) {
    const given = {
      arguments: { a: said(`arguments-${size}`), b: "x".repeat(size) },
      replies: { q: { a: said(`early-reply-${size}`) } },
      seed: said(`seed-${size}`),
    };
    const waiting = await life.create({ ...given, ...forget });
    await queue.add({ taskId: waiting, run: 1, cause: "created" });
    const token = await life.begin({ taskId: waiting, run: 1 });
    const items: FeedItem[] = [
      { type: "progress", progress: 1, message: said(`progress-${size}`) },
      { type: "log", level: "info", data: { a: said(`log-${size}`) }, logger: said(`logger-${size}`) },
    ];
    await store.report({
      taskId: waiting,
      token,
      nowMs,
      items,
      message: said(`message-${size}`),
      immediateResponse: said(`immediate-${size}`),
    });
    const entries = [
      { key: "step:a", entry: { digest: "", outcome: { type: "value", value: said(`step-${size}`) }, calledAt: "0", place: 1 } },
      {
        key: "step:b",
        entry: { digest: "", outcome: { type: "error", name: "Error", message: said(`error-${size}`) }, calledAt: "0", place: 2 },
      },
      { key: "step:c", entry: { digest: "", outcome: { type: "begun" }, calledAt: "0" } },
    ] as const;
    await store.record({ taskId: waiting, token, nowMs, leaseMs: LEASE_MS, entries });
    await store.park({ taskId: waiting, token, nowMs, entries: [], asks, dueAtMs: nowMs + HOUR_MS, attempt: 0, graceMs: GRACE_MS });
    const violations = [{ path: `/content/${said(`path-${size}`)}`, message: said(`violation-${size}`) }];
    await store.refuse({ taskId: waiting, key: "refused", digest: "digest-of-refused", violations, nowMs });
    await life.answer(waiting, "answered", said(`answer-${size}`));
    readBack.push(await life.load(waiting), await store.summaries([waiting]), await store.feed(waiting, undefined));
    const next = await store.begin({ taskId: waiting, run: 2, token: `token-${size}`, nowMs, leaseMs: LEASE_MS });
    readBack.push(next.type === "begun" && [next.task.call, [...next.journal.values()]]);

    // Begun anew with small and with large arguments.
    const restarted = await life.create(forget);
    const restart = { arguments: { a: said(`restart-${size}`), b: "x".repeat(size) } };
    const parked = { taskId: restarted, nowMs, entries: [], asks: [], dueAtMs: nowMs, attempt: 0, graceMs: GRACE_MS };
    await store.park({ ...parked, token: await life.begin({ taskId: restarted, run: 1 }), restart });
    const again = await store.begin({ taskId: restarted, run: 2, token: "token", nowMs, leaseMs: LEASE_MS });
    readBack.push(again.type === "begun" && again.task.call.arguments);
  }

  // Every way to end.
  const outcomes: Record<string, Outcome> = {
    result: { type: "result", result: { content: [{ type: "text", text: said("result") }] } },
    no: { type: "result", result: { content: [{ type: "text", text: said("no") }], isError: true } },
    failure: { type: "error", error: { code: -1, message: said("failure"), data: { a: said("failure-data") } } },
  };
  for (const [name, outcome] of Object.entries(outcomes)) {
    const taskId = await life.create(forget);
    const token = await life.begin({ taskId, run: 1 });
    await store.finish({ taskId, token, nowMs, entries: [], outcome, message: said(`last-message-${name}`) });
    readBack.push(await life.load(taskId), await store.summaries([taskId]));
  }
  const cancelled = await life.create(forget);
  await store.cancel({ taskId: cancelled, nowMs, message: said("cancellation") });
  readBack.push(await life.load(cancelled), await store.list({ principal: "anonymous", limit: 100 }));
  return JSON.stringify(readBack);
}

describe("content", () => {
  test("that is sealed is nowhere legible in Redis, and is never sent there; that which is not is there, so that this test would see it", async () => {
    for (const [codec, isSealed] of [
      [sealingCodec(), true],
      [plainContent, false],
    ] as const) {
      const opened = await openRedis({}, { codec });
      const redis = new Connection(opened.url);
      await redis.ping();
      let sent = "";
      vi.spyOn(redis.stream, "write").mockImplementation(function (this: unknown, chunk: unknown, ...rest: unknown[]) {
        sent += String(chunk);
        return Reflect.apply(Object.getPrototypeOf(redis.stream).write as () => boolean, redis.stream, [
          chunk,
          ...rest,
        ] as never) as boolean;
      } as never);
      const store = createRedisStore({ redis, keys: createKeys(opened.prefix), partitions: 1, codec });
      const { said, markers } = speaker();

      const readBack = await everythingSaid({ store, queue: opened.queue }, said);

      const held = await dump(opened.redis, opened.prefix);
      const found = (text: string) => markers.filter((marker) => text.includes(marker));
      expect(found(readBack)).toEqual(markers);
      expect(found(sent)).toEqual(isSealed ? [] : markers);
      expect(found(held)).toEqual(isSealed ? [] : markers);
      redis.disconnect();
      await opened.close();
    }
  });

  test("is bound to its task and its part: what stands in the wrong place does not open", async () => {
    const opened = await openRedis({}, { codec: sealingCodec() });
    const { store, redis, prefix } = opened;
    const life = aLife(store);
    const [one, other] = [await life.parked([anAsk("size")]), await life.parked([anAsk("size")])];
    const [mine = "", theirs = ""] = [one, other].map((taskId) => createKeys(prefix).task(taskId)?.[0]);
    const ask = await redis.hget(mine, "ask:size");

    await redis.hset(theirs, "ask:size", ask ?? "");
    await expect(store.load(other)).rejects.toThrow();
    await redis.hset(mine, "message", ask?.split(" ").at(-1) ?? "");
    await expect(store.load(one)).rejects.toThrow();
    await opened.close();
  });

  test("of equal answers has one fingerprint, whatever their sealed texts, and another one in another task, at another question, for another answer", () => {
    for (const codec of [sealingCodec(), plainContent]) {
      const print = (text: string, taskId = "t", key = "size") => contentOf(codec, taskId).fingerprint(`entry ask:${key}`, text);
      expect(print("yes")).toBe(print("yes"));
      expect(print("yes")).toMatch(/^[\w-]{22}$/);
      expect(new Set([print("yes"), print("no"), print("yes", "u"), print("yes", "t", "name")]).size).toBe(4);
    }
  });
});

/** The codec that tests seal with does what it is there for. */
test("the sealing codec gives another text each time, and opens each", () => {
  const codec: ContentCodec = sealingCodec();
  const context = { taskId: "t", part: "message" };
  const sealed = [codec.seal("☃ a\nb", context), codec.seal("☃ a\nb", context)];
  expect(sealed[0]).not.toBe(sealed[1]);
  expect(sealed.map((each) => codec.open(each, context))).toEqual(["☃ a\nb", "☃ a\nb"]);
  expect(codec.open(codec.seal("", context), context)).toBe("");
  expect(() => sealingCodec().open(sealed[0] ?? "", context)).toThrow();
});
