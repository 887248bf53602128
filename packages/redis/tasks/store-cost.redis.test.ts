/**
 * How many commands each step of a plain task's life costs Redis, including those in scripts: quorums, children,
 * limits and events are paid for by the tasks that use them. What a stream of a session costs. And how long a sweep takes if very many tasks are overdue.
 */
import { randomUUID } from "node:crypto";
import { ASK_ORDERS, type AskOrder } from "@parley/core";
import { Redis } from "ioredis";
import { afterAll, beforeAll, expect, test } from "vitest";
import { aLife, anAsk, newTaskId } from "../../../test/contract/builders.ts";
import { keysOf, type OpenRedis, openRedis } from "../../../test/contract/open-redis.ts";
import { aSession } from "../../../test/contract/session-contract.ts";
import { type SharedRedis, startOwnRedis } from "../../../test/support/shared-redis.ts";

let server: SharedRedis;
let look: Redis;
let opened: OpenRedis;

beforeAll(async () => {
  server = await startOwnRedis();
  look = new Redis(server.url);
  opened = await openRedis({ url: server.url });
});
afterAll(async () => {
  await opened.close();
  look.disconnect();
  await server.close();
});

/** Commands of its own client, by name: `hget 2`. Looks at the clock happen independently of tasks. */
async function commandsOf(work: () => Promise<unknown>): Promise<string> {
  await look.config("RESETSTAT");
  await work();
  const stats = await look.info("commandstats");
  const counts = [...stats.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)].map(([, name = "", calls]) => [name, Number(calls)] as const);
  const own = counts.filter(([name]) => !["config|resetstat", "info", "time", "client|setinfo"].includes(name));
  return own
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, calls]) => `${name} ${calls}`)
    .join(", ");
}

test("a plain task's life", async () => {
  await live(); // scripts are loaded
  expect(await live()).toEqual({
    create: "evalsha 1, exists 1, hset 2, pexpireat 1, publish 1, xadd 1, xlen 1, zadd 1",
    begin: "evalsha 1, hget 1, hgetall 2, hset 1, zadd 1",
    park: "evalsha 1, hexists 1, hget 1, hkeys 1, hset 1, hsetnx 1, publish 1, zadd 1",
    load: "hgetall 1",
    answer: "evalsha 1, hdel 2, hget 2, hkeys 1, hset 2, publish 1, zadd 1",
    "begin again": "evalsha 1, hget 1, hgetall 2, hset 1, zadd 1",
    finish: "del 2, evalsha 1, hdel 2, hget 2, hgetall 1, hkeys 1, hmget 1, hset 3, pexpireat 2, publish 1, zrem 1",
  });
});

test("an outbox costs three commands more where something is asked, answered or ended, and none elsewhere", async () => {
  const posting = await openRedis({ url: server.url, outbox: { lengthMax: 1_000, ageMs: 60_000 } });
  try {
    await live(posting); // scripts are loaded
    expect(await live(posting)).toEqual({
      create: "evalsha 1, exists 1, hset 2, pexpireat 1, publish 1, xadd 1, xlen 1, zadd 1",
      begin: "evalsha 1, hget 1, hgetall 2, hset 1, zadd 1",
      park: "evalsha 1, hexists 1, hget 2, hkeys 1, hset 1, hsetnx 1, pexpire 1, publish 1, xadd 1, zadd 1",
      load: "hgetall 1",
      answer: "evalsha 1, hdel 2, hget 3, hkeys 1, hset 2, pexpire 1, publish 1, xadd 1, zadd 1",
      "begin again": "evalsha 1, hget 1, hgetall 2, hset 1, zadd 1",
      finish: "del 2, evalsha 1, hdel 2, hget 3, hgetall 1, hkeys 1, hmget 1, hset 3, pexpire 1, pexpireat 2, publish 1, xadd 1, zrem 1",
    });
  } finally {
    await posting.close();
  }
});

async function live({ store }: Pick<OpenRedis, "store"> = opened): Promise<Readonly<Record<string, string>>> {
  const taskId = newTaskId();
  const life = aLife(store, () => taskId);
  let token = "";
  return {
    create: await commandsOf(() => life.create()),
    begin: await commandsOf(async () => (token = await life.begin({ taskId, run: 1 }))),
    park: await commandsOf(() => life.park(taskId, token, [anAsk("name")])),
    load: await commandsOf(() => life.load(taskId)),
    answer: await commandsOf(() => life.answer(taskId, "name", "Ann")),
    "begin again": await commandsOf(async () => (token = await life.begin({ taskId, run: 2 }))),
    finish: await commandsOf(() => life.finish(taskId, token)),
  };
}

test("a question to a group costs an entry in two sets, and a page of what a person is asked one command", async () => {
  const taskId = newTaskId();
  const life = aLife(opened.store, () => taskId);
  await life.create();
  const token = await life.begin({ taskId, run: 1 });
  const names = Array.from({ length: 50 }, (_, index) => `group ${index}`);
  const page = () => opened.store.asked({ names, order: "oldest", limit: 10 });
  await page(); // the script is loaded

  expect({
    park: await commandsOf(() => life.park(taskId, token, [anAsk("name", { audience: { to: { groups: ["7"] } } })])),
    page: await commandsOf(page),
    answer: await commandsOf(() => life.answer(taskId, "name", "Ann")),
  }).toEqual({
    park: "evalsha 1, hexists 1, hget 1, hkeys 1, hset 2, hsetnx 2, pexpireat 2, publish 2, zadd 3",
    page: "evalsha 1, hexists 1, zrangebyscore 50",
    answer: "evalsha 1, hdel 2, hget 3, hkeys 1, hset 2, publish 2, zadd 1, zrem 2",
  });
});

test("a question that says when it is wanted and how urgent it is costs two entries more, and a page by either a command for each set of a group and one for each but the last", async () => {
  const taskId = newTaskId();
  const life = aLife(opened.store, () => taskId);
  await life.create();
  const token = await life.begin({ taskId, run: 1 });
  const ask = anAsk("name", { audience: { to: { groups: ["7"] } } });
  const request = { ...ask.request, about: { dueMs: 60_000, priority: "urgent" } } as typeof ask.request;
  const page = (order: AskOrder) => opened.store.asked({ names: ["group 6", "group 7", "group 8"], order, limit: 10 });
  await page("oldest"); // the script is loaded

  expect({
    park: await commandsOf(() => life.park(taskId, token, [{ ...ask, request }])),
    due: await commandsOf(() => page("due")),
    priority: await commandsOf(() => page("priority")),
    answer: await commandsOf(() => life.answer(taskId, "name", "Ann")),
  }).toEqual({
    park: "evalsha 1, hexists 1, hget 1, hkeys 1, hset 2, hsetnx 2, pexpireat 4, publish 2, zadd 5",
    due: "evalsha 1, hexists 1, zcard 3, zrangebyscore 6, zscore 1",
    priority: "evalsha 1, hexists 1, zcard 6, zrangebyscore 9, zscore 2",
    answer: "evalsha 1, hdel 2, hget 3, hkeys 1, hset 2, publish 2, zadd 1, zrem 4",
  });
});

test("what a version that does not know the orders has put into the index is found in each of them, once, and what it closed leaves them", async () => {
  const life = aLife(opened.store, () => newTaskId());
  const names = [`group ${randomUUID()}`];
  const ask = anAsk("name", { audience: { to: { groups: [names[0]!.slice(6)] } } });
  const request = { ...ask.request, about: { dueMs: 60_000, priority: "urgent" } } as typeof ask.request;
  const taskId = await life.parked([{ ...ask, request }]);
  const sets = (await keysOf(opened.redis, opened.prefix)).filter((key) => /:asked:.*:(due|priority)$/.test(key));
  const has = async (set: string) => (await opened.redis.zscore(set, `${taskId} name`)) !== null;
  const own = (await Promise.all(sets.map(async (set) => ((await has(set)) ? [set] : [])))).flat();
  expect(own).toHaveLength(2);
  const found = async (order: AskOrder) => (await opened.store.asked({ names, order, limit: 10 })).length;
  for (const set of own) await opened.redis.zrem(set, `${taskId} name`);
  for (const order of ASK_ORDERS) expect(await found(order), order).toBe(1);

  // As if it was closed by such a process: only the two sets that it knows were left.
  for (const set of own) await opened.redis.zadd(set, "1", `${taskId} name`);
  await opened.redis.hdel(`${own[0]!.replace(/:asked:.*/, "")}:task:${taskId}`, "ask:name");
  for (const order of ["due", "priority"] as const) expect(await found(order), order).toBe(0);
  expect(await Promise.all(own.map(has))).toEqual([false, false]);
});

test("a stream of a session is held, and left to another, with as few commands for many questions as for one", async () => {
  const { sessions } = opened;
  const session = aSession();
  await sessions.open(session, 60_000);
  const at = { sessionId: session.id, nowMs: 1_000 };
  const hold = { ...at, leaseMs: 60_000, after: 100, most: 10 };
  for (const name of ["own", "result"]) await sessions.holdStream({ ...hold, stream: name, token: name });
  const question = { ...at, stream: "own", token: "own", taskId: "0-task", refusals: 0, most: 100 };
  for (let event = 1; event <= 50; event += 1) await sessions.claimAsk({ ...question, key: `ask#${event}`, event });
  await sessions.endStream({ ...at, stream: "none", heir: "result" }); // the script is loaded

  let put = 0;
  const held = await commandsOf(async () => {
    const became = await sessions.holdStream({ ...hold, stream: "own", token: "again" });
    put = became.type === "held" ? became.put.length : 0;
  });
  expect([put, held]).toEqual([50, "evalsha 1, hexists 1, hgetall 1, hset 1, publish 1"]);
  const left = await commandsOf(() => sessions.endStream({ ...at, stream: "own", heir: "result" }));
  expect(left).toBe("evalsha 1, hdel 1, hget 1, hgetall 1, hset 50, publish 1");
});

test("a sweep of 200,000 overdue tasks keeps Redis no longer than one of 1,000", async () => {
  const few = await microsecondsOfSweep(1_000);
  // By chance it may take some times as long. Counting through all of them took 200 times as long.
  expect(await microsecondsOfSweep(200_000)).toBeLessThan(10 * few);
});

/** Of the fastest of several sweeps. The tasks do not exist, so each sweep removes those that it looks at. */
async function microsecondsOfSweep(overdue: number): Promise<number> {
  const fill = "for i = 1, ARGV[1] do redis.call('ZADD', KEYS[1], i, '0-' .. i) end";
  await look.eval(fill, 1, `${opened.prefix}:{p0}:due`, overdue);
  const all: number[] = [];
  for (let time = 0; time < 8; time += 1) {
    await look.config("RESETSTAT");
    await opened.store.overdue({ partition: 0, nowMs: Date.now() + time, limit: 10 });
    all.push(Number(/^cmdstat_eval(?:sha)?:calls=1,usec=(\d+)/m.exec(await look.info("commandstats"))?.[1]));
  }
  return Math.min(...all);
}
