import type { Json, JsonObject, Reading } from "@parley/core";
import { beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { defineTool, type Schema } from "../index.ts";
import { readAnswer, readAnswers } from "./read-answer.ts";
import { runTool, startTool, timeout } from "../testing/testing.ts";

/** Read differently each time, as what chance gives is. */
let drawn = 0;
const draw = () => (drawn += 1);
const DRAWS = z.object({ n: z.number().optional() }).transform(({ n }) => ({ n: n ?? draw() }));

/** What each run of a handler was given, and each attempt of its step. */
const seen: Json[] = [];
beforeEach(() => void seen.splice(0));

describe("every run sees the same answer, although its schema draws values and the worker dies", () => {
  async function sees(wait: Parameters<typeof defineTool>[0]["run"], options: Parameters<typeof runTool>[2]) {
    const tool = defineTool({
      name: "draws",
      async run(args, ctx) {
        const given = (await wait(args, ctx)) as unknown as Json;
        seen.push(given);
        await ctx.step("first", () => void seen.push(given));
        await ctx.step("second", () => void seen.push(given));
        await ctx.sleep("pause", "1 hour");
        return JSON.stringify(given);
      },
    });
    const run = await runTool(tool, {}, { ...options, crashAt: "every" });
    expect(seen.length).toBeGreaterThan(4);
    expect(new Set(seen.map((each) => JSON.stringify(each)))).toEqual(new Set([run.text]));
  }
  const message = "How many?";

  test("to a form", () => sees((_args, ctx) => ctx.elicit("q", { message, schema: DRAWS }) as never, { answers: { q: {} } }));

  test("that no person gave, in place of which a default counts", () =>
    sees((_args, ctx) => ctx.elicit("q", { message, schema: DRAWS, onTimeout: { default: {} } }) as never, { answers: { q: timeout } }));

  test("of another system", () =>
    sees(
      async (_args, ctx) => {
        const event = ctx.event("e", { schema: DRAWS });
        const twice = [await event.received(), await event.received()];
        expect(twice[0]).toEqual(twice[1]);
        return twice as never;
      },
      { events: { e: {} } },
    ));

  test("of another system, for which the handler waits in two places at once", () =>
    sees(
      async (_args, ctx) => {
        const event = ctx.event("e", { schema: DRAWS });
        return await Promise.all([event.received(), event.received()]);
      },
      { events: { e: {} } },
    ));

  test("to the second of two questions of a name, and to the first", () =>
    sees(
      async (_args, ctx) => [await ctx.elicit("q", { message, schema: DRAWS }), await ctx.elicit("q", { message, schema: DRAWS })] as never,
      { answers: { q: {}, "q#2": {} } },
    ));

  test("of several people", async () => {
    const tool = defineTool({
      name: "draws",
      async run(_args, ctx) {
        const all = await ctx.elicit("q", { message, schema: DRAWS, to: { groups: ["finance"] }, quorum: 2 });
        seen.push(all.map(({ content }) => content.n));
        await ctx.sleep("pause", "1 hour");
        seen.push(all.map(({ content }) => content.n));
        return "done";
      },
    });
    const run = await startTool(tool);
    await run.answer({ q: {} }, { principal: "ada", groups: ["finance"] });
    await run.answer({ q: { n: -1 } }, { principal: "eve", groups: ["finance"] });
    await run.advance("1 hour");
    expect(seen).toEqual([[expect.any(Number), -1], seen[0], seen[0]]);
  });
});

describe("what is kept of an answer", () => {
  async function kept(schema: Schema, given: JsonObject, before?: Json) {
    const keeps: [Json, boolean][] = [];
    const reading: Reading = { kept: before, keep: (...kept) => void keeps.push(kept) };
    const read = await readAnswer(schema, given, reading);
    return { keeps, read: read.ok ? read.value : "refused" };
  }
  const trims = z.object({ a: z.string().trim(), b: z.int().default(4) });

  test("is nothing where the schema leaves it as it is", async () => {
    expect((await kept(trims, { a: "x", b: 1 })).keeps).toEqual([]);
    expect((await kept(z.object({ a: z.string().max(1) }), { a: "xy" })).keeps).toEqual([]);
  });

  test("is what it makes of it, and goes out with the next write if it would make the same again", async () => {
    expect((await kept(trims, { a: " x " })).keeps).toEqual([[{ a: "x", b: 4 }, false]]);
  });

  test("is written before the next side effect if it would make something else", async () => {
    const { keeps, read } = await kept(DRAWS, {});
    expect(keeps).toEqual([[read, true]]);
  });

  test("is read in place of the answer", async () => {
    expect(await kept(DRAWS, {}, { n: -5 })).toEqual({ keeps: [], read: { n: -5 } });
  });

  test("is nothing where the person gave nothing, or JSON cannot hold what the schema makes", async () => {
    const keeps: unknown[] = [];
    const reading: Reading = { kept: undefined, keep: (...each) => void keeps.push(each) };
    expect(
      await readAnswer(
        z.any().transform(() => 5),
        undefined,
        reading,
      ),
    ).toStrictEqual({ ok: true, value: 5 });
    const sets = z.object({ list: z.array(z.string()) }).transform(({ list }) => new Set(list));
    expect(await readAnswer(sets, { list: ["a"] }, reading)).toStrictEqual({ ok: true, value: new Set(["a"]) });
    const none = z.object({ a: z.string() }).transform(() => null);
    expect(await readAnswer(none, { a: "x" }, reading)).toStrictEqual({ ok: true, value: null });
    expect(keeps).toStrictEqual([]);
  });

  describe("of several people", () => {
    async function keptOfAll(schema: Schema, contents: readonly Json[]) {
      const keeps: [Json, boolean][] = [];
      const reading: Reading = { kept: undefined, keep: (...each) => void keeps.push(each) };
      const accepted = contents.map((content) => ({ content: content as JsonObject, atMs: 0 }));
      const read = await readAnswers(schema, accepted, reading);
      return { keeps, read: read.map((each) => (each.ok ? each.value : "refused")) };
    }
    /** Draws a number where none was given. */
    const draws = z.object({ n: z.number().optional() }).transform(({ n }) => ({ n: n ?? draw() }));

    test("is nothing where the schema leaves each answer as it is", async () => {
      const contents = [
        { a: "x", b: 1 },
        { a: "y", b: 2 },
      ];
      expect(await keptOfAll(trims, contents)).toStrictEqual({ keeps: [], read: contents });
    });

    test("is nothing if one of the answers is refused, although another would be kept", async () => {
      expect(await keptOfAll(trims, [{ a: " x " }, { a: 5 }])).toStrictEqual({ keeps: [], read: [{ a: "x", b: 4 }, "refused"] });
    });

    test("is all of them if the schema changes one, and the others as they were given", async () => {
      const made = [
        { a: "x", b: 1 },
        { a: "y", b: 4 },
      ];
      expect(await keptOfAll(trims, [{ a: "x", b: 1 }, { a: " y " }])).toStrictEqual({ keeps: [[made, false]], read: made });
    });

    test("is written before the next side effect if one of them would be drawn again", async () => {
      const { keeps, read } = await keptOfAll(draws, [{ n: -1 }, {}]);
      expect(read).toStrictEqual([{ n: -1 }, { n: expect.any(Number) }]);
      expect(keeps).toStrictEqual([[read, true]]);
    });
  });

  test("is read anew from the answer if changed code refuses it", async () => {
    const lower = z.object({ a: z.string().regex(/^[a-z]$/), b: z.int().default(4) });
    expect(await kept(lower, { a: "x" }, { a: "X", b: 4 })).toEqual({ keeps: [[{ a: "x", b: 4 }, false]], read: { a: "x", b: 4 } });
    expect((await kept(lower, { a: "7" }, { a: "X", b: 4 })).read).toBe("refused");

    const keeps: [Json, boolean][] = [];
    const reading: Reading = {
      kept: [
        { a: "X", b: 4 },
        { a: "y", b: 4 },
      ],
      keep: (...each) => void keeps.push(each),
    };
    const accepted = ["x", "y"].map((a) => ({ content: { a }, atMs: 0 }));
    expect(await readAnswers(lower, accepted, reading)).toMatchObject([{ value: { a: "x", b: 4 } }, { value: { a: "y", b: 4 } }]);
    expect(keeps).toHaveLength(1);
  });
});

test("what a schema makes of an answer is as large as a stored value may be, and no larger", async () => {
  const grown = (chars: number) =>
    defineTool({
      name: "grows",
      async run(_args, ctx) {
        const schema = z.object({}).transform(() => ({ x: "x".repeat(chars - '{"x":""}'.length) }));
        const { x } = await ctx.elicit("q", { message: "?", schema });
        return String(x.length);
      },
    });
  expect((await runTool(grown(262_144), {}, { answers: { q: {} } })).text).toBe("262136");
  const { task } = await runTool(grown(262_145), {}, { answers: { q: {} } });
  expect(JSON.stringify(task.outcome)).toContain(
    "what the schema of q makes of its answer has 262145 characters of JSON; the limit is 262144",
  );
});
