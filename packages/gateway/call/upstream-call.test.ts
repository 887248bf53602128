/** One call to an upstream: what it may ask, and where each answer goes. */
import { Client } from "@modelcontextprotocol/client";
import { UrlElicitationRequiredError } from "@modelcontextprotocol/sdk/types.js";
import { DEFAULT_SETTINGS } from "@parley/core";
import { afterEach, describe, expect, test, vi } from "vitest";
import { until } from "../../../test/support/until.ts";
import { gate, gates } from "../gate.ts";
import { MESSAGE_CHARS_MAX } from "../wire/question.ts";
import type { CountedQuestion } from "./questions.ts";
import { type CallDeps, startCall, type UpstreamCall } from "./upstream-call.ts";
import type { Given, UpstreamEvent } from "../wire/upstream-event.ts";
import type { UpstreamConnector } from "../connection/upstream-session.ts";
import { aRequest, type Asking, connectorTo, ELICITATION, FORM, leading, someDeps } from "../upstream.fixture.ts";

afterEach(() => void vi.useRealTimers());

const accepted = (ok: boolean) => ({ action: "accept", content: { ok } }) as const;

async function asked(call: UpstreamCall, given: readonly Given[] = []) {
  const event = await call.next(given, leading());
  if (event.type !== "asked") throw new Error(`${event.type} came in place of a question`);
  return event.questions;
}

function answersIn(event: UpstreamEvent): unknown {
  if (event.type !== "result") throw new Error(`${event.type} came in place of a result: ${JSON.stringify(event)}`);
  return JSON.parse((event.result["content"] as { text: string }[])[0]?.text ?? "");
}

describe("an answer", () => {
  test("reaches the question that it was given to, also where another one is the same", async () => {
    const connector = connectorTo(async ({ ask }) => await Promise.all([ask("same?"), ask("same?")]));
    const call = startCall("1", aRequest(), someDeps(connector));
    const [first, second] = await asked(call);
    expect(first?.digest).toBe(second?.digest);
    call.give([{ question: second!, answer: accepted(false) }]);
    const event = await call.next(
      [
        { question: second!, answer: accepted(false) },
        { question: first!, answer: accepted(true) },
      ],
      leading(),
    );
    expect(answersIn(event)).toEqual([accepted(true), accepted(false)]);
  });

  test("given to a call that was lost reaches the same question of the next one, once, and no other", async () => {
    const lost = startCall("1", aRequest(), someDeps(connectorTo(async ({ ask }) => await ask("delete a?"))));
    const [question] = await asked(lost);
    const given = [{ question: question!, answer: accepted(true) }];
    const connector = connectorTo(async ({ ask }) => [await ask("delete a, b?"), await ask("delete a?"), await ask("delete a?")]);
    const call = startCall("2", aRequest({ given, askedBefore: 1 }), someDeps(connector));
    const [other] = await asked(call, given);
    expect(other).toMatchObject({ request: { message: "delete a, b?" } });
    expect(other?.key).not.toBe(question?.key);
    const both = [...given, { question: other!, answer: accepted(false) }];
    const [again] = await asked(call, both);
    expect(again).toMatchObject({ request: { message: "delete a?" } });
    const event = await call.next([...both, { question: again!, answer: accepted(false) }], leading());
    expect(answersIn(event)).toEqual([accepted(false), accepted(true), accepted(false)]);
    await lost.close();
  });

  test("given to a call that was lost answers one question of the next one, in any run that leads it: each reads the answers anew", async () => {
    const lost = startCall("1", aRequest(), someDeps(connectorTo(async ({ ask }) => await ask("delete a?"))));
    const [question] = await asked(lost);
    const given = [{ question: question!, answer: accepted(true) }];
    const connector = connectorTo(async ({ ask }) => [await ask("delete a?"), await ask("delete b?"), await ask("delete a?")]);
    const call = startCall("2", aRequest({ given, askedBefore: 1 }), someDeps(connector));
    const [other] = await asked(call, given);
    expect(other).toMatchObject({ request: { message: "delete b?" } });
    const both = structuredClone([...given, { question: other!, answer: accepted(false) }]);
    const [again] = await asked(call, both);
    expect(again).toMatchObject({ request: { message: "delete a?" } });
    const all = structuredClone([...both, { question: again!, answer: accepted(false) }]);
    expect(answersIn(await call.next(all, leading()))).toEqual([accepted(true), accepted(false), accepted(false)]);
    await lost.close();
  });

  test.each([
    [{ action: "decline" }, { action: "decline" }],
    [{ action: "cancel" }, { action: "cancel" }],
    [{ action: "timeout" }, { code: -32000, reason: "timeout", hint: expect.stringContaining("PARLEY_ELICITATION_BLOCKING_TIMEOUT") }],
    [{ action: "unavailable" }, { code: -32601, reason: "unavailable", hint: expect.stringContaining("have a task") }],
  ] as const)("that is %o is told as %o", async (answer, told) => {
    const call = startCall("1", aRequest(), someDeps(connectorTo(async ({ ask }) => await ask("?"))));
    const [question] = await asked(call);
    expect(answersIn(await call.next([{ question: question!, answer }], leading()))).toMatchObject(told);
  });

  test("takes none of the time that the upstream has", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const call = startCall("1", aRequest(), someDeps(connectorTo(async ({ ask }) => await ask("?"))));
    const [question] = await asked(call);
    // The upstream has 200 ms.
    await vi.advanceTimersByTimeAsync(300);
    expect(answersIn(await call.next([{ question: question!, answer: accepted(true) }], leading()))).toEqual(accepted(true));
  });
});

describe("an upstream that waits for people whom only it can ask", () => {
  const waits = (is: unknown, message?: unknown) => ({ _meta: { "parley/waits": is }, message });
  const MINUTE = 60_000;

  /** Does one step after the other, with the time between them, and returns how the call ended and what its task was told. */
  async function after(steps: readonly (readonly [ms: number, more?: object])[], ends = true) {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    const told: unknown[] = [];
    const reported: unknown[] = [];
    const behave = async ({ progress }: Asking) => {
      for (const [index, [ms, more]] of steps.entries()) {
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms));
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        if (more) await progress(index, more);
      }
      return ends ? "done" : await new Promise(() => undefined);
    };
    // It has 200 ms to work, and people have ten minutes.
    const call = startCall("1", aRequest(), someDeps(connectorTo(behave)));
    const next = call.next([], { ...leading(), report: (item) => reported.push(item), onWaits: (is) => told.push(is) });
    await vi.advanceTimersByTimeAsync(60 * MINUTE);
    const event = await next;
    return { told, reported, event: event.type === "result" ? "result" : "message" in event ? event.message : event };
  }

  const worked = "neither asked nor ended within 200 ms";
  const people = "waited for people for 600000 ms";
  test.each<[string, Parameters<typeof after>, string, unknown[]]>([
    ["has that time beside its own", [[[100, waits(true, "asks Bob")], [MINUTE]]], "result", [{ message: "asks Bob" }]],
    [
      "says it again and again",
      [Array.from({ length: 9 }, () => [MINUTE, waits(true)] as [number, object]).toSpliced(0, 0, [100, waits(true)])],
      "result",
      Array.from({ length: 10 }, () => ({ message: undefined })),
    ],
    ["does not say it for longer than a minute and its own time", [[[100, waits(true)], [MINUTE + 201]]], worked, [{ message: undefined }]],
    ["has its own time afterwards", [[[100, waits(true)], [100, waits(false)], [199]]], "result", [{ message: undefined }, false]],
    ["has only its own time afterwards", [[[100, waits(true)], [100, waits(false)], [201]]], worked, [{ message: undefined }, false]],
    [
      "waits longer than its people have",
      [Array.from({ length: 30 }, () => [MINUTE / 2, waits(true)] as [number, object]).toSpliced(0, 0, [100, waits(true)])],
      people,
      expect.any(Array) as never,
    ],
    [
      "says again and again that it does so no more",
      [Array.from({ length: 30 }, () => [150, waits(false)] as [number, object])],
      worked,
      [false],
    ],
    [
      "says in turns that it does and does not, for longer than its people have, which no more time to work follows",
      [Array.from({ length: 10_000 }, (_, at) => (at % 2 === 0 ? [150, waits(true)] : [0, waits(false)]) as [number, object])],
      people,
      expect.any(Array) as never,
    ],
    ["only says so in words", [[[100, { message: "Waiting for people" }], [101]]], worked, []],
    ["says it in no way that is known", [[[100, waits("yes", 7)], [101]]], worked, []],
  ])("and %s", async (_what, given, event, told) => {
    const seen = await after(...given);
    expect(seen).toMatchObject({ event, told });
  });

  test("reports no progress of its tool with that", async () => {
    const seen = await after([
      [1, waits(true)],
      [1, { message: "half" }],
    ]);
    expect(seen.reported).toEqual([{ type: "progress", progress: 1, message: "half" }]);
  });

  test("waits for them no more once it asks the caller", async () => {
    const told: unknown[] = [];
    const behave = async ({ progress, ask }: Asking) => {
      await progress(1, waits(true, "asks Bob"));
      return await ask("?");
    };
    const call = startCall("1", aRequest(), someDeps(connectorTo(behave)));
    const event = await call.next([], { ...leading(), onWaits: (is) => told.push(is) });
    expect(told).toEqual([{ message: "asks Bob" }, false]);
    const given = event.type === "asked" ? event.questions.map((question) => ({ question, answer: accepted(true) })) : [];
    await call.next(given, { ...leading(), onWaits: (is) => told.push(is) });
    expect(told).toHaveLength(2);
  });

  test("has the whole time again once it has asked", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    const wait = async ({ progress }: Asking) => {
      for (let minute = 0; minute < 8; minute += 1) {
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        await progress(minute, waits(true));
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        await new Promise((resolve) => setTimeout(resolve, MINUTE));
      }
    };
    const behave = async (asking: Asking) => {
      await wait(asking);
      const answer = await asking.ask("?");
      await wait(asking);
      return answer;
    };
    const call = startCall("1", aRequest(), someDeps(connectorTo(behave)));
    const first = asked(call);
    // By itself, the question waits for a minute at the upstream.
    await vi.advanceTimersByTimeAsync(8 * MINUTE + 1);
    const [question] = await first;
    const end = call.next([{ question: question!, answer: accepted(true) }], leading());
    await vi.advanceTimersByTimeAsync(20 * MINUTE);
    expect(answersIn(await end)).toEqual(accepted(true));
  });
});

describe("a question", () => {
  test("is not passed on where that is switched off, and the upstream is not told that it could ask", async () => {
    const elicitation = { ...ELICITATION, isEnabled: false };
    const connector = connectorTo(async ({ ask, capabilities }) => [capabilities, await ask("?")]);
    const call = startCall("1", aRequest(), someDeps(connector, { elicitation }));
    const told = { code: -32601, refused: expect.stringContaining("PARLEY_ELICITATION"), reason: "disabled" };
    expect(answersIn(await call.next([], leading()))).toMatchObject([
      {},
      { ...told, hint: expect.stringContaining("PARLEY_ELICITATION=true") },
    ]);
  });

  test("that its caller cannot be asked is refused with the reason and what to do, if its upstream asks it all the same", async () => {
    const connector = connectorTo(async ({ ask, capabilities }) => [capabilities, await ask("?")]);
    const call = startCall("1", aRequest({ capabilities: { roots: true } }), someDeps(connector));
    const told = { code: -32601, refused: expect.stringContaining("elicitation/create"), reason: "capability" };
    expect(answersIn(await call.next([], leading()))).toMatchObject([
      { roots: {} },
      { ...told, hint: expect.stringContaining("capabilities") },
    ]);
  });

  /** A caller may be asked so many questions more. */
  function rateOf(left: number) {
    const seen: [principal: string, count: number][] = [];
    const rate = async ({ principal }: { readonly principal: string }, count: number) => {
      seen.push([principal, count]);
      return (left -= count) < 0 ? 1_500 : 0;
    };
    return { rate, seen };
  }

  const TOO_MANY = {
    code: -32000,
    message: expect.stringContaining("PARLEY_ELICITATIONS_RATE"),
    data: { reason: "limit", retryAfterMs: 1_500 },
  };

  test("is one of as many as its caller may be asked in a minute; one beyond is told when to try again", async () => {
    const { rate, seen } = rateOf(2);
    const refused: unknown[] = [];
    const connector = connectorTo(async ({ ask }) => [await ask("1"), await ask("2"), await ask("3")]);
    const count = ({ outcome }: CountedQuestion) => void (outcome === "refused" && refused.push(outcome));
    const elicitation = { ...ELICITATION, perMinute: 2 };
    const call = startCall("1", aRequest(), someDeps(connector, { rate, count, elicitation }));
    const given: Given[] = [];
    for (const message of ["1", "2"]) {
      const [question] = await asked(call, given);
      expect(question).toMatchObject({ request: { message } });
      given.push({ question: question!, answer: accepted(true) });
    }
    expect(answersIn(await call.next(given, leading()))).toMatchObject([
      accepted(true),
      accepted(true),
      {
        code: -32000,
        refused: expect.stringContaining("may be asked 2 questions per minute (PARLEY_ELICITATIONS_RATE)"),
        retryAfterMs: 1_500,
      },
    ]);
    expect([seen, refused]).toEqual([
      [
        ["ann", 1],
        ["ann", 1],
        ["ann", 1],
      ],
      ["refused"],
    ]);
  });

  test.each([
    [2, { type: "required" }],
    [1, { type: "error", error: TOO_MANY }],
  ])("that its upstream does not wait for counts as well: with %s left, two of them are %j", async (left, event) => {
    const { rate, seen } = rateOf(left);
    const page = (id: string) => ({ mode: "url" as const, message: "Log in", url: `https://up.example.com/${id}`, elicitationId: id });
    const connector = connectorTo(async () => {
      throw new UrlElicitationRequiredError([page("1"), page("2")]);
    });
    const call = startCall("1", aRequest(), someDeps(connector, { rate }));
    expect(await call.next([], leading())).toMatchObject(event);
    expect(seen).toEqual([["ann", 2]]);
  });

  describe.each([
    [
      "is switched off",
      { isEnabled: false },
      { code: -32601, data: { reason: "disabled", hint: expect.stringContaining("PARLEY_ELICITATION") } },
    ],
    ["is one too many", { callMax: 0 }, { code: -32000, data: { reason: "limit", hint: expect.stringContaining("in one form") } }],
  ])("that %s and that its upstream does not wait for", (_why, limits, error) => {
    const elicitation = { ...ELICITATION, ...limits };
    const visit = (url: string) =>
      connectorTo(async () => {
        throw new UrlElicitationRequiredError([{ mode: "url", message: "Log in", url, elicitationId: "1" }]);
      });

    test("ends the call as it is refused otherwise, with what to do: a page to visit first", async () => {
      const call = startCall("1", aRequest(), someDeps(visit("https://up.example.com/login"), { elicitation }));
      expect(await call.next([], leading())).toMatchObject({ type: "error", error });
    });

    test("ends the call as it is refused otherwise, with what to do: a question of its task", async () => {
      const inputRequests = { q: { method: "elicitation/create", params: { message: "?", requestedSchema: FORM } } };
      const cancelled: string[] = [];
      const tasks = {
        get: async (taskId: string) => ({ taskId, status: "input_required" as const, inputRequests }),
        cancel: async (taskId: string) => void cancelled.push(taskId),
        call: () => Promise.reject(new Error("the call was made before")),
        update: async () => undefined,
      };
      const connector: UpstreamConnector = {
        ...visit(""),
        async open() {
          const client = new Client({ name: "gateway", version: "1" });
          return { client, isStateless: true, tasks, begin: () => undefined, close: async () => undefined };
        },
      };
      const request = aRequest({ round: { responses: {}, task: { id: "t", asked: [] } } });
      const call = startCall("1", request, someDeps(connector, { elicitation }));
      expect(await call.next([], leading())).toMatchObject({ type: "error", error });
      await call.close();
      expect(cancelled).toEqual(["t"]);
    });
  });

  test("about a page that nobody may be sent to ends the call as invalid, also if its upstream requires the visit first", async () => {
    const connector = connectorTo(async () => {
      throw new UrlElicitationRequiredError([{ mode: "url", message: "Log in", url: "http://up.example.com/", elicitationId: "1" }]);
    });
    const call = startCall("1", aRequest(), someDeps(connector));
    expect(await call.next([], leading())).toEqual({ type: "invalid", message: expect.stringContaining("/url") });
  });

  test("about a page that people may still be on is not counted: nobody is asked", async () => {
    const { rate, seen } = rateOf(0);
    const connector = connectorTo(async () => {
      throw new UrlElicitationRequiredError([{ mode: "url", message: "Log in", url: "https://up.example.com/1?x=2", elicitationId: "2" }]);
    });
    const awaited = [JSON.stringify(["Log in", "https://up.example.com", "/1"])];
    const call = startCall("1", aRequest({ awaited }), someDeps(connector, { rate }));
    expect(await call.next([], leading())).toMatchObject({ type: "required" });
    expect(seen).toEqual([]);
  });

  test("whose answer is recorded already is not counted again", async () => {
    const lost = startCall("1", aRequest(), someDeps(connectorTo(async ({ ask }) => await ask("delete a?"))));
    const [question] = await asked(lost);
    const given = [{ question: question!, answer: accepted(true) }];
    const { rate, seen } = rateOf(0);
    const call = startCall(
      "2",
      aRequest({ given, askedBefore: 1 }),
      someDeps(
        connectorTo(async ({ ask }) => await ask("delete a?")),
        { rate },
      ),
    );
    expect(answersIn(await call.next(given, leading()))).toEqual(accepted(true));
    expect(seen).toEqual([]);
    await lost.close();
  });

  test("is one of as many as a call may ask, and the next is refused", async () => {
    const elicitation = { ...ELICITATION, callMax: 2 };
    const connector = connectorTo(async ({ ask }) => [await ask("1"), await ask("2"), await ask("3")]);
    const call = startCall("1", aRequest(), someDeps(connector, { elicitation }));
    const given: Given[] = [];
    for (const message of ["1", "2"]) {
      const [question] = await asked(call, given);
      expect(question).toMatchObject({ request: { message } });
      given.push({ question: question!, answer: accepted(true) });
    }
    expect(answersIn(await call.next(given, leading()))).toMatchObject([
      accepted(true),
      accepted(true),
      {
        code: -32000,
        refused: expect.stringContaining("PARLEY_ELICITATIONS_CALL_MAX"),
        reason: "limit",
        hint: expect.stringContaining("in one form"),
      },
    ]);
  });

  test.each([
    ["in a round after them", { round: { responses: {} } }, { type: "error", error: { code: -32000, data: { reason: "limit" } } }],
    ["in a call that repeats theirs, whose answers are recorded", {}, { type: "required" }],
  ])("is one of as many as a call may ask: two before it count %s", async (_when, more, event) => {
    const elicitation = { ...ELICITATION, callMax: 2 };
    const page = { mode: "url" as const, message: "Log in", url: "https://up.example.com/", elicitationId: "1" };
    const connector = connectorTo(async () => {
      throw new UrlElicitationRequiredError([page]);
    });
    const call = startCall("1", aRequest({ askedBefore: 2, ...more }), someDeps(connector, { elicitation }));
    expect(await call.next([], leading())).toMatchObject(event);
  });

  test.each([
    ["of a worker", { open: gate(1) }, "PARLEY_ELICITATIONS_MAX"],
    ["of one caller", { openOf: gates(1) }, "PARLEY_ELICITATIONS_PRINCIPAL_MAX"],
    ["of one session", { openOfSession: gates(1) }, "PARLEY_ELICITATIONS_SESSION_MAX"],
  ])("is one of as many open ones %s as there may be; one that is answered makes room", async (_of, gates_, setting) => {
    const request = aRequest({ session: "s" });
    const behave = connectorTo(async ({ ask }) => await ask("?"));
    const first = startCall("1", request, someDeps(behave, gates_));
    const [question] = await asked(first);
    const second = startCall("2", request, someDeps(behave, gates_));
    const told = { code: -32000, refused: expect.stringContaining(setting), reason: "limit", retryAfterMs: 1_000 };
    expect(answersIn(await second.next([], leading()))).toMatchObject(told);
    await first.next([{ question: question!, answer: accepted(true) }], leading());
    const third = startCall("3", request, someDeps(behave, gates_));
    expect(await asked(third)).toHaveLength(1);
    await third.close();
  });

  test.each<[reason: string, message: string, given: Partial<CallDeps>, asks?: object]>([
    ["disabled", "?", { elicitation: { ...ELICITATION, isEnabled: false } }],
    ["capability", "?", {}, { mode: "url", url: "https://up.example.com", elicitationId: "1" }],
    ["schema", "?", {}, { requestedSchema: { type: "object", properties: { ok: { type: "object" } } } }],
    ["secret", "?", {}, { requestedSchema: { type: "object", properties: { password: { type: "string" } } } }],
    ["invalid", "x".repeat(MESSAGE_CHARS_MAX + 1), {}],
    ["rate", "?", { rate: async () => 1_500 }],
    ["limit", "?", { open: gate(0) }],
  ])("that is refused is recorded, as %s, with nothing that its upstream wrote", async (reason, message, given, asks = {}) => {
    const refused: unknown[] = [];
    const counted: unknown[] = [];
    const connector = connectorTo(async ({ request }) => await request({ mode: "form", message, requestedSchema: FORM, ...asks }));
    const deps = someDeps(connector, {
      ...given,
      onRefused: (one) => void refused.push(one),
      count: ({ outcome }) => void counted.push(outcome),
    });
    const call = startCall("1", aRequest({ capabilities: { elicitation: { form: true, url: false } } }), deps);
    expect(answersIn(await call.next([], leading()))).toHaveProperty("code");
    expect([refused, counted]).toEqual([[{ upstream: "up", reason }], ["refused"]]);
  });

  test("that is refused is recorded for as many questions as a call may ask", async () => {
    const refused: unknown[] = [];
    const connector = connectorTo(async ({ request }) => {
      for (let asked = 0; asked < 5; asked += 1) await request({ mode: "voice" });
    });
    const elicitation = { ...ELICITATION, callMax: 3 };
    const call = startCall("1", aRequest(), someDeps(connector, { elicitation, onRefused: (one) => void refused.push(one) }));
    await call.next([], leading());
    expect(refused).toHaveLength(3);
  });

  test("of one session takes no room from another session, nor from a call without one", async () => {
    const behave = connectorTo(async ({ ask }) => await ask("?"));
    const openOfSession = gates(1);
    for (const session of ["one", "other", undefined]) {
      const call = startCall("1", aRequest(session === undefined ? {} : { session }), someDeps(behave, { openOfSession }));
      expect(await asked(call)).toHaveLength(1);
    }
  });

  test("keeps its upstream waiting by progress, as long as it is open, if the upstream counts its time from the last progress", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "setTimeout", "clearTimeout"] });
    const progress: number[] = [];
    const options = {
      timeout: 15_000,
      resetTimeoutOnProgress: true,
      onprogress: (told: { progress: number }) => void progress.push(told.progress),
    };
    const { promise: finishes, resolve: finish } = Promise.withResolvers<void>();
    const connector = connectorTo(async ({ ask }) => {
      const answer = await ask("?", options);
      await finishes;
      return answer;
    });
    const upstream = { ...aRequest().upstream, callTimeoutMs: 60_000 };
    const call = startCall("1", aRequest({ upstream }), someDeps(connector));
    const [question] = await asked(call);
    for (let minute = 1; minute <= 3; minute += 1) {
      for (let part = 1; part <= 6; part += 1) await vi.advanceTimersByTimeAsync(10_000);
      expect(progress).toHaveLength(6 * minute);
    }
    call.give([{ question: question!, answer: accepted(true) }]);
    await vi.advanceTimersByTimeAsync(30_000);
    finish();
    expect(answersIn(await call.next([], leading()))).toEqual(accepted(true));
    expect(progress).toHaveLength(18);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("that the upstream gives up while it is counted is put to nobody", async () => {
    const counted = Promise.withResolvers<number>();
    const [counting, givenUp] = [Promise.withResolvers<void>(), new AbortController()];
    const rates = [counted.promise, Promise.resolve(0)];
    const rate = async () => {
      counting.resolve();
      return (await rates.shift()) ?? 0;
    };
    const connector = connectorTo(async ({ ask }) => {
      const first = ask("given up?", { signal: givenUp.signal });
      await counting.promise;
      givenUp.abort("no longer needed");
      await first;
      const second = ask("still open?");
      setTimeout(() => counted.resolve(0), 20);
      return await second;
    });
    const call = startCall("1", aRequest(), someDeps(connector, { rate }));
    const [second] = await asked(call);
    expect(second?.request).toMatchObject({ message: "still open?" });
    await new Promise((resolve) => setTimeout(resolve, 50));
    call.give([{ question: second!, answer: accepted(true) }]);
    expect(call.isWaiting()).toBe(false);
    expect(answersIn(await call.next([], leading()))).toEqual(accepted(true));
  });

  test("that is refused for one bound takes no place under another", async () => {
    const [openOf, openOfSession] = [gates(1), gates(1)];
    const other = startCall(
      "1",
      aRequest({ session: "one" }),
      someDeps(
        connectorTo(({ ask }) => ask("?")),
        { openOf, openOfSession },
      ),
    );
    const [open] = await asked(other);
    const [areRefused, isFree] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const connector = connectorTo(async ({ ask }) => {
      const refused = [await ask("1?"), await ask("2?")];
      areRefused.resolve();
      await isFree.promise;
      return [...refused, await ask("3?")];
    });
    const call = startCall("2", aRequest({ session: "two" }), someDeps(connector, { openOf, openOfSession }));
    await areRefused.promise;
    await other.next([{ question: open!, answer: accepted(true) }], leading());
    isFree.resolve();
    const [question] = await asked(call);
    const told = { code: -32000, refused: expect.stringContaining("PARLEY_ELICITATIONS_PRINCIPAL_MAX") };
    const event = await call.next([{ question: question!, answer: accepted(true) }], leading());
    expect(answersIn(event)).toMatchObject([told, told, accepted(true)]);
  });

  test("that was withdrawn from an earlier call of its task is asked anew", async () => {
    const lost = startCall("1", aRequest(), someDeps(connectorTo(async ({ ask }) => await ask("?"))));
    const [question] = await asked(lost);
    const given = [{ question: question!, answer: { action: "withdrawn" } as const }];
    const call = startCall("2", aRequest({ given, askedBefore: 1 }), someDeps(connectorTo(async ({ ask }) => await ask("?"))));
    expect((await asked(call, given)).map(({ digest }) => digest)).toEqual([question?.digest]);
    await Promise.all([lost.close(), call.close()]);
  });

  test("that the upstream gives up before anyone was asked is not abandoned: there is nothing to withdraw", async () => {
    const told: string[] = [];
    const impatient = new AbortController();
    const connector = connectorTo(async ({ ask }) => await ask("?", { signal: impatient.signal }));
    const call = startCall("1", aRequest(), someDeps(connector, { onAbandoned: () => told.push("abandoned") }));
    await until(() => call.isWaiting());
    impatient.abort();
    await until(() => !call.isWaiting());
    expect((await call.next([], leading())).type).toBe("result");
    expect([told, [...call.abandoned()]]).toEqual([[], []]);
  });

  test("that the upstream gives up is abandoned, if it was asked, and its asker is told", async () => {
    const impatient = new AbortController();
    const connector = connectorTo(async ({ ask }) => await ask("?", { signal: impatient.signal }));
    const { promise: told, resolve } = Promise.withResolvers<void>();
    const call = startCall("1", aRequest(), someDeps(connector, { onAbandoned: resolve }));
    const [question] = await asked(call);
    impatient.abort();
    await told;
    expect([...call.abandoned()]).toEqual([question?.key]);
    expect((await call.next([{ question: question!, answer: { action: "withdrawn" } }], leading())).type).toBe("result");
  });
});

test("the task of an upstream that is no longer needed is cancelled, and no session stays open for that", async () => {
  const seen: string[] = [];
  const tasks = {
    get: async (taskId: string) => ({ taskId, status: "working" as const }),
    cancel: async (taskId: string) => void seen.push(`cancel ${taskId}`),
    call: () => Promise.reject(new Error("the call was made before")),
    update: async () => undefined,
  };
  const connector: UpstreamConnector = {
    ...connectorTo(async () => undefined),
    async open() {
      seen.push("open");
      const client = new Client({ name: "gateway", version: "1" });
      return { client, isStateless: true, tasks, begin: () => undefined, close: async () => void seen.push("close") };
    },
  };
  const call = startCall("1", aRequest({ round: { responses: {}, task: { id: "t", asked: [] } } }), someDeps(connector));
  expect(await call.next([], leading())).toMatchObject({ type: "required", task: { id: "t" } });
  await call.close();
  expect(seen).toEqual(["open", "close", "open", "cancel t", "close"]);
});

describe("a call", () => {
  test("that neither asks nor ends in its time is stopped, and the upstream is told", async () => {
    const { promise: stopped, resolve } = Promise.withResolvers<void>();
    const connector = connectorTo(async ({ signal }) => {
      signal.addEventListener("abort", () => resolve());
      return await new Promise(() => undefined);
    });
    const call = startCall("1", aRequest(), someDeps(connector));
    expect(await call.next([], leading())).toMatchObject({ type: "timeout" });
    await stopped;
  });

  test("reports to the run that leads it now, also if the one before leaves after it has come", async () => {
    const go = Promise.withResolvers<void>();
    const behave = async ({ progress }: Asking) => {
      await go.promise;
      await progress(1);
    };
    const call = startCall("1", aRequest(), someDeps(connectorTo(behave)));
    const [gone, told] = [new AbortController(), [] as unknown[]];
    const before = call.next([], { signal: gone.signal, report: () => told.push("before") });
    const now = call.next([], { ...leading(), report: (item) => told.push(item) });
    gone.abort(new Error("taken over"));
    await expect(before).rejects.toThrow("taken over");
    go.resolve();
    expect((await now).type).toBe("result");
    expect(told).toEqual([{ type: "progress", progress: 1 }]);
  });

  test("whose leader is gone tells the next one what happened, once and the same", async () => {
    const call = startCall("1", aRequest(), someDeps(connectorTo(async ({ ask }) => await ask("?"))));
    const gone = new AbortController();
    const waited = call.next([], { signal: gone.signal, report: () => undefined });
    gone.abort(new Error("taken over"));
    await expect(waited).rejects.toThrow("taken over");
    const first = await asked(call);
    expect(await asked(call)).toEqual(first);
    const given = [{ question: first[0]!, answer: accepted(true) }];
    const event = await call.next(given, leading());
    expect(await call.next(given, leading())).toEqual(event);
  });

  test.each([1_001, 100_000])("that ends with data in %i levels, which no task may store, fails at once", async (levels) => {
    let data: unknown[] = [];
    for (let level = 1; level < levels; level += 1) data = [data];
    const refuse = async () => {
      throw Object.assign(new Error("refused"), { code: -32000, data });
    };
    const call = startCall("1", aRequest(), someDeps(connectorTo(refuse)));
    expect(await call.next([], leading())).toEqual({
      type: "invalid",
      message: "answered with arrays and objects that nest deeper than 1000 levels",
    });
  });

  test("passes on progress that is a finite number only", async () => {
    const told: unknown[] = [];
    const behave = async ({ progress }: Asking) => {
      for (const value of [1, Number.POSITIVE_INFINITY, 2]) await progress(value);
    };
    const call = startCall("1", aRequest(), someDeps(connectorTo(behave)));
    await call.next([], { ...leading(), report: (item) => void told.push(item) });
    expect(told).toEqual([
      { type: "progress", progress: 1 },
      { type: "progress", progress: 2 },
    ]);
  });

  test("that ends with more than a task may store is reported, at the limit and one beyond", async () => {
    const size = JSON.stringify({ type: "result", result: { content: [{ type: "text", text: '"said"' }] } }).length;
    for (const [storedValueMax, type] of [
      [size, "result"],
      [size - 1, "large"],
    ] as const) {
      const settings = { ...DEFAULT_SETTINGS, storedValueMax };
      const call = startCall(
        "1",
        aRequest(),
        someDeps(
          connectorTo(async () => "said"),
          { settings },
        ),
      );
      expect((await call.next([], leading())).type).toBe(type);
    }
  });
});
