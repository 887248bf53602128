/**
 * Which listeners are called for which message, and when channels are left; wake-ups.redis.test.ts tests Redis and
 * its connection.
 */
import { EventEmitter } from "node:events";
import { ParleyError } from "@parley/core";
import { Redis } from "ioredis";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createKeys } from "../keys.ts";
import { classicSubscriber, createRedisWakeUps, type Subscriber, type SubscriberEvents } from "./wake-ups.ts";

const TASK = `0-${"t".repeat(22)}`;
const CHANNEL = `parley:{p0}:task:${TASK}`;

/** A subscriber whose confirmations the test controls. */
function aSubscriber() {
  const commands: unknown[][] = [];
  const pending: PromiseWithResolvers<unknown>[] = [];
  let events: SubscriberEvents | undefined;
  let isHeld = false;
  const command = (name: string) => async (channels: readonly string[]) => {
    commands.push([name, ...channels]);
    if (!isHeld) return;
    const answer = Promise.withResolvers<unknown>();
    pending.push(answer);
    await answer.promise;
  };
  const subscriber: Subscriber = {
    listenTo(given) {
      if (events) throw new Error("listened to twice");
      events = given;
    },
    subscribe: command("subscribe"),
    unsubscribe: command("unsubscribe"),
  };
  return {
    subscriber,
    commands,
    pending,
    hold: (held = true) => void (isHeld = held),
    say: (channel: string, message: string) => events!.message(channel, message),
    lose: (which: (channel: string) => boolean = () => true) => events!.lost(which),
  };
}

const logged: unknown[][] = [];
const log = { debug() {}, info() {}, warn: (...line: unknown[]) => void logged.push(line), error() {} };
const refusalOf = (listening: Promise<unknown>) => listening.catch((error: unknown) => error);
const turn = () => vi.advanceTimersByTimeAsync(0);

function subject(sharded?: Subscriber) {
  const classic = aSubscriber();
  const redis = new Redis({ lazyConnect: true });
  const wakeUps = createRedisWakeUps({ redis, subscriber: classic.subscriber, sharded, keys: createKeys(), log, timeoutMs: 100 });
  const heard: unknown[][] = [];
  const ear = (who: string) => (message?: string) => void heard.push([who, message]);
  const published = vi.spyOn(redis, "publish").mockResolvedValue(1);
  return { ...classic, redis, wakeUps, heard, ear, published };
}

beforeEach(() => {
  logged.length = 0;
  vi.useFakeTimers();
});
afterEach(() => void vi.useRealTimers());

describe("a listener", () => {
  test("receives its channel only, and may listen twice", async () => {
    const { wakeUps, heard, ear, say, commands } = subject();
    const both = ear("both");
    const stops = [await wakeUps.listen("a", both), await wakeUps.listen("a", both), await wakeUps.listen("b", ear("other"))];
    say("a", "1");
    say("c", "2");
    stops[0]!();
    say("a", "3");
    expect(heard).toStrictEqual([
      ["both", "1"],
      ["both", "1"],
      ["both", "3"],
    ]);
    expect(commands).toStrictEqual([
      ["subscribe", "a"],
      ["subscribe", "b"],
    ]);
  });

  test("is active once its subscription is confirmed, which others of the channel also wait for", async () => {
    const { wakeUps, ear, hold, pending, commands } = subject();
    hold();
    let confirmed = 0;
    for (const who of ["one", "two"]) void wakeUps.listen("a", ear(who)).then(() => (confirmed += 1));
    await turn();
    expect([confirmed, commands]).toEqual([0, [["subscribe", "a"]]]);
    pending[0]!.resolve(undefined);
    await turn();
    expect(confirmed).toBe(2);
    await vi.advanceTimersByTimeAsync(100);
    expect(commands).toEqual([["subscribe", "a"]]);
  });

  test("that is not confirmed in time is UNAVAILABLE, receives nothing, and is undone when the confirmation arrives", async () => {
    const { wakeUps, heard, ear, hold, pending, commands, say } = subject();
    hold();
    const refused = refusalOf(wakeUps.listen("a", ear("late")));
    await vi.advanceTimersByTimeAsync(99);
    expect(commands).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(await refused).toEqual(new ParleyError("UNAVAILABLE", "Redis: not subscribed within 100 ms"));
    say("a", "1");
    expect(heard).toEqual([]);
    pending[0]!.resolve(undefined);
    await turn();
    expect(commands).toStrictEqual([
      ["subscribe", "a"],
      ["unsubscribe", "a"],
    ]);
  });

  test("that came after one that timed out keeps the channel", async () => {
    const { wakeUps, heard, ear, hold, pending, commands, say } = subject();
    hold();
    const refused = refusalOf(wakeUps.listen("a", ear("late")));
    await vi.advanceTimersByTimeAsync(100);
    expect(await refused).toMatchObject({ code: "UNAVAILABLE" });
    const again = wakeUps.listen("a", ear("again"));
    pending[0]!.resolve(undefined);
    pending[1]!.resolve(undefined);
    await again;
    await turn();
    say("a", "1");
    expect(heard).toEqual([["again", "1"]]);
    expect(commands).toStrictEqual([
      ["subscribe", "a"],
      ["subscribe", "a"],
    ]);
  });

  test("whose subscription failed gets the error, and the next one tries again", async () => {
    const { wakeUps, ear, hold, pending, commands } = subject();
    hold();
    const failed = [wakeUps.listen("a", ear("one")), wakeUps.listen("a", ear("two"))].map(refusalOf);
    const gone = new Error("gone");
    pending[0]!.reject(gone);
    expect(await Promise.all(failed)).toEqual([gone, gone]);
    hold(false);
    await wakeUps.listen("a", ear("three"));
    await vi.advanceTimersByTimeAsync(100);
    expect(commands).toStrictEqual([
      ["subscribe", "a"],
      ["subscribe", "a"],
    ]);
  });
});

test("keeps a newer subscription when an older one fails", async () => {
  const { wakeUps, heard, ear, hold, pending, say } = subject();
  hold();
  const failed = refusalOf(wakeUps.listen("a", ear("first")));
  const left = wakeUps.leave("a");
  const again = wakeUps.listen("a", ear("again"));
  pending[0]!.reject(new Error("gone"));
  expect(await failed).toEqual(new Error("gone"));
  for (const each of pending.slice(1)) each.resolve(undefined);
  await left;
  await again;
  say("a", "1");
  expect(heard).toEqual([["again", "1"]]);
});

describe("a channel without listeners", () => {
  test("is left a second after the first of them, together with others, and only if no listener returned", async () => {
    const { wakeUps, heard, ear, say, commands } = subject();
    const stops = await Promise.all(["a", "b", "c"].map((name) => wakeUps.listen(name, ear(name))));
    const another = await wakeUps.listen("a", ear("another"));
    commands.length = 0;
    stops[0]!();
    stops[0]!();
    stops[1]!();
    await vi.advanceTimersByTimeAsync(400);
    another();
    stops[2]!();
    await wakeUps.listen("c", ear("back"));
    await vi.advanceTimersByTimeAsync(599);
    expect(commands).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(commands).toStrictEqual([["unsubscribe", "b", "a"]]);
    say("a", "1");
    say("c", "2");
    expect(heard).toEqual([["back", "2"]]);
    await wakeUps.listen("b", ear("b"));
    expect(commands.at(-1)).toEqual(["subscribe", "b"]);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(commands).toHaveLength(2);
  });

  test("is left a second after its last listener, also shortly after others were left", async () => {
    const { wakeUps, ear, commands } = subject();
    const stops = await Promise.all(["a", "b", "c"].map((name) => wakeUps.listen(name, ear(name))));
    commands.length = 0;
    stops[0]!();
    await vi.advanceTimersByTimeAsync(400);
    stops[1]!();
    await vi.advanceTimersByTimeAsync(800);
    expect(commands).toEqual([["unsubscribe", "a", "b"]]);
    stops[2]!();
    await vi.advanceTimersByTimeAsync(999);
    expect(commands).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(commands[1]).toEqual(["unsubscribe", "c"]);
  });

  test("is left once, even if it is left at once in the meantime", async () => {
    const { wakeUps, ear, commands } = subject();
    const stop = await wakeUps.listen("a", ear("a"));
    stop();
    await wakeUps.leave("a");
    await vi.advanceTimersByTimeAsync(1_000);
    expect(commands).toEqual([
      ["subscribe", "a"],
      ["unsubscribe", "a"],
    ]);
  });

  test("is not left if a listener returned, and is left a second after that one went", async () => {
    const { wakeUps, ear, commands } = subject();
    (await wakeUps.listen("a", ear("a")))();
    const back = await wakeUps.listen("a", ear("back"));
    await vi.advanceTimersByTimeAsync(1_000);
    expect(commands).toEqual([["subscribe", "a"]]);
    back();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(commands).toEqual([
      ["subscribe", "a"],
      ["unsubscribe", "a"],
    ]);
  });

  test("that cannot be left is gone with the connection", async () => {
    const { wakeUps, ear, hold, pending, commands } = subject();
    (await wakeUps.listen("a", ear("a")))();
    hold();
    await vi.advanceTimersByTimeAsync(1_000);
    pending[0]!.reject(new Error("gone"));
    await turn();
    expect(commands.at(-1)).toEqual(["unsubscribe", "a"]);
  });
});

describe("leaving a channel at once", () => {
  test("its listener receives messages until it is left, and none after", async () => {
    const { wakeUps, heard, ear, hold, pending, say, commands } = subject();
    await wakeUps.listen("a", ear("a"));
    await wakeUps.listen("b", ear("b"));
    hold();
    let isLeft = false;
    const left = wakeUps.leave("a").then(() => (isLeft = true));
    await turn();
    expect(commands.at(-1)).toEqual(["unsubscribe", "a"]);
    say("a", "1");
    await vi.advanceTimersByTimeAsync(999);
    expect(isLeft).toBe(false);
    pending[0]!.resolve(undefined);
    await left;
    say("a", "2");
    say("b", "3");
    expect(heard).toEqual([
      ["a", "1"],
      ["b", "3"],
    ]);
  });

  test.each([
    ["Redis does not say so within a second", (answer: PromiseWithResolvers<unknown>) => void answer, 1_000],
    ["the connection is gone", (answer: PromiseWithResolvers<unknown>) => answer.reject(new Error("gone")), 0],
  ])("ends if %s", async (_where, happen, afterMs) => {
    const { wakeUps, heard, ear, hold, pending, say } = subject();
    await wakeUps.listen("a", ear("a"));
    hold();
    const left = wakeUps.leave("a");
    happen(pending[0]!);
    await vi.advanceTimersByTimeAsync(afterMs);
    await left;
    say("a", "1");
    expect(heard).toEqual([]);
  });

  test("happens twice if it is listened to in between, and each listener receives messages until it has left", async () => {
    const { wakeUps, heard, ear, hold, pending, say } = subject();
    await wakeUps.listen("a", ear("one"));
    hold();
    const first = wakeUps.leave("a");
    hold(false);
    await wakeUps.listen("a", ear("two"));
    hold();
    const second = wakeUps.leave("a");
    pending[0]!.resolve(undefined);
    await first;
    say("a", "1");
    pending[1]!.resolve(undefined);
    await second;
    say("a", "2");
    expect(heard).toEqual([["two", "1"]]);
  });

  test("does nothing without a listener, and takes nothing from a newer listener", async () => {
    const { wakeUps, heard, ear, say, commands } = subject();
    await wakeUps.leave("a");
    expect(commands).toEqual([]);
    await wakeUps.listen("a", ear("a"));
    const left = wakeUps.leave("a");
    await wakeUps.listen("a", ear("again"));
    await left;
    say("a", "1");
    expect(heard).toEqual([["again", "1"]]);
  });
});

describe("a restored connection", () => {
  test("subscribes every lost channel again, and then calls its listeners", async () => {
    const { wakeUps, heard, ear, lose, hold, pending, commands } = subject();
    for (const name of ["a", "b"]) await wakeUps.listen(name, ear(name));
    hold();
    lose((channel) => channel === "b");
    await turn();
    expect(commands.at(-1)).toEqual(["subscribe", "b"]);
    expect(heard).toEqual([]);
    pending[0]!.resolve(undefined);
    await turn();
    expect(heard).toStrictEqual([["b", undefined]]);
    lose();
    expect(commands.at(-1)).toEqual(["subscribe", "a", "b"]);
  });

  test("calls no listener that has left in the meantime", async () => {
    const { wakeUps, heard, ear, lose, hold, pending } = subject();
    for (const name of ["a", "b"]) await wakeUps.listen(name, ear(name));
    hold();
    lose();
    const left = wakeUps.leave("a");
    for (const each of pending) each.resolve(undefined);
    await left;
    await turn();
    expect(heard).toStrictEqual([["b", undefined]]);
  });

  test("does nothing if nothing was lost; a failure is logged, and what failed is tried again together", async () => {
    const { wakeUps, heard, ear, lose, hold, pending, commands } = subject();
    lose();
    await wakeUps.listen("a", ear("a"));
    lose(() => false);
    expect(commands).toEqual([["subscribe", "a"]]);
    hold();
    lose();
    lose();
    pending[0]!.reject(new Error("lost again"));
    pending[1]!.reject("a text");
    await turn();
    expect(heard).toEqual([]);
    expect(logged).toStrictEqual([
      [{ error: "lost again" }, "subscriptions not renewed yet"],
      [{ error: "a text" }, "subscriptions not renewed yet"],
    ]);

    await vi.advanceTimersByTimeAsync(999);
    expect(commands).toHaveLength(3);
    await vi.advanceTimersByTimeAsync(1);
    expect(commands.slice(3)).toEqual([["subscribe", "a"]]);
    pending[2]!.reject(new Error("and again"));
    await vi.advanceTimersByTimeAsync(1_000);
    expect(commands.slice(4)).toEqual([["subscribe", "a"]]);
    pending[3]!.resolve(undefined);
    await turn();
    expect(heard).toStrictEqual([["a", undefined]]);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(commands).toHaveLength(5);
  });

  test("tries no channel again that was left or was not lost, and none once the backend is closed", async () => {
    const { wakeUps, redis, ear, lose, hold, pending, commands } = subject();
    for (const name of ["a", "b", "c"]) await wakeUps.listen(name, ear(name));
    hold();
    lose((channel) => channel !== "c");
    pending[0]!.reject(new Error("lost again"));
    await turn();
    void wakeUps.leave("a");
    await vi.advanceTimersByTimeAsync(1_000);
    expect(commands.slice(-1)).toEqual([["subscribe", "b"]]);
    redis.disconnect();
    pending.at(-1)!.reject(new Error("closed"));
    await vi.advanceTimersByTimeAsync(10_000);
    expect(commands.slice(-1)).toEqual([["subscribe", "b"]]);
    expect(commands).toHaveLength(6);
  });
});

test("uses for channels of one slot the subscriber meant for them", async () => {
  const nodes = aSubscriber();
  const { wakeUps, heard, ear, commands, say, lose } = subject(nodes.subscriber);
  const stops = [await wakeUps.listen("parley:announcements", ear("all")), await wakeUps.listen(CHANNEL, ear("task"))];
  expect([commands, nodes.commands]).toStrictEqual([[["subscribe", "parley:announcements"]], [["subscribe", CHANNEL]]]);
  say("parley:announcements", "1");
  nodes.say(CHANNEL, "2");
  expect(heard).toEqual([
    ["all", "1"],
    ["task", "2"],
  ]);
  lose();
  nodes.lose();
  await turn();
  for (const stop of stops) stop();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(commands.slice(1)).toEqual([
    ["subscribe", "parley:announcements"],
    ["unsubscribe", "parley:announcements"],
  ]);
  expect(nodes.commands.slice(1)).toEqual([
    ["subscribe", CHANNEL],
    ["unsubscribe", CHANNEL],
  ]);
});

describe("a watch", () => {
  test("of a task receives its changes, and of an invalid task id nothing", async () => {
    const { wakeUps, say, commands } = subject();
    const changes: unknown[][] = [];
    const onChange = (...given: unknown[]) => void changes.push(given);
    expect(wakeUps.isWatched(TASK)).toBe(false);
    const stop = await wakeUps.watch(TASK, onChange);
    expect(wakeUps.isWatched(TASK)).toBe(true);
    (await wakeUps.watch("no task", onChange))();
    expect(wakeUps.isWatched("no task")).toBe(false);
    expect(commands).toEqual([["subscribe", CHANNEL]]);
    for (const message of ["7 reported", "8 answered:size", "9 answered:cancelled cancelled", "10 asked:completed withdrawn:failed"])
      say(CHANNEL, message);
    expect(changes).toStrictEqual([
      [{ revision: 7, isEnd: false }],
      [{ revision: 8, isEnd: false }],
      [{ revision: 9, isEnd: true }],
      [{ revision: 10, isEnd: false }],
    ]);
    stop();
    say(CHANNEL, "11 completed");
    expect(changes).toHaveLength(4);
  });

  test("of announcements receives those of every process", async () => {
    const { wakeUps, published } = subject();
    await wakeUps.announce({ type: "prompts" });
    expect(published.mock.calls).toEqual([["parley:announcements", '{"type":"prompts"}']]);
  });

  test.each(["", "null", "tools", '"tools"', '{"type":"tool"}', '{"type":"resource"}', '{"type":"resource","uri":5}'])(
    "of announcements is not ended by what is none: %j",
    async (message) => {
      logged.length = 0;
      const { wakeUps, say } = subject();
      const heard: unknown[] = [];
      await wakeUps.onAnnouncement((announcement) => heard.push(announcement));
      say("parley:announcements", message);
      say("parley:announcements", '{"type":"tools"}');
      expect(heard).toEqual([{ type: "tools" }]);
      expect(logged).toEqual([[{ length: message.length }, "announcement not understood"]]);
    },
  );

  test("of announcements receives each, and after a lost connection that every list may have changed", async () => {
    const { wakeUps, say, lose, commands } = subject();
    const announced: unknown[] = [];
    await wakeUps.onAnnouncement((announcement) => void announced.push(announcement));
    expect(commands).toEqual([["subscribe", "parley:announcements"]]);
    say("parley:announcements", '{"type":"prompts"}');
    lose();
    await turn();
    expect(announced).toStrictEqual([{ type: "prompts" }, { type: "tools" }, { type: "prompts" }, { type: "resources" }]);
  });
});

describe("classic pub/sub", () => {
  function aConnection(status: string) {
    const commands: unknown[][] = [];
    const command =
      (name: string) =>
      async (...channels: string[]) =>
        void commands.push([name, ...channels]);
    const redis = Object.assign(new EventEmitter(), { status, subscribe: command("subscribe"), unsubscribe: command("unsubscribe") });
    return { redis, commands, subscriber: classicSubscriber(redis as unknown as Redis) };
  }

  test("subscribes to all channels with one command, and receives their messages", async () => {
    const { redis, commands, subscriber } = aConnection("ready");
    const message = vi.fn();
    subscriber.listenTo({ message, lost: () => undefined });
    await subscriber.subscribe(["a", "b"]);
    await subscriber.unsubscribe(["a", "b"]);
    expect(commands).toEqual([
      ["subscribe", "a", "b"],
      ["unsubscribe", "a", "b"],
    ]);
    redis.emit("message", "a", "1");
    expect(message.mock.calls).toEqual([["a", "1"]]);
  });

  test.each([
    ["connecting", 2],
    ["ready", 3],
  ])("has lost everything each time a connection follows another: %s", (status, losses) => {
    const { redis, subscriber } = aConnection(status);
    const lost = vi.fn((which: (channel: string) => boolean) => which("any"));
    subscriber.listenTo({ message: () => undefined, lost });
    for (let connection = 0; connection < 3; connection += 1) redis.emit("ready");
    expect(lost.mock.results.map(({ value }) => value as unknown)).toEqual(Array.from({ length: losses }, () => true));
  });
});
