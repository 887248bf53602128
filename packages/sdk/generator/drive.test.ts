import { describe, expect, test } from "vitest";
import { z } from "zod";
import {
  type AsyncToolGenerator,
  type Context,
  type Grant,
  type Secret,
  type ToolGenerator,
  Declined,
  Unanswered,
  defineTool,
  patched,
} from "../index.ts";
import { type Reply, type TestOptions, cancel, decline, runTool, startTool, timeout } from "../testing/testing.ts";
import type { FileRef } from "@parley/core";
import { MESSAGE_WANTED } from "../asks/wrong-ask.ts";

type Run = (ctx: Context) => ToolGenerator | AsyncToolGenerator;

function tool(run: Run) {
  return defineTool({ name: "tool", run: (_args, ctx) => run(ctx) });
}

function run(handler: Run, answers: Record<string, Reply> = {}, options: TestOptions = {}) {
  return runTool(tool(handler), {}, { answers, ...options });
}

/** What was thrown into the generator at its first yield. */
async function thrownAt(yielded: unknown, ...replies: readonly Reply[]) {
  const answers = Object.fromEntries<Reply>(replies.map((reply, index) => [index === 0 ? "q" : `q#${index + 1}`, reply]));
  const { text } = await run(function* () {
    try {
      yield yielded as never;
      return "nothing";
    } catch (error) {
      const { name, code, message } = error as Error & { code?: string };
      return { name, code, message };
    }
  }, answers);
  return JSON.parse(text) as { name: string; code?: string; message: string };
}

describe("a generator tool", () => {
  test("asks, works and emits in order, each effect once, however often its worker dies", async () => {
    const done: string[] = [];
    async function* handler(): AsyncToolGenerator {
      yield { emit: "status", message: "Holding a table" };
      const table: number = yield { step: "hold", run: () => done.push("hold") };
      const size: number = yield { ask: "number", id: "party-size", message: "How many?", min: 1, step: 1 };
      const name: string = yield { ask: "text", message: "Whose name?" };
      yield { checkpoint: true, state: { table } };
      yield { step: "confirm", run: () => done.push("confirm") };
      return `Table ${table} for ${size}, ${name}`;
    }
    for (const crashAt of [undefined, "every"] as const) {
      done.length = 0;
      const ended = await run(handler, { "party-size": 4, ask_0: "Ada" }, { crashAt });
      expect(ended.text).toBe("Table 1 for 4, Ada");
      expect(ended.journal).toEqual(["step:hold", "ask:party-size", "ask:ask_0", "step:confirm"]);
      expect(done).toEqual(["hold", "confirm"]);
    }
  });

  test("yields a patch to learn which path of a change its task takes", async () => {
    const changed = (isNew: boolean): Run =>
      function* () {
        const both: boolean[] = [];
        if (isNew) both.push(yield { patched: "greet" });
        if (both[0] === true) yield { step: "greet", run: () => "hello" };
        yield { ask: "text", message: "Whose name?" };
        if (isNew) both.push(yield* patched("greet"));
        return both.join(" ");
      };
    const waiting = await startTool(tool(changed(false)));
    waiting.redeploy(tool(changed(true)));
    await waiting.answer({ ask_0: "Ada" });
    expect(waiting.text).toBe("false false");
    const fresh = await run(changed(true), { ask_0: "Ada" }, { crashAt: "every" });
    expect(fresh.text).toBe("true true");
    expect(await thrownAt({ patched: 7 })).toMatchObject({
      code: "INVALID_OUTPUT",
      message: expect.stringContaining("the name of a change"),
    });
  });

  test("may be plain or async, delegate, and use ctx between its yields", async () => {
    function* person(role: string): ToolGenerator<string> {
      const name: string = yield { ask: "text", id: role, message: `Who is the ${role}?` };
      return name;
    }
    const plain = await run(
      function* () {
        return `${yield* person("author")} and ${yield* person("editor")}`;
      },
      { author: "Ada", editor: "Bob" },
      { crashAt: "every" },
    );
    expect(plain.text).toBe("Ada and Bob");
    const both = await run(
      async function* (ctx) {
        const a = await ctx.text("a", { message: "?" });
        const b: string = yield { ask: "text", id: "b", message: "?" };
        return a + b + (await ctx.step("c", () => "c")) + (yield* person("d"));
      },
      { a: "a", b: "b", d: "d" },
      { crashAt: "every" },
    );
    expect(both.text).toBe("abcd");
  });

  test("asks with every kind, and receives the value", async () => {
    const ended = await run(
      function* () {
        return [
          yield { ask: "text", id: "text", message: "?" },
          yield { ask: "number", id: "number", message: "?" },
          yield { ask: "confirm", id: "confirm", message: "?" },
          yield { ask: "select", id: "select", message: "?", options: ["a", "b"], multi: true },
          yield { ask: "date", id: "date", message: "?" },
          yield { ask: "form", id: "form", message: "?", schema: { type: "object", properties: { n: { type: "integer" } } } },
          yield { ask: "url", elicitationId: "visit", message: "?", url: "https://pay.example" },
        ] as never;
      },
      { text: "x", number: 1.5, confirm: false, select: ["b"], date: "2026-12-24", form: { n: 1 }, visit: {} },
      { crashAt: "every" },
    );
    expect(JSON.parse(ended.text)).toEqual(["x", 1.5, false, ["b"], "2026-12-24", { n: 1 }, { action: "accept" }]);
  });

  test("receives what must not pass through the client as something that only steps read", async () => {
    for (const kind of ["secret", "password"] as const) {
      const ended = await run(
        function* () {
          const key: Secret = yield { ask: kind, id: "api-key", message: "Your API key?", expires: "1 hour" };
          const length: number = yield { step: "use", run: () => key.use((text) => text.length) };
          yield `${String(key)} of ${length}`;
          yield { emit: "stream", data: { key } };
        },
        { "api-key": { secret: "hunter2" } },
        { crashAt: "every" },
      );
      expect(ended.asks).toMatchObject([{ key: "api-key", request: { type: "url", page: { kind: "secret" } } }]);
      expect(ended.error?.message ?? ended.text).toContain("is a secret");
      expect(JSON.stringify([ended.task, ended.feed, ended.journal])).not.toContain("hunter2");
      expect(ended.feed).toMatchObject([{ data: { data: "[secret] of 7" } }]);
    }
  });

  test("receives the parameters with which a person returns from a page", async () => {
    const ended = await run(
      function* () {
        const back: object = yield {
          ask: "url",
          id: "pay",
          message: "Please pay",
          url: "https://shop.example/pay",
          returnTo: "return_url",
        };
        return JSON.stringify(back);
      },
      { pay: { returned: { status: "paid" } } },
      { crashAt: "every" },
    );
    expect(ended.text).toBe('{"action":"accept","query":{"status":"paid"}}');
  });

  test("receives a grant at a provider as something that only steps read", async () => {
    const ended = await run(
      function* () {
        const calendar: Grant = yield {
          ask: "oauth",
          id: "calendar",
          provider: "google",
          scopes: ["read"],
          message: "Your calendar?",
          expires: "1 hour",
        };
        const length: number = yield { step: "use", run: () => calendar.use((token) => token.length) };
        return `${String(calendar)} ${calendar.provider} ${length}`;
      },
      { calendar: { grant: "hunter2" } },
      { crashAt: "every" },
    );
    expect(ended.asks).toMatchObject([
      { key: "calendar", request: { type: "url", page: { kind: "oauth", provider: "google", scopes: ["read"] } } },
    ]);
    expect(ended.text).toBe("[grant] google 7");
    expect(JSON.stringify([ended.task, ended.feed, ended.journal])).not.toContain("hunter2");
  });

  test("receives an uploaded file, or several", async () => {
    for (const { more, replies, page } of [
      { more: {}, replies: { file: { name: "a.txt", text: "one" } }, page: { accept: [], countMax: 1 } },
      {
        more: { accept: "text/*, .csv", maxBytes: 9, multiple: true },
        replies: {
          files: [
            { name: "a.txt", text: "one" },
            { name: "b.txt", text: "two" },
          ],
        },
        page: { accept: ["text/*", ".csv"], bytesMax: 9, countMax: 20 },
      },
      { more: { count: 2 }, replies: { files: [{ name: "a.txt", text: "one" }] }, page: { countMax: 2 } },
    ]) {
      const ended = await run(
        function* () {
          const files: FileRef | FileRef[] = yield { ask: "file", id: "papers", message: "Your papers?", ...more };
          return JSON.stringify([files].flat().map(({ name, size }) => [name, size])) + String(Array.isArray(files));
        },
        { papers: replies },
        { crashAt: "every" },
      );
      expect(ended.asks).toMatchObject([{ key: "papers", request: { type: "url", page: { kind: "files", ...page } } }]);
      const names = "files" in replies ? (replies.files ?? []) : [replies.file];
      expect(ended.text).toBe(JSON.stringify(names.map((file) => [file?.name, 3])) + String("files" in replies));
    }
  });

  test("is thrown four different errors at its yield, unless it chose its default", async () => {
    const q = { ask: "number", id: "q", message: "?", step: 2 };
    expect(await thrownAt(q, decline)).toMatchObject({ name: "Declined" });
    expect(await thrownAt(q, cancel)).toMatchObject({ name: "Cancelled" });
    expect(await thrownAt(q, timeout)).toMatchObject({ name: "TimedOut" });
    expect(await thrownAt(q, ...Array.from({ length: 10 }, () => 1))).toMatchObject({ code: "INVALID_ANSWER" });
    const chosen = await run(
      function* () {
        return yield { ask: "number", id: "q", message: "?", default: 7, onDecline: "default" };
      },
      { q: decline },
    );
    expect(chosen.text).toBe("7");
  });

  test("ends like every tool with an uncaught error, and its finally runs", async () => {
    const done: string[] = [];
    const ended = await run(
      function* () {
        try {
          yield { ask: "text", id: "q", message: "?" };
        } finally {
          yield { step: "release", run: () => done.push("release") };
        }
      },
      { q: decline },
      { crashAt: "every" },
    );
    expect(ended.result).toMatchObject({ isError: true });
    expect(ended.text).toContain('declined to answer "q"');
    expect(done).toEqual(["release"]);
  });

  test("runs no finally when it only waits or is cancelled, like other tools", async () => {
    const done: string[] = [];
    const running = await startTool(
      tool(function* () {
        try {
          yield { ask: "text", id: "q", message: "?" };
        } finally {
          done.push("finally");
          yield { ask: "text", id: "again", message: "?" };
        }
      }),
    );
    await running.cancel();
    expect(running.task.status).toBe("cancelled");
    expect(running.asks.map(({ key }) => key)).toEqual(["q"]);
    expect(done).toEqual([]);
  });

  test("numbers asks with the same id, as ctx does", async () => {
    const ended = await run(
      function* () {
        const a: string = yield { ask: "text", id: "same", message: "1?" };
        const b: string = yield { ask: "text", id: "same", message: "2?" };
        return a + b;
      },
      { same: "a", "same#2": "b" },
      { crashAt: "every" },
    );
    expect(ended.text).toBe("ab");
  });

  test("takes early replies if it declares them, and asks only the rest", async () => {
    const early = (earlyReplies: boolean) =>
      defineTool({
        name: "early",
        earlyReplies,
        *run() {
          const a: number = yield { ask: "number", id: "a", message: "?", step: 2 };
          const b: string = yield { ask: "text", message: "?" };
          return `${a} ${b}`;
        },
      });
    const sent = { early: { a: { value: 2 }, ask_0: { value: "x" } } };
    const all = await runTool(early(true), {}, sent);
    expect([all.text, all.asks]).toEqual(["2 x", []]);
    const rest = await startTool(early(true), {}, { early: { a: { value: "no number" }, ask_0: { value: "x" } } });
    expect(rest.task.asks.map(({ key }) => key)).toEqual(["a"]);
    const ignored = await startTool(early(false), {}, sent);
    expect(ignored.task.asks.map(({ key }) => key)).toEqual(["a"]);
  });
});

describe("several yields at once", () => {
  test("are asked at once, and return their values in order", async () => {
    const running = await startTool(
      tool(function* () {
        const [a, b, c] = (yield [
          { ask: "text", message: "A?" },
          { ask: "text", message: "B?" },
          { step: "c", run: () => "c" },
        ]) as string[];
        return `${a}${b}${c}`;
      }),
      {},
      { crashAt: "every" },
    );
    expect(running.task.asks.map(({ key }) => key)).toEqual(["ask_0", "ask_1"]);
    await running.answer({ ask_1: "b" });
    await running.answer({ ask_0: "a" });
    expect(running.text).toBe("abc");
  });

  test("can be generators, each with names of its own", async () => {
    function* approval(who: string): ToolGenerator<string> {
      const isIt: boolean = yield { ask: "confirm", message: `${who}?` };
      const why: string = isIt ? "" : yield { ask: "text", message: `Why not, ${who}?` };
      yield { step: "note", run: () => who };
      return isIt ? "yes" : why;
    }
    const ended = await run(
      function* () {
        return yield { all: { ada: approval("Ada"), bob: approval("Bob") } };
      },
      { "ada/ask_0": true, "bob/ask_0": false, "bob/ask_1": "too dear" },
      { crashAt: "every" },
    );
    expect(JSON.parse(ended.text)).toEqual({ ada: "yes", bob: "too dear" });
    expect(ended.journal).toEqual(["ask:ada/ask_0", "ask:bob/ask_0", "step:ada/note", "ask:bob/ask_1", "step:bob/note"]);
  });

  test("in a list have names of their own as well, so that an answer reaches the one that asked, also if another one asks first", async () => {
    // The second is first in every other run.
    let runs = 0;
    async function* slow(who: string, turns: number): AsyncToolGenerator<string> {
      for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      return `${who}: ${yield { ask: "text", message: "The same question?" }}`;
    }
    const ended = await runTool(
      tool(function* () {
        runs += 1;
        return yield [slow("a", runs % 2 === 0 ? 1 : 5), slow("b", runs % 2 === 0 ? 5 : 1)];
      }),
      {},
      { answers: { "ask_0_0~0": "for a", "ask_1_0~1": "for b" }, crashAt: "every" },
    );
    expect(ended.text).toBe('["a: for a","b: for b"]');
    expect(runs).toBeGreaterThan(1);
  });

  test("of which one fails withdraw the others' questions before it throws", async () => {
    const done: string[] = [];
    function* patient(): ToolGenerator<void> {
      try {
        yield { ask: "text", id: "b", message: "?" };
      } catch (error) {
        done.push((error as Error).name);
        throw error;
      }
    }
    const running = await startTool(
      tool(function* () {
        try {
          yield { all: [{ ask: "text", id: "a", message: "?" }, patient()] };
        } catch (error) {
          if (!(error instanceof Declined)) throw error;
          const rest: string = yield { ask: "text", id: "c", message: "?" };
          return `${error.ask} said no, ${rest}`;
        }
      }),
    );
    await running.answer({ a: decline });
    expect(running.task.asks.map(({ key }) => key)).toEqual(["c"]);
    await running.answer({ c: "fine" });
    expect(running.text).toBe("a said no, fine");
    // In the run that continued after it, and in its replay.
    expect(done).toEqual(["Withdrawn", "Withdrawn"]);
  });

  test("of an empty list do nothing, and a list of data is a chunk", async () => {
    const ended = await run(function* () {
      const none: unknown = yield { all: [] };
      yield [1, 2];
      yield [{ n: 1 }, null];
      return JSON.stringify(none);
    });
    expect(ended.text).toBe("[]");
    expect(ended.feed).toEqual([
      { type: "emit", kind: "stream", data: { data: [1, 2] } },
      { type: "emit", kind: "stream", data: { data: [{ n: 1 }, null] } },
    ]);
  });
});

describe("an emit", () => {
  test("becomes status, progress, logs or an item for pages", async () => {
    const ended = await run(function* () {
      yield { emit: "status", message: "Saved", type: "success" };
      yield { emit: "thinking", active: true };
      yield { emit: "thinking", active: false };
      yield { emit: "progress", value: 0.5 };
      yield { emit: "progress", value: 0.6, message: "More", meta: { file: "a" } };
      yield { emit: "log", message: "plain" };
      yield { emit: "log", message: "data", level: "warn", data: { n: 1 } };
      yield { emit: "toast", message: "Done", type: "success", duration: 500 };
      yield { emit: "qr", value: "https://x.example" };
      yield { emit: "board:update" as "ui", rows: [1] };
      yield { emit: "x".repeat(64) as "ui" };
      return "x";
    });
    expect(ended.feed).toEqual([
      { type: "emit", kind: "status", data: { message: "Saved", type: "success" } },
      { type: "emit", kind: "thinking", data: { active: true } },
      { type: "emit", kind: "thinking", data: { active: false } },
      { type: "progress", progress: 0.5, total: 1 },
      { type: "progress", progress: 0.6, total: 1, message: "More" },
      { type: "emit", kind: "progress", data: { value: 0.6, message: "More", meta: { file: "a" } } },
      { type: "log", level: "info", data: "plain" },
      { type: "log", level: "warning", data: { message: "data", data: { n: 1 } } },
      { type: "emit", kind: "toast", data: { message: "Done", type: "success", duration: 500 } },
      { type: "emit", kind: "qr", data: { value: "https://x.example" } },
      { type: "emit", kind: "board:update", data: { rows: [1] } },
      { type: "emit", kind: "x".repeat(64), data: {} },
    ]);
  });

  test("of thinking is replaced by the previous status afterwards", async () => {
    const running = await startTool(
      tool(function* () {
        yield { emit: "status", message: "Reading" };
        yield { emit: "thinking", active: true };
        yield { ask: "text", id: "a", message: "?" };
        yield { emit: "thinking", active: false };
        yield { ask: "text", id: "b", message: "?" };
      }),
    );
    expect(running.task.message).toBe("Thinking …");
    await running.answer({ a: "x" });
    expect(running.task.message).toBe("Reading");
    const silent = await startTool(
      tool(function* () {
        yield { emit: "thinking", active: false };
        yield { ask: "text", id: "a", message: "?" };
      }),
    );
    expect(silent.task.message).toBe("Working …");
  });

  test("of progress with a message is the status", async () => {
    const running = await startTool(
      tool(function* () {
        yield { emit: "progress", value: 0.6, message: "More" };
        yield { ask: "text", id: "a", message: "?" };
      }),
    );
    expect(running.task.message).toBe("More");
  });

  test("is not repeated by a replay", async () => {
    const ended = await run(
      function* () {
        yield "a";
        yield { ask: "text", id: "q", message: "?" };
        yield "b";
      },
      { q: "x" },
      { crashAt: "every" },
    );
    expect(ended.feed.map((item) => (item.type === "emit" ? item.data["data"] : item))).toEqual(["a", "b"]);
    expect(ended.text).toBe("ab");
  });
});

describe("the result", () => {
  test("of a tool that returns nothing is what it streamed: strings as they are, other data on lines of its own", async () => {
    const ended = await run(function* () {
      yield "Hello, ";
      yield { emit: "stream", data: "world" };
      yield 42;
      yield { rows: [1] };
      yield { emit: "stream", data: "end", contentType: "text/plain" };
      yield { emit: "stream", final: true };
      yield;
      yield null;
    });
    expect(ended.text).toBe('Hello, world\n42\n{"rows":[1]}\nend');
    expect(ended.feed).toStrictEqual(
      [
        { data: "Hello, " },
        { data: "world" },
        { data: 42 },
        { data: { rows: [1] } },
        { data: "end", contentType: "text/plain" },
        { final: true },
      ].map((data) => ({ type: "emit", kind: "stream", data })),
    );
    const final = await run(function* () {
      yield { emit: "stream", final: true };
    });
    expect(final.result).toStrictEqual({ content: [] });
    expect((await run(function* () {})).result).toEqual({ content: [] });
  });

  test("of a tool that returns something is that: a string, content, a result or data", async () => {
    const returning = async (value: unknown) =>
      (
        await run(function* () {
          yield "streamed";
          return value as string;
        })
      ).result;
    expect(await returning("x")).toEqual({ content: [{ type: "text", text: "x" }] });
    expect(await returning([{ type: "text", text: "x" }])).toEqual({ content: [{ type: "text", text: "x" }] });
    expect(await returning({ content: [{ type: "text", text: "x" }], isError: true })).toMatchObject({ isError: true });
    expect(await returning({ success: true })).toEqual({
      content: [{ type: "text", text: '{"success":true}' }],
      structuredContent: { success: true },
    });
    expect(await returning(7)).toEqual({ content: [{ type: "text", text: "7" }] });
    expect(await returning([])).toEqual({ content: [{ type: "text", text: "[]" }] });
    expect(await returning({ content: "mine" })).toMatchObject({ structuredContent: { content: "mine" } });
  });

  test("of a tool with an output schema is checked by it", async () => {
    const counting = (n: unknown) =>
      defineTool({
        name: "count",
        output: z.object({ n: z.int() }),
        *run() {
          yield "counting";
          return { n: n as number };
        },
      });
    expect((await runTool(counting(1))).result).toMatchObject({ structuredContent: { n: 1 } });
    expect((await runTool(counting("1"))).error?.message).toContain("output schema refuses");
  });

  test("has artifacts after its content", async () => {
    const ended = await run(function* () {
      yield { emit: "artifact", type: "image", content: "AA==", mimeType: "image/gif" };
      yield { emit: "artifact", type: "image", url: "data:image/png;base64,AAAA" };
      yield { emit: "artifact", type: "image", url: "https://x.example/a.png", title: "Chart" };
      yield { emit: "artifact", type: "code", content: "a ``` b", language: "ts", title: "Example" };
      yield { emit: "artifact", type: "json", content: { a: 1 } };
      yield { emit: "artifact", type: "document", content: "# Hi", title: "My notes", mimeType: "text/markdown" };
      yield { emit: "artifact", type: "embed", url: "https://x.example/video" };
      return "done";
    });
    expect(ended.result?.["content"]).toEqual([
      { type: "text", text: "done" },
      { type: "image", data: "AA==", mimeType: "image/gif" },
      { type: "image", data: "AAAA", mimeType: "image/png" },
      { type: "resource_link", uri: "https://x.example/a.png", name: "Chart" },
      { type: "text", text: "Example\n\n````ts\na ``` b\n````" },
      { type: "resource", resource: { uri: "artifact://5/json", mimeType: "application/json", text: '{\n  "a": 1\n}' } },
      { type: "resource", resource: { uri: "artifact://6/My%20notes", mimeType: "text/markdown", text: "# Hi" } },
      { type: "resource_link", uri: "https://x.example/video", name: "https://x.example/video" },
    ]);
    const shown = ended.feed.filter((item) => item.type === "emit" && item.kind === "artifact");
    expect(shown).toHaveLength(7);
    expect(shown[0]).toStrictEqual({ type: "emit", kind: "artifact", data: { type: "image", content: "AA==", mimeType: "image/gif" } });
  });
});

describe("an invalid yield throws at the yield", () => {
  const none = "is not one of text, number, confirm, select, date, form, url, secret, password, oauth, wizard, file";
  const listed = "all or race with something that is not an ask, step, emit or generator";
  const neither = "with neither a list nor an object of asks, steps and generators";
  const slept = 'a sleep that is not { sleep: name, for: "2 days" } or { sleep: name, until: date }';
  const called = "a call of something that is neither a tool nor the name of one: { call: bookHotel, args: { … } }";
  const sampled = "a sample that is not { sample: name, request: { messages, maxTokens } }";

  test.each<[string, unknown, string]>([
    ["a step without work", { step: "x" }, 'the step "x" without a function to run'],
    ["a generator", (function* () {})(), "a generator: use yield*, or all to run several at once"],
    ["a promise", Promise.resolve(1), "a promise: write async *run and await it, or put the work into a step"],
    ["a mixed list", [{ ask: "text", message: "?" }, 1], "a list in which only some are asks, steps, emits or generators"],
    ["all of nothing that is known", { all: 5 }, `all ${neither}`],
    ["all of null", { all: null }, `all ${neither}`],
    ["all with something else within", { all: [1] }, listed],
    ["all with null within", { all: [null] }, listed],
    ["all with something else by name", { all: { a: 1 } }, listed],
    ["a race of a text", { race: "x" }, `race ${neither}`],
    ["a race of nothing", { race: [] }, "an empty race"],
    ["a race of no names", { race: {} }, "an empty race"],
    ["a change without a name", { patched: true }, "patched without the name of a change"],
    ["an event without a name", { event: 5 }, "an event without a name"],
    ["a call of a number", { call: 5 }, called],
    ["a call of nothing", { call: undefined }, called],
    ["a call of a prompt", { call: { kind: "prompt", name: "p" } }, called],
    ["a sleep without a name", { sleep: 5, for: "1 day" }, slept],
    ["a sleep of no length", { sleep: "s" }, slept],
    ["a sleep of two lengths", { sleep: "s", for: "1 day", until: 0 }, slept],
    ["a sample without a name", { sample: true, request: {} }, sampled],
    ["a sample of nothing", { sample: "s" }, sampled],
    ["roots without a name", { roots: true }, 'roots without a name, such as { roots: "roots" }'],
    ["a restart without arguments", { restart: null }, "a restart without its arguments: { restart: { … } }"],
    ["a restart with a text", { restart: "x" }, "a restart without its arguments: { restart: { … } }"],
  ])("%s", async (_what, yielded, message) => {
    expect(await thrownAt(yielded)).toStrictEqual({
      name: "ParleyError",
      code: "INVALID_OUTPUT",
      message: `tool tool has yielded ${message}`,
    });
  });

  test.each<[string, unknown, string]>([
    ["an ask of no kind", { ask: "colour", id: "q", message: "?" }, `the ask "q" is invalid: "colour" ${none}`],
    ["an ask of nothing", { ask: undefined, message: "?" }, `the ask "ask_0" is invalid: undefined ${none}`],
    ["an ask of an inherited kind", { ask: "constructor", message: "?" }, `the ask "ask_0" is invalid: "constructor" ${none}`],
    ["an ask without a message", { ask: "text", id: "q" }, `the ask "q" is invalid: /message ${MESSAGE_WANTED}`],
    [
      "a number in steps of a text",
      { ask: "number", step: "x", message: "?" },
      'the ask "ask_0" is invalid: /step must be a finite number',
    ],
  ])("%s", async (_what, yielded, message) => {
    expect(await thrownAt(yielded)).toStrictEqual({ name: "ParleyError", code: "INVALID_ASK", message });
  });

  test("an ask of an unknown kind, with the invalid option", async () => {
    let thrown: unknown;
    await run(function* () {
      try {
        yield { ask: "colour", message: "?" } as never;
      } catch (error) {
        thrown = error;
      }
    });
    expect(thrown).toMatchObject({ violations: [{ path: "/ask", message: `"colour" ${none}` }] });
  });

  test.each<[string, unknown, string]>([
    ["a status without a text", { emit: "status" }, "message of an emitted status must be a text"],
    ["a progress that is invalid", { emit: "progress", value: "0.5" }, "value of an emitted progress must be a number from 0 to 1"],
    ["a progress without end", { emit: "progress", value: Infinity }, "value of an emitted progress must be a number from 0 to 1"],
    ["a progress whose message is none", { emit: "progress", value: 1, message: 5 }, "message of an emitted progress must be a text"],
    ["a log without a text", { emit: "log", message: 5 }, "message of an emitted log must be a text"],
    [
      "a log at no level",
      { emit: "log", message: "x", level: "loud" },
      "level of an emitted log must be debug, info, notice, warning, error, critical, alert, emergency",
    ],
    ["an emit of no name", { emit: 5 }, "emit of an emitted emit must be 1 to 64 of A-Z a-z 0-9 _ - . :"],
    ["an emit of a name with a space", { emit: "a b" }, "emit of an emitted emit must be 1 to 64 of A-Z a-z 0-9 _ - . :"],
    ["an emit of a long name", { emit: "x".repeat(65) }, "emit of an emitted emit must be 1 to 64 of A-Z a-z 0-9 _ - . :"],
    ["an artifact of nothing", { emit: "artifact", type: "code" }, "an artifact has neither content nor a url"],
    [
      "an artifact of no type",
      { emit: "artifact", type: "movie", content: "" },
      'an artifact has the type "movie", and may have image, code, document, embed, json',
    ],
    [
      "an artifact of no text",
      { emit: "artifact", type: "code", content: 1 },
      "an artifact has content that is not a string, which only json may have",
    ],
    ["an artifact nowhere", { emit: "artifact", type: "embed", url: "here" }, "an artifact has a url that is not absolute"],
  ])("%s", async (_what, yielded, message) => {
    expect(await thrownAt(yielded)).toStrictEqual({ name: "ParleyError", code: "INVALID_OUTPUT", message });
  });

  test.each<[string, unknown, string]>([
    ["a function", () => 1, "what is streamed is not plain data: it is a function"],
    ["a Map", { emit: "stream", data: new Map() }, "what is streamed is not plain data: it is a Map"],
    ["a bigint", 1n, "what is streamed is not plain data: it is a bigint"],
  ])("%s", async (_what, yielded, message) => {
    expect(await thrownAt(yielded)).toStrictEqual({ name: "ParleyError", code: "NOT_SERIALIZABLE", message });
  });

  test("an ask with an invalid name, and a step whose work asks", async () => {
    expect(await thrownAt({ ask: "text", id: "a b", message: "?" })).toMatchObject({ code: "INVALID_NAME" });
    expect(await thrownAt({ step: "x", *run() {} })).toStrictEqual({
      name: "StepFailed",
      message: "the work of step x is a generator, and a step cannot ask: use yield* in the tool itself",
    });
  });
});

describe("an ask on a page takes all options of pages", () => {
  test.each([
    ["secret", {}],
    ["password", {}],
    ["oauth", { provider: "google", scopes: ["read"] }],
    ["file", { accept: [".pdf"] }],
    ["file", { multiple: true }],
  ])("a %s", async (kind, more) => {
    const { signal } = new AbortController();
    const asking = (options: object) =>
      startTool(
        tool(function* () {
          try {
            yield { ask: kind, id: "q", message: "?", ...more, ...options } as never;
          } catch (error) {
            return String(error);
          }
        }),
      );
    const waiting = await asking({ expires: "1 hour", to: "tenant", not: "caller", onTimeout: "decline", signal });
    expect(waiting.asks).toMatchObject([{ key: "q", audience: { to: "tenant", not: "caller" }, request: { message: "?" } }]);
    await waiting.advance("1 hour");
    expect(waiting.text).toMatch(/^Declined/);

    const patient = await asking({ expires: "1 hour", timeout: "2 hours" });
    await patient.advance("1 hour");
    expect(patient.text).toBe("");
    await patient.advance("1 hour");
    expect(patient.text).toMatch(/^TimedOut/);

    expect((await asking({ signal: AbortSignal.abort() })).text).toMatch(/^Withdrawn/);
  });

  test("a file with types as a list, and a number of files", async () => {
    const running = await startTool(
      tool(function* () {
        yield { ask: "file", id: "q", message: "?", accept: [".pdf", "image/*"], multiple: true, count: 3 };
      }),
    );
    expect(running.asks).toMatchObject([{ request: { page: { accept: [".pdf", "image/*"], countMax: 3 } } }]);
  });
});

describe("a generator that yields too much or never ends", () => {
  test("ends after twenty thousand yields, even if it catches everything", async () => {
    let yields = 0;
    const upTo = (most: number): Run =>
      function* () {
        while (yields < most) {
          try {
            yields += 1;
            yield 1n as never;
          } catch {
            // It continues.
          }
        }
        return "ended";
      };
    expect((await run(upTo(20_000))).text).toBe("ended");
    yields = 0;
    const endless = await run(upTo(Infinity));
    expect(endless.error).toMatchObject({
      message: "tool tool has yielded more than 20000 times: let it stream larger chunks, or restart",
      data: { code: "TOO_LARGE" },
    });
    expect(yields).toBe(20_001);
  });

  test("may emit ten thousand items, of which the feed keeps the newest thousand and the result all", async () => {
    const ended = await run(function* () {
      for (let n = 0; n < 10_000; n += 1) yield `${n}\n`;
    });
    expect(ended.feed).toHaveLength(1_000);
    expect(ended.feed.at(-1)).toEqual({ type: "emit", kind: "stream", data: { data: "9999\n" } });
    expect(ended.text.split("\n")).toHaveLength(10_001);
  });

  test("may stream a megabyte at once: the feed holds a part of it, and the result reports that it is too large", async () => {
    const ended = await run(function* () {
      yield "x".repeat(1_000_000);
    });
    expect(JSON.stringify(ended.feed).length).toBeLessThan(9_000);
    expect(ended.error?.message ?? ended.text).toContain("PARLEY_STORED_VALUE_MAX");
    const summed = await run(function* () {
      yield "x".repeat(1_000_000);
      return "a summary";
    });
    expect(summed.text).toBe("a summary");
  });

  test("collects four megabytes for its result, and one character more is too large even to collect", async () => {
    const streaming = (chars: number) =>
      run(function* () {
        yield "x".repeat(chars);
      });
    const most = 4 * 1_024 * 1_024;
    const [fits, exceeds] = [await streaming(most), await streaming(most + 1)];
    expect(fits.error?.message ?? fits.text).toContain("PARLEY_STORED_VALUE_MAX");
    expect(exceeds.error?.message ?? exceeds.text).toContain("streamed more than 4194304 characters");
  });

  test("catches a refusal and continues", async () => {
    const ended = await run(
      function* () {
        for (;;) {
          try {
            return yield { ask: "text", id: "q", message: "?" };
          } catch (error) {
            if (!(error instanceof Unanswered)) throw error;
          }
        }
      },
      { q: decline, "q#2": cancel, "q#3": "x" },
      { crashAt: "every" },
    );
    expect(ended.text).toBe("x");
  });
});
