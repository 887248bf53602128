import { systemClock } from "@parley/node";
import { describe, expect, test } from "vitest";
import type { Effects } from "./effects.ts";
import { StepFailed, ToolError } from "./errors.ts";
import { accept, askKeys, form, subject } from "./replay.fixture.ts";
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

  test("a step behind an await of something outside ctx is written before its work, and done again by a run that finds no more (R3)", async () => {
    const found: unknown[] = [];
    const dies = new AbortController();
    const task = subject(async ({ step }) => {
      await systemClock.sleep(1);
      await step("charge", ({ idempotencyKey }) => {
        found.push([task.journal.get("step:charge")?.outcome.type, idempotencyKey]);
        dies.abort();
      });
      return {};
    });
    expect(await task.run(dies.signal)).toMatchObject({ type: "aborted" });
    expect(await task.run()).toMatchObject({ type: "returned" });
    expect(found).toEqual([
      ["begun", "0-task.charge"],
      ["begun", "0-task.charge"],
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
    expect(end).toMatchObject({ error: { step: "charge", message: "no money", isForCaller: false } });
    const { error } = end as { error: StepFailed };
    expect(await task.run()).toMatchObject({ type: "threw", error: { step: "charge", message: "no money", defectId: error.defectId } });
    expect(tries).toHaveLength(3);
    // Told of with its error while there is one, and in no replay.
    const failed = { step: "charge", defectId: error.defectId, error: expect.objectContaining({ message: "no money" }) };
    expect(task.failures).toEqual([1, 2, 3].map((attempt) => ({ ...failed, attempt, isLast: attempt === 3 })));
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

describe("time, chance and reports", () => {
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
});
