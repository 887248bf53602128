import { describe, expect, test } from "vitest";
import { createTestClock, createTestFiles, createTestIds, createTestScope, createTestTokens, textDigest } from "./ports.ts";

describe("the clock of a test", () => {
  const clockAt = (atMs: number) => createTestClock(new Date(atMs));

  test("stands still until it is moved, and never goes back", () => {
    const clock = clockAt(5_000);
    expect(clock.now()).toBe(5_000);
    clock.moveTo(7_000);
    clock.moveTo(6_000);
    expect(clock.now()).toBe(7_000);
  });

  test("is moved by a wait, at its end", async () => {
    const clock = clockAt(5_000);
    const slept = clock.sleep(20, new AbortController().signal);
    expect(clock.now()).toBe(5_000);
    await slept;
    expect(clock.now()).toBe(5_020);
    await clock.sleep(1);
    expect(clock.now()).toBe(5_021);
  });

  test("is not moved by a wait that is aborted, before or on the way", async () => {
    const clock = clockAt(5_000);
    const stop = new AbortController();
    const stopped = clock.sleep(60_000, stop.signal);
    stop.abort();
    await stopped;
    await clock.sleep(60_000, stop.signal);
    expect(clock.now()).toBe(5_000);
  });

  test("reports the end of a turn, and of the microtasks", async () => {
    const clock = clockAt(0);
    const order: string[] = [];
    clock.afterMicrotasks(() => order.push("after"));
    void Promise.resolve()
      .then(() => order.push("first"))
      .then(() => order.push("second"));
    setImmediate(() => order.push("turn"));
    await clock.idle();
    expect(order).toEqual(["first", "second", "after", "turn"]);
  });
});

test("the scope of a test is where its work began", async () => {
  const scope = createTestScope();
  const value = {};
  expect(scope.get()).toBeUndefined();
  const inside = await scope.run(value, async () => {
    const before = scope.get();
    await Promise.resolve();
    return [before, scope.get()];
  });
  expect(inside).toEqual([value, value]);
  expect(inside[1]).toBe(value);
  expect(scope.get()).toBeUndefined();
});

test("the scope of a test tells of every promise until its hook is removed, and knows of no tool that it awaits only ctx", async () => {
  const scope = createTestScope();
  let created = 0;
  const ignored = () => undefined;
  const removed = scope.promises.createHook({ init: () => void (created += 1), before: ignored, after: ignored, settled: ignored });
  void Promise.resolve();
  removed();
  void Promise.resolve();
  expect(created).toBe(1);
  expect(scope.awaitOnlyCtx.size).toBe(0);
});

test("ids are the same in each test, except those of tasks", () => {
  const [one, other] = [createTestIds(), createTestIds()];
  const drawn = (ids: typeof one) => [ids.token(), ids.uuid(), ids.random(), ids.token()];
  expect(drawn(one)).toEqual(drawn(other));
  expect(createTestIds().token()).toBe("token-000000000001");
  expect(one.uuid()).toBe("00000000-0000-4000-8000-000000000005");
  expect(one.taskId()).toMatch(/^0-test-\d+$/);
  expect(one.taskId()).not.toBe(other.taskId());
  const randoms = Array.from({ length: 100 }, () => one.random());
  expect(new Set(randoms).size).toBe(100);
  expect(Math.min(...randoms)).toBeGreaterThanOrEqual(0);
  expect(Math.max(...randoms)).toBeLessThan(1);
  expect(Math.max(...randoms)).toBeGreaterThan(0.5);
});

test("a digest has 22 characters that may be part of a key", () => {
  expect(textDigest("a")).toMatch(/^[\w-]{22}$/);
  expect(textDigest("a")).not.toBe(textDigest("b"));
});

describe("the token of an event", () => {
  const tokens = createTestTokens();

  test("names task and event, and is in its address", () => {
    const { token, url } = tokens.tokenOf("0-test-1", "event:päid");
    expect(tokens.read(token)).toEqual({ taskId: "0-test-1", key: "event:päid" });
    expect(url).toBe(`https://parley.test/events/${token}`);
  });

  test("of another task or event is refused, and one without a signature", () => {
    const paid = tokens.tokenOf("0-test-1", "event:paid").token;
    const [, name = "", signature = ""] = paid.split(".");
    expect(signature).toMatch(/^[\w-]+$/);
    const sent = Buffer.from("event:sent").toString("base64url");
    for (const token of [`0-test-2.${name}.${signature}`, `0-test-1.${sent}.${signature}`, `0-test-1.${name}`, "0-test-1", ""]) {
      expect(tokens.read(token)).toBeUndefined();
    }
    expect(tokens.read(`0-test-1.${name}.${signature}`)).toEqual({ taskId: "0-test-1", key: "event:paid" });
  });
});

describe("the files of a test", () => {
  const chunks = async function* (...texts: string[]) {
    for (const each of texts) yield new TextEncoder().encode(each);
  };

  test("are read back as they were put, by task and id", async () => {
    const files = createTestFiles();
    await files.put("task", "one", chunks("a", "b"));
    await files.put("task", "two", chunks("c"));
    expect(await new Response(await files.open("task", "one")).text()).toBe("ab");
    expect(await new Response(await files.open("task", "two")).text()).toBe("c");
    await expect(files.open("other", "one")).rejects.toMatchObject({ code: "FILE_GONE", message: "this task has no such file" });
  });

  test("are gone once they are removed, and none is idle", async () => {
    const files = createTestFiles();
    await files.put("task", "one", chunks("a"));
    await files.put("task", "two", chunks("b"));
    await files.remove("task", "one");
    await expect(files.open("task", "one")).rejects.toMatchObject({ code: "FILE_GONE" });
    expect(await new Response(await files.open("task", "two")).text()).toBe("b");
    for await (const found of files.idle(0)) expect(found).toBeUndefined();
  });
});
