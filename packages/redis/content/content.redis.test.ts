/** All content passes the codec on its way into Redis and out of it, and a sealed task opens only with its key. */
import { connect } from "node:net";
import type { FeedItem, Outcome } from "@parley/core";
import type { Redis } from "ioredis";
import { describe, expect, test } from "vitest";
import { aLife, anAsk, GRACE_MS, HOUR_MS, LEASE_MS } from "../../../test/contract/builders.ts";
import { keysOf, type OpenRedis, openRedis } from "../../../test/contract/open-redis.ts";
import { aContentKey } from "../../../test/contract/content-keys.ts";
import { until } from "../../../test/support/until.ts";
import { createKeys } from "../keys.ts";

/** Content with unique markers: `said(…)` returns a text and remembers it. */
function speaker() {
  const markers: string[] = [];
  const said = (what: string): string => {
    const marker = `MARKER-${what}-`;
    markers.push(marker);
    return `${marker}☃`;
  };
  return { said, markers };
}

/** Everything that Redis holds under the prefix, as text: read by key, and as Redis serialises it. */
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
  const dumped = await Promise.all(keys.map((key) => redis.dumpBuffer(key)));
  return JSON.stringify([keys, values]) + dumped.map((bytes) => bytes?.toString("latin1")).join("\n");
}

/** Lives of tasks with every kind of content. Returns what was read back of each. */
async function everythingSaid({ store, queue, newTaskId }: OpenRedis, said: (what: string) => string) {
  const life = aLife(store, newTaskId);
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
    anAsk("several", { audience: { to: "tenant", quorum: 2 } }),
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
    const acceptance = { by: "ada", content: { a: said(`acceptance-${size}`) }, atMs: nowMs };
    const accepted = { action: "accept", content: acceptance.content } as const;
    const half = { taskId: waiting, key: "several", digest: "digest-of-several", answer: accepted, by: "ada", nowMs, graceMs: GRACE_MS };
    await store.answer({ ...half, quorum: { acceptances: [acceptance], missing: 1 } });
    await life.answer(waiting, "answered", said(`answer-${size}`));
    readBack.push(await life.load(waiting), await store.summaries([waiting]), await store.feed(waiting, undefined));
    const next = await store.begin({ taskId: waiting, run: 2, token: `token-${size}`, nowMs, leaseMs: LEASE_MS });
    readBack.push(next.type === "begun" && [next.task.call, [...next.journal.values()]]);

    // Restarted with small and with large arguments.
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

/** Everything that any client sends to Redis until the returned function is called: the lines of MONITOR. */
async function listenIn({ url, redis }: OpenRedis): Promise<() => Promise<string>> {
  const { hostname, port, password } = new URL(url);
  const socket = connect(Number(port), hostname);
  let sent = "";
  socket.setEncoding("latin1").on("data", (lines) => (sent += String(lines)));
  if (password !== "") socket.write(`AUTH ${decodeURIComponent(password)}\r\n`);
  socket.write("MONITOR\r\nPING\r\n");
  await until(() => sent.includes("PONG") || sent.includes('"PING"'));
  return async () => {
    const last = `last-${crypto.randomUUID()}`;
    await redis.echo(last);
    await until(() => sent.includes(last));
    socket.destroy();
    return sent;
  };
}

describe("content", () => {
  test.each([
    ["that is sealed is nowhere legible in Redis, in what it would dump, and in what is sent to it", { contentKeys: aContentKey() }, true],
    ["that is not sealed is found there, so that the test above would see it", {}, false],
  ])("%s", async (_name, settings, isSealed) => {
    const opened = await openRedis(settings);
    const sent = await listenIn(opened);
    const { said, markers } = speaker();

    const readBack = await everythingSaid(opened, said);

    const held = await dump(opened.redis, opened.prefix);
    const found = (text: string) => markers.filter((marker) => text.includes(marker));
    expect(found(readBack)).toEqual(markers);
    expect(found(await sent())).toEqual(isSealed ? [] : markers);
    expect(found(held)).toEqual(isSealed ? [] : markers);
    await opened.close();
  });

  test("is bound to its task and its part: moved elsewhere it does not open", async () => {
    const opened = await openRedis({ contentKeys: aContentKey() });
    const { store, redis, prefix, newTaskId } = opened;
    const life = aLife(store, newTaskId);
    const [one, other] = [await life.parked([anAsk("size"), anAsk("name")]), await life.parked([anAsk("size")])];
    const keyOf = (taskId: string) => createKeys(prefix).task(taskId)?.[0] ?? "";
    const ask = (await redis.hgetBuffer(keyOf(one), "ask:size")) ?? "";

    await redis.hset(keyOf(other), "ask:size", ask);
    expect(await store.load(other)).toMatchObject({ status: "input_required", asks: [], unreadable: "damaged" });
    expect(await store.load(one)).not.toHaveProperty("unreadable");
    await redis.hset(keyOf(one), "ask:name", ask);
    expect(await store.load(one)).toMatchObject({ asks: [], unreadable: "damaged" });
    expect(opened.logged.map(({ message }) => message)).toContain("content does not open");
    await opened.close();
  });

  test.each([
    ["principal", { principal: "ann" }, (facts: unknown[]) => facts.with(2, "eve")],
    ["tenant", { principal: "ann", tenant: "acme" }, (facts: unknown[]) => facts.with(2, ["ann", "evil"])],
    ["tenant, left out", { principal: "ann", tenant: "acme" }, (facts: unknown[]) => facts.with(2, "ann")],
    ["person", { principal: "ann", person: "Ann" }, (facts: unknown[]) => facts.with(12, "Eve")],
  ])("is bound to its owner: with another %s it opens for no one, and its task can only be ended", async (_what, owner, forged) => {
    const opened = await openRedis({ contentKeys: aContentKey() });
    const { store, redis, prefix, newTaskId } = opened;
    const taskId = await aLife(store, newTaskId).create(owner);
    const [key = ""] = createKeys(prefix).task(taskId) ?? [];
    const call = ((await redis.hgetBuffer(key, "call")) ?? Buffer.alloc(0)).toString("latin1");
    const end = call.indexOf("\n");
    expect(await store.load(taskId)).not.toHaveProperty("unreadable");

    const facts = JSON.stringify(forged(JSON.parse(call.slice(0, end)) as unknown[]));
    await redis.hset(key, "call", Buffer.from(facts + call.slice(end), "latin1"));
    expect(await store.load(taskId)).toMatchObject({ asks: [], unreadable: "damaged" });
    const begun = await store.begin({ taskId, run: 1, token: "token", nowMs: Date.now(), leaseMs: LEASE_MS });
    expect(begun).toMatchObject({ type: "unreadable", reason: "damaged", task: { id: taskId } });
    await opened.close();
  });

  test("that is damaged hides no task from a list, which shows it without its message", async () => {
    const opened = await openRedis({ contentKeys: aContentKey() });
    const { store, redis, prefix, newTaskId } = opened;
    const life = aLife(store, newTaskId);
    const [one, other] = [await life.create({ principal: "ann" }), await life.create({ principal: "ann" })];
    for (const taskId of [one, other]) {
      const token = await life.begin({ taskId, run: 1 });
      await store.report({ taskId, token, nowMs: Date.now(), items: [], message: "nearly there" });
    }
    const keyOf = (taskId: string) => createKeys(prefix).task(taskId)?.[0] ?? "";
    await redis.hset(keyOf(other), "message", (await redis.hgetBuffer(keyOf(one), "message")) ?? "");

    const { tasks } = await store.list({ principal: "ann", limit: 10 });
    expect(tasks.map(({ id, status, message }) => [id, status, message])).toEqual([
      [other, "working", undefined],
      [one, "working", "nearly there"],
    ]);
    await opened.close();
  });

  test.each(["first", "last"])("with its %s byte damaged does not open, and its task can only be ended", async (which) => {
    const opened = await openRedis({ contentKeys: aContentKey() });
    const { store, redis, prefix, newTaskId } = opened;
    const life = aLife(store, newTaskId);
    const taskId = await life.create();
    const [task = ""] = createKeys(prefix).task(taskId) ?? [];
    const call = (await redis.hgetBuffer(task, "call")) ?? Buffer.alloc(0);
    const at = which === "first" ? call.indexOf("\n") + 1 : call.length - 1;
    call.writeUInt8(call.readUInt8(at) ^ 1, at);
    await redis.hset(task, "call", call);

    const token = "token";
    const begun = await store.begin({ taskId, run: 1, token, nowMs: Date.now(), leaseMs: LEASE_MS });
    expect(begun).toMatchObject({ type: "unreadable", reason: "damaged", task: { id: taskId, asks: [] } });
    const outcome: Outcome = { type: "error", error: { code: -32603, message: "damaged" } };
    expect(await store.finish({ taskId, token, nowMs: Date.now(), entries: [], outcome })).toBe("finished");
    expect(await store.load(taskId)).toMatchObject({ status: "failed", outcome });
    await opened.close();
  });

  test("of a megabyte, with characters of every length, is read as it was written", async () => {
    const opened = await openRedis({ contentKeys: aContentKey() });
    const { store, newTaskId } = opened;
    const life = aLife(store, newTaskId);
    const large = { text: "a\u0000\n\u00e9\u2603\u{1f355}".repeat(150_000), empty: "" };
    const taskId = await life.create({ arguments: large });
    const begun = await store.begin({ taskId, run: 1, token: "token", nowMs: Date.now(), leaseMs: LEASE_MS });
    expect(begun.type === "begun" && begun.task.call.arguments).toEqual(large);
    const outcome: Outcome = { type: "result", result: large };
    await store.finish({ taskId, token: "token", nowMs: Date.now(), entries: [], outcome });
    expect((await life.load(taskId)).outcome).toEqual(outcome);
    await opened.close();
  });

  test("stays as it was created when a deployment starts or stops sealing: plain tasks are read by both, sealed ones wait", async () => {
    const contentKeys = aContentKey();
    const request = { type: "form", message: "Wie groß? ☃", schema: {} } as const;
    const plain = await openRedis();
    const before = await aLife(plain.store, plain.newTaskId).parked([anAsk("size", { request })], { principal: "zoë ☃" });
    const sealing = await openRedis({ prefix: plain.prefix, contentKeys });
    const between = await aLife(sealing.store, sealing.newTaskId).parked([anAsk("size")], { principal: "zoë ☃" });

    for (const { store } of [plain, sealing]) {
      expect(await store.load(before)).toMatchObject({ call: { principal: "zoë ☃" }, asks: [{ request }] });
    }
    expect(await aLife(sealing.store).answer(before, "size", "fünf ☃")).toMatchObject({ receipt: "accepted" });
    expect(await aLife(plain.store).answer(before, "size", "fünf ☃")).toMatchObject({ receipt: "duplicate" });
    expect(await plain.store.load(between)).toMatchObject({ call: { principal: "zoë ☃" }, unreadable: "key_missing" });
    expect(await sealing.store.load(between)).toMatchObject({ asks: [{ key: "size" }] });
    await plain.close();
    await sealing.close();
  });
});
