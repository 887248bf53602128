/** What a generator waits for besides answers and steps: the table of docs/generator-tools.md, row by row. */
import { beforeEach, describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import {
  type SamplingReply,
  type TaskEvent,
  type ToolGenerator,
  TimedOut,
  Withdrawn,
  defineTool,
  call,
  dryRun,
  event,
  received,
  sleep,
} from "../index.ts";
import { accept, decline, runTool, startTool, timeout } from "../testing/testing.ts";

const PAID = z.object({ reference: z.string() });

describe("a call", () => {
  const double = defineTool({
    name: "double",
    input: z.object({ n: z.number() }),
    output: z.object({ n: z.number() }),
    run: ({ n }) => ({ n: 2 * n }),
  });
  const ask = defineTool({ name: "ask", run: (_args, ctx) => ctx.text("word", { message: "Which word?" }) });

  test("of another tool receives its result, alone and beside others, wherever the worker dies", async () => {
    const tool = defineTool({
      name: "caller",
      *run() {
        const { n }: { n: number } = yield { call: double, args: { n: 2 } };
        const typed = yield* call(double, { n });
        expectTypeOf(typed).toEqualTypeOf<{ n: number }>();
        const [word, more]: [string, { n: number }] = yield [{ call: "ask" }, { call: double, args: { n: typed.n }, key: "more" }];
        return `${n} ${typed.n} ${more.n} ${word}`;
      },
    });
    const run = await runTool(tool, {}, { tools: [double, ask], answers: { "ask:word": "end" }, crashAt: "every" });
    expect(run.text).toBe("4 8 16 end");
    expect(run.journal.toSorted()).toEqual(["ask:call:ask", "ask:call:double", "ask:call:double#2", "ask:call:more"]);
  });

  test("that has lost a race is cancelled, and its question is gone", async () => {
    const tool = defineTool({
      name: "caller",
      *run() {
        const won: { name: string } = yield { race: { slow: { call: ask }, soon: { sleep: "nap", for: "1 minute" } } };
        yield { ask: "confirm", id: "after", message: won.name };
        return won.name;
      },
    });
    const running = await startTool(tool, {}, { tools: [ask] });
    expect(running.task.asks.map(({ key }) => key)).toEqual(["slow/ask:word"]);
    await running.advance("1 minute");
    expect(running.task.asks.map(({ key }) => key)).toEqual(["after"]);
  });

  test("of something that is not a tool ends the task with what was yielded", async () => {
    const tool = defineTool({
      name: "caller",
      *run() {
        yield { call: 7 } as never;
      },
    });
    expect((await runTool(tool)).error?.message).toMatch(/a call of something that is neither a tool nor the name of one/);
  });
});

describe("an event", () => {
  const urls: string[] = [];
  beforeEach(() => void (urls.length = 0));
  const pay = defineTool({
    name: "pay",
    *run() {
      const paid: TaskEvent<{ reference: string }> = yield { event: "paid", schema: PAID, timeout: "1 day" };
      yield { step: "checkout", run: () => void urls.push(paid.url) };
      const { reference }: { reference: string } = yield paid;
      return reference;
    },
  });

  test("is available at once, for a step to pass on, and is awaited by yielding it", async () => {
    const running = await startTool(pay);
    expect(running.task.status).toBe("working");
    await running.tell("paid", { reference: "R-1" });
    expect(running.text).toBe("R-1");
    expect(new Set(urls).size).toBe(1);
    expect(running.journal).toEqual(["step:checkout", "ask:event:paid"]);
  });

  test("does all of this once, wherever the worker dies", async () => {
    const run = await runTool(pay, {}, { events: { paid: { reference: "R-2" } }, crashAt: "every" });
    expect([run.text, urls.length]).toEqual(["R-2", 1]);
  });

  test("throws at its yield when it is not reported", async () => {
    const caught = defineTool({
      name: "caught",
      *run() {
        const paid = yield* event("paid", { schema: PAID, timeout: "1 day" });
        expectTypeOf(paid).toEqualTypeOf<TaskEvent<{ reference: string }>>();
        try {
          const told = yield* received(paid);
          expectTypeOf(told).toEqualTypeOf<{ reference: string }>();
          return told.reference;
        } catch (error) {
          return error instanceof TimedOut ? "too late" : "?";
        }
      },
    });
    expect((await runTool(caught, {}, { events: { paid: timeout } })).text).toBe("too late");
  });

  test("completes a page, whose ask receives the event's body", async () => {
    const visit = defineTool({
      name: "visit",
      *run() {
        const paid: TaskEvent<{ reference: string }> = yield { event: "paid", schema: PAID };
        const told: { reference: string } = yield {
          ask: "url",
          id: "pay",
          message: "Pay",
          url: "https://pay.example/1",
          completedBy: paid,
        };
        return told.reference;
      },
    });
    const running = await startTool(visit);
    await running.answer({ pay: accept });
    expect(running.task.status).toBe("input_required");
    await running.tell("paid", { reference: "R-3" });
    expect(running.text).toBe("R-3");
  });
});

test("a sleep lasts for a duration, or until a time", async () => {
  const tool = defineTool({
    name: "tool",
    *run(_args, ctx) {
      yield { sleep: "a", for: "2 hours" };
      yield* sleep("b", "1 hour");
      yield { sleep: "c", until: "2026-01-02T00:00:00Z" };
      return ctx.now().toISOString();
    },
  });
  const running = await startTool(tool);
  await running.advance("3 hours");
  expect(running.task.status).toBe("working");
  await running.advance("21 hours");
  expect(running.text).toBe("2026-01-02T00:00:00.000Z");
  expect(running.journal).toEqual(["sleep:a", "sleep:b", "now:c", "sleep:c", "now:now"]);
});

describe("a race", () => {
  const seen: string[] = [];
  function* deputy(): ToolGenerator<boolean> {
    yield { sleep: "patience", for: "1 day" };
    try {
      const isApproved: boolean = yield { ask: "confirm", id: "approve", message: "Nobody has answered. Do you approve?" };
      return isApproved;
    } catch (error) {
      seen.push((error as Error).name);
      throw error;
    }
  }
  const approve = defineTool({
    name: "approve",
    *run() {
      const { name, value }: { name: string; value: boolean } = yield {
        race: { manager: { ask: "confirm", id: "approve", message: "Do you approve?" }, deputy: deputy() },
      };
      yield { step: "note", run: () => name };
      yield { ask: "confirm", id: "seen", message: `${name}: ${value}` };
      return `${name}: ${value}`;
    },
  });

  test("returns the first value with its name, and gives the others up", async () => {
    const running = await startTool(approve);
    expect(running.task.asks.map(({ key }) => key)).toEqual(["manager/approve"]);
    await running.answer({ "manager/approve": true });
    await running.advance("3 days");
    expect(running.task.asks.map(({ key }) => key)).toEqual(["seen"]);
  });

  test("has the same winner in every replay", async () => {
    for (const first of ["manager", "deputy"] as const) {
      seen.length = 0;
      const running = await startTool(approve, {}, { crashAt: "every" });
      await running.advance("1 day");
      await running.answer({ [`${first}/approve`]: first === "deputy" });
      expect(running.task.asks.map(({ key }) => key)).toEqual(["seen"]);
      await running.answer({ seen: true });
      expect(running.text).toBe(`${first}: ${first === "deputy"}`);
      expect(new Set(seen)).toEqual(new Set(first === "manager" ? [Withdrawn.name] : []));
    }
  });

  test("in a list returns the bare value, and throws the error of one that fails first", async () => {
    const list = defineTool({
      name: "list",
      *run() {
        const size: number = yield {
          race: [
            { ask: "number", id: "a", message: "?" },
            { sleep: "s", for: "1 hour" },
          ],
        };
        return String(size);
      },
    });
    expect((await runTool(list, {}, { answers: { a: 7 } })).text).toBe("7");
    expect((await runTool(list, {}, { answers: { a: timeout } })).text).toBe("undefined");
    expect((await runTool(list, {}, { answers: { a: decline } })).text).toContain("declined");
  });

  test("that is over ends its sleeps with a reason, and a nested one gives up everything in it", async () => {
    const seen: string[] = [];
    function* noting(name: string): ToolGenerator<void> {
      try {
        yield { sleep: name, for: "1 day" };
      } catch (error) {
        seen.push(`${name} ${String(error)}`);
        throw error;
      }
    }
    const nested = defineTool({
      name: "nested",
      *run() {
        const won: string = yield {
          race: [{ ask: "text", id: "q", message: "?" }, { all: [noting("a"), { race: { b: noting("b") } }] }],
        };
        return won;
      },
    });
    const running = await startTool(nested);
    await running.answer({ q: "x" });
    expect(running.text).toBe("x");
    expect(seen.toSorted()).toStrictEqual(["a", "b"].map((name) => `${name} AbortError: another one has won the race`));
  });

  test("leaves the author's own signal unchanged", async () => {
    const stopping = defineTool({
      name: "stopping",
      *run() {
        const stop = new AbortController();
        const both: unknown[] = yield {
          all: [
            (function* (): ToolGenerator<string> {
              try {
                yield { ask: "text", id: "q", message: "?", signal: stop.signal };
                return "answered";
              } catch (error) {
                return (error as Error).name;
              }
            })(),
            (function* (): ToolGenerator<void> {
              yield { sleep: "s", for: "1 hour" };
              stop.abort();
            })(),
          ],
        };
        return String(both[0]);
      },
    });
    const running = await startTool(stopping);
    await running.advance("1 hour");
    expect(running.text).toBe("Withdrawn");
  });

  test("withdraws an event that has lost", async () => {
    const either = defineTool({
      name: "either",
      *run() {
        const paid: TaskEvent<{ reference: string }> = yield { event: "paid", schema: PAID };
        const { name }: { name: string } = yield { race: { paid, person: { ask: "confirm", id: "skip", message: "Skip it?" } } };
        yield { ask: "confirm", id: "seen", message: "?" };
        return name;
      },
    });
    const running = await startTool(either);
    await running.answer({ "person/skip": true });
    await expect(running.tell("paid", { reference: "late" })).rejects.toMatchObject({ code: "EVENT_LATE" });
    await running.answer({ seen: true });
    expect(running.text).toBe("person");
  });
});

test("the model and the client's folders are asked as well", async () => {
  const tool = defineTool({
    name: "tool",
    *run() {
      const reply: SamplingReply = yield {
        sample: "summary",
        request: { messages: [{ role: "user", content: { type: "text", text: "Hello" } }], maxTokens: 10 },
      };
      const folders: { uri: string }[] = yield { roots: "folders" };
      return JSON.stringify([reply.content, folders]);
    },
  });
  const run = await runTool(tool, {}, { answers: { summary: "Hi", folders: ["file:///tmp"] }, crashAt: "every" });
  expect(JSON.parse(run.text)).toEqual([{ type: "text", text: "Hi" }, [{ uri: "file:///tmp" }]]);
});

test("a restart runs again with its arguments", async () => {
  const tool = defineTool({
    name: "tool",
    input: z.object({ round: z.int() }),
    *run({ round }) {
      yield { ask: "confirm", id: "more", message: "?" };
      if (round < 3) yield { restart: { round: round + 1 } };
      return String(round);
    },
  });
  const run = await runTool(tool, { round: 1 }, { answers: { more: true, "more@1": true, "more@2": true } });
  expect(run.text).toBe("3");
});

test("a dry run passes them", async () => {
  const tool = defineTool({
    name: "tool",
    *run() {
      const paid: TaskEvent<unknown> = yield { event: "paid" };
      yield paid;
      yield { sleep: "s", for: "2 days" };
      yield {
        race: [
          { ask: "confirm", id: "q", message: "?" },
          { sleep: "t", for: "1 day" },
        ],
      };
      return "done";
    },
  });
  expect(await dryRun(tool)).toMatchObject({ asks: [{ name: "q" }] });
});

test.each<[string, unknown]>([
  ["for a length that is invalid", { sleep: "s", for: "soon" }],
  ["until no time", { sleep: "s", until: "soon" }],
])("a sleep %s throws at its yield, with advice", async (_what, yielded) => {
  const tool = defineTool({
    name: "tool",
    *run() {
      try {
        yield yielded as never;
        return "nothing";
      } catch (error) {
        return (error as Error).message;
      }
    },
  });
  expect((await runTool(tool)).text).toMatch(/"soon",? (which )?is not a (time|duration): give/);
});
