import { Redis } from "ioredis";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  accept,
  aCall,
  aLife,
  anAsk,
  aStep,
  aWithdrawal,
  GRACE_MS,
  HOUR_MS,
  LEASE_MS,
  newTaskId,
  newToken,
} from "../../../test/contract/builders.ts";
import { keysOf, type OpenRedis, openRedis } from "../../../test/contract/open-redis.ts";
import { startProxy } from "../../../test/contract/proxy.ts";
import { until } from "../../../test/support/until.ts";
import { plainContent } from "../content/codec.ts";
import { createKeys } from "../keys.ts";
import { createRedisQueue } from "../runs/queue.ts";
import { defineScripts } from "../scripts/scripts.ts";
import { createTurns } from "../runs/turns.ts";
import { createRedisStore } from "./store.ts";

const silent = { debug() {}, info() {}, warn() {}, error() {} };

/** What a wake-up says in words, without the fields that were written. */
const wordsOf = (message: string) => message.split(" \n", 1).join("");

describe("the task store on Redis", () => {
  let opened: OpenRedis;
  beforeEach(async () => {
    opened = await openRedis();
  });
  afterEach(() => opened.close());

  /**
   * A store on a connection of its own, and the names of the commands that it sends; scripts appear as EVAL or
   * EVALSHA.
   */
  async function openCounted() {
    const redis = new Redis(opened.url);
    await redis.ping();
    const send = vi.spyOn(redis, "sendCommand");
    return {
      store: createRedisStore({ redis, keys: createKeys(opened.prefix), partitions: 1 }),
      async commandsDuring(work: () => Promise<unknown>): Promise<string[]> {
        const before = send.mock.calls.length;
        await work();
        return send.mock.calls.slice(before).map(([{ name }]) => name);
      },
      async bytesDuring(work: () => Promise<unknown>): Promise<number> {
        const write = vi.spyOn(redis.stream, "write");
        await work();
        return write.mock.calls.reduce((bytes, [chunk]) => bytes + Buffer.byteLength(String(chunk)), 0);
      },
      close: () => redis.disconnect(),
    };
  }

  test("a task is loaded with one command", async () => {
    const counted = await openCounted();
    const taskId = await aLife(opened.store).parked([anAsk("size"), anAsk("name")]);

    expect(await counted.commandsDuring(() => counted.store.load(taskId))).toEqual(["hgetall"]);
    counted.close();
  });

  test("loads that begin together are one command; one that begins after anything arrived is another", async () => {
    const counted = await openCounted();
    const life = aLife(opened.store);
    const taskId = await life.parked([anAsk("size")]);
    const loadTwice = () => Promise.all([counted.store.load(taskId), counted.store.load(taskId)]);

    expect(await counted.commandsDuring(loadTwice)).toEqual(["hgetall"]);
    await life.answer(taskId, "size", "4");
    const [one, other] = await loadTwice();
    expect([one?.asks, other?.asks]).toEqual([[], []]);
    counted.close();
  });

  test("a lifecycle takes one command for each event, begin with its journal included", async () => {
    const counted = await openCounted();
    const life = aLife(counted.store);

    const commands = await counted.commandsDuring(async () => {
      const taskId = await life.create();
      const token = await life.begin({ taskId, run: 1 });
      await counted.store.record({ taskId, token, nowMs: Date.now(), leaseMs: 1_000, entries: [aStep("a", 1), aStep("b", 2)] });
      await life.park(taskId, token, [anAsk("size")]);
      await life.answer(taskId, "size", "4");
      await life.finish(taskId, await life.begin({ taskId, run: 2 }));
    });

    expect(commands).toHaveLength(7);
    counted.close();
  });

  test("a task and its first run are sent in one burst, the task first", async () => {
    const redis = new Redis(opened.url);
    const keys = createKeys(opened.prefix);
    const store = createRedisStore({ redis, keys, partitions: 1 });
    const turns = createTurns({ weights: new Map(), now: Date.now });
    const queue = createRedisQueue({ turns, workers: { next: () => undefined }, redis, keys, log: silent });
    const createAndAdd = (taskId: string) =>
      Promise.all([store.create({ taskId, call: aCall(), graceMs: GRACE_MS }), queue.add({ taskId, run: 1 })]);
    await createAndAdd(newTaskId()); // opens the connection and the queue

    const write = vi.spyOn(redis.stream, "write");
    const reply = vi.fn();
    redis.stream.on("data", reply);
    await createAndAdd(newTaskId());

    expect(write.mock.calls.map(([chunk]) => (String(chunk).includes(":owner:") ? "create" : "add"))).toEqual(["create", "add"]);
    expect(write.mock.invocationCallOrder[1]).toBeLessThan(reply.mock.invocationCallOrder[0] ?? 0);
    await queue.close();
    redis.disconnect();
  });

  test("a task leaves the due set with its end, not with the next sweep", async () => {
    const life = aLife(opened.store);
    const finished = await life.create();
    await life.finish(finished, await life.begin({ taskId: finished, run: 1 }));
    await life.cancel(await life.parked([anAsk("size")]));

    expect(await opened.redis.zcard(createKeys(opened.prefix).due(0))).toBe(0);
  });

  test("I7: no key of a task has a TTL until it ends, and then all that it keeps expire with it, the feed at the latest", async () => {
    const { store, redis } = opened;
    const life = aLife(store);
    const endBy = {
      finish: async (taskId: string) => life.finish(taskId, await life.begin({ taskId, run: 3 })),
      cancel: (taskId: string) => life.cancel(taskId),
    };
    for (const end of Object.values(endBy)) {
      const taskId = await life.create({ retentionMs: HOUR_MS });
      const expectAll = async (count: number, expiresAtMs: number) => {
        const keys = (await keysOf(redis, opened.prefix)).filter((key) => key.includes(taskId));
        const times = await Promise.all(keys.map((key) => redis.call("PEXPIRETIME", key)));
        expect(times).toEqual(Array.from({ length: count }, () => expiresAtMs));
      };

      await expectAll(1, -1);
      const token = await life.begin({ taskId, run: 1 });
      await expectAll(1, -1);
      await store.record({ taskId, token, nowMs: Date.now() + 5_000, leaseMs: 60_000, entries: [aStep("a", 1)] });
      await expectAll(2, -1);
      await store.report({ taskId, token, nowMs: Date.now(), items: [{ type: "progress", progress: 1 }] });
      await expectAll(3, -1);
      await life.park(taskId, token, [anAsk("size"), anAsk("name")], Date.now() + 48 * HOUR_MS);
      await life.answer(taskId, "size", "4");
      await expectAll(3, -1);
      const again = { taskId, token: await life.begin({ taskId, run: 2 }), nowMs: Date.now(), dueAtMs: Date.now(), graceMs: GRACE_MS };
      await store.park({ ...again, entries: [], asks: [], attempt: 0, restart: { arguments: {} } });
      await expectAll(2, -1);
      await redis.del(createKeys(opened.prefix).task(taskId)?.[2] ?? "");

      await end(taskId);

      const { expiresAtMs = -1 } = await life.load(taskId);
      expect(expiresAtMs).toBeGreaterThan(Date.now());
      await expectAll(1, expiresAtMs);
    }
  });

  test("a known entry is settled by its place alone", async () => {
    const counted = await openCounted();
    const life = aLife(counted.store);
    const taskId = await life.create();
    const token = await life.begin({ taskId, run: 1 });
    const large = "☃".repeat(100_000);
    const { entry } = aStep("a", large);
    const arrived = { atMs: Date.now(), revision: 1 };
    const fence = { taskId, token, nowMs: Date.now(), leaseMs: LEASE_MS };
    await counted.store.record({
      ...fence,
      entries: [{ key: "step:a", entry: { digest: "", outcome: entry.outcome, calledAt: "0", arrived } }],
    });

    const bytes = await counted.bytesDuring(() => counted.store.record({ ...fence, entries: [{ key: "step:a", entry, known: true }] }));

    expect(bytes).toBeLessThan(1_000);
    const journal = createKeys(opened.prefix).task(taskId)?.[1] ?? "";
    expect(await opened.redis.hget(journal, "step:a")).toBe(`1 0 - - {"type":"value","value":"${large}"}`);
    counted.close();
  });

  test("what Redis holds of a task is what docs/data-model.md says", async () => {
    const { store, redis } = opened;
    const life = aLife(store);
    const nowMs = 1_767_225_600_000;
    const taskId = await life.create({ createdAtMs: nowMs, retentionMs: HOUR_MS, seed: "seed", arguments: {}, principal: "ada" });
    const [task, journal] = createKeys(opened.prefix).task(taskId) ?? ["", ""];
    const fingerprint = (key: string, action: string) =>
      plainContent.of(taskId).fingerprint(`entry ask:${key}`, `{"answer":{"action":"${action}"},"type":"answer"}`);
    const state = async () => (await redis.hget(task, "state"))?.replace(/(?<=token-)\S+/, "");
    expect(await redis.hgetall(task)).toEqual({
      state: `working 1 0 ${nowMs} 0 ${HOUR_MS} 0 0 0 0`,
      call: `["tool","book_dinner","ada",${nowMs},0,"ef","seed"]\n[{}]`,
    });

    await store.begin({ taskId, run: 1, token: "token-a", nowMs, leaseMs: LEASE_MS });
    await store.begin({ taskId, run: 1, token: "token-b", nowMs: nowMs + LEASE_MS, leaseMs: LEASE_MS });
    expect(await state()).toBe(`working 1 1 ${nowMs} 0 ${HOUR_MS} 0 0 1 0 token- 0`);
    const ask = { digest: "d", askedAtMs: nowMs, deadlineMs: nowMs + HOUR_MS, request: { type: "roots" } } as const;
    const asks = [anAsk("size", { ...ask, calledAt: "1o" }), anAsk("name", { ...ask, calledAt: "1" }), anAsk("colour", ask)];
    const value = { type: "value", value: 7 } as const;
    await store.park({
      taskId,
      token: "token-b",
      nowMs,
      dueAtMs: nowMs + HOUR_MS,
      attempt: 0,
      graceMs: GRACE_MS,
      asks,
      entries: [aStep("a", 1), { key: "sleep:night", entry: { digest: "", outcome: value, calledAt: "1" } }],
    });
    await store.answer({ taskId, key: "size", digest: "d", answer: { action: "decline" }, nowMs, graceMs: GRACE_MS });
    await store.begin({ taskId, run: 2, token: "token-c", nowMs, leaseMs: LEASE_MS });
    const timeout = {
      digest: "d",
      answer: { action: "timeout" },
      nowMs: nowMs + 2 * HOUR_MS,
      graceMs: GRACE_MS,
      token: "token-c",
    } as const;
    await store.answer({ taskId, key: "name", ...timeout });
    const withdrawn = { digest: "d", outcome: { type: "withdrawn" }, calledAt: "0", place: 2, withdrawn: true } as const;
    await store.record({ taskId, token: "token-c", nowMs, leaseMs: LEASE_MS, entries: [{ key: "ask:colour", entry: withdrawn }] });
    expect(await redis.hgetall(journal)).toEqual({
      "step:a": '1 0 - - {"type":"value","value":1}',
      "sleep:night": '- 1 - - {"type":"value","value":7}',
      "ask:size": `?${nowMs}.3 1o d ${fingerprint("size", "decline")} {"type":"answer","answer":{"action":"decline"}}`,
      "ask:name": `?${nowMs + HOUR_MS}.4 1 d ${fingerprint("name", "timeout")} {"type":"answer","answer":{"action":"timeout"}}`,
      "ask:colour": "w2 0 d ! withdrawn",
    });

    const parked = { nowMs, dueAtMs: nowMs, graceMs: GRACE_MS, attempt: 0, entries: [], asks: [] };
    await store.park({ taskId, token: "token-c", ...parked, restart: { arguments: { round: 1 } } });
    expect(await redis.hgetall(task)).toMatchObject({ state: `working 6 2 ${nowMs} 0 ${HOUR_MS} 0 1 0 0`, arguments: '{"round":1}' });
    await store.begin({ taskId, run: 3, token: "token-d", nowMs, leaseMs: LEASE_MS });
    await store.park({ taskId, token: "token-d", ...parked, asks: [anAsk("size@1", { ...ask, calledAt: "0" })] });
    expect(await redis.hget(task, "ask:size@1")).toBe(`d 7 0 0 ${nowMs} ${HOUR_MS} ["cancel","roots"]`);
    const endedAtMs = Date.now();
    await store.cancel({ taskId, nowMs: endedAtMs, message: "" });
    expect(await state()).toBe(`cancelled 8 3 ${endedAtMs} ${endedAtMs + HOUR_MS} ${HOUR_MS} 0 1 0 0`);
    expect([await redis.exists(journal), await redis.hget(task, "lines")]).toEqual([0, "- 0 d ! closed ask:size@1"]);
    expect(Object.keys(await redis.hgetall(task)).toSorted()).toEqual(["call", "lines", "state"]);
  });

  test("each change that clients can see is announced once, in order, with what happened and under the next revision", async () => {
    const { store } = opened;
    const life = aLife(store);
    const heard: { readonly channel: string; readonly message: string }[] = [];
    const listener = new Redis(opened.url);
    await listener.psubscribe(`${opened.prefix}:{p0}:task:*`);
    // The first message can arrive before the reply with the task's id.
    listener.on("pmessage", (_pattern, channel: string, message: string) => heard.push({ channel, message }));
    const told = () => heard.flatMap(({ channel, message }) => (channel.endsWith(taskId) ? [wordsOf(message)] : []));
    const nowMs = Date.now();
    const parked = { nowMs, dueAtMs: nowMs, graceMs: GRACE_MS, attempt: 0, entries: [], asks: [] };

    const taskId: string = await life.create();
    let token = await life.begin({ taskId, run: 1 });
    await store.record({ taskId, token, nowMs, leaseMs: LEASE_MS, entries: [aStep("a", 1)] });
    await store.renew({ taskId, token, nowMs, leaseMs: LEASE_MS });
    await store.report({ taskId, token, nowMs, items: [{ type: "progress", progress: 1 }] });
    await life.park(
      taskId,
      token,
      ["size", "name", "colour", "late"].map((key) => anAsk(key)),
    );
    await store.refuse({ taskId, key: "size", digest: "digest-of-size", violations: [], nowMs });
    await life.answer(taskId, "size", "4");
    await life.answer(taskId, "size", "4");
    token = await life.begin({ taskId, run: 2 });
    await store.answer({
      taskId,
      key: "late",
      digest: "digest-of-late",
      answer: { action: "timeout" },
      nowMs: nowMs + 2 * HOUR_MS,
      graceMs: GRACE_MS,
      token,
    });
    await store.record({ taskId, token, nowMs, leaseMs: LEASE_MS, entries: [aWithdrawal("name", 3)] });
    await store.park({ taskId, token, ...parked, asks: [anAsk("colour")] });
    token = await life.begin({ taskId, run: 3 });
    await store.park({ taskId, token, ...parked, entries: [aWithdrawal("colour", 4)], asks: [anAsk("a/b#2")], message: "waiting" });
    token = await life.begin({ taskId, run: 4 });
    await store.park({ taskId, token, ...parked, restart: { arguments: {} } });
    token = await life.begin({ taskId, run: 5 });
    await store.park({ taskId, token, ...parked, asks: [anAsk("one@1"), anAsk("two@1")] });
    token = await life.begin({ taskId, run: 6 });
    await store.finish({ taskId, token, nowMs, entries: [aWithdrawal("one@1", 1)], outcome: { type: "result", result: {} } });
    await life.cancel(taskId);

    await until(() => told().at(-1)?.endsWith("completed"));
    expect(told()).toEqual([
      "1 created",
      "2 reported",
      "3 asked:size asked:name asked:colour asked:late",
      "4 refused:size",
      "5 answered:size",
      "6 overdue:late",
      "7 withdrawn:name",
      "8 withdrawn:colour reported asked:a/b#2",
      "9 closed:a/b#2 restarted",
      "10 asked:one@1 asked:two@1",
      "11 withdrawn:one@1 closed:two@1 completed",
    ]);
    expect(await life.load(taskId)).toMatchObject({ revision: 11 });
    listener.disconnect();
  });

  test("every end is announced with the questions that it closes", async () => {
    const { store } = opened;
    const life = aLife(store);
    const told = new Map<string, string>();
    const listener = new Redis(opened.url);
    await listener.psubscribe(`${opened.prefix}:{p0}:task:*`);
    listener.on("pmessage", (_pattern, channel: string, message: string) => told.set(channel.split(":task:")[1] ?? "", wordsOf(message)));
    const failed = await life.parked([anAsk("size")]);
    const token = await life.begin({ taskId: failed, run: 2 });
    await store.finish({
      taskId: failed,
      token,
      nowMs: Date.now(),
      entries: [],
      outcome: { type: "error", error: { code: 1, message: "no" } },
    });
    const cancelled = await life.parked([anAsk("size")]);
    await life.cancel(cancelled);

    await until(() => told.get(cancelled)?.startsWith("3"));
    expect([told.get(failed), told.get(cancelled)]).toEqual(["3 closed:size failed", "3 closed:size cancelled"]);
    listener.disconnect();
  });

  test("the due time of a missing task, for example after a failover that lost a write, is dropped", async () => {
    const life = aLife(opened.store);
    const keys = createKeys(opened.prefix);
    const [swept, begun] = [await life.create(), await life.create()];
    for (const taskId of [swept, begun]) await opened.redis.del(keys.task(taskId)?.[0] ?? "");

    const request = { taskId: begun, run: 1, token: newToken(), nowMs: Date.now(), leaseMs: LEASE_MS };
    expect(await opened.store.begin(request)).toEqual({ type: "refused", reason: "unknown" });
    expect(await opened.redis.zrange(keys.due(0), "0", "-1")).toEqual([swept]);
    expect(await opened.store.overdue({ partition: 0, nowMs: Date.now() + HOUR_MS, limit: 10 })).toEqual([]);
    expect(await opened.redis.zcard(keys.due(0))).toBe(0);
  });

  test("a parked task with 300 bytes of arguments takes at most 1,300 bytes, including its entries in due set and lists", async () => {
    const life = aLife(opened.store);
    const text = Array.from({ length: 289 }, (_, i) => String.fromCharCode(97 + ((i * 7) % 26))).join("");
    const schema = { type: "object", properties: { partySize: { type: "integer", minimum: 1, maximum: 20 } }, required: ["partySize"] };
    const ask = anAsk("party-size", {
      digest: "k3Jd8Fh2Lm9Qp1Zx7Vb4Na",
      request: { type: "form", message: "How many people will be dining?", schema },
    });
    const parked = await Promise.all(Array.from({ length: 500 }, () => life.parked([ask], { arguments: { text } })));

    const [key] = createKeys(opened.prefix).task(parked[0] ?? "") ?? [""];
    const own = Number(await opened.redis.memory("USAGE", key));
    const keys = createKeys(opened.prefix);
    const shared = [keys.due(0), keys.owner(0, "anonymous")];
    const [due = 0, owner = 0] = await Promise.all(
      shared.map(async (each) => Number(await opened.redis.memory("USAGE", each, "SAMPLES", 0)) / 500),
    );

    expect(own + due + owner).toBeLessThanOrEqual(1_300);
  });

  test("each of several partitions admits its part of a quota, and three times the excess that chance may put there", async () => {
    const four = await openRedis({ partitions: 4 });
    const quotas = { principal: { tasks: 64, bytes: 1_000_000 }, tenant: { tasks: 1_000, bytes: 10_000_000 } };
    // All of them in partition 0: 64 / 4 + 3 × √(64 / 4).
    for (let task = 0; task < 28; task += 1)
      expect(await four.store.create({ taskId: newTaskId(), call: aCall(), graceMs: GRACE_MS, quotas })).toBe("created");
    expect(await four.store.create({ taskId: newTaskId(), call: aCall(), graceMs: GRACE_MS, quotas })).toEqual({
      over: "tasks",
      of: "principal",
    });
    await four.close();
  });

  test("the usage of an owner and its tenant disappears with the last of their unfinished tasks", async () => {
    const usage = () => opened.redis.keys(`${opened.prefix}:{p0}:usage:*`);
    const quotas = { principal: { tasks: 10, bytes: 1_000 }, tenant: { tasks: 10, bytes: 1_000 } };
    const life = aLife(opened.store);
    const taskIds = [newTaskId(), newTaskId()];
    for (const taskId of taskIds)
      await opened.store.create({ taskId, call: aCall({ principal: "ada", tenant: "acme" }), graceMs: GRACE_MS, quotas });
    expect((await usage()).toSorted()).toEqual([`${opened.prefix}:{p0}:usage:principal:ada`, `${opened.prefix}:{p0}:usage:tenant:acme`]);
    const [key = ""] = await usage();
    const before = await opened.redis.hgetall(key);
    expect(before).toMatchObject({ tasks: "2", waiting: "2" });
    await life.finish(taskIds[0]!, await life.begin({ taskId: taskIds[0]!, run: 1 }));
    expect(await opened.redis.hgetall(key)).toEqual({ tasks: "1", waiting: "1", bytes: String(Number(before["bytes"]) / 2) });
    await life.cancel(taskIds[1]!);
    expect(await usage()).toEqual([]);
  });

  test("a task waits until its first run begins or its end, and is counted as waiting once", async () => {
    const quotas = { principal: { tasks: 10, bytes: 1_000 }, tenant: { tasks: 10, bytes: 1_000 } };
    const life = aLife(opened.store);
    const [begun, cancelled, other] = [newTaskId(), newTaskId(), newTaskId()];
    const waiting = () => opened.redis.hget(`${opened.prefix}:{p0}:usage:principal:ada`, "waiting");
    for (const taskId of [begun, cancelled, other])
      await opened.store.create({ taskId, call: aCall({ principal: "ada" }), graceMs: GRACE_MS, quotas });
    expect(await waiting()).toBe("3");
    await life.begin({ taskId: begun, run: 1 });
    await life.takeOver({ taskId: begun, run: 1 });
    expect(await waiting()).toBe("2");
    await life.cancel(cancelled);
    expect(await waiting()).toBe("1");
    await life.cancel(begun);
    expect(await waiting()).toBe("1");
    await life.cancel(other);
  });

  test("children tell their parent as much as there is room for, to the character", async () => {
    const life = aLife(opened.store);
    async function told(childEndsMax: number) {
      const taskId = await life.create();
      const token = await life.begin({ taskId, run: 1 });
      const id = `${newTaskId()}~`;
      const parent = { taskId, key: "hotel", rootId: taskId, depth: 1, path: "hotel" };
      const { askedAtMs, deadlineMs, onTimeout } = anAsk("hotel");
      const request = { type: "call", tool: "child" } as const;
      const open = { key: "call:hotel", digest: id, calledAt: "0", request, askedAtMs, deadlineMs, onTimeout };
      const holder = { token, open, nowMs: Date.now(), leaseMs: LEASE_MS };
      await opened.store.create({ taskId: id, call: aCall({ hidden: true, parent }), graceMs: GRACE_MS, parent: holder });
      await opened.store.finish({
        taskId: id,
        token: await life.begin({ taskId: id, run: 1 }),
        nowMs: Date.now(),
        entries: [],
        outcome: { type: "result", result: { content: [{ type: "text", text: "x".repeat(100) }] } },
        parent: { link: parent, childEndsMax },
      });
      const [key = ""] = createKeys(opened.prefix).task(taskId) ?? [];
      return Number(await opened.redis.hget(key, "told"));
    }
    const length = await told(10_000);
    expect(length).toBeGreaterThan(100);
    expect(await told(length)).toBe(length);
    expect(await told(length - 1)).toBe(0);
  });

  test("an owner's list keeps about the newest 100,000 tasks, for 90 days after the last", async () => {
    const owner = createKeys(opened.prefix).owner(0, "anonymous");
    const waiting = await aLife(opened.store).parked([anAsk("size")]);
    await opened.redis.eval("for i = 1, 100000 do redis.call('XADD', KEYS[1], '*', 'id', ARGV[1]) end", 1, owner, waiting);
    await Promise.all(Array.from({ length: 200 }, () => aLife(opened.store).parked([anAsk("size")])));
    // Redis drops whole blocks of a hundred.
    const length = await opened.redis.xlen(owner);
    expect(length).toBeGreaterThanOrEqual(100_000);
    expect(length).toBeLessThan(100_100);
    const leftMs = await opened.redis.pttl(owner);
    expect(Math.abs(leftMs - 90 * 24 * HOUR_MS)).toBeLessThan(60_000);
  });

  test("an owner's list does not grow with tasks of the past, also of an owner whose tasks were all revealed", async () => {
    const owner = createKeys(opened.prefix).owner(0, "rita");
    const life = aLife(opened.store);
    for (let i = 0; i < 200; i += 1) {
      const taskId = await life.parked([anAsk("size")], { principal: "rita", hidden: true });
      await opened.store.reveal(taskId, Date.now());
      await opened.redis.unlink(`${createKeys(opened.prefix).taskPrefix(0)}${taskId}`);
    }
    expect(await opened.redis.xlen(owner)).toBeLessThanOrEqual(2 * 16);
  });

  test("an owner's list is merged over the partitions, newest first, with any page size", async () => {
    const spread = await openRedis({ partitions: 3 });
    try {
      const created: string[] = [];
      for (let i = 0; i < 20; i += 1) {
        const taskId = await spread.ids.taskId();
        await spread.store.create({ taskId, call: aCall({ principal: "ada" }), graceMs: GRACE_MS });
        created.unshift(taskId);
      }
      for (const limit of [1, 7, 20]) {
        const listed: string[] = [];
        let cursor: string | undefined;
        do {
          const page = await spread.store.list({ principal: "ada", limit, ...(cursor !== undefined && { cursor }) });
          listed.push(...page.tasks.map(({ id }) => id));
          cursor = page.nextCursor;
        } while (cursor !== undefined);
        // Entries of one millisecond in different partitions are unordered.
        expect(listed.toSorted()).toEqual(created.toSorted());
        expect(new Set(listed).size).toBe(20);
      }
    } finally {
      await spread.close();
    }
  });

  test("an owner's list that is longer than one read is complete and in order, over one partition and over many", async () => {
    for (const partitions of [1, 40]) {
      const spread = await openRedis({ partitions });
      const principal = newToken();
      const created: string[] = [];
      while (created.length < 600) created.push(await spread.ids.taskId());
      for (const taskId of created) await spread.store.create({ taskId, call: aCall({ principal }), graceMs: GRACE_MS });
      const listed: string[] = [];
      let cursor: string | undefined;
      do {
        const page = await spread.store.list({ principal, limit: 250, ...(cursor !== undefined && { cursor }) });
        listed.push(...page.tasks.map(({ id }) => id));
        cursor = page.nextCursor;
      } while (cursor !== undefined);
      expect(listed.toSorted()).toEqual(created.toSorted());
      if (partitions === 1) expect(listed).toEqual(created.toReversed());
      await spread.close();
    }
  });

  test("large arguments are stored with the journal, and no read of the task carries them", async () => {
    const { store, redis } = opened;
    const life = aLife(store);
    // With JSON's overhead: 1,024 characters, and one more.
    const [small, large] = [
      await life.create({ arguments: { a: "x".repeat(1_014) } }),
      await life.create({ arguments: { a: "x".repeat(1_015) } }),
    ];
    const held = async (taskId: string) => {
      const [task = "", journal = ""] = createKeys(opened.prefix).task(taskId) ?? [];
      return [(await redis.hkeys(task)).toSorted(), await redis.hkeys(journal)];
    };
    expect(await held(small)).toEqual([["call", "state"], []]);
    expect(await held(large)).toEqual([["call", "state"], ["given"]]);

    for (const taskId of [small, large]) {
      const parked = { taskId, nowMs: Date.now(), dueAtMs: Date.now(), graceMs: GRACE_MS, entries: [], asks: [], attempt: 0 };
      const first = await life.begin({ taskId, run: 1 });
      await store.park({ ...parked, token: first, restart: { arguments: { b: "y".repeat(1_017) } } });
      expect(await held(taskId)).toEqual([["call", "state"], ["arguments"]]);
      const second = await life.begin({ taskId, run: 2 });
      await store.park({ ...parked, token: second, restart: { arguments: { b: "y".repeat(1_016) } } });
      expect(await held(taskId)).toEqual([["arguments", "call", "state"], []]);
      await life.cancel(taskId);
    }
    expect((await redis.hget(createKeys(opened.prefix).task(large)?.[0] ?? "", "call"))?.length).toBeLessThan(200);
  });

  test("lists read a few small fields of each task, and a bounded number of tasks at once, however many lists there are", async () => {
    const redis = new Redis(opened.url);
    const store = createRedisStore({ redis, keys: createKeys(opened.prefix), partitions: 1 });
    const life = aLife(opened.store);
    const large = "x".repeat(50_000);
    const ask = anAsk("size", { request: { type: "form", message: large, schema: {} } });
    const taskIds = await Promise.all(Array.from({ length: 100 }, () => life.parked([ask], { arguments: { large } })));
    await redis.ping();
    let [received, underWay, most] = [0, 0, 0];
    redis.stream.on("data", (chunk: Buffer) => (received += chunk.length));
    const send = redis.sendCommand.bind(redis);
    vi.spyOn(redis, "sendCommand").mockImplementation((command, ...rest) => {
      most = Math.max(most, (underWay += 1));
      void command.promise.finally(() => (underWay -= 1));
      return send(command, ...rest);
    });

    const lists = Array.from({ length: 3 }, () => store.list({ principal: "anonymous", limit: 100 }));
    const [summaries] = await Promise.all([store.summaries(taskIds), ...lists]);

    expect(summaries.map((summary) => summary?.status)).toEqual(taskIds.map(() => "input_required"));
    expect(most).toBe(32);
    expect(received / 400).toBeLessThan(400);
    redis.disconnect();
  });

  test("a page that meets too many expired tasks ends early, and the next one no longer meets them", async () => {
    const { store, redis } = opened;
    const oldest = await aLife(store).create({ principal: "ada" });
    const key = createKeys(opened.prefix).owner(0, "ada");
    const pipeline = redis.pipeline();
    for (let i = 0; i < 5_100; i += 1) pipeline.xadd(key, "*", "id", newTaskId());
    await pipeline.exec();

    const first = await store.list({ principal: "ada", limit: 100 });
    expect(first).toEqual({ tasks: [], nextCursor: expect.any(String) });
    expect(await redis.xlen(key)).toBeLessThan(200);
    const second = await store.list({ principal: "ada", limit: 100, cursor: first.nextCursor ?? "" });
    expect(second.tasks.map(({ id }) => id)).toEqual([oldest]);
    expect(await redis.xlen(key)).toBe(1);
  });

  test("a Redis that does not reply is UNAVAILABLE within the command timeout", async () => {
    const url = new URL(opened.url);
    const proxy = await startProxy(Number(url.port));
    url.port = String(proxy.port);
    const through = await openRedis({ url: url.href, commandTimeoutMs: 500 });

    proxy.freeze();
    await expect(through.store.load(newTaskId())).rejects.toMatchObject({ code: "UNAVAILABLE" });
    await expect(through.queue.add({ taskId: newTaskId(), run: 1 })).rejects.toMatchObject({ code: "UNAVAILABLE" });
    await expect(through.writable()).rejects.toMatchObject({ code: "UNAVAILABLE" });

    proxy.thaw();
    await through.close();
    proxy.close();
  });

  test("a call that was abandoned while Redis was unreachable leaves no task behind when it is back", async () => {
    const url = new URL(opened.url);
    const proxy = await startProxy(Number(url.port));
    url.port = String(proxy.port);
    const through = await openRedis({ url: url.href, prefix: opened.prefix, commandTimeoutMs: 500 });
    const [given, taken] = [newTaskId(), newTaskId()];
    const call = aCall({ createdAtMs: Date.now() });
    proxy.freeze();
    await expect(through.store.create({ taskId: given, call, graceMs: 1_000 })).rejects.toMatchObject({ code: "UNAVAILABLE" });
    // Its last moment is by Redis' clock as this process knows it: precise to some milliseconds, less on a busy
    // machine.
    await until(() => Date.now() > call.createdAtMs + 1_000);
    proxy.thaw();
    await until(async () => (await through.store.load(taken).catch(() => "away")) === undefined);
    const again = aCall({ createdAtMs: Date.now() });
    await through.store.create({ taskId: taken, call: again, graceMs: 1_000 });
    expect(await through.store.load(taken)).toMatchObject({ id: taken });
    expect(await through.store.load(given)).toBeUndefined();
    await through.store.cancel({ taskId: taken, nowMs: Date.now(), message: "" });
    await through.close();
    proxy.close();
  });

  test("a command timeout of months refuses nothing", async () => {
    const patient = await openRedis({ url: opened.url, commandTimeoutMs: 60 * 24 * HOUR_MS });
    expect(await patient.store.load(newTaskId())).toBeUndefined();
    await patient.close();
  });

  test("a deposit whose replacement is sent again, because its reply was lost, is replaced", async () => {
    const [task, ...others] = createKeys(opened.prefix).task(newTaskId())!;
    const deposits = `${task}:deposits`;
    const { redeposit } = defineScripts(opened.redis, { encoding: "utf8", sharded: false });
    await opened.redis.hset(deposits, "pay", "first");
    const replace = (before: string, deposit: string) => redeposit([task, ...others], { key: "pay", before, deposit });

    expect([await replace("first", "second"), await replace("first", "second")]).toEqual(["replaced", "replaced"]);
    expect(await replace("first", "third")).toBe("refused");
    expect(await opened.redis.hget(deposits, "pay")).toBe("second");
    await opened.redis.del(deposits);
    expect(await replace("second", "third")).toBe("refused");
  });

  test("notes about an open ask are removed with it, however it is closed", async () => {
    const { store, redis } = opened;
    const life = aLife(store);
    const closeBy = {
      answer: (taskId: string) => life.answer(taskId, "size", "4"),
      cancel: (taskId: string) => life.cancel(taskId),
      finish: async (taskId: string) => life.finish(taskId, await life.begin({ taskId, run: 2 })),
    };
    for (const close of Object.values(closeBy)) {
      const taskId = await life.parked([anAsk("size")]);
      const [key] = createKeys(opened.prefix).task(taskId) ?? [""];
      const violations = [{ path: "", message: "must be an object" }];
      await store.refuse({ taskId, key: "size", digest: "digest-of-size", violations, nowMs: Date.now() });
      await store.agree({ taskId, key: "size", digest: "digest-of-size", nowMs: Date.now() });
      expect(await redis.hkeys(key)).toEqual(expect.arrayContaining(["refused:size", "agreed:size"]));

      await close(taskId);

      expect((await redis.hkeys(key)).filter((field) => /^(ask|refused|agreed):/.test(field))).toEqual([]);
    }
  });

  test("answers that race over many connections have one winner", async () => {
    const others = await Promise.all(Array.from({ length: 4 }, () => openRedis()));
    const keys = createKeys(opened.prefix);
    const stores = others.map(({ redis }) => createRedisStore({ redis, keys, partitions: 1 }));
    const life = aLife(opened.store);
    for (let round = 0; round < 50; round += 1) {
      const taskId = await life.parked([anAsk("size")]);

      const request = { taskId, key: "size", digest: "digest-of-size", nowMs: Date.now(), graceMs: GRACE_MS };
      const recorded = await Promise.all(
        Array.from({ length: 20 }, (_, i) => stores[i % 4]!.answer({ ...request, answer: accept(String(i)) })),
      );

      expect(recorded.filter((each) => each?.receipt === "accepted")).toHaveLength(1);
      expect(recorded.filter((each) => each?.receipt === "late")).toHaveLength(19);
    }
    await Promise.all(others.map((other) => other.close()));
  });
});
