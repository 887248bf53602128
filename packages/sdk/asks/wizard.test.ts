/** Pages of one form: forward, back, left out, filled in, with files, over replays and dead workers. */
import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import type { FileRef } from "@parley/core";
import { defineTool } from "../define/tool.ts";
import { back, cancel, decline, runTool, startTool, timeout, type Script } from "../testing/testing.ts";

const PERSON = z.object({
  name: z.string().min(1),
  isMoving: z.boolean().default(false),
  news: z.string().default("weekly").optional(),
});
const MOVE = z.object({ day: z.iso.date() });
const WORK = z
  .object({ from: z.int().min(0).max(23), to: z.int().min(0).max(23) })
  .refine(({ from, to }) => from < to, { path: ["to"], message: "must be after the start" });

const join = defineTool({
  name: "join",
  input: z.object({ known: z.string().optional() }),
  async run({ known }, ctx) {
    const joined = await ctx.wizard("joining", {
      pages: {
        person: { message: "About you", schema: PERSON },
        move: {
          message: ({ person }) => `Your move, ${String(person?.["name"])}`,
          schema: MOVE,
          when: ({ person }) => person?.["isMoving"] === true,
        },
        work: { message: "Your hours", schema: WORK },
      },
      ...(known !== undefined && { prefill: { person: { name: known } } }),
      timeout: "3 days",
    });
    expectTypeOf(joined.person.name).toEqualTypeOf<string>();
    expectTypeOf(joined.move).toEqualTypeOf<{ day: string } | undefined>();
    return JSON.stringify(joined);
  },
});

const ada = { name: "Ada", isMoving: true };
const move = { day: "2026-12-01" };
const work = { from: 9, to: 17 };
const answered = (answers: Script, options: object = {}) => runTool(join, {}, { answers, ...options });
type Asked = Awaited<ReturnType<typeof answered>>["asks"][number];
const shownAs = ({ key, request }: Asked) => {
  if (request.type !== "form") return [key];
  const fields = request.schema["properties"] as Record<string, { default?: unknown }>;
  return [key, Object.fromEntries(Object.entries(fields).flatMap(([name, field]) => ("default" in field ? [[name, field.default]] : [])))];
};

describe.each([{}, { crashAt: "every" as const }])("a wizard, with %j", (options) => {
  test("asks page after page, and leaves out those that do not apply", async () => {
    const all = await answered({ "joining/person": ada, "joining/move": move, "joining/work": work }, options);
    expect(JSON.parse(all.text)).toEqual({ person: { ...ada, news: "weekly" }, move, work });
    expect(all.asks.map(({ request }) => ("message" in request ? request.message : ""))).toEqual([
      "About you\n\nStep 1 of 2.",
      "Your move, Ada\n\nStep 2 of 3. Back, or Decline, returns to the step before.",
      "Your hours\n\nStep 3 of 3. Back, or Decline, returns to the step before.",
    ]);
    const bob = { name: "Bob", isMoving: false };
    const two = await answered({ "joining/person": bob, "joining/work": work }, options);
    expect(JSON.parse(two.text)).toEqual({ person: { ...bob, news: "weekly" }, work });
  });

  test("goes back, and shows each page as it was answered: nothing is typed twice", async () => {
    const run = await answered(
      {
        "joining/person": { ...ada, news: "daily" },
        "joining/move": move,
        "joining/work": back,
        "joining/move#2": back,
        // Without what was filled in, and the emptied field stays empty.
        "joining/person#2": { name: "Ada Lovelace", isMoving: false },
        "joining/work#2": back,
        "joining/person#3": ada,
        "joining/move#3": move,
        "joining/work#3": { from: 18, to: 17 },
        "joining/work#4": work,
      },
      options,
    );
    expect(JSON.parse(run.text)).toEqual({ person: { ...ada, news: "weekly" }, move, work });
    expect(run.asks.map(shownAs)).toEqual([
      ["joining/person", { isMoving: false, news: "weekly" }],
      ["joining/move", {}],
      ["joining/work", {}],
      ["joining/move#2", move],
      ["joining/person#2", { ...ada, news: "daily" }],
      ["joining/work#2", {}],
      ["joining/person#3", { name: "Ada Lovelace", isMoving: false }],
      // It was left out in between, and its answer was kept.
      ["joining/move#3", move],
      ["joining/work#3", {}],
      ["joining/work#4", { from: 18, to: 17 }],
    ]);
  });
});

test("the pages say in their hints which step they are, and that declining goes back", async () => {
  const { asks } = await answered({ "joining/person": { name: "Bob" }, "joining/work": work });
  expect(asks.map(({ request }) => ("hints" in request ? request.hints : undefined))).toEqual([
    { step: { number: 1, count: 2 } },
    { step: { number: 2, count: 2 }, back: true },
  ]);
});

test("is filled in with what is known", async () => {
  const run = await startTool(join, { known: "Grace" });
  expect(run.asks.map(shownAs)).toEqual([["joining/person", { name: "Grace" }]]);
});

test.each<[string, Script, string]>([
  ["declined on its first page", { "joining/person": decline }, "joining/person"],
  [
    "declined on its first page after a return",
    { "joining/person": { name: "Bob" }, "joining/work": back, "joining/person#2": decline },
    "joining/person",
  ],
  ["closed on a later page", { "joining/person": { name: "Bob" }, "joining/work": cancel }, "joining/work"],
  ["not answered in time", { "joining/person": { name: "Bob" }, "joining/work": timeout }, "joining/work"],
])("ends without an answer if it is %s", async (_what, answers, ask) => {
  const run = await answered(answers);
  expect(run.result).toMatchObject({ isError: true });
  expect(run.text).toContain(ask);
});

const TWO = { a: { message: "A?", schema: z.object({ x: z.string() }) }, b: { message: "B?", schema: z.object({ y: z.string() }) } };
const CAUGHT = (error: unknown) => `${(error as Error).name} ${(error as { ask?: string }).ask}`;

test.each([undefined, { f: { message: "F" } }])(
  "throws Withdrawn if its signal is aborted on a later page, with the files %j",
  async (files) => {
    const stopped = defineTool({
      name: "stopped",
      async run(_args, ctx) {
        const stop = new AbortController();
        void ctx.sleep("hour", "1 hour").then(() => stop.abort());
        const pages = { ...TWO, b: { ...TWO.b, ...(files && { files }) } };
        return await ctx.wizard("w", { pages, signal: stop.signal, timeout: "3 days" }).then(JSON.stringify, CAUGHT);
      },
    });
    const run = await startTool(stopped, {}, { crashAt: "every" });
    await run.answer({ "w/a": { x: "1" } });
    await run.advance("1 hour");
    expect(run.text).toMatch(/^Withdrawn (w\/)?b/);
  },
);

test.each([
  ["decline", undefined, "Declined w/b"],
  ["cancel", undefined, "TimedOut w/b"],
  ["decline", { f: { message: "F" } }, /^Declined (w\/)?b/],
] as const)("ends at its deadline, and does not go back, with onTimeout %j and the files %j", async (onTimeout, files, text) => {
  const late = defineTool({
    name: "late",
    async run(_args, ctx) {
      const pages = { ...TWO, b: { ...TWO.b, ...(files && { files }) } };
      return await ctx.wizard("w", { pages, onTimeout, timeout: "3 days" }).then(JSON.stringify, CAUGHT);
    },
  });
  const run = await startTool(late, {}, { crashAt: "every" });
  await run.answer({ "w/a": { x: "1" } });
  await run.advance("3 days");
  expect(run.text).toEqual(typeof text === "string" ? text : expect.stringMatching(text));
});

test("leaves nothing of a page open when one of its files is dismissed and the tool goes on", async () => {
  const goesOn = defineTool({
    name: "goes_on",
    async run(_args, ctx) {
      const pages = { a: { ...TWO.a, files: { f: { message: "F" }, g: { message: "G" } } } };
      const text = await ctx.wizard("w", { pages }).then(JSON.stringify, CAUGHT);
      await ctx.sleep("hour", "1 hour");
      return text;
    },
  });
  const run = await startTool(goesOn, {}, { crashAt: "every" });
  await run.answer({ "w/a.f": cancel });
  expect([run.task.status, run.task.asks]).toEqual(["working", []]);
  await run.advance("1 hour");
  expect(run.text).toMatch(/^Cancelled /);
});

test.each<[string, object, string]>([
  ["whose names are numbers", { b: TWO.a, "1": TWO.b }, "/pages/1 must not be named by a number"],
  ["without a message", { a: { schema: z.object({ x: z.string() }) } }, "/pages/a/message must be the text"],
  ["that are nothing", { a: null }, "/pages/a/message must be the text"],
])("pages %s are the author's mistake", async (_what, pages, says) => {
  const wrong = defineTool({
    name: "wrong",
    run: async (_args, ctx) => JSON.stringify(await ctx.wizard("w", { pages: pages as typeof TWO })),
  });
  expect((await runTool(wrong)).text).toContain(says);
});

test.each<[object, string]>([
  [{ prefill: null }, "/prefill must be values of fields, by page"],
  [{ prefill: [] }, "/prefill must be values of fields, by page"],
  [{ prefill: { a: "Ada" } }, "/prefill/a must be values of fields, by page"],
  [{ prefill: { c: { x: "1" } } }, "/prefill/c must be one of the pages: a, b"],
  [{ footer: "Step" }, "/footer must be a function"],
])("options such as %j are the author's mistake", async (options, says) => {
  const wrong = defineTool({
    name: "wrong",
    run: async (_args, ctx) => JSON.stringify(await ctx.wizard("w", { pages: TWO, ...options })),
  });
  expect((await runTool(wrong)).text).toContain(says);
});

test("of one wizard does not count for another, and two run beside each other", async () => {
  const both = defineTool({
    name: "both",
    async run(_args, ctx) {
      const pages = { only: { message: "?", schema: z.object({ a: z.string() }) } };
      const [one, two] = await Promise.all([ctx.wizard("one", { pages }), ctx.wizard("two", { pages })]);
      return `${one.only.a} ${two.only.a}`;
    },
  });
  expect((await runTool(both, {}, { answers: { "one/only": { a: "1" }, "two/only": { a: "2" } } })).text).toBe("1 2");
});

test("back is refused in a test where there is no page before", async () => {
  await expect(answered({ "joining/person": back })).rejects.toThrow('"joining/person" has no page before it');
});

test("without pages is the author's mistake", async () => {
  const none = defineTool({ name: "none", run: async (_args, ctx) => JSON.stringify(await ctx.wizard("w", { pages: {} })) });
  expect((await runTool(none)).text).toContain("must have at least one page");
});

describe("files beside fields", () => {
  const upload = defineTool({
    name: "upload",
    async run(_args, ctx) {
      const { person, papers } = await ctx.wizard("w", {
        pages: {
          person: { message: "Who?", schema: z.object({ name: z.string() }) },
          papers: {
            message: "Papers",
            schema: z.object({ note: z.string() }),
            files: { passport: { message: "Your passport" }, photos: { message: "Photos", count: 2 } },
          },
        },
      });
      expectTypeOf(papers.passport).toEqualTypeOf<FileRef>();
      expectTypeOf(papers.photos).toEqualTypeOf<readonly FileRef[]>();
      return JSON.stringify([person.name, papers.note, papers.passport.name, papers.photos.map(({ name }) => name)]);
    },
  });
  const file = (name: string) => ({ file: { name, text: name } });

  test("are asked for at once, in any order, and are part of the page's answer", async () => {
    const run = await startTool(upload, {}, { crashAt: "every" });
    await run.answer({ "w/person": { name: "Ada" } });
    expect(run.task.asks.map(({ key }) => key)).toEqual(["w/papers", "w/papers.passport", "w/papers.photos"]);
    await run.answer({ "w/papers.photos": file("one.png") });
    await run.answer({ "w/papers": { note: "all here" } });
    await run.answer({ "w/papers.passport": file("pass.pdf") });
    expect(JSON.parse(run.text)).toEqual(["Ada", "all here", "pass.pdf", ["one.png"]]);
  });

  test("are kept on the way back, and need not be sent again, and may be replaced", async () => {
    const run = await startTool(upload, {}, { crashAt: "every" });
    await run.answer({ "w/person": { name: "Ada" } });
    await run.answer({ "w/papers.passport": file("pass.pdf") });
    await run.answer({ "w/papers.photos": file("one.png") });
    await run.answer({ "w/papers": back });
    await run.answer({ "w/person#2": { name: "Grace" } });
    const [, passport] = run.task.asks;
    expect(passport?.request).toMatchObject({ message: expect.stringContaining("pass.pdf is here already.") });
    await run.answer({ "w/papers.photos#2": file("two.png") });
    await run.answer({ "w/papers#2": { note: "changed" } });
    expect(JSON.parse(run.text)).toEqual(["Grace", "changed", "pass.pdf", ["two.png"]]);
  });

  test("that are declined go back, and the form beside them is withdrawn", async () => {
    const run = await startTool(upload);
    await run.answer({ "w/person": { name: "Ada" } });
    await run.answer({ "w/papers.passport": decline });
    expect(run.task.asks.map(({ key }) => key)).toEqual(["w/person#2"]);
  });
});
