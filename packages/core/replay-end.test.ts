/** How a run ends: parked, stopped, stuck, or with the handler's result. */
import { getEventListeners, once } from "node:events";
import { createScope, systemClock } from "@parley/node";
import { describe, expect, test } from "vitest";
import type { Effects } from "./effects.ts";
import { createHandClock } from "./hand-clock.fixture.ts";
import { accept, form, subject } from "./replay.fixture.ts";
import { straysOf } from "./replay/flow.ts";
import type { JsonObject } from "./task.ts";

/** What a divergence names, with its place in this file. */
const calledHere = (found: string) => expect.stringMatching(new RegExp(`^${found} at /.*/replay-end\\.test\\.ts:\\d+:\\d+$`));
const forever = () => new Promise<never>(() => undefined);

test("a run that is begun again to be followed more closely asks nothing if it keeps nothing of what its questions show", async () => {
  const task = subject(async ({ step }) => {
    await step("one", () => 1);
    await step("two", () => 2);
    throw new Error("down");
  });
  await task.run();
  const scope = createScope();
  scope.awaitOnlyCtx.add("tool subject");
  task.wire({ scope });
  // What changed code calls before it has made every recorded call again.
  task.deploy(async ({ step, ask, uuid }) => {
    await Promise.all([
      ask("new", form(uuid("drawn"))),
      (async () => {
        await systemClock.sleep(5);
        await step("one", () => 1);
      })(),
    ]);
    await step("two", () => 2);
    return {};
  });
  expect(await task.run()).toMatchObject({ type: "parked", isAgain: true, asks: [], entries: [] });
});

describe("a run that is stuck", () => {
  const HOUR = 3_600_000;
  /** Everything that can happen now has happened. */
  const settle = async () => {
    for (let turn = 0; turn < 10; turn += 1) await systemClock.idle();
  };

  /** A task with a step followed by an answered question, and code that reaches neither. */
  async function changed(
    handler: (effects: Effects, sleep: (ms: number) => Promise<void>) => Promise<JsonObject>,
    divergenceWaitMs: number,
  ) {
    const hand = createHandClock();
    const task = subject(
      async ({ step, ask }) => {
        await step("one", () => 1);
        await step("two", () => 2);
        await ask("go", form("?"));
        return {};
      },
      { divergenceWaitMs },
    );
    task.wire({ clock: hand.clock });
    await task.run();
    task.answer("go", accept(1));
    task.deploy((effects) => handler(effects, (ms) => hand.clock.sleep(ms)));
    return { task, hand };
  }

  /** Lets time pass from one check to the next until the run ends. Returns the length of each wait. */
  async function looks({ task, hand }: Awaited<ReturnType<typeof changed>>) {
    let end: Awaited<ReturnType<typeof task.run>> | undefined;
    void task.run().then((found) => (end = found));
    const lookedMs: number[] = [];
    for (await settle(); !end && lookedMs.length < 50; await settle()) {
      const [nextMs = 0] = hand.sleeping();
      lookedMs.push(nextMs);
      await hand.pass(nextMs);
    }
    return { end, lookedMs };
  }

  test.each([
    [0, []],
    [1, [10]],
    [10, [10]],
    [11, [10, 20]],
    [30, [10, 20]],
    [31, [10, 20, 40]],
    [4_270, [10, 20, 40, 80, 160, 320, 640, 1_000, 1_000, 1_000]],
  ])("with a patience of %d ms looks again after %j ms, and has then diverged", async (divergenceWaitMs, lookedMs) => {
    const stuck = await looks(await changed(async ({ step }) => ({ ...((await step("new", () => 1)) as object) }), divergenceWaitMs));
    expect(stuck.lookedMs).toStrictEqual(lookedMs);
    expect(stuck.end).toMatchObject({
      type: "diverged",
      error: {
        message: expect.stringMatching(
          /^replay diverged in tool subject: recorded step:one, step:two, ask:go \(not called again\), found new step:new at \/.*:\d+$/,
        ),
        data: { recorded: "step:one, step:two, ask:go (not called again)", found: calledHere("new step:new") },
      },
      patches: [],
    });
  });

  test.each([
    [2.5, [10, 20]],
    [2.6, [10, 20, 40]],
  ])("has twelve times the patience of %d ms while it waits for something outside ctx", async (waitMs, lookedMs) => {
    const outside = async ({ uuid, step }: Effects, sleep: (ms: number) => Promise<void>) => {
      void step("new", () => 1);
      await sleep(0);
      uuid();
      return await forever();
    };
    const stuck = await changed(outside, waitMs);
    const found = await looks(stuck);
    expect(found.lookedMs.filter((ms) => ms > 0)).toStrictEqual(lookedMs);
    expect(found.end).toMatchObject({
      error: {
        message: expect.stringMatching(
          /, found new step:new at \/.*:\d+\. What it awaits outside ctx may decide who comes first: put that into a step\. If items take a lock, run them with ctx\.map and its concurrency in place of that$/,
        ),
      },
    });
  });

  test("has its full patience again after progress", async () => {
    const later = async ({ step }: Effects, sleep: (ms: number) => Promise<void>) => {
      void step("new", () => 1);
      await sleep(25);
      await step("one", () => 1);
      return await forever();
    };
    // At the check after 30 ms it has called the step, and counts from there: 310 ms are not enough, and the next
    // check is after 630.
    const stuck = await changed(later, 300 / 12);
    const { end, lookedMs } = await looks(stuck);
    expect(end).toMatchObject({ type: "diverged", error: { data: { recorded: "step:two, ask:go (not called again)" } } });
    expect(lookedMs.reduce((sum, ms) => sum + ms)).toBe(630);
  });

  test("has its ordinary patience again after progress while it waits for ctx alone", async () => {
    const later = async ({ step, ofCtx }: Effects, sleep: (ms: number) => Promise<void>) => {
      void step("new", () => 1);
      await ofCtx(sleep(25));
      await step("one", () => 1);
      return await ofCtx(forever());
    };
    // At the check after 30 ms it has called the step, and counts from there: at 70 ms 40 are not enough.
    const { end, lookedMs } = await looks(await changed(later, 50));
    expect(end).toMatchObject({ type: "diverged", error: { data: { recorded: "step:two, ask:go (not called again)" } } });
    expect(lookedMs.reduce((sum, ms) => sum + ms)).toBe(150);
  });

  test("has its full patience once it waits for ctx alone: what it awaited outside may have come late, on a worker that stood still", async () => {
    const late = async ({ step, ofCtx }: Effects, sleep: (ms: number) => Promise<void>) => {
      void step("new", () => 1);
      await sleep(100);
      await ofCtx(sleep(55));
      await step("one", () => 1);
      return await forever();
    };
    // It is looked at after 10, 30, 70 and 150 ms. At 150 it has waited for ctx alone for 50 ms, and for less than that since it was seen to.
    const { end } = await looks(await changed(late, 50));
    expect(end).toMatchObject({ type: "diverged", error: { data: { recorded: "step:two, ask:go (not called again)" } } });
  });

  test("has its ordinary patience while it waits for ctx alone, also if the recorded call was made after an await of something outside", async () => {
    const stuck = await changed(async ({ step }) => ({ ...((await step("new", () => 1)) as object) }), 10);
    stuck.task.journal.clear();
    stuck.task.journal.set("step:own", { digest: "", calledAt: "0o", outcome: { type: "begun" } });
    const { end, lookedMs } = await looks(stuck);
    expect(end).toMatchObject({ type: "diverged", error: { data: { recorded: "step:own (not called again)" } } });
    expect(lookedMs).toEqual([10]);
  });

  test("waits indefinitely for a call after an await of something outside ctx, and says so when it is stopped", async () => {
    const late = async ({ step }: Effects) => {
      await systemClock.idle();
      // It waits for the run to be live, which never happens, so nothing is noted of it.
      return { ...((await step("new", () => 1)) as object) };
    };
    const { task, hand } = await changed(late, 1);
    task.journal.clear();
    task.journal.set("step:own", { digest: "", calledAt: "0o", outcome: { type: "begun" } });
    const stop = new AbortController();
    const end = task.run(stop.signal);
    await settle();
    await hand.pass(HOUR);
    stop.abort();
    expect(await end).toMatchObject({
      type: "aborted",
      diverging: { code: "REPLAY_DIVERGED", data: { recorded: "step:own (not called again)", found: calledHere("new step:new") } },
      entries: [],
    });
  });

  test("that has done nothing new says so when it is stopped, and passes the reason on", async () => {
    let told: AbortSignal | undefined;
    const { task } = await changed(({ signal }) => ((told = signal), forever()), 1);
    const stop = new AbortController();
    const end = task.run(stop.signal);
    await settle();
    const why = new Error("the worker ends");
    stop.abort(why);
    expect(await end).toMatchObject({ type: "aborted", diverging: { data: { found: "nothing new" } } });
    expect(told?.reason).toBe(why);
    expect(getEventListeners(stop.signal, "abort")).toStrictEqual([]);
  });

  test("has the run's whole time for its own work, and does not look", async () => {
    const { task, hand } = await changed(async ({ step, ask, random, uuid }, sleep) => {
      random();
      uuid();
      await sleep(HOUR);
      await step("one", () => 1);
      await step("two", () => 2);
      await ask("go", form("?"));
      return { done: true };
    }, 1);
    const end = task.run();
    await settle();
    expect(hand.sleeping()).toStrictEqual([HOUR]);
    await hand.pass(HOUR);
    expect(await end).toMatchObject({ type: "returned", result: { done: true } });
  });

  test("that waits for ctx alone has diverged when its patience is over, even if it has done nothing new", async () => {
    const stuck = await changed(async ({ step }) => ({ done: (await step("also", () => 1)) ?? null }), 31);
    // It would settle third.
    stuck.task.journal.set("step:also", { digest: "", calledAt: "0", place: 3, outcome: { type: "value", value: 1 } });
    const { end, lookedMs } = await looks(stuck);
    expect(lookedMs).toStrictEqual([10, 20, 40]);
    expect(end).toMatchObject({
      type: "diverged",
      error: { data: { recorded: "step:one, step:two, ask:go (not called again)", found: "nothing new" } },
    });
  });

  test("that waits for ctx alone is not kept by a function which nobody awaits, and which awaits something outside", async () => {
    const beside = async () => await forever();
    const stuck = await changed(async ({ step }) => {
      void beside();
      return { done: (await step("also", () => 1)) ?? null };
    }, 31);
    // It would settle third.
    stuck.task.journal.set("step:also", { digest: "", calledAt: "0", place: 3, outcome: { type: "value", value: 1 } });
    const { end, lookedMs } = await looks(stuck);
    expect([lookedMs, end?.type]).toStrictEqual([[10, 20, 40], "diverged"]);
  });

  test("that waits for a helper which waits for ctx alone waits for nothing outside", async () => {
    const helper = async ({ ask }: Effects) => await ask("go", form("?"));
    const { lookedMs } = await looks(await changed(async (effects) => (await Promise.all([helper(effects), helper(effects)]), {}), 1));
    expect(lookedMs).toStrictEqual([10]);
  });

  test("that has silently passed a recorded decision belongs to older code, and names the decision", async () => {
    const stuck = await changed(() => forever(), 10);
    stuck.task.journal.set("patch:other-way", { digest: "", calledAt: "0", outcome: { type: "value", value: true } });
    const { end, lookedMs } = await looks(stuck);
    // It waits for something outside ctx, so its patience is 120 ms.
    expect(lookedMs).toStrictEqual([10, 20, 40, 80]);
    expect(end).toMatchObject({ type: "diverged", error: { data: { found: "nothing new" } }, patches: ["other-way"] });
  });

  test.each<[string, (effects: Effects) => unknown, string]>([
    ["a step", ({ step }) => step("x", () => 1), "new step:x"],
    ["a question", ({ ask }) => ask("x", form("?")), "new ask:x"],
    ["a sleep", ({ sleep }) => sleep("x", HOUR), "new sleep:x"],
    ["an event", ({ event }) => event("x", { type: "event", schema: {} }), "new ask:event:x"],
    ["a call", ({ callTool }) => callTool("x", { tool: "t", arguments: {} }), "new ask:call:x"],
    ["the time", ({ now }) => now("x"), "new now:x"],
    ["a restart", ({ restart }) => restart({}), "a restart"],
    ["an error", () => Promise.reject(new Error("gone")), "the end of the handler"],
    ["chance", ({ random, uuid }) => [random("x"), uuid("x")], "the end of the handler"],
    ["a step by the name of a question that is open", ({ step }) => step("open", () => 1), "new step:open"],
    ["a question that is open", ({ ask }) => ask("open", form("?")), "the end of the handler"],
    ["an event that is open", ({ event }) => event("open", { type: "event", schema: {} }), "the end of the handler"],
    ["a call that is open", ({ callTool }) => callTool("open", { tool: "t", arguments: {} }), "the end of the handler"],
    ["a step that is recorded", ({ step }) => step("one", () => 1), "the end of the handler"],
  ])("names the first thing that is not recorded: %s", async (what, call, found) => {
    const task = subject(
      async ({ step, ask, event, callTool }) => {
        await Promise.all([
          step("one", () => 1),
          step("missing", () => 1),
          ask("open", form("?")),
          event("open", { type: "event", schema: {} }).answer,
          callTool("open", { tool: "t", arguments: {} }),
        ]);
        return {};
      },
      { divergenceWaitMs: 0 },
    );
    await task.run();
    task.deploy(async (effects) => {
      const called = call(effects);
      if (what === "an error") await called;
      return {};
    });
    expect(await task.run()).toMatchObject({
      type: "diverged",
      error: { data: { found: found === "the end of the handler" ? found : calledHere(found) } },
    });
  });
});

describe("the end of a run", () => {
  test("an aborted run ends at once and has no more effects (R5)", async () => {
    const stop = new AbortController();
    const gate = Promise.withResolvers<void>();
    let after = "nothing";
    const task = subject(async ({ step }) => {
      await gate.promise;
      await step("late", () => (after = "a step ran"));
      return {};
    });
    const end = task.run(stop.signal);
    stop.abort();
    expect(await end).toEqual({ type: "aborted", entries: [] });
    gate.resolve();
    await systemClock.idle();
    await systemClock.idle();
    expect(after).toBe("nothing");
  });

  test("a handler that throws before its first await ends the run as thrown", async () => {
    const task = subject(() => {
      throw new Error("at once");
    });
    expect(await task.run()).toMatchObject({ type: "threw", error: new Error("at once") });
  });

  test("a run that was stopped before it began ends without calling the handler", async () => {
    let called = false;
    const task = subject(async () => {
      called = true;
      return {};
    });
    expect(await task.run(AbortSignal.abort())).toStrictEqual({ type: "aborted", entries: [] });
    expect(called).toBe(false);
  });

  test.each<[string, (effects: Effects) => Promise<JsonObject>, string]>([
    ["returned", async () => ({}), "ended"],
    ["restarted", ({ restart }) => restart({}), "ended"],
    ["parked", async ({ ask }) => ({ ...(await ask("a", form("?"))) }), "ended"],
    ["threw", () => Promise.reject(new Error("no")), "failed"],
  ])("(%s) tells work in flight the reason", async (type, handler, why) => {
    let signal: AbortSignal | undefined;
    const task = subject((effects) => {
      ({ signal } = effects);
      return handler(effects);
    });
    const stop = new AbortController();
    expect((await task.run(stop.signal)).type).toBe(type);
    expect(signal?.reason).toMatchObject({ name: "RunStopped", why });
    expect(getEventListeners(stop.signal, "abort")).toStrictEqual([]);
  });

  const scope = createScope();
  /** Passes stray errors as the worker does (apps/worker/stray-errors.ts). */
  const strays = () => straysOf(scope.get());

  test("does not fail because of a rejected promise that is handled after all", async () => {
    const task = subject(async () => {
      const promise = {};
      strays()?.rejected(promise, new Error("lost"));
      strays()?.handled(promise);
      return {};
    });
    task.wire({ scope });
    expect(await task.run()).toMatchObject({ type: "returned" });
  });

  test.each<[string, (effects: Effects) => Promise<JsonObject>, string, unknown]>([
    [
      "a step",
      async ({ step }) => {
        void step("notify", () => Promise.reject(new Error("no route")));
        await step("work", () => 1);
        return {};
      },
      "step:notify failed and was never awaited",
      expect.objectContaining({ message: "no route" }),
    ],
    [
      "a call by a wrong name",
      async ({ step }) => {
        void step("no name", () => 1);
        return {};
      },
      "step no name failed and was never awaited",
      expect.objectContaining({ code: "INVALID_NAME" }),
    ],
    [
      "a promise",
      async () => {
        strays()?.rejected({}, new Error("lost"));
        return {};
      },
      "a promise was rejected and never handled",
      new Error("lost"),
    ],
    [
      "a callback",
      () => {
        strays()?.threw(new Error("thrown"));
        return forever();
      },
      "a callback threw",
      new Error("thrown"),
    ],
  ])("fails the task by name if %s failed unhandled", async (_, handler, message, cause) => {
    const task = subject(handler);
    task.wire({ scope });
    const end = await task.run();
    expect(end).toMatchObject({ type: "threw", error: { code: "UNHANDLED_REJECTION", message } });
    expect((end as { error: Error }).error.cause).toStrictEqual(cause);
  });

  test("leaves no timer, even if it throws because nothing can be recorded", async () => {
    const hand = createHandClock();
    const task = subject(async ({ sleep, step }) => {
      await Promise.all([sleep("nap", 500), step("one", () => 1)]);
      return {};
    });
    task.wire({ clock: hand.clock });
    task.loseStore(new Error("away"));
    await expect(task.run()).rejects.toThrow("away");
    await systemClock.idle();
    expect(hand.sleeping()).toStrictEqual([]);
  });

  test("leaves no timer behind when it is stopped", async () => {
    const hand = createHandClock();
    const stop = new AbortController();
    const task = subject(async ({ step }) => {
      await step("one", async ({ signal }) => {
        const stopped = once(signal, "abort");
        stop.abort();
        await stopped;
      });
      return {};
    });
    task.wire({ clock: hand.clock });
    expect((await task.run(stop.signal)).type).toBe("aborted");
    await systemClock.idle();
    expect(hand.sleeping()).toStrictEqual([]);
  });

  test("keeps what the handler noted, if it is stopped just after the handler has returned", async () => {
    const begun = Promise.withResolvers<void>();
    const stop = new AbortController();
    let hasReturned = false;
    const task = subject(async ({ now, step }) => {
      void step("one", async ({ signal }) => {
        begun.resolve();
        await once(signal, "abort");
        for (let turn = 0; turn < 10; turn += 1) await systemClock.idle();
      });
      await begun.promise;
      now();
      hasReturned = true;
      return {};
    });
    const idle = () => {
      if (hasReturned) stop.abort();
      return systemClock.idle();
    };
    task.wire({ clock: { ...systemClock, idle } });
    const end = await task.run(stop.signal);
    expect(end).toMatchObject({ type: "aborted", entries: [{ key: "now:now" }, { key: "step:one" }] });
  });

  test("waits for a write in progress, and rejects if that fails", async () => {
    const [begun, write] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const task = subject(async ({ step }) => {
      void step("one", () => 1);
      await begun.promise;
      throw new Error("no more");
    });
    task.wire({ record: () => (begun.resolve(), write.promise) });
    const end = task.run();
    await begun.promise;
    for (let turn = 0; turn < 10; turn += 1) await systemClock.idle();
    write.reject(new Error("away"));
    await expect(end).rejects.toThrow("away");
  });

  test("returns results that completed in flight, as arrived then, and no failures", async () => {
    const begun = Promise.withResolvers<void>();
    const task = subject(async ({ step }) => {
      const stopped = (signal: AbortSignal) => new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
      void step("kept", async ({ signal }) => (await stopped(signal), 1));
      void step("lost", async ({ signal }) => {
        begun.resolve();
        await stopped(signal);
        throw new Error("no");
      });
      await begun.promise;
      throw new Error("network");
    });
    const hand = createHandClock();
    task.wire({ clock: hand.clock });
    expect(await task.run()).toStrictEqual({
      type: "threw",
      error: new Error("network"),
      entries: [
        {
          key: "step:kept",
          entry: {
            digest: "",
            calledAt: "0",
            outcome: { type: "value", value: 1 },
            arrived: { atMs: hand.clock.now(), revision: 0 },
          },
        },
      ],
    });
  });

  describe("a stopped run waits five seconds", () => {
    const passed = async (hand: ReturnType<typeof createHandClock>, end: Promise<unknown>, ms: number) => {
      for (let turn = 0; turn < 10; turn += 1) await systemClock.idle();
      await hand.pass(ms);
      for (let turn = 0; turn < 10; turn += 1) await systemClock.idle();
      return await Promise.race([end, Promise.resolve("not yet")]);
    };

    test("for work that ignores its signal", async () => {
      const begun = Promise.withResolvers<void>();
      const task = subject(async ({ step }) => {
        await step("deaf", () => (begun.resolve(), forever()));
        return {};
      });
      const [hand, stop] = [createHandClock(), new AbortController()];
      task.wire({ clock: hand.clock });
      const end = task.run(stop.signal);
      await begun.promise;
      stop.abort();
      expect(await passed(hand, end, 4_999)).toBe("not yet");
      expect(await passed(hand, end, 1)).toStrictEqual({ type: "aborted", entries: [] });
    });

    test("for work that ignores its signal, counted from the stop if the handler had already ended", async () => {
      const begun = Promise.withResolvers<void>();
      const task = subject(async ({ step }) => {
        void step("deaf", () => (begun.resolve(), forever()));
        await begun.promise;
        return { done: true };
      });
      const [hand, stop] = [createHandClock(), new AbortController()];
      task.wire({ clock: hand.clock });
      const end = task.run(stop.signal);
      await begun.promise;
      expect(await passed(hand, end, 60_000)).toBe("not yet");
      stop.abort();
      expect(await passed(hand, end, 4_999)).toBe("not yet");
      expect(await passed(hand, end, 1)).toMatchObject({ type: "returned", result: { done: true } });
    });

    test.each([
      ["comes through", "resolve", ["now:read~1"]],
      ["fails", "reject", []],
    ] as const)("for a write that is on its way: one that %s at last", async (_, how, kept) => {
      const { task, hand, end, write, stop } = await writing();
      stop.abort();
      expect(await passed(hand, end, 4_999)).toBe("not yet");
      write[how](new Error("away") as never);
      const over = await end;
      expect(over.type === "aborted" && over.entries.map(({ key }) => key)).toStrictEqual(kept);
      expect(hand.sleeping()).toStrictEqual([]);
      expect(task.journal.size).toBe(0);
    });

    test("for a write in progress, and no longer: results that depend on it are dropped", async () => {
      const { hand, end, stop } = await writing();
      stop.abort();
      expect(await passed(hand, end, 4_999)).toBe("not yet");
      expect(await passed(hand, end, 1)).toStrictEqual({ type: "aborted", entries: [] });
    });

    /** A run whose first write is in progress, and which has read the time since. */
    async function writing() {
      const write = Promise.withResolvers<void>();
      const begun = Promise.withResolvers<void>();
      const task = subject(async ({ now, step, signal }) => {
        // It throws when it is stopped, too late to end the run, and does not affect the entries that are returned.
        const fails = new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(new Error("stopped"))));
        await Promise.all([step("one", () => 1), begun.promise.then(() => now("read")), fails]);
        return {};
      });
      const [hand, stop] = [createHandClock(), new AbortController()];
      task.wire({ clock: hand.clock, record: () => (begun.resolve(), write.promise) });
      const end = task.run(stop.signal);
      await begun.promise;
      for (let turn = 0; turn < 10; turn += 1) await systemClock.idle();
      return { task, hand, stop, end, write };
    }
  });

  test("and gives nothing to later calls: no token, and no answer", async () => {
    let effects: Effects | undefined;
    const task = subject(async (given) => {
      effects = given;
      return {};
    });
    await task.run();
    const late = effects?.event("late", { type: "event", schema: {} });
    expect([late?.token, late?.url]).toStrictEqual(["", ""]);
    expect(await Promise.race([late?.answer, systemClock.idle().then(() => "nothing")])).toBe("nothing");
  });
});
