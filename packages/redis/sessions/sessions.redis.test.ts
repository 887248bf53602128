import { Redis } from "ioredis";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { keysOf, type OpenRedis, openRedis } from "../../../test/contract/open-redis.ts";
import { startProxy } from "../../../test/contract/proxy.ts";
import { aSession } from "../../../test/contract/session-contract.ts";
import { createKeys } from "../keys.ts";
import { createRedisSessions } from "./sessions.ts";

const TTL_MS = 60_000;

describe("the session store on Redis", () => {
  let opened: OpenRedis;
  beforeEach(async () => {
    opened = await openRedis();
  });
  afterEach(() => opened.close());

  /** A session store on a connection of its own, and the names of the commands that it sends. */
  async function openCounted() {
    const redis = new Redis(opened.url);
    await redis.ping();
    const listen = vi.fn(async () => () => undefined);
    const send = vi.spyOn(redis, "sendCommand");
    const sent = () => send.mock.calls.splice(0).map(([{ name }]) => name);
    return { redis, listen, sent, sessions: createRedisSessions({ redis, wakeUps: { listen }, keys: createKeys(opened.prefix) }) };
  }

  test("a session is read and extended by one command", async () => {
    const { redis, sessions, sent } = await openCounted();
    const session = aSession();
    await sessions.open(session, TTL_MS);
    await sessions.touch(session.id, TTL_MS); // sends the script's text

    sent();
    expect(await sessions.touch(session.id, TTL_MS)).toEqual(session);

    expect(sent()).toEqual(["evalsha"]);
    redis.disconnect();
  });

  test("a session that is closed wakes its watchers on every node, and what is not there to be removed costs nothing", async () => {
    const { redis, sessions, sent } = await openCounted();
    const session = aSession();
    await sessions.open(session, TTL_MS);
    sent();
    await sessions.forgetCalls(session.id, []);
    await sessions.forgetClaims(session.id, []);
    await sessions.unfollow(session.id, []);
    expect(sent()).toEqual([]);
    expect(await sessions.close(session.id)).toBe(true);
    expect(sent()).toEqual(["del", "publish"]);
    redis.disconnect();
  });

  test.each([
    [{}, '["anonymous","2025-11-25","ef","a client","1.2.3"]', undefined],
    [{ tenant: "acme", logLevel: "debug" }, '[["anonymous","acme"],"2025-11-25","ef","a client","1.2.3"]', "debug"],
    [{ capabilities: { roots: true } }, '["anonymous","2025-11-25","r","a client","1.2.3"]', undefined],
  ] as const)("a session stands in Redis as every version reads it: %j", async (more, facts, level) => {
    const session = aSession(more);
    await opened.sessions.open(session, TTL_MS);
    const held = await opened.redis.hgetall(createKeys(opened.prefix).session(session.id) ?? "");
    expect(held).toStrictEqual({ session: facts, ...(level !== undefined && { level }) });
    expect(await opened.sessions.touch(session.id, TTL_MS)).toStrictEqual(session);
  });

  test("a client without a name has none", async () => {
    const { clientInfo: _, ...session } = aSession();
    await opened.sessions.open(session, TTL_MS);
    expect(await opened.redis.hget(createKeys(opened.prefix).session(session.id) ?? "", "session")).toBe('["anonymous","2025-11-25","ef"]');
    expect(await opened.sessions.touch(session.id, TTL_MS)).toStrictEqual(session);
  });

  test("an invalid session id is no session, for every method, and Redis is not asked", async () => {
    const { redis, sessions, listen, sent } = await openCounted();
    const id = "no session";
    const hold = { sessionId: id, stream: "s", token: "t", nowMs: 1, leaseMs: 1, after: 0, most: 10 };
    await expect(sessions.open(aSession({ id }), TTL_MS)).rejects.toThrow(new TypeError("a new session needs a session id"));
    await sessions.setLogLevel(id, "debug");
    await sessions.unsubscribe(id, "file:///x");
    await sessions.forgetCalls(id, ["1"]);
    await sessions.unfollow(id, ["task"]);
    await sessions.dropStream(hold);
    await sessions.forgetClaims(id, [{ taskId: "task", key: "ask" }]);
    (await sessions.watch(id, () => undefined))();
    expect([
      await sessions.touch(id, TTL_MS),
      await sessions.close(id),
      await sessions.subscribe(id, "file:///x", 10),
      await sessions.noteCall(id, "1", "task", 10),
      await sessions.cancelCall(id, "1", 10),
      await sessions.stateOfCall(id, "1"),
      await sessions.calls(id),
      await sessions.follow(id, "task", 10),
      await sessions.interests(id),
      await sessions.holdStream(hold),
      await sessions.keepStream(hold),
      await sessions.claimAsk({ ...hold, taskId: "task", key: "ask", refusals: 0, event: 1 }),
      await sessions.claims(id),
    ]).toStrictEqual([
      undefined,
      false,
      "full",
      "gone",
      undefined,
      "gone",
      new Map(),
      "full",
      { taskIds: [], resources: [] },
      { type: "gone" },
      "lost",
      "elsewhere",
      [],
    ]);
    expect(sent()).toEqual([]);
    expect(listen).not.toHaveBeenCalled();
    redis.disconnect();
  });

  test("a session is one key, which always expires, after any write and any end", async () => {
    const { sessions, redis, prefix } = opened;
    const session = aSession();
    await sessions.open(session, TTL_MS);
    const [key = ""] = await keysOf(redis, prefix).then((keys) => keys.filter((each) => each.includes(session.id)));
    const hold = { sessionId: session.id, stream: "standalone", token: "token", nowMs: Date.now(), leaseMs: 1_000, after: 0, most: 10 };
    const everything = () =>
      Promise.all([
        sessions.setLogLevel(session.id, "debug"),
        sessions.noteCall(session.id, "1", "task", 10),
        sessions.cancelCall(session.id, "2", 10),
        sessions.follow(session.id, "task", 10),
        sessions.subscribe(session.id, "file:///x", 10),
        sessions.holdStream(hold),
        sessions.claimAsk({ ...hold, taskId: "task", key: "ask", refusals: 0, event: 1 }),
        sessions.keepStream(hold),
      ]);

    await everything();
    expect(await keysOf(redis, prefix).then((keys) => keys.filter((each) => each.includes(session.id)))).toEqual([key]);
    const ttlMs = await redis.pttl(key);
    expect(ttlMs).toBeGreaterThan(0);
    expect(ttlMs).toBeLessThanOrEqual(TTL_MS);

    await Promise.all([everything(), sessions.close(session.id), everything()]);
    expect(await redis.exists(key)).toBe(0);
  });

  test("a new session takes at most 250 bytes, and one with a stream, a task, a call and a question at most 500", async () => {
    const { sessions, redis, prefix } = opened;
    const session = aSession({ clientInfo: { name: "claude-code", version: "2.0.14" } });
    await sessions.open(session, TTL_MS);
    const key = createKeys(prefix).session(session.id) ?? "";
    const bytes = async () => Number(await redis.memory("USAGE", key));

    expect(await bytes()).toBeLessThanOrEqual(250);
    const taskId = await opened.ids.taskId();
    const held = { sessionId: session.id, stream: "standalone", token: opened.ids.uuid(), nowMs: Date.now(), most: 10 };
    await sessions.holdStream({ ...held, leaseMs: 1_000, after: 0 });
    await sessions.follow(session.id, taskId, 10);
    await sessions.noteCall(session.id, "17", taskId, 10);
    await sessions.claimAsk({ ...held, taskId, key: "party-size", refusals: 0, event: Date.now() });
    expect(await bytes()).toBeLessThanOrEqual(500);
  });

  test("after a lost connection the watchers of sessions are called as well", async () => {
    const url = new URL(opened.url);
    const proxy = await startProxy(Number(url.port));
    url.port = String(proxy.port);
    const watching = await openRedis({ url: url.href, prefix: opened.prefix });
    const onChange = vi.fn();
    await watching.sessions.watch(aSession().id, onChange);

    proxy.cut();

    await expect.poll(() => onChange).toHaveBeenCalled();
    await watching.close();
    proxy.close();
  });
});
