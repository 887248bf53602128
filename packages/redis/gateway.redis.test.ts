/** What the processes of a gateway share: which holds a call, which are dead, what upstreams list. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { newTaskId } from "../../test/contract/builders.ts";
import { openTestRedis, type TestRedis } from "../../test/support/redis.ts";
import { until } from "../../test/support/until.ts";
import { createGatewayShare, type GatewayShare } from "./gateway.ts";
import { createKeys } from "./keys.ts";
import { LETTERS_MAX, MESSAGE_MAX } from "./connection/letters.ts";

let opened: TestRedis;
let nowMs: number;

beforeEach(() => {
  opened = openTestRedis();
  nowMs = 1_000_000;
});
afterEach(() => opened.close());

const wakeUps = {
  listen: async (channel: string, listener: (message?: string) => void) => {
    const subscriber = opened.redis.duplicate();
    await subscriber.subscribe(channel);
    subscriber.on("message", (_channel, message: string) => listener(message));
    return () => subscriber.disconnect();
  },
};
const share = (): GatewayShare => createGatewayShare({ redis: opened.redis, wakeUps, keys: createKeys(opened.prefix), now: () => nowMs });
const FACTS = { isFinal: true, ttlMs: 60_000 };

describe("the holder of a task's call", () => {
  test("is the process that claimed it, as long as it beats, and then none", async () => {
    const [holder, other] = [share(), share()];
    const task = newTaskId();
    expect(await other.holderOf(task)).toBe("here");
    await holder.beat();
    await holder.claim(task, FACTS);
    expect(await holder.holderOf(task)).toBe("here");
    expect(await other.holderOf(task)).toEqual({ process: holder.id });
    nowMs += 6_999;
    expect(await other.holderOf(task)).toEqual({ process: holder.id });
    nowMs += 1;
    expect(await other.holderOf(task)).toBe("here");
  });

  test("leaves nothing when its calls have ended", async () => {
    const holder = share();
    const task = newTaskId();
    await holder.beat();
    await holder.claim(task, FACTS);
    await holder.release(task);
    await holder.forgetDead(await holder.leave());
    expect(await opened.keys()).toEqual([]);
  });

  test("has keys that expire: a question's with it, a process's after 35 days, a list's after 30, a lease at its end", async () => {
    const holder = share();
    const task = newTaskId();
    await holder.beat();
    await holder.claim(task, { ...FACTS, ttlMs: 59_999.5 });
    await holder.writeList("crm", "{}");
    await holder.lease("crm", 5_000);
    const dayMs = 86_400_000;
    const lifetimes = {
      [`{p0}:task:${task}:holder`]: 60_000,
      "gateway:holders": 35 * dayMs,
      [`gateway:calls:${holder.id}`]: 35 * dayMs,
      "gateway:lists": 30 * dayMs,
      "gateway:lister:crm": 5_000,
    };
    expect((await opened.keys()).toSorted()).toEqual(
      Object.keys(lifetimes)
        .map((key) => `${opened.prefix}:${key}`)
        .toSorted(),
    );
    for (const [key, ms] of Object.entries(lifetimes)) {
      const left = await opened.redis.pttl(`${opened.prefix}:${key}`);
      expect(left, key).toBeLessThanOrEqual(ms);
      expect(left, key).toBeGreaterThan(ms - 5_000);
    }
  });

  test("does not exist for an invalid task id", async () => {
    const [holder, other] = [share(), share()];
    await holder.beat();
    await holder.claim("no task", FACTS);
    expect(await other.holderOf("no task")).toBe("here");
    await holder.release("no task");
    expect(await opened.keys()).toEqual([`${opened.prefix}:gateway:holders`]);
  });
});

describe("a process that stopped beating", () => {
  test("is found once, with its tasks and whether their calls can be repeated", async () => {
    const [dead, one, other] = [share(), share(), share()];
    const [final, repeatable] = [newTaskId(), newTaskId()];
    await dead.beat();
    await dead.claim(final, FACTS);
    await dead.claim(repeatable, { ...FACTS, isFinal: false });
    nowMs += 7_000;
    await one.beat();
    expect(await one.takeDead()).toEqual([]);
    nowMs += 1;
    const found = (await Promise.all([one.takeDead(), other.takeDead()])).flat();
    expect(found.map(({ process }) => process)).toEqual([dead.id]);
    expect(found[0]!.calls.toSorted((a, b) => Number(b.isFinal) - Number(a.isFinal))).toEqual([
      { taskId: final, isFinal: true },
      { taskId: repeatable, isFinal: false },
    ]);
  });

  test("leaves nothing once its calls were followed up on, and of many ten are found at a time", async () => {
    const dead = Array.from({ length: 11 }, share);
    for (const process of dead) {
      await process.beat();
      await process.claim(newTaskId(), FACTS);
    }
    nowMs += 7_001;
    const looks = share();
    const found = [await looks.takeDead(), await looks.takeDead(), await looks.takeDead()];
    expect(found.map(({ length }) => length)).toEqual([10, 1, 0]);
    for (const each of found.flat()) await looks.forgetDead(each);
    expect((await opened.keys()).filter((key) => !key.endsWith(":holder"))).toEqual([]);
  });

  test("is never the one that looks, even if Redis' clock jumps between its beat and its look", async () => {
    const only = share();
    await only.beat();
    await only.claim(newTaskId(), FACTS);
    nowMs += 7_200_000;
    expect(await only.takeDead()).toEqual([]);
    expect(await only.beat()).toBe(true);
  });

  test("notices at its next beat", async () => {
    const [silent, other] = [share(), share()];
    expect(await silent.beat()).toBe(false);
    expect(await silent.beat()).toBe(true);
    nowMs += 8_000;
    await other.takeDead();
    expect(await silent.beat()).toBe(false);
  });
});

describe("lists of upstreams", () => {
  test("are read only when they have changed", async () => {
    const [writer, reader] = [share(), share()];
    await writer.writeList("crm", "first");
    const known = (revision = "") =>
      new Map([
        ["crm", revision],
        ["none", ""],
      ]);
    const first = await reader.readLists(known());
    expect([...first.keys()]).toEqual(["crm"]);
    expect(first.get("crm")?.text).toBe("first");
    const revision = first.get("crm")!.revision;
    expect((await reader.readLists(known(revision))).get("crm")).toEqual({ revision });
    await writer.writeList("crm", "second");
    expect((await reader.readLists(known(revision))).get("crm")?.text).toBe("second");
    expect(await reader.readLists(new Map())).toEqual(new Map());
  });

  test("are read by one process for longer each time it says so", async () => {
    const one = share();
    const lister = `${opened.prefix}:gateway:lister:crm`;
    await one.lease("crm", 5_000);
    await one.lease("crm", 60_000);
    expect(await opened.redis.pttl(lister)).toBeGreaterThan(50_000);
    expect(await share().lease("crm", 120_000)).toBe(false);
    expect(await opened.redis.pttl(lister)).toBeLessThanOrEqual(60_000);
  });

  test("are read from the upstream by one process at a time, and by another one when that is gone", async () => {
    const [one, other] = [share(), share()];
    expect(await one.lease("crm", 30_000)).toBe(true);
    expect(await other.lease("crm", 30_000)).toBe(false);
    expect(await one.lease("crm", 150)).toBe(true);
    await until(() => other.lease("crm", 30_000));
    expect(await one.lease("crm", 30_000)).toBe(false);
  });
});

describe("a front end's request to the workers", () => {
  test("reaches all of them, is claimed by one, and is answered to that front end alone", async () => {
    const [frontEnd, other, ...workers] = [share(), share(), share(), share()];
    const claimed: boolean[] = [];
    const replied: string[] = [];
    const serve = async (worker: GatewayShare, asker: string) => {
      const isMine = await worker.claimAsked("1", 60_000);
      claimed.push(isMine);
      if (isMine) await worker.post("read", asker, "done");
    };
    const stops = await Promise.all([
      frontEnd.onPost("read", (text) => replied.push(`asker ${text}`)),
      other.onPost("read", (text) => replied.push(`other ${text}`)),
      ...workers.map((worker) => worker.onAsked((text) => void serve(worker, text))),
    ]);
    await frontEnd.ask(frontEnd.id);
    await until(() => claimed.length === 2 && replied.length > 0);
    expect(claimed.toSorted()).toEqual([false, true]);
    expect(replied).toEqual(["asker done"]);
    expect((await opened.keys()).map((key) => key.replace(opened.prefix, ""))).toEqual([":gateway:claim:1"]);
    expect(await opened.redis.pttl(`${opened.prefix}:gateway:claim:1`)).toBeGreaterThan(50_000);
    for (const stop of stops) stop();
  });

  test("belongs to the worker that claims it first", async () => {
    const [first, second] = [share(), share()];
    expect([await first.claimAsked("1", 60_000), await second.claimAsked("1", 60_000)]).toEqual([true, false]);
  });

  test("does not arrive empty when a connection is restored", async () => {
    const heard: string[] = [];
    const restored: Parameters<typeof createGatewayShare>[0]["wakeUps"] = {
      listen: async (_channel, listener) => {
        for (const message of [undefined, "a request"]) listener(message);
        return () => undefined;
      },
    };
    const options = { redis: opened.redis, wakeUps: restored, keys: createKeys(opened.prefix), now: () => nowMs };
    await createGatewayShare(options).onAsked((text) => heard.push(text));
    expect(heard).toEqual(["a request"]);
  });
});

describe("questions to a caller", () => {
  test("are as many in a minute as there may be, in all processes together, and one beyond waits until there is room", async () => {
    const [one, other] = [share(), share()];
    const taken = await Promise.all([one, other, one].map((process) => process.takeQuestions("ann", 1, 3)));
    expect(taken).toEqual([0, 0, 0]);
    expect([await one.takeQuestions("ann", 1, 3), await other.takeQuestions("ann", 1, 3)]).toEqual([20_000, 20_000]);
    // Others have their own.
    expect(await other.takeQuestions("bob", 1, 3)).toBe(0);
    nowMs += 19_999;
    expect(await other.takeQuestions("ann", 1, 3)).toBe(1);
    nowMs += 1;
    expect(await other.takeQuestions("ann", 1, 3)).toBe(0);
    expect(await one.takeQuestions("ann", 1, 3)).toBe(20_000);
  });

  test("that come at once count each, and more of them than a minute has take all of it", async () => {
    const process = share();
    expect(await process.takeQuestions("ann", 2, 3)).toBe(0);
    expect(await process.takeQuestions("ann", 2, 3)).toBe(20_000);
    expect(await process.takeQuestions("ann", 1, 3)).toBe(0);
    expect(await process.takeQuestions("cid", 9, 3)).toBe(0);
    expect(await process.takeQuestions("cid", 1, 3)).toBe(20_000);
  });

  test("leave a key that expires, and a clock that is behind gives nothing away", async () => {
    const process = share();
    for (let time = 0; time < 3; time += 1) await process.takeQuestions("ann", 1, 3);
    const [key] = await opened.redis.keys(`${opened.prefix}:rate:*`);
    expect(await opened.redis.pttl(key!)).toBeGreaterThan(0);
    nowMs -= 3_600_000;
    expect(await process.takeQuestions("ann", 1, 3)).toBeGreaterThan(0);
  });
});

describe("a message to a process", () => {
  const letters = async () => (await opened.keys()).filter((key) => key.includes(":letter:"));

  test("may be longer than a channel carries, and nothing of it stays", async () => {
    const [from, to] = [share(), share()];
    const came: string[] = [];
    const close = await to.onPost("read", (text) => came.push(text));
    for (const length of [MESSAGE_MAX, MESSAGE_MAX + 1, 3 * MESSAGE_MAX]) {
      const text = `{"text":"${"ü".repeat(length - 11)}"}`;
      expect(text).toHaveLength(length);
      expect(await from.post("read", to.id, text)).toBe(true);
      await until(() => came.length > 0);
      expect(came.pop() === text).toBe(true);
      await until(async () => (await letters()).length === 0);
    }
    close();
  });

  test("of that length is unreadable in Redis, few are kept, and none for long", async () => {
    const from = share();
    const text = "secret ".repeat(MESSAGE_MAX);
    for (let sent = 0; sent < LETTERS_MAX; sent += 1) await from.post("read", "a process that has gone", text);
    expect(await letters()).toHaveLength(LETTERS_MAX);
    await from.post("read", "a process that has gone", text);
    expect(await letters()).toHaveLength(LETTERS_MAX);
    for (const key of await letters()) {
      expect((await opened.redis.getBuffer(key))?.includes("secret")).toBe(false);
      expect(await opened.redis.pttl(key)).toBeGreaterThan(0);
    }
  });

  test("goes by the channel, whatever its length, where a process of an older version may read it", async () => {
    const [from, to] = [share(), share()];
    const sent: string[] = [];
    const subscriber = opened.redis.duplicate();
    await subscriber.psubscribe(`${opened.prefix}:gateway:*:${to.id}`);
    subscriber.on("pmessage", (_pattern, _channel, message: string) => sent.push(message));
    const text = "x".repeat(MESSAGE_MAX + 1);
    for (const box of ["run", "call", "reply"] as const) await from.post(box, to.id, text);
    await until(() => sent.length === 3);
    expect(sent.every((each) => each === text)).toBe(true);
    subscriber.disconnect();
  });

  test("that is gone before it is read is as one that was lost", async () => {
    const [from, to] = [share(), share()];
    const came: string[] = [];
    const sent: string[] = [];
    const subscriber = opened.redis.duplicate();
    await subscriber.subscribe(`${opened.prefix}:gateway:replies:${to.id}`);
    subscriber.on("message", (_channel, message: string) => sent.push(message));
    await from.post("read", to.id, "x".repeat(MESSAGE_MAX + 1));
    await until(() => sent.length > 0);
    for (const key of await letters()) await opened.redis.del(key);
    const close = await to.onPost("read", (text) => came.push(text));
    await opened.redis.publish(`${opened.prefix}:gateway:replies:${to.id}`, sent[0] ?? "");
    await from.post("read", to.id, "short");
    await until(() => came.length > 0);
    expect(came).toEqual(["short"]);
    close();
    subscriber.disconnect();
  });
});
