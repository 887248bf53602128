/** What a task under test begins with, and what a test can do to it. */
import type { Audience } from "@parley/core";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { Context } from "../context/context.ts";
import { defineTool } from "../index.ts";
import { accept, type Answerer, cancel, decline, runTool, startTool, type TestOptions, unavailable } from "./testing.ts";

const run = (work: (ctx: Context) => Promise<unknown>, { earlyReplies = false, version = "1" } = {}) =>
  defineTool({ name: "doing", earlyReplies, version, run: async (_args, ctx) => String(await work(ctx)) });

const start = (work: (ctx: Context) => Promise<unknown>, options: TestOptions = {}) => startTool(run(work), {}, options);
const sure = (ctx: Context) => ctx.confirm("sure", { message: "Sure?" });

describe("a task under test begins", () => {
  test("as the tester's, whose client can be asked everything", async () => {
    const { task } = await start(sure);
    expect(task.call).toMatchObject({
      principal: "tester",
      hidden: false,
      capabilities: { elicitation: { form: true, url: true }, sampling: { tools: false }, roots: true },
    });
  });

  test("as the test says", async () => {
    const capabilities = { elicitation: { form: true, url: false }, roots: false } as const;
    const { task } = await start(sure, { principal: "alice", capabilities });
    expect(task.call).toMatchObject({ principal: "alice", capabilities });
  });

  test("with early replies, for a tool that takes them", async () => {
    const early = { sure: { value: true } };
    expect((await startTool(run(sure, { earlyReplies: true }), {}, { early })).text).toBe("true");
    expect((await startTool(run(sure), {}, { early })).task.status).toBe("input_required");
  });

  test("with the deployment's settings", async () => {
    const broken = async () => {
      throw new Error("the table is taken");
    };
    expect((await start(broken)).text).toContain("the table is taken");
    expect((await start(broken, { showErrors: false })).text).not.toContain("the table is taken");
  });
});

describe("a worker that dies", () => {
  const steps = (counts: number[]) => async (ctx: Context) => {
    counts.push(0);
    for (const name of ["a", "b", "c"]) await ctx.step(name, () => name);
    return counts.length;
  };

  test.each<[TestOptions["crashAt"], string]>([
    [undefined, "1"],
    [1, "2"],
    [2, "2"],
    [3, "2"],
    [99, "1"],
    ["every", "4"],
  ])("after record %j: the handler starts as often as it must", async (crashAt, starts) => {
    const { text, journal } = await start(steps([]), { crashAt });
    expect(text).toBe(starts);
    expect(journal).toEqual(["step:a", "step:b", "step:c"]);
  });

  test("reveals what the handler reads outside of ctx before its death, not after it", async () => {
    const reads = async (ctx: Context) => {
      await ctx.step("a", () => 1);
      const at = Date.now();
      await ctx.step("b", () => at);
      return "done";
    };
    await expect(start(reads, { crashAt: 2 })).rejects.toThrow("Date.now");
    expect((await start(reads, { crashAt: 1 })).text).toBe("done");
    expect((await start(reads)).text).toBe("done");
  });
});

describe("a test", () => {
  test("sees every question once, in order, however often the handler waits", async () => {
    const running = await start(async (ctx) => {
      const one = await ctx.text("one", { message: "1?" });
      await ctx.sleep("nap", "1 minute");
      return one + (await ctx.text("two", { message: "2?" }));
    });
    await running.answer({ one: "x" });
    expect(running.asks.map(({ key }) => key)).toEqual(["one"]);
    await running.advance("1 minute");
    expect(running.asks.map(({ key }) => key)).toEqual(["one", "two"]);
    await running.answer({ two: "y" });
    expect([running.text, running.journal]).toEqual(["xy", ["ask:one", "sleep:nap", "ask:two"]]);
    expect(running.asks.map(({ key }) => key)).toEqual(["one", "two"]);
    expect(running.result).toMatchObject({ content: [{ type: "text", text: "xy" }] });
    expect(running.error).toBeUndefined();
  });

  test("declines, closes a question, or has a client that cannot be asked", async () => {
    const asks = async (ctx: Context) => await sure(ctx).catch((error: Error) => error.name);
    const names: string[] = [];
    for (const reply of [decline, cancel, unavailable] as const) {
      const running = await start(asks);
      await running.answer({ sure: reply });
      names.push(running.text);
    }
    expect(new Set(names).size).toBe(3);
    expect(names.slice(0, 2)).toEqual(["Declined", "Cancelled"]);
  });

  const OPS = { to: { groups: ["ops"] } } as const;
  test.each<[string, Answerer, Audience | undefined, string]>([
    [
      "another group",
      { principal: "eve", groups: ["sales"] },
      OPS,
      'other people: {"to":{"groups":["ops"]}}; "eve" has {"names":[],"groups":["sales"],"roles":[]}',
    ],
    [
      "the caller",
      { principal: "tester" },
      OPS,
      'other people: {"to":{"groups":["ops"]}}; "tester" has {"names":[],"groups":[],"roles":[]}',
    ],
    [
      "somebody else than the caller",
      { principal: "eve" },
      undefined,
      'the caller alone, "tester"; "eve" has {"names":[],"groups":[],"roles":[]}',
    ],
  ])("says why %s may not answer, in a form and on a page", async (_who, as, audience, why) => {
    const asked = await start((ctx) => ctx.confirm("sure", { message: "Sure?", ...audience }));
    await expect(asked.answer({ sure: true }, as)).rejects.toThrow(new Error(`"sure" is for ${why}`));
    const onPage = await start(async (ctx) => String((await ctx.secret("sure", { message: "Key?", ...audience })) !== undefined));
    await expect(onPage.answer({ sure: { secret: "s" } }, as)).rejects.toThrow(new Error(`"sure" is for ${why}`));
  });

  test("answers as somebody who is allowed to", async () => {
    const running = await start((ctx) => ctx.confirm("sure", { message: "Sure?", ...OPS }));
    expect(running.task.status).toBe("input_required");
    await running.answer({ sure: true }, { principal: "ada", groups: ["ops"] });
    expect(running.text).toBe("true");
  });

  test("reports an event, once; a repetition is a duplicate, and the body is empty by default", async () => {
    const running = await start(async (ctx) => {
      const body = await ctx.event("paid", { timeout: "1 day" }).received();
      await sure(ctx);
      return JSON.stringify(body);
    });
    expect(await running.tell("paid")).toBe("accepted");
    expect(await running.tell("paid")).toBe("duplicate");
    await running.answer({ sure: true });
    expect(running.text).toBe("{}");
    await expect(running.tell("sent")).rejects.toThrow(/./);
  });

  test("sees progress and logs in the feed", async () => {
    const running = await start(async (ctx) => {
      ctx.progress(1, 2);
      await sure(ctx);
      return "";
    });
    expect(running.feed).toMatchObject([{ type: "progress", progress: 1, total: 2 }]);
  });

  test("cancels the task of any caller", async () => {
    const running = await start(sure, { principal: "alice" });
    await running.cancel();
    expect([running.task.status, running.text, running.result, running.error]).toEqual(["cancelled", "", undefined, undefined]);
  });

  test("deploys a new version beside an older one, on which waiting tasks stay", async () => {
    const says = (word: string, version: string) =>
      run(
        async (ctx) => {
          await sure(ctx);
          return word;
        },
        { version },
      );
    const running = await startTool(says("one", "1"), {});
    running.redeploy(says("two", "2"), says("one", "1"));
    await running.answer({ sure: true });
    expect(running.text).toBe("one");
  });

  test("has the tool call others, whose questions are its own", async () => {
    const child = defineTool({ name: "child", run: async (_args, ctx) => `child ${String(await sure(ctx))}` });
    const running = await start((ctx) => ctx.call("child", {}), { tools: [child] });
    expect(running.asks.map(({ request }) => "message" in request && request.message)).toEqual(["Sure?"]);
    const [{ key } = { key: "" }] = running.asks;
    await running.answer({ [key]: true });
    expect(running.text).toBe("child true");
    // What the child records is not the tool's.
    expect(running.journal).toEqual(["ask:call:child"]);
  });

  describe("lets time pass for a tool and those that it calls", () => {
    const hours = (ctx: Context) => ctx.now().getTime() / 3_600_000;
    const sleeper = defineTool({
      name: "sleeper",
      async run(_args, ctx) {
        await ctx.sleep("first", "1 hour");
        await ctx.sleep("second", "5 hours");
        return "slept";
      },
    });

    test("each of which continues at its own time", async () => {
      const running = await start(
        async (ctx) => {
          const began = hours(ctx);
          const called = ctx.call(sleeper, {});
          await ctx.sleep("three", "3 hours");
          const woke = hours(ctx) - began;
          await called;
          return [woke, hours(ctx) - began];
        },
        { tools: [sleeper] },
      );
      await running.advance("10 hours");
      expect(running.text).toBe("3,6");
    });

    test("or neither, once the call was given up", async () => {
      const running = await start(
        async (ctx) => {
          const stop = new AbortController();
          const called = ctx.call(sleeper, {}, { signal: stop.signal }).catch(() => "given up");
          await ctx.sleep("minute", "1 minute");
          stop.abort();
          await ctx.sleep("two", "2 hours");
          return await called;
        },
        { tools: [sleeper] },
      );
      await running.advance("3 hours");
      expect(running.text).toBe("given up");
    });
  });

  test("exports the task with its content, at the test's time", async () => {
    const exported = await (await start(sure)).exported();
    expect(exported).toMatchObject({
      status: "input_required",
      atMs: Date.parse("2026-01-01T00:00:00Z"),
      isRedacted: false,
      isSealed: false,
    });
    expect(exported.asks).toMatchObject([{ key: "sure", request: { message: "Sure?" } }]);
  });
});

describe("a script", () => {
  test("lets a page be visited, which ends the question if no event does", async () => {
    const opens = (ctx: Context) => ctx.url("open", { message: "Open", url: "https://pay.example" }).then(() => "opened");
    expect((await runTool(run(opens), {}, { answers: { open: accept } })).text).toBe("opened");
  });

  test("lets a sleep end beside an event that it does not report, and the event's own deadline does not", async () => {
    const races = (sleep: "1 hour" | "3 hours") =>
      run(async (ctx) => {
        await Promise.race([ctx.event("paid", { timeout: "2 hours" }).received(), ctx.sleep("nap", sleep)]);
        return "slept";
      });
    expect((await runTool(races("1 hour"))).text).toBe("slept");
    await expect(runTool(races("3 hours"))).rejects.toThrow('the tool waits for the event "paid", and the test does not report it');
  });

  test("answers questions one after the other, each of which is listed once", async () => {
    const both = async (ctx: Context) => {
      const answers = await Promise.all([ctx.text("a", { message: "A?" }), ctx.text("b", { message: "B?" })]);
      return answers.join();
    };
    const running = await start(both);
    await running.answer({ b: "y" });
    expect(running.task.asks.map(({ key }) => key)).toEqual(["a"]);
    await running.answer({ a: "x" });
    expect([running.text, running.asks.map(({ key }) => key)]).toEqual(["x,y", ["a", "b"]]);
    expect(running.journal.toSorted()).toEqual(["ask:a", "ask:b"]);
  });
});

test("a provider renews a token that the service refused, and later steps find the new one", async () => {
  const seen: string[] = [];
  const running = await start(async (ctx) => {
    const grant = await ctx.oauth("calendar", { provider: "google", scopes: ["read"], message: "Calendar?" });
    await ctx.step("use", async () => {
      seen.push(await grant.accessToken(), await grant.accessToken({ refused: "token" }));
    });
    await ctx.step("use-again", async () => void seen.push(await grant.accessToken()));
    return "used";
  });
  await running.answer({ calendar: { grant: "token" } });
  expect([running.text, seen]).toEqual(["used", ["token", "token, renewed", "token, renewed"]]);
});

describe("on a page, a test", () => {
  test("leaves a secret, files, access and what a visit brings back", async () => {
    const running = await start(async (ctx) => {
      const key = await ctx.secret("key", { message: "Key?" });
      const table = await ctx.file("table", { message: "Table?", accept: [".csv"] });
      const both = await ctx.file("both", { message: "Both?", count: 2 });
      const grant = await ctx.oauth("calendar", { provider: "google", scopes: ["read"], message: "Calendar?" });
      const visit = await ctx.url("visit", { message: "Visit?", url: "https://pay.example", returnTo: "back" });
      const seen = await ctx.step("use", async () => [
        await key.reveal(),
        await new Response(await ctx.openFile(table)).text(),
        await grant.accessToken(),
      ]);
      return JSON.stringify([seen, table, both.map(({ name, type }) => [name, type]), grant.scopes, visit]);
    });
    await running.answer({ key: { secret: "hush" } });
    await running.answer({ table: { file: { name: "table.csv", text: "a,ä", type: "text/csv" } } });
    await running.answer({
      both: {
        files: [
          { name: "a.txt", text: "a" },
          { name: "b.txt", text: "b" },
        ],
      } as never,
    });
    await running.answer({ calendar: { grant: "token" } });
    await running.answer({ visit: { returned: { paid: "yes" } } });
    expect(JSON.parse(running.text)).toMatchObject([
      ["hush", "a,ä", "token"],
      { name: "table.csv", type: "text/csv", size: 4, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
      [
        ["a.txt", "text/plain"],
        ["b.txt", "text/plain"],
      ],
      ["read"],
      { paid: "yes" },
    ]);
  });

  test("grants fewer scopes than were asked for", async () => {
    const running = await start(async (ctx) => {
      const { scopes } = await ctx.oauth("calendar", { provider: "google", scopes: ["read", "write"], message: "Calendar?" });
      return scopes.join();
    });
    await running.answer({ calendar: { grant: "token", scopes: ["read"] } as never });
    expect(running.text).toBe("read");
  });

  test("only visits a page that an event completes", async () => {
    const pays = async (ctx: Context) => {
      const paid = ctx.event("paid", { timeout: "1 day" });
      await ctx.url("pay", { message: "Pay", url: "https://pay.example", completedBy: paid });
      return JSON.stringify(await paid.received());
    };
    const ran = await runTool(run(pays), {}, { answers: { pay: accept }, events: { paid: { amount: 7 } } });
    expect(ran.text).toBe('{"amount":7}');
  });

  test("visits a page that an event completes, and closes the question then", async () => {
    const pays = async (ctx: Context) => {
      const paid = ctx.event("paid", { timeout: "1 day" });
      return await ctx.url("pay", { message: "Pay", url: "https://pay.example", completedBy: paid }).catch(String);
    };
    const ran = await runTool(run(pays), {}, { answers: { pay: ({ agreed }) => (agreed === true ? cancel : accept) } });
    expect(ran.text).toContain('dismissed the question "pay"');
  });
});

test("the text of a result is that of all its texts, one below the other", async () => {
  const content = [
    { type: "text", text: "one" },
    { type: "resource_link", uri: "shop://two", name: "two" },
    { type: "text", text: "three" },
  ] as const;
  expect((await startTool(defineTool({ name: "listing", run: () => ({ content }) }))).text).toBe("one\nthree");
});

test("an answer to a form may be its whole content, even if it has one field", async () => {
  const schema = z.object({ count: z.int() });
  const counts = async (ctx: Context) => (await ctx.elicit("count", { message: "?", schema })).count;
  expect((await runTool(run(counts), {}, { answers: { count: { count: 3 } } })).text).toBe("3");
  expect((await runTool(run(counts), {}, { answers: { count: 4 } })).text).toBe("4");
});
