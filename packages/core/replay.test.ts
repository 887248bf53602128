/** A handler that runs again and again: questions, facts, and what it must not do differently. */
import { once } from "node:events";
import { systemClock } from "@parley/node";
import { describe, expect, test } from "vitest";
import type { Effects } from "./effects.ts";
import type { ParleyError } from "./errors.ts";
import { ToolError } from "./errors.ts";
import { readingKey } from "./journal.ts";
import { accept, askKeys, form, subject } from "./replay.fixture.ts";
import type { Settings } from "./settings.ts";
import type { JsonObject } from "./task.ts";

describe("asks", () => {
  test("a run parks at an open ask and continues after it once it is answered", async () => {
    const task = subject(async ({ ask }) => ({ answer: { ...(await ask("size", form("How many?"))) } as JsonObject }));
    expect(askKeys(await task.run())).toEqual(["size"]);
    task.answer("size", accept(4));
    expect(await task.run()).toMatchObject({ type: "returned", result: { answer: { action: "accept", content: { n: 4 } } } });
  });

  test("asks that are made together park together, and each finds its own answer (I4)", async () => {
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

  test("a repeated name gets an occurrence number, the same on every replay", async () => {
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

  test("a valid early reply is taken without asking; an invalid one is ignored and the question is asked", async () => {
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

  test("an ask that times out with the policy fail ends the run without reaching any catch", async () => {
    const task = subject(async ({ ask }) => {
      await ask("size", form("?"), { onTimeout: "fail" }).catch(() => undefined);
      return {};
    });
    await task.run();
    task.answer("size", { action: "timeout" });
    expect(await task.run()).toMatchObject({ type: "threw", error: { code: "ASK_TIMEOUT" } });
  });

  test("an ask that the client cannot handle says so; its timeout default replaces it only if the deployment wants that", async () => {
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

  test("an invalid name is refused with the allowed ones", async () => {
    const task = subject(async ({ ask }) => ({ got: (await ask("Wie viele?", form("?"))) as unknown as JsonObject }));
    expect(await task.run()).toMatchObject({ type: "threw", error: { code: "INVALID_NAME" } });
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

  test("a changed open question is not asked under the old one's name", async () => {
    const task = subject(async ({ ask }) => ({ got: (await ask("size", form("A?"))) as unknown as JsonObject }));
    await task.run();
    task.deploy(async ({ ask }) => ({ got: (await ask("size", form("B?"))) as unknown as JsonObject }));
    expect(await task.run()).toMatchObject({ type: "diverged" });
  });

  test("a new step in place of a recorded one does not run", async () => {
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
    expect(end).toMatchObject({
      type: "diverged",
      error: { data: { found: expect.stringMatching(/^new step:charge at \/.*\/replay\.test\.ts:\d+:\d+$/) } },
    });
    expect(String(end.type === "diverged" && end.error.message)).toContain("step:hold, ask:size");
    expect(ran).toBe(false);
  });

  test("a branch that awaits something of its own before its recorded step has not diverged", async () => {
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
    task.journal.set("step:own~0", { digest: "", calledAt: "0o", place: 1, outcome: { type: "value", value: 1 } });
    expect(askKeys(await task.run())).toEqual(["go"]);
    task.answer("go", accept(1));
    expect(await task.run()).toMatchObject({ type: "returned" });
    expect(calls).toBe(0);
  });

  test("a function that nobody awaits so far, and that reads before its recorded step, has not diverged", async () => {
    let calls = 0;
    let takesMs = 0;
    const handler = async ({ ask, step, keyed }: Effects) => {
      const own = (async () => {
        await (takesMs === 0 ? Promise.resolve() : systemClock.sleep(takesMs));
        await keyed("k", () => step("own", () => (calls += 1)));
      })();
      const answer = await ask("go", form("?"));
      await ask("more", form("?"));
      await own;
      return { answer: answer.action };
    };
    const task = subject(handler, { divergenceWaitMs: 40 });
    expect(askKeys(await task.run())).toEqual(["go"]);
    expect(task.journal.has("step:k/own")).toBe(true);
    task.answer("go", accept(1));
    takesMs = 400;
    expect(askKeys(await task.run())).toEqual(["more"]);
    expect(calls).toBe(1);
  });
});

describe("a value that cannot be stored", () => {
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
    // A failed step is recorded by its message alone.
    const codes = { limit: "TOO_LARGE", plain: "NOT_SERIALIZABLE", token: "EVENT_TOKEN_MISPLACED" };
    const code = Object.entries(codes).find(([word]) => message.includes(word))?.[1];
    expect([end.type, error?.message, error?.code]).toStrictEqual(["threw", message, message.includes("of step") ? undefined : code]);
    if (error?.code === "NOT_SERIALIZABLE") expect(error.cause).toBeInstanceOf(TypeError);
  });

  test("is not a text that merely looks like a token, if none was issued", async () => {
    const task = subject(async ({ step, status }) => {
      status(token);
      return { text: (await step("s", () => token)) ?? null };
    });
    expect(await task.run()).toMatchObject({ type: "returned" });
  });
});

describe("what a schema made of an answer", () => {
  test("is kept beside the answer, and the next run finds it", async () => {
    const found: unknown[] = [];
    const task = subject(async ({ ask, readingOf }) => {
      await ask("q", form("?"));
      const { kept, keep } = readingOf("q");
      found.push(kept);
      if (kept === undefined) keep({ n: 1 }, false);
      await ask("more", form("?"));
      return {};
    });
    await task.run();
    task.answer("q", accept(1));
    await task.run();
    expect(task.journal.get(readingKey("q"))).toStrictEqual({ digest: "", calledAt: "0", outcome: { type: "value", value: { n: 1 } } });
    task.answer("more", accept(2));
    expect((await task.run()).type).toBe("returned");
    expect(found).toStrictEqual([undefined, { n: 1 }]);
  });

  test("is not read before there is an answer", async () => {
    const task = subject(async ({ readingOf }) => ({ kept: readingOf("q").kept ?? null }));
    expect(await task.run()).toMatchObject({ type: "threw", error: { message: "an answer is read before it has settled" } });
  });

  test("is not kept once the run has ended", async () => {
    const task = subject(async ({ ask, step, readingOf }) => {
      await ask("q", form("?"));
      const { keep } = readingOf("q");
      const started = Promise.withResolvers<void>();
      void step("work", async ({ signal }) => {
        started.resolve();
        await once(signal, "abort");
        keep({ n: 1 }, false);
      });
      await started.promise;
      return {};
    });
    await task.run();
    task.answer("q", accept(1));
    expect((await task.run()).type).toBe("returned");
    expect([...task.journal.keys()]).toStrictEqual(["ask:q", "step:work"]);
  });
});

describe("time, random values and reports", () => {
  test.each<[string, (effects: Effects) => unknown]>([
    ["now:t~1", ({ now }) => now("t")],
    ["patch:t", ({ patched }) => patched("t")],
  ])("the record of %s after an await of something outside ctx lets the run continue once it is called again", async (id, call) => {
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
    expect(entry).toStrictEqual({ digest: "", calledAt: "0o", outcome: { type: "value", value: expect.anything() } });
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
    expect(seen[0]).toStrictEqual([expect.any(Number), expect.any(Number), expect.any(String), expect.any(String)]);
    expect(new Set(seen[0] as unknown[]).size).toBe(4);
  });

  test("a long sleep parks and ends when its recorded end has passed", async () => {
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

  test("the length of a short sleep is a setting: at the limit it stays, one beyond parks", async () => {
    const sleeps = async (ms: number, inlineSleepMaxMs: number) => {
      const task = subject(
        async ({ sleep }) => {
          await sleep("nap", ms);
          return {};
        },
        { inlineSleepMaxMs },
      );
      task.stopClock();
      return (await task.run()).type;
    };
    expect(await sleeps(20, 20)).toBe("returned");
    // The timer runs. A minute is longer than a busy machine takes to park.
    expect(await sleeps(60_001, 60_000)).toBe("parked");
  });

  test("reports are sent in order, once, and not repeated by replay", async () => {
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

test("a handler has what the run was given: who answered, deposits, and immediate responses", async () => {
  const task = subject(async ({ ask, answeredBy, deposit, immediateResponse }) => {
    immediateResponse("One moment.");
    await ask("go", form("?"));
    return { by: answeredBy("go")?.principal ?? null, left: (await deposit("page")).length, other: answeredBy("other") === undefined };
  });
  await task.run();
  task.answer("go", accept(1));
  expect(await task.run()).toMatchObject({ result: { by: "anonymous", left: "the deposit of page".length, other: true } });
  expect(task.reports).toStrictEqual([{ items: [], immediateResponse: "One moment." }]);
});

test("each call of the handler is reported with the key of its entry", async () => {
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

test("a branch without a key, or with too long a key, or whose work throws at once, is a rejected promise", async () => {
  const task = subject(async ({ branch }) => {
    const refused = (key: string) => branch(key, async () => "never").catch((error: ParleyError) => error.code);
    const wrong = [await refused(""), await refused("x".repeat(65))].join();
    const thrown = await branch("a", (): Promise<string> => {
      throw new Error("at once");
    }).catch((error: Error) => error.message);
    return { wrong, thrown };
  });
  expect(await task.run()).toMatchObject({ type: "returned", result: { wrong: "INVALID_NAME,INVALID_NAME", thrown: "at once" } });
});

describe("a compensation", () => {
  test("continues once its step has succeeded, whether at the first attempt or a later one", async () => {
    const task = subject(async ({ step }) => {
      const busyAtFirst = ({ attempt }: { readonly attempt: number }) => {
        if (attempt === 1) throw new Error("busy");
        return attempt;
      };
      return { done: [(await step("one", () => 1)) ?? null, (await step("two", busyAtFirst, { attempts: 2, backoffMs: 0 })) ?? null] };
    });
    task.compensate(false);
    expect(await task.run()).toMatchObject({ type: "returned", result: { done: [1, 2] } });
  });

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
