import { getEventListeners } from "node:events";
import { createScope, systemClock } from "@parley/node";
import { describe, expect, test } from "vitest";
import type { Effects } from "./effects.ts";
import { type ErrorCode, ParleyError, StepFailed, ToolError } from "./errors.ts";
import { createHandClock } from "./hand-clock.fixture.ts";
import { accept, askKeys, form, subject } from "./replay.fixture.ts";
import { straysOf } from "./replay/flow.ts";
import type { Settings } from "./settings.ts";
import type { JsonObject } from "./task.ts";

describe("asks", () => {
  test("a run parks at an open ask and continues behind it once it is answered", async () => {
    const task = subject(async ({ ask }) => ({ answer: { ...(await ask("size", form("How many?"))) } as JsonObject }));
    expect(askKeys(await task.run())).toEqual(["size"]);
    task.answer("size", accept(4));
    expect(await task.run()).toMatchObject({ type: "returned", result: { answer: { action: "accept", content: { n: 4 } } } });
  });

  test("asks that are put together park together, and each finds its own answer (I4)", async () => {
    const task = subject(async ({ ask }) => {
      const [a, b] = await Promise.all([ask("a", form("A?")), ask("b", form("B?"))]);
      return { a: a as unknown as JsonObject, b: b as unknown as JsonObject };
    });
    expect(askKeys(await task.run())).toEqual(["a", "b"]);
    task.answer("b", accept(2));
    expect(askKeys(await task.run())).toEqual(["a"]);
    task.answer("a", accept(1));
    expect(await task.run()).toMatchObject({ result: { a: { content: { n: 1 } }, b: { content: { n: 2 } } } });
  });

  test("a branch that was answered continues while another still waits", async () => {
    const task = subject(async ({ ask }) => {
      const chain = async () => {
        await ask("first", form("1?"));
        return ask("second", form("2?"));
      };
      await Promise.all([chain(), ask("other", form("O?"))]);
      return {};
    });
    expect(askKeys(await task.run())).toEqual(["first", "other"]);
    task.answer("first", accept(1));
    expect(askKeys(await task.run()).toSorted()).toEqual(["other", "second"]);
  });

  test("the pause cannot be caught: a try around an ask sees nothing", async () => {
    let seen = "nothing";
    const task = subject(async ({ ask }) => {
      try {
        await ask("size", form("?"));
      } catch {
        seen = "an error";
      } finally {
        seen = seen === "nothing" ? "nothing" : seen;
      }
      return {};
    });
    await task.run();
    expect(seen).toBe("nothing");
  });

  test("a name that is used again gets an occurrence number, the same on every replay", async () => {
    const task = subject(async ({ ask }) => {
      for (let round = 0; round < 3; round += 1) await ask("round", form(`Round ${round}?`));
      return {};
    });
    expect(askKeys(await task.run())).toEqual(["round"]);
    task.answer("round", accept(1));
    expect(askKeys(await task.run())).toEqual(["round#2"]);
    task.answer("round#2", accept(2));
    expect(askKeys(await task.run())).toEqual(["round#3"]);
  });

  test("a fitting reply that came with the call is taken without asking; one that does not fit is asked", async () => {
    const handler = async ({ ask }: Effects) => ({ n: (await ask("size", form("?"))) as unknown as JsonObject });
    expect(await subject(handler, {}, { size: { action: "accept", content: { n: 5 } } }).run()).toMatchObject({
      type: "returned",
      result: { n: { content: { n: 5 } } },
    });
    expect(askKeys(await subject(handler, {}, { size: { action: "accept", content: { n: "five" } } }).run())).toEqual(["size"]);
    expect(askKeys(await subject(handler, {}, { size: 12345 }).run())).toEqual(["size"]);
  });

  test.each([
    ["cancel", { action: "timeout" }],
    ["decline", { action: "decline" }],
    [{ default: { n: 7 } }, { action: "accept", content: { n: 7 } }],
  ] as const)("an ask that timed out ends by its policy %j", async (onTimeout, expected) => {
    const task = subject(async ({ ask }) => ({ got: (await ask("size", form("?"), { onTimeout })) as unknown as JsonObject }));
    await task.run();
    task.answer("size", { action: "timeout" });
    expect(await task.run()).toMatchObject({ type: "returned", result: { got: expected } });
  });

  test("an ask that timed out under the policy fail ends the run past every catch", async () => {
    const task = subject(async ({ ask }) => {
      await ask("size", form("?"), { onTimeout: "fail" }).catch(() => undefined);
      return {};
    });
    await task.run();
    task.answer("size", { action: "timeout" });
    expect(await task.run()).toMatchObject({ type: "threw", error: { code: "ASK_TIMEOUT" } });
  });

  test("an ask that the client cannot be put says so; a default for its timeout stands in only where the deployment wants it", async () => {
    const withDefault = async ({ ask }: Effects) => ({
      answer: (await ask("size", form("How many?"), { onTimeout: { default: { n: 2 } } })) as unknown as JsonObject,
    });
    const withPolicy = async ({ ask }: Effects) => ({
      answer: (await ask("size", form("How many?"), { onTimeout: "decline" })) as unknown as JsonObject,
    });
    const outcome = async (handler: typeof withDefault, settings: Partial<Settings>) => {
      const task = subject(handler, settings);
      await task.run();
      task.answer("size", { action: "unavailable" });
      return task.run();
    };
    const unavailable = { type: "returned", result: { answer: { action: "unavailable" } } };
    expect(await outcome(withDefault, {})).toMatchObject(unavailable);
    expect(await outcome(withPolicy, { withoutCapability: "default" })).toMatchObject(unavailable);
    expect(await outcome(withDefault, { withoutCapability: "default" })).toMatchObject({
      type: "returned",
      result: { answer: { action: "accept", content: { n: 2 } } },
    });
  });

  test("a name that is not allowed is refused with what is", async () => {
    const task = subject(async ({ ask }) => ({ got: (await ask("Wie viele?", form("?"))) as unknown as JsonObject }));
    expect(await task.run()).toMatchObject({ type: "threw", error: { code: "INVALID_NAME" } });
  });
});

describe("steps", () => {
  test("a recorded step is not done again and returns what it returned (R1)", async () => {
    let done = 0;
    const task = subject(async ({ ask, step }) => {
      const held = await step("hold", () => ({ table: (done += 1), at: new Date(0) }));
      await ask("size", form("?"));
      return { held: held ?? null };
    });
    await task.run();
    task.answer("size", accept(1));
    expect(await task.run()).toMatchObject({ result: { held: { table: 1, at: "1970-01-01T00:00:00.000Z" } } });
    expect(done).toBe(1);
  });

  test("the first run sees a step's result as every later one will", async () => {
    const task = subject(async ({ step }) => ({ type: typeof ((await step("when", () => ({ at: new Date() }))) as JsonObject)["at"] }));
    expect(await task.run()).toMatchObject({ result: { type: "string" } });
  });

  test("a step that cannot be recorded is no failure that a handler sees: the run throws, and the next one continues (R6)", async () => {
    const seen: unknown[] = [];
    const task = subject(async (effects) => {
      try {
        seen.push(await effects.step("book", () => "booked"));
      } catch (error) {
        seen.push(error);
      }
      return {};
    });
    const away = new Error("Redis does not answer");

    task.loseStore(away);
    await expect(task.run()).rejects.toBe(away);
    expect(seen).toEqual([]); // neither its failure nor its result: nothing follows from what is not recorded

    task.loseStore(undefined);
    expect(await task.run()).toMatchObject({ type: "returned" });
    expect(seen).toEqual(["booked"]);
    expect([...task.journal.keys()]).toEqual(["step:book"]);
  });

  test("a step in flight is finished and recorded before the run parks (R3)", async () => {
    const slow = Promise.withResolvers<number>();
    const begun = Promise.withResolvers<void>();
    const told: boolean[] = [];
    const work = async ({ signal }: { readonly signal: AbortSignal }) => {
      begun.resolve();
      const value = await slow.promise;
      told.push(signal.aborted);
      return value;
    };
    const task = subject(async ({ ask, step }) => {
      await Promise.all([ask("size", form("?")), step("slow", work)]);
      return {};
    });
    const end = task.run();
    await begun.promise;
    await systemClock.idle();
    expect(task.journal.has("step:slow")).toBe(false);
    slow.resolve(1);
    expect(askKeys(await end)).toEqual(["size"]);
    expect(task.journal.has("step:slow")).toBe(true);
    expect(told).toEqual([false]); // nobody asked it to stop
  });

  test("a run does not park while the result of a step is being written: what follows from it parks along", async () => {
    const task = subject(async ({ ask, step }) => {
      await Promise.all([ask("go", form("?")), step("one", () => 1).then(() => ask("next", form("?")))]);
      return {};
    });
    task.wire({
      async record() {
        for (let turn = 0; turn < 10; turn += 1) await systemClock.idle();
      },
    });
    expect(askKeys(await task.run())).toEqual(["go", "next"]);
  });

  test("a step behind an await of something outside ctx is written before its work, and done again by a run that finds no more (R3)", async () => {
    const found: unknown[] = [];
    const dies = new AbortController();
    const task = subject(async ({ step }) => {
      await systemClock.sleep(1);
      await step("charge", ({ idempotencyKey }) => {
        found.push([task.journal.get("step:charge"), idempotencyKey]);
        dies.abort();
      });
      return {};
    });
    expect(await task.run(dies.signal)).toMatchObject({ type: "aborted" });
    expect(await task.run()).toMatchObject({ type: "returned" });
    const begun = { digest: "", calledAt: "0o", outcome: { type: "begun" } };
    expect(found).toStrictEqual([
      [begun, "0-task.charge"],
      [begun, "0-task.charge"],
    ]);
    expect(task.journal.get("step:charge")?.outcome).toEqual({ type: "value" });
  });

  test("a result is as large as a stored value may be, and not one character larger", async () => {
    const result = async (characters: number) => {
      const task = subject(async ({ step }) => ({ text: (await step("write", () => "x".repeat(characters))) ?? null }), {
        storedValueMax: 30,
      });
      return await task.run();
    };
    const quotes = 2;
    expect(await result(30 - quotes - '{"text":}'.length)).toMatchObject({ type: "returned" });
    expect(await result(30 - quotes + 1)).toMatchObject({
      type: "threw",
      error: { message: expect.stringContaining("the limit is 30 (PARLEY_STORED_VALUE_MAX)") },
    });
  });

  test("a step is tried again, with the same idempotency key, and fails for good after its attempts", async () => {
    const tries: string[] = [];
    const task = subject(async ({ step }) => {
      await step(
        "charge",
        ({ attempt, idempotencyKey }) => {
          tries.push(`${attempt} ${idempotencyKey}`);
          throw new Error("no money");
        },
        { attempts: 3, backoffMs: 1 },
      );
      return {};
    });
    const end = await task.run();
    expect(tries).toEqual(["1 0-task.charge", "2 0-task.charge", "3 0-task.charge"]);
    expect(end).toMatchObject({ type: "threw", error: expect.any(StepFailed) });
    expect(end).toMatchObject({
      error: { step: "charge", message: "no money", isForCaller: false, defectId: expect.stringMatching(/^\S{36}$/) },
    });
    const { error } = end as { error: StepFailed };
    expect(await task.run()).toMatchObject({ type: "threw", error: { step: "charge", message: "no money", defectId: error.defectId } });
    expect(tries).toHaveLength(3);
    // Told of with its error while there is one, and in no replay.
    const failed = { step: "charge", defectId: error.defectId, error: expect.objectContaining({ message: "no money" }) };
    expect(task.failures).toEqual([1, 2, 3].map((attempt) => ({ ...failed, attempt, isLast: attempt === 3 })));
  });

  test("a step that waits for its next try is not tried again once the run is over", async () => {
    let tries = 0;
    const failed = Promise.withResolvers<void>();
    const task = subject(async ({ step }) => {
      void step(
        "flaky",
        () => {
          tries += 1;
          failed.resolve();
          throw new Error("busy");
        },
        { attempts: 2, backoffMs: 60_000 },
      );
      await failed.promise;
      throw new Error("network");
    });
    task.wire({ clock: createHandClock().clock });
    expect(await task.run()).toStrictEqual({ type: "threw", error: new Error("network"), entries: [] });
    expect(tries).toBe(1);
  });

  test("a ToolError of a step is final and stays a ToolError on replay", async () => {
    let tries = 0;
    const task = subject(async ({ step }) => {
      await step(
        "check",
        () => {
          tries += 1;
          throw new ToolError("closed on Mondays");
        },
        { attempts: 5 },
      );
      return {};
    });
    expect(await task.run()).toMatchObject({ error: new ToolError("closed on Mondays") });
    expect(await task.run()).toMatchObject({ error: new ToolError("closed on Mondays") });
    expect(tries).toBe(1);
  });

  test("a try that takes too long is stopped and counts as failed", async () => {
    const signals: AbortSignal[] = [];
    const task = subject(async ({ step }) => {
      await step(
        "slow",
        ({ signal }) => {
          signals.push(signal);
          return new Promise(() => undefined);
        },
        { timeoutMs: 5 },
      );
      return {};
    });
    expect(await task.run()).toMatchObject({ type: "threw", error: { name: "StepFailed", message: expect.stringContaining("5 ms") } });
    expect(signals[0]?.aborted).toBe(true);
  });

  test("a result that JSON cannot hold, or that is too large, fails the step with a clear error", async () => {
    const big = subject(async ({ step }) => ({ value: (await step("big", () => "x".repeat(100))) ?? null }), { storedValueMax: 50 });
    for (const end of [await big.run(), await big.run()])
      expect(end).toMatchObject({ type: "threw", error: { message: expect.stringContaining("102 characters"), isForCaller: true } });
    const bigint = subject(async ({ step }) => ({ value: (await step("n", () => 1n)) ?? null }));
    expect(await bigint.run()).toMatchObject({ type: "threw", error: { message: expect.stringContaining("not plain data") } });
  });
});

describe("divergence (I4, R2)", () => {
  test("a changed question does not get the old answer", async () => {
    const task = subject(async ({ ask }) => ({ got: (await ask("size", form("How many people?"))) as unknown as JsonObject }));
    await task.run();
    task.answer("size", accept(4));
    task.deploy(async ({ ask }) => ({ got: (await ask("size", form("How many bottles of wine?"))) as unknown as JsonObject }));
    expect(await task.run()).toMatchObject({ type: "diverged", error: { code: "REPLAY_DIVERGED" } });
  });

  test("a changed open question is not put under the old one's name", async () => {
    const task = subject(async ({ ask }) => ({ got: (await ask("size", form("A?"))) as unknown as JsonObject }));
    await task.run();
    task.deploy(async ({ ask }) => ({ got: (await ask("size", form("B?"))) as unknown as JsonObject }));
    expect(await task.run()).toMatchObject({ type: "diverged" });
  });

  test("a new step in place of a recorded one is not run", async () => {
    const task = subject(async ({ ask, step }) => {
      await step("hold", () => 1);
      await ask("size", form("?"));
      return {};
    });
    await task.run();
    task.answer("size", accept(4));
    let ran = false;
    task.deploy(async ({ step }) => {
      await step("charge", () => (ran = true));
      return {};
    });
    const end = await task.run();
    expect(end).toMatchObject({ type: "diverged", error: { data: { found: "new step:charge" } } });
    expect(String(end.type === "diverged" && end.error.message)).toContain("step:hold, ask:size");
    expect(ran).toBe(false);
  });

  test("a branch that awaits something of its own before its recorded step is no divergence", async () => {
    let calls = 0;
    const handler = async ({ ask, step }: Effects) => {
      const own = async () => {
        await systemClock.sleep(20);
        await step("own", () => (calls += 1));
      };
      const other = async () => {
        await ask("go", form("?"));
        await step("other", () => 1);
      };
      await Promise.all([own(), other()]);
      return {};
    };
    const task = subject(handler, { divergenceWaitMs: 1_000 });
    task.journal.set("step:own", { digest: "", calledAt: "0o", place: 1, outcome: { type: "value", value: 1 } });
    expect(askKeys(await task.run())).toEqual(["go"]);
    task.answer("go", accept(1));
    expect(await task.run()).toMatchObject({ type: "returned" });
    expect(calls).toBe(0);
  });
});

describe("a run that is stuck", () => {
  const HOUR = 3_600_000;
  /** Everything that can happen now has happened. */
  const settle = async () => {
    for (let turn = 0; turn < 10; turn += 1) await systemClock.idle();
  };

  /** A task with a step and an answered question behind it, and code that comes to neither. */
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

  /** Lets time pass from one look to the next until the run ends. Returns how long each was. */
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
        message: "replay diverged in tool subject: recorded step:one, step:two, ask:go (not called again), found new step:new",
        data: { recorded: "step:one, step:two, ask:go (not called again)", found: "new step:new" },
      },
      patches: [],
    });
  });

  test.each([
    [2.5, [10, 20]],
    [2.6, [10, 20, 40]],
  ])(
    "has twelve times the patience of %d ms once anything was called behind an await of something outside ctx",
    async (waitMs, lookedMs) => {
      const outside = async ({ uuid, step }: Effects, sleep: (ms: number) => Promise<void>) => {
        void step("new", () => 1);
        await sleep(0);
        uuid();
        return await forever();
      };
      const stuck = await changed(outside, waitMs);
      expect((await looks(stuck)).lookedMs.filter((ms) => ms > 0)).toStrictEqual(lookedMs);
    },
  );

  test("has its patience anew when it has come further meanwhile", async () => {
    const later = async ({ step }: Effects, sleep: (ms: number) => Promise<void>) => {
      void step("new", () => 1);
      await sleep(25);
      await step("one", () => 1);
      return await forever();
    };
    // It has called the step when it looks after 30 ms, and counts from there: 310 ms are not enough, and the next look is after 630.
    const stuck = await changed(later, 300 / 12);
    const { end, lookedMs } = await looks(stuck);
    expect(end).toMatchObject({ type: "diverged", error: { data: { recorded: "step:two, ask:go (not called again)" } } });
    expect(lookedMs.reduce((sum, ms) => sum + ms)).toBe(630);
  });

  test("waits without end for what was called behind an await of something outside ctx, and says so when it is stopped", async () => {
    const late = async ({ step }: Effects) => {
      await systemClock.idle();
      // It waits for the run to be live, which never comes: nothing is noted of it.
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
      diverging: { code: "REPLAY_DIVERGED", data: { recorded: "step:own (not called again)", found: "new step:new" } },
      entries: [],
    });
  });

  test("that has done nothing new says so when it is stopped, and hands on why", async () => {
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

  test("on work of its own alone has all the time of the run, and nobody looks", async () => {
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

  test("that has passed a recorded decision without a word is of older code, and says which", async () => {
    const stuck = await changed(() => forever(), 10);
    stuck.task.journal.set("patch:other-way", { digest: "", calledAt: "0", outcome: { type: "value", value: true } });
    const { end, lookedMs } = await looks(stuck);
    expect(lookedMs).toStrictEqual([10]);
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
  ])("names the first thing that no record tells of: %s", async (what, call, found) => {
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
    expect(await task.run()).toMatchObject({ type: "diverged", error: { data: { found } } });
  });
});

describe("what a side effect waits for", () => {
  test("is that all before it is written, and then that the task is held: asked once, right before the work", async () => {
    const order: string[] = [];
    const task = subject(async ({ step, now }) => {
      now("a");
      await Promise.all([step("one", () => void order.push("one")), step("two", () => void order.push("two"))]);
      return {};
    });
    task.wire({
      isHeld: () => (order.push("held?"), true),
      record: async (entries) => void order.push(...entries.map(({ key }) => key)),
    });
    expect(await task.run()).toMatchObject({ type: "returned" });
    expect(order).toStrictEqual([
      "now:a",
      "held?",
      "one",
      "held?",
      "two",
      // Before what is written, and before it settles.
      "held?",
      "step:one",
      "held?",
      "held?",
      "step:two",
      "held?",
    ]);
  });

  test("is that the task is held: a run that has lost it does nothing, and records nothing of a step from outside", async () => {
    const stop = new AbortController();
    let ran = false;
    const task = subject(async ({ step }) => {
      await step("act", () => (ran = true));
      return {};
    });
    task.wire({ isHeld: async () => (stop.abort(), false) });
    expect(await task.run(stop.signal)).toStrictEqual({ type: "aborted", entries: [] });
    expect(ran).toBe(false);
  });
});

describe("a call of another tool", () => {
  const calling = async ({ callTool }: Effects) => {
    try {
      return { end: { ...(await callTool("sub", { tool: "other", arguments: {} })) } as JsonObject };
    } catch (error) {
      return { error: (error as Error).message, code: (error as ParleyError).code };
    }
  };

  test.each<ErrorCode>(["INVALID_ARGUMENTS", "TOO_LARGE", "TOOL_NOT_FOUND", "QUOTA_EXCEEDED", "CHILD_REFUSED"])(
    "that comes to %s instead of a child tells the handler so, in this run and in every later one",
    async (code) => {
      const task = subject(calling);
      let started = 0;
      const startChild = async () => {
        started += 1;
        throw new ParleyError(code, "it cannot be called");
      };
      task.wire({ startChild });
      for (const run of [1, 2]) {
        expect([run, await task.run()]).toMatchObject([run, { type: "returned", result: { error: "it cannot be called", code } }]);
      }
      expect(started).toBe(1);
      expect(task.recordings).toStrictEqual([["ask:call:sub"]]);
    },
  );

  test.each([
    ["another error", new Error("away")],
    ["an error that says nothing of it", new ParleyError("NOT_SERIALIZABLE", "no")],
  ])("that comes to %s has not happened: the run throws", async (_, error) => {
    const task = subject(calling);
    task.wire({ startChild: () => Promise.reject(error) });
    await expect(task.run()).rejects.toBe(error);
    expect(task.journal.size).toBe(0);
  });

  test("is made when all before it is written and the task is held, and is then open", async () => {
    const order: string[] = [];
    const task = subject(async (effects) => {
      effects.now("a");
      return await calling(effects);
    });
    task.wire({
      isHeld: () => (order.push("held?"), true),
      record: async (entries) => void order.push(...entries.map(({ key }) => key)),
      startChild: async ({ key }) => void order.push(key),
    });
    expect(askKeys(await task.run())).toStrictEqual(["call:sub"]);
    expect(order).toStrictEqual(["now:a", "held?", "call:sub"]);
  });

  test.each([
    [[], ["call:sub"]],
    [["go"], ["go", "call:sub"]],
  ])("keeps the run from parking until its child is there, also where %j is open", async (asked, open) => {
    const task = subject(async (effects) => {
      await Promise.all([...asked.map((name) => effects.ask(name, form("?"))), calling(effects)]);
      return {};
    });
    task.wire({
      async startChild() {
        for (let turn = 0; turn < 10; turn += 1) await systemClock.idle();
      },
    });
    expect(askKeys(await task.run())).toStrictEqual(open);
  });

  test("is made behind the answer that it follows from, which is written first", async () => {
    const order: string[] = [];
    const task = subject(async (effects) => {
      await effects.ask("go", form("?"));
      return await calling(effects);
    });
    await task.run();
    task.answer("go", accept(1));
    task.wire({
      record: async (entries) => void order.push(...entries.map(({ key }) => key)),
      startChild: async ({ key }) => void order.push(key),
    });
    expect(askKeys(await task.run())).toStrictEqual(["call:sub"]);
    expect(order).toStrictEqual(["ask:go", "call:sub"]);
  });

  test("that is given up at once makes no child", async () => {
    const task = subject(async ({ callTool }) => {
      const stop = new AbortController();
      const called = callTool("sub", { tool: "other", arguments: {} }, { signal: stop.signal });
      stop.abort();
      return { end: (await called).type };
    });
    task.wire({ startChild: () => Promise.reject(new Error("a child was made")) });
    expect(await task.run()).toMatchObject({ type: "returned", result: { end: "withdrawn" } });
  });

  test("is not made by a run that does not hold its task", async () => {
    const stop = new AbortController();
    const task = subject(calling);
    task.wire({
      isHeld: async () => (stop.abort(), false),
      startChild: () => Promise.reject(new Error("a child was made")),
    });
    expect(await task.run(stop.signal)).toStrictEqual({ type: "aborted", entries: [] });
  });
});

describe("what cannot be kept", () => {
  const large = "x".repeat(40);
  const token = `0-task.paid.${"t".repeat(43)}`;
  const limit = (what: string) => `${what} has 42 characters of JSON; the limit is 30 (PARLEY_STORED_VALUE_MAX)`;
  const plain = (what: string) => `${what} is not plain data`;
  const misplaced = (what: string) => `${what} holds the token of an event`;
  const tokenOf = ({ event }: Effects) => event("paid", { type: "event", schema: {} }).token;

  test.each<[string, (effects: Effects) => unknown, string]>([
    ["a step's result", ({ step }) => step("s", () => large), limit("the result of step s")],
    ["the result", async () => large, limit("the result")],
    ["the arguments of a restart", ({ restart }) => restart(large as unknown as JsonObject), limit("the arguments of the restart")],
    ["an ask", ({ ask }) => ask("a", large as never), limit("the ask a")],
    ["an event", ({ event }) => event("e", large as never).answer, limit("the ask event:e")],
    ["a call", ({ callTool }) => callTool("c", large as never), limit("the call call:c")],
    ["a step's result", ({ step }) => step("s", () => 1n), plain("the result of step s")],
    ["the result", async () => 1n, plain("the result")],
    ["a step's result", (effects) => ((token) => effects.step("s", () => token))(tokenOf(effects)), misplaced("the result of step s")],
    ["the result", async (effects) => tokenOf(effects), misplaced("the result")],
    ["a question", (effects) => ((token) => effects.ask("a", form(token)))(tokenOf(effects)), misplaced("the ask a")],
    ["a log", async (effects) => effects.report({ type: "log", level: "info", data: tokenOf(effects) }), misplaced("a log")],
    ["the status", async (effects) => effects.status(tokenOf(effects)), misplaced("the status")],
    ["the response", async (effects) => effects.immediateResponse(tokenOf(effects)), misplaced("the immediate response")],
  ])("ends the run with what it is: %s", async (_, call, message) => {
    const task = subject(async (effects) => (await call(effects)) as JsonObject, {
      storedValueMax: message.includes("limit") ? 30 : 1_000,
    });
    task.wire({ tokenOf: () => ({ token, url: "" }) });
    const end = await task.run();
    const { error } = end as { readonly error?: ParleyError };
    // A step that failed is known by its message alone.
    const codes = { limit: "TOO_LARGE", plain: "NOT_SERIALIZABLE", token: "EVENT_TOKEN_MISPLACED" };
    const code = Object.entries(codes).find(([word]) => message.includes(word))?.[1];
    expect([end.type, error?.message, error?.code]).toStrictEqual(["threw", message, message.includes("of step") ? undefined : code]);
    if (error?.code === "NOT_SERIALIZABLE") expect(error.cause).toBeInstanceOf(TypeError);
  });

  test("is no text that only looks like a token, where none was given out", async () => {
    const task = subject(async ({ step, status }) => {
      status(token);
      return { text: (await step("s", () => token)) ?? null };
    });
    expect(await task.run()).toMatchObject({ type: "returned" });
  });
});

const forever = () => new Promise<never>(() => undefined);

describe("time, chance and reports", () => {
  test.each<[string, (effects: Effects) => unknown]>([
    ["now:t", ({ now }) => now("t")],
    ["patch:t", ({ patched }) => patched("t")],
  ])("what was recorded of %s behind an await of something outside ctx lets the run continue as it is called again", async (id, call) => {
    const task = subject(async (effects) => {
      const outside = async () => {
        await systemClock.sleep(1);
        call(effects);
      };
      await Promise.all([effects.ask("go", form("?")), outside(), effects.sleep("nap", 20)]);
      return { done: true };
    });
    await task.run();
    const entry = task.journal.get(id);
    expect(entry).toStrictEqual({ digest: "", calledAt: "0o:1", outcome: { type: "value", value: expect.anything() } });
    task.answer("go", accept(1));
    expect(await task.run()).toMatchObject({ type: "returned", result: { done: true } });
    expect(task.journal.get(id)).toStrictEqual(entry);
  });

  test("now, random and uuid are the same on every replay, and recorded with the next write", async () => {
    const seen: unknown[] = [];
    const task = subject(async ({ ask, now, random, uuid }) => {
      seen.push([now(), random(), uuid(), uuid()]);
      await ask("size", form("?"));
      return {};
    });
    await task.run();
    expect(task.recordings).toEqual([]);
    task.answer("size", accept(1));
    await task.run();
    expect(seen[1]).toEqual(seen[0]);
    expect(new Set(seen[0] as unknown[]).size).toBe(4);
  });

  test("a long sleep parks and is over when its recorded end has passed", async () => {
    const task = subject(async ({ sleep }) => {
      await sleep("cool-down", 60_000);
      return {};
    });
    const before = Date.now();
    const parked = await task.run();
    expect(parked).toMatchObject({ type: "parked", asks: [] });
    expect(parked.type === "parked" ? parked.wakeAtMs : 0).toBeGreaterThanOrEqual(before + 60_000);
    task.skip(60_000);
    expect(await task.run()).toMatchObject({ type: "returned" });
  });

  test("a short sleep stays on the worker", async () => {
    const task = subject(async ({ sleep }) => {
      await sleep("blink", 5);
      return { done: true };
    });
    expect(await task.run()).toMatchObject({ type: "returned", result: { done: true } });
  });

  test("which sleep is short is a setting: at the limit it stays, one beyond parks", async () => {
    const sleeps = async (ms: number) => {
      const task = subject(
        async ({ sleep }) => {
          await sleep("nap", ms);
          return {};
        },
        { inlineSleepMaxMs: 20 },
      );
      task.stopClock();
      return (await task.run()).type;
    };
    expect(await sleeps(20)).toBe("returned");
    expect(await sleeps(21)).toBe("parked");
  });

  test("reports are sent in order, once: replay does not repeat them", async () => {
    const task = subject(async ({ ask, report, status }) => {
      report({ type: "progress", progress: 1 });
      status("asking");
      await ask("size", form("?"));
      report({ type: "progress", progress: 2 });
      return {};
    });
    await task.run();
    expect(task.reports).toEqual([{ items: [{ type: "progress", progress: 1 }], message: "asking" }]);
    task.answer("size", accept(1));
    await task.run();
    expect(task.reports.slice(1)).toEqual([{ items: [{ type: "progress", progress: 2 }] }]);
  });
});

describe("the end of a run", () => {
  test("an aborted run ends at once and has no effects any more (R5)", async () => {
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

  test("that was to stop before it began is over, without a call of the handler", async () => {
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
  ])("(%s) tells what is still in flight why", async (type, handler, why) => {
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
  /** What the worker tells of errors that nobody caught (apps/worker/stray-errors.ts). */
  const strays = () => straysOf(scope.get());

  test("is not that of a promise that was rejected and that somebody has handled after all", async () => {
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
      "nobody awaited step:notify, which failed",
      expect.objectContaining({ message: "no route" }),
    ],
    [
      "a call by a wrong name",
      async ({ step }) => {
        void step("no name", () => 1);
        return {};
      },
      "nobody awaited step no name, which failed",
      expect.objectContaining({ code: "INVALID_NAME" }),
    ],
    [
      "a promise",
      async () => {
        strays()?.rejected({}, new Error("lost"));
        return {};
      },
      "a promise was rejected and nobody handled it",
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
  ])("is the end of a task in which %s failed unheard, by name", async (_, handler, message, cause) => {
    const task = subject(handler);
    task.wire({ scope });
    const end = await task.run();
    expect(end).toMatchObject({ type: "threw", error: { code: "UNHANDLED_REJECTION", message } });
    expect((end as { error: Error }).error.cause).toStrictEqual(cause);
  });

  test("leaves no timer, also where it throws since nothing can be recorded", async () => {
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

  test("has what was in flight and came to its result, as arrived then, and nothing of what failed", async () => {
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

  describe("that is stopped waits five seconds", () => {
    const passed = async (hand: ReturnType<typeof createHandClock>, end: Promise<unknown>, ms: number) => {
      for (let turn = 0; turn < 10; turn += 1) await systemClock.idle();
      await hand.pass(ms);
      for (let turn = 0; turn < 10; turn += 1) await systemClock.idle();
      return await Promise.race([end, Promise.resolve("not yet")]);
    };

    test("for work that does not heed its signal", async () => {
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

    test("for work that does not heed its signal, from then on where the handler had come to its end before", async () => {
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
      ["comes through", "resolve", ["now:read"]],
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

    test("for a write that is on its way, and no longer: what rests on it is left", async () => {
      const { hand, end, stop } = await writing();
      stop.abort();
      expect(await passed(hand, end, 4_999)).toBe("not yet");
      expect(await passed(hand, end, 1)).toStrictEqual({ type: "aborted", entries: [] });
    });

    /** A run whose first write is on its way, and which has read the time since. */
    async function writing() {
      const write = Promise.withResolvers<void>();
      const begun = Promise.withResolvers<void>();
      const task = subject(async ({ now, step, signal }) => {
        // It throws when it is stopped: that comes too late to end the run, and takes nothing of what is handed in.
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

  test("leaves nothing to what is called behind it: no token, and no answer", async () => {
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

test("a step that is recorded as something else says as what", async () => {
  const task = subject(async ({ step }) => ({ got: (await step("odd", () => 1)) ?? null }));
  task.journal.set("step:odd", { digest: "", calledAt: "0", place: 1, outcome: { type: "answer", answer: { action: "decline" } } });
  expect(await task.run()).toMatchObject({ type: "threw", error: new Error("step odd is recorded as answer") });
});

test("a handler has what the run was given: who answered, what was left on a page, and a word to the caller at once", async () => {
  const task = subject(async ({ ask, answeredBy, deposit, immediateResponse }) => {
    immediateResponse("One moment.");
    await ask("go", form("?"));
    return { by: answeredBy("go")?.principal ?? null, left: await deposit("page"), other: answeredBy("other") === undefined };
  });
  await task.run();
  task.answer("go", accept(1));
  expect(await task.run()).toMatchObject({ result: { by: "anonymous", left: "the deposit of page", other: true } });
  expect(task.reports).toStrictEqual([{ items: [], immediateResponse: "One moment." }]);
});

test("each call of the handler is told of, by the key of its entry", async () => {
  const called: string[] = [];
  const task = subject(async ({ step, uuid, ask }) => {
    uuid();
    await step("one", () => 1);
    await ask("size", form("?"));
    return {};
  });
  task.wire({ called: (id) => void called.push(id) });
  await task.run();
  expect(called).toStrictEqual(["uuid:uuid", "step:one", "ask:size"]);
});

test("a branch by a wrong name, or whose work throws at once, is a promise that is rejected", async () => {
  const task = subject(async ({ branch }) => {
    const wrong = await branch("no name", async () => "never").catch((error: ParleyError) => error.code);
    const thrown = await branch("a", (): Promise<string> => {
      throw new Error("at once");
    }).catch((error: Error) => error.message);
    return { wrong, thrown };
  });
  expect(await task.run()).toMatchObject({ type: "returned", result: { wrong: "INVALID_NAME", thrown: "at once" } });
});

describe("a compensation", () => {
  test.each([
    [false, new Error("network"), "threw", []],
    [false, new ToolError("busy", { retryable: true }), "threw", []],
    [false, new ToolError("closed on Mondays"), "returned", ["step:compensation:/undo"]],
    [true, new Error("network"), "returned", ["step:compensation:/undo"]],
  ] as const)("(last try: %j) whose step fails with %s has %s", async (isLastTry, error, type, kept) => {
    const task = subject(async ({ step }) => ({ failed: (await step("undo", () => Promise.reject(error)).catch(String)) ?? null }));
    task.compensate(isLastTry);
    const end = await task.run();
    expect(end.type).toBe(type);
    if (end.type === "threw") expect(end.error).toMatchObject({ message: error.message });
    expect([...task.journal.keys()]).toStrictEqual(kept);
  });
});
