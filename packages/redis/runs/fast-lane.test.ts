/** How each message of a lane is handled; fast-fast-lane.redis.test.ts tests Redis' side. */
import { describe, expect, test } from "vitest";
import type { TakenRun } from "./consume-runs.ts";
import { openLane } from "./fast-lane.ts";
import { createPlaces } from "./run-places.ts";
import { calledWord } from "./queue.ts";

const CHANNEL = "parley:{p0}:lane:w";

/** A lane with this many places, whose runs end when told to. */
function aLane({ concurrency = 2, listen = async () => () => undefined, isQueueAway = false }: Partial<Settings> = {}) {
  const happened: unknown[][] = [];
  let hear: (message?: string) => void = () => undefined;
  const ends: PromiseWithResolvers<unknown>[] = [];
  const at =
    (level: string) =>
    (...line: unknown[]) =>
      void happened.push([level, ...line]);
  const lane = openLane({
    channel: CHANNEL,
    wakeUps: {
      listen(channel, onMessage) {
        happened.push(["listen", channel]);
        hear = onMessage;
        return listen();
      },
      leave: async (channel) => void happened.push(["leave", channel]),
    },
    log: { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") },
    places: createPlaces({ concurrency, queues: () => 1, changed: () => undefined }),
    run(run: TakenRun) {
      happened.push(["run", run]);
      const end = Promise.withResolvers<unknown>();
      ends.push(end);
      return end.promise;
    },
    queue: {
      add(run) {
        happened.push(["add", run]);
        return isQueueAway ? Promise.reject(new Error("away")) : Promise.resolve();
      },
    },
  });
  return { close: () => lane.close(), happened, ends, hear: (message?: string) => hear(message) };
}

interface Settings {
  readonly concurrency: number;
  readonly listen: () => Promise<() => void>;
  readonly isQueueAway: boolean;
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe("a lane", () => {
  test("begins a run that it is offered, for an answer or a new task", async () => {
    const { happened, hear, ends, close } = aLane({ concurrency: 3 });
    hear("0-a 2 1700");
    hear("0-b 1 1800 7");
    expect(happened).toStrictEqual([
      ["listen", CHANNEL],
      ["run", { taskId: "0-a", run: 2, cause: "answered", queuedAtMs: 1_700, isSecondHand: false }],
      ["run", { taskId: "0-b", run: 1, cause: "created", queuedAtMs: 1_800, isSecondHand: false }],
    ]);
    for (const end of ends) end.resolve(undefined);
    await close();
  });

  test("passes on an answered run with its turn and its share, and begins one of a share that has no run here", async () => {
    const { happened, hear, ends, close } = aLane({ concurrency: 2 });
    hear("0-a 2 1700 0 - noisy");
    hear("0-b 3 1700 4 - noisy");
    hear("0-c 2 1700 0 - quiet");
    hear("0-d 1 1700 1 tool:x quiet");
    const run = { run: 2, cause: "answered", queuedAtMs: 1_700, isSecondHand: false };
    expect(happened.slice(1)).toStrictEqual([
      ["run", { ...run, taskId: "0-a" }],
      ["add", { taskId: "0-b", run: 3, cause: "answered", place: 4, word: "noisy" }],
      ["run", { ...run, taskId: "0-c" }],
      ["add", { taskId: "0-d", run: 1, cause: "created", place: 1, calls: { kind: "tool", name: "x" }, word: "quiet" }],
    ]);
    for (const end of ends) end.resolve(undefined);
    await close();
  });

  test("passes what a new task calls to its run, if the word can be read", async () => {
    const { happened, hear, ends, close } = aLane({ concurrency: 4 });
    const words = [calledWord({ kind: "prompt", name: "a b:1 ☃" }).join(), "tool:%E0", "thing:plain"];
    for (const word of words) hear(`0-a 1 1800 7 ${word}`);
    const run = { taskId: "0-a", run: 1, cause: "created", queuedAtMs: 1_800, isSecondHand: false };
    expect(happened.slice(1)).toStrictEqual([
      ["run", { ...run, calls: { kind: "prompt", name: "a b:1 ☃" } }],
      ["run", run],
      ["run", run],
    ]);
    expect(calledWord({ kind: "tool", name: "half \uD83D" })).toStrictEqual([]);
    for (const end of ends) end.resolve(undefined);
    await close();
  });

  test("passes on offers that it has no place for, a new task with its priority and what it calls", async () => {
    const { happened, hear, ends, close } = aLane({ concurrency: 2 });
    hear("0-a 2 1700");
    hear("0-b 2 1800");
    hear("0-c 1 1900 0");
    hear("0-e 1 1900 0 tool:plain");
    expect(happened.slice(2)).toStrictEqual([
      ["add", { taskId: "0-b", run: 2, cause: "answered" }],
      ["add", { taskId: "0-c", run: 1, cause: "created", place: 0 }],
      ["add", { taskId: "0-e", run: 1, cause: "created", place: 0, calls: { kind: "tool", name: "plain" } }],
    ]);
    ends[0]!.resolve(undefined);
    await turn();
    hear("0-d 2 2000");
    expect(happened.at(-1)).toStrictEqual(["run", { taskId: "0-d", run: 2, cause: "answered", queuedAtMs: 2_000, isSecondHand: false }]);
    ends[1]!.resolve(undefined);
    await close();
  });

  test("ignores a restored connection", async () => {
    const { happened, hear, close } = aLane();
    hear(undefined);
    await close();
    expect(happened).toStrictEqual([
      ["listen", CHANNEL],
      ["leave", CHANNEL],
    ]);
  });

  test("frees the place after a run that threw, and logs the origin, without content", async () => {
    const { happened, hear, ends, close } = aLane({ concurrency: 2 });
    hear("0-a 2 1700");
    ends[0]!.reject(new TypeError("what a person said"));
    await turn();
    const [, fields, message] = happened.at(-1)!;
    expect(message).toBe("run failed");
    expect(fields).toMatchObject({ taskId: "0-a", run: 2 });
    expect(JSON.stringify(fields)).toContain("TypeError");
    expect(JSON.stringify(fields)).not.toContain("a person");
    hear("0-b 2 1700");
    expect(happened.at(-1)?.[0]).toBe("run");
    ends[1]!.resolve(undefined);
    await close();
  });

  test("that is closed passes offers on, and waits for its runs and for what it passes on", async () => {
    const { happened, hear, ends, close } = aLane({ concurrency: 3 });
    hear("0-a 2 1700");
    let isClosed = false;
    const closed = close().then(() => (isClosed = true));
    hear("0-b 2 1800");
    expect(happened.at(-1)).toStrictEqual(["add", { taskId: "0-b", run: 2, cause: "answered" }]);
    await turn();
    expect(happened.at(-1)).toStrictEqual(["leave", CHANNEL]);
    expect(isClosed).toBe(false);
    ends[0]!.resolve(undefined);
    await closed;
  });

  test("leaves the channel only once it has subscribed", async () => {
    const listened = Promise.withResolvers<() => void>();
    const { happened, close } = aLane({ listen: () => listened.promise });
    const closed = close();
    await turn();
    expect(happened).toStrictEqual([["listen", CHANNEL]]);
    listened.resolve(() => undefined);
    await closed;
    expect(happened).toStrictEqual([
      ["listen", CHANNEL],
      ["leave", CHANNEL],
    ]);
  });

  test("that cannot pass a run on leaves it to the sweep", async () => {
    const { hear, close } = aLane({ concurrency: 1, isQueueAway: true });
    hear("0-a 2 1700");
    await close();
  });

  test.each([
    [new Error("not subscribed"), "not subscribed"],
    ["a text", "a text"],
  ])("that cannot subscribe says so, and closes: %s", async (problem, error) => {
    // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- a library may throw anything
    const { happened, close } = aLane({ listen: () => Promise.reject(problem) });
    await close();
    expect(happened).toStrictEqual([
      ["listen", CHANNEL],
      ["warn", { channel: CHANNEL, error }, "lane is not subscribed"],
      ["leave", CHANNEL],
    ]);
  });
});
