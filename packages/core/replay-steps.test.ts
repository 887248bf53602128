/** Steps, and calls of other tools: what happens once, in which order it is written, and what it waits for. */
import { systemClock } from "@parley/node";
import { describe, expect, test } from "vitest";
import type { Effects } from "./effects.ts";
import { type ErrorCode, ParleyError, StepFailed, ToolError } from "./errors.ts";
import { createHandClock } from "./hand-clock.fixture.ts";
import { readingKey } from "./journal.ts";
import { accept, askKeys, form, subject } from "./replay.fixture.ts";
import type { JsonObject } from "./task.ts";

describe("steps", () => {
  test("a result at the maximum depth is recorded; one level more fails the step, and its work is not repeated", async () => {
    const nested = (levels: number) => JSON.parse("[".repeat(levels) + "]".repeat(levels)) as JsonObject;
    let done = 0;
    const task = subject(async ({ step, ask }) => {
      await step("deep", () => nested(1_000));
      // JSON.stringify accepts this depth, but recording does not.
      const failure = await step("deeper", () => ((done += 1), nested(2_900))).catch((error: unknown) => error);
      const limit = await step("limit", () => nested(1_001)).catch((error: unknown) => error);
      await ask("go", form("?"));
      return { failed: failure instanceof StepFailed && limit instanceof StepFailed };
    });
    await task.run();
    task.answer("go", accept(1));
    expect(await task.run()).toMatchObject({ type: "returned", result: { failed: true } });
    expect(done).toBe(1);
    expect(task.failures.map(({ error }) => error)).toMatchObject([{ code: "NOT_SERIALIZABLE" }, { code: "NOT_SERIALIZABLE" }]);
  });

  test("a recorded step does not run again and returns what it returned (R1)", async () => {
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

  test("a step that cannot be recorded is not a failure for the handler: the run throws, and the next one continues (R6)", async () => {
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
    expect(seen).toEqual([]); // neither its failure nor its result: nothing may follow from an unrecorded step

    task.loseStore(undefined);
    expect(await task.run()).toMatchObject({ type: "returned" });
    expect(seen).toEqual(["booked"]);
    expect([...task.journal.keys()]).toEqual(["step:book"]);
  });

  test("a step that may be recorded later is written with the parking, and before the next side effect if that comes first", async () => {
    let done = 0;
    const task = subject(async ({ ask, step }) => {
      const first = await step("first", () => (done += 1), { isRecordedLater: () => true });
      await ask("go", form("?"));
      await step("second", () => (done += 1), { isRecordedLater: (result) => result === 2 });
      await step("first", () => "written first", { isRecordedLater: (result) => result === 2 });
      const found = await step("third", () => task.journal.has("step:second"));
      return { first: first ?? null, found: found ?? null };
    });
    expect(askKeys(await task.run())).toEqual(["go"]);
    expect([task.recordings, [...task.journal.keys()]]).toEqual([[], ["step:first"]]);
    task.answer("go", accept(1));
    expect(await task.run()).toMatchObject({ type: "returned", result: { first: 1, found: true } });
    expect([done, task.recordings]).toEqual([2, [["ask:go", "step:second"], ["step:first#2"], ["step:third"]]]);
  });

  test("a step that may be recorded later is repeated by the next run if its run is lost before the next write", async () => {
    const results: number[] = [];
    const dies = new AbortController();
    const task = subject(async ({ ask, step }) => {
      await step("draw", () => results.push(results.length), { isRecordedLater: () => true });
      if (results.length === 1) dies.abort();
      await ask("go", form("?"));
      return {};
    });
    expect(await task.run(dies.signal)).toMatchObject({ type: "aborted" });
    expect(task.journal.has("step:draw")).toBe(false);
    expect(askKeys(await task.run())).toEqual(["go"]);
    expect([results, task.journal.get("step:draw")?.outcome]).toEqual([[0, 1], { type: "value", value: 2 }]);
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
    expect(told).toEqual([false]); // it was not asked to stop
  });

  test("a run does not park while the result of a step is being written: asks that follow from it park along", async () => {
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

  test("a step after an await outside ctx is repeated with its idempotency key by a run that finds no result (R3)", async () => {
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
    expect(found).toStrictEqual([
      [undefined, "0-task.charge"],
      [undefined, "0-task.charge"],
    ]);
    expect(task.journal.get("step:charge")).toMatchObject({ calledAt: "0o", outcome: { type: "value" } });
  });

  test("a result may be as large as a stored value, and not one character larger", async () => {
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

  test("a step is retried with the same idempotency key, and fails for good after its attempts", async () => {
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
    // Reported with its error when it fails, and in no replay.
    const failed = { step: "charge", defectId: error.defectId, error: expect.objectContaining({ message: "no money" }) };
    expect(task.failures).toEqual([1, 2, 3].map((attempt) => ({ ...failed, attempt, isLast: attempt === 3 })));
  });

  test("a step that waits for its next attempt is not retried after the end of the run", async () => {
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

  test("the next attempt waits until what settles meanwhile is written", async () => {
    const order: string[] = [];
    const hand = createHandClock();
    const failed = Promise.withResolvers<void>();
    const task = subject(async ({ step }) => {
      const work = ({ attempt }: { readonly attempt: number }) => {
        order.push(`attempt ${attempt}`);
        if (attempt === 1) throw new Error("busy");
      };
      await Promise.all([step("twice", work, { attempts: 2, backoffMs: 1 }), step("once", () => failed.promise)]);
      return {};
    });
    task.wire({
      clock: hand.clock,
      stepFailed: () => failed.resolve(),
      async record(entries) {
        await hand.pass(1);
        order.push(...entries.map(({ key }) => `${key} is written`));
      },
    });
    expect((await task.run()).type).toBe("returned");
    expect(order).toStrictEqual(["attempt 1", "step:once is written", "attempt 2", "step:twice is written"]);
  });

  test("each failed step has an id of its own in the log, which its error names", async () => {
    const task = subject(async ({ step }) => {
      const fail = (name: string) => step(name, () => Promise.reject(new Error("no"))).catch((error: StepFailed) => error.defectId);
      return { ids: [(await fail("one")) ?? null, (await fail("two")) ?? null] };
    });
    const end = await task.run();
    const ids = task.failures.map(({ defectId }) => defectId);
    expect(end).toMatchObject({ type: "returned", result: { ids } });
    expect(new Set(ids).size).toBe(2);
  });

  test("a failure is recorded at once, even if a result may be recorded later", async () => {
    const task = subject(async ({ step }) => {
      await step("fails", () => Promise.reject(new Error("no")), { isRecordedLater: () => true }).catch(() => undefined);
      return { written: task.journal.has("step:fails") };
    });
    expect(await task.run()).toMatchObject({ type: "returned", result: { written: true } });
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

  test("an attempt that takes too long is stopped and counts as failed", async () => {
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

  test("a result that JSON cannot represent, or that is too large, fails the step with a clear error", async () => {
    const big = subject(async ({ step }) => ({ value: (await step("big", () => "x".repeat(100))) ?? null }), { storedValueMax: 50 });
    for (const end of [await big.run(), await big.run()])
      expect(end).toMatchObject({ type: "threw", error: { message: expect.stringContaining("102 characters"), isForCaller: true } });
    const bigint = subject(async ({ step }) => ({ value: (await step("n", () => 1n)) ?? null }));
    expect(await bigint.run()).toMatchObject({ type: "threw", error: { message: expect.stringContaining("not plain data") } });
  });
});

describe("a side effect waits", () => {
  test("until everything before it is written, and then until the task is held: checked once, right before the work", async () => {
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
      // Before the write, and before it settles.
      "held?",
      "step:one",
      "held?",
      "held?",
      "step:two",
      "held?",
    ]);
  });

  test.each([
    { drew: "until what a schema drew from an answer is written", isDrawn: true },
    { drew: "for nothing that a schema would make of an answer again: that goes with its result", isDrawn: false },
  ])("$drew", async ({ isDrawn }) => {
    const key = readingKey("q");
    const written: boolean[] = [];
    const task = subject(async (effects) => {
      await effects.ask("q", form("how many"));
      const reading = effects.readingOf("q");
      if (reading.kept === undefined) reading.keep(7, isDrawn);
      await effects.step("use", () => void written.push(task.journal.has(key)));
      return { kept: effects.readingOf("q").kept ?? null };
    });
    task.slowStore(20);
    await task.run();
    task.answer("q", accept(1));
    expect(await task.run()).toMatchObject({ type: "returned", result: { kept: 7 } });
    expect(written).toEqual([isDrawn]);
    expect(task.recordings).toEqual(isDrawn ? [["ask:q", key], ["step:use"]] : [["ask:q", key, "step:use"]]);
  });

  test("until the task is held: a run that has lost it does nothing, and records nothing of a step from outside", async () => {
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

  test.each<ErrorCode>(["INVALID_ARGUMENTS", "CALL_TIMEOUT", "TOO_LARGE", "TOOL_NOT_FOUND", "QUOTA_EXCEEDED", "CHILD_REFUSED"])(
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
  ])("that returns %s has not happened: the run throws", async (_, error) => {
    const task = subject(calling);
    task.wire({ startChild: () => Promise.reject(error) });
    await expect(task.run()).rejects.toBe(error);
    expect(task.journal.size).toBe(0);
  });

  test("is made when everything before it is written and the task is held, and is then open", async () => {
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
  ])("keeps the run from parking until its child exists, even if %j is open", async (asked, open) => {
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

  test("is made after the answer that it follows from, which is written first", async () => {
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

  test("that is withdrawn at once creates no child", async () => {
    const task = subject(async ({ callTool }) => {
      const stop = new AbortController();
      const called = callTool("sub", { tool: "other", arguments: {} }, { signal: stop.signal });
      stop.abort();
      return { end: (await called).type };
    });
    task.wire({ startChild: () => Promise.reject(new Error("a child was made")) });
    expect(await task.run()).toMatchObject({ type: "returned", result: { end: "withdrawn" } });
  });

  describe("that is refused too late leaves no error", () => {
    const refusing = () => {
      const [begun, refused] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const startChild = () => (begun.resolve(), refused.promise);
      return { begun: begun.promise, startChild, refuse: () => refused.reject(new ParleyError("CHILD_REFUSED", "too many")) };
    };

    test("after the end of the run", async () => {
      const { begun, startChild, refuse } = refusing();
      const task = subject(async ({ callTool, signal }) => {
        signal.addEventListener("abort", refuse);
        void callTool("sub", { tool: "other", arguments: {} });
        await begun;
        throw new Error("no more");
      });
      task.wire({ startChild });
      expect(await task.run()).toStrictEqual({ type: "threw", error: new Error("no more"), entries: [] });
    });

    test("after the call was withdrawn", async () => {
      const { begun, startChild, refuse } = refusing();
      const task = subject(async ({ callTool, ask }) => {
        const stop = new AbortController();
        const called = callTool("sub", { tool: "other", arguments: {} }, { signal: stop.signal });
        await begun;
        stop.abort();
        refuse();
        const { type } = await called;
        await ask("go", form("?"));
        return { type };
      });
      task.wire({ startChild });
      expect(askKeys(await task.run())).toStrictEqual(["go"]);
      expect([...task.journal].map(([key, { outcome, place }]) => [key, outcome.type, place])).toStrictEqual([
        ["ask:call:sub", "withdrawn", 1],
      ]);
    });
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

test("a step that is recorded as something else says as what", async () => {
  const task = subject(async ({ step }) => ({ got: (await step("odd", () => 1)) ?? null }));
  task.journal.set("step:odd", { digest: "", calledAt: "0", place: 1, outcome: { type: "answer", answer: { action: "decline" } } });
  expect(await task.run()).toMatchObject({ type: "threw", error: new Error("step odd is recorded as answer") });
});
