/** Several pages of one form in a generator tool: as with ctx.wizard, alone and beside others. */
import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { ask, defineTool, step } from "../index.ts";
import { back, runTool, type Script, startTool } from "../testing/testing.ts";

const NAME = z.object({ name: z.string() });
const PAGES = {
  person: { message: "Who?", schema: NAME },
  trip: { message: "Where to?", schema: z.object({ city: z.string() }), when: () => true },
} as const;

const tool = defineTool({
  name: "travel",
  *run() {
    const { person, trip } = yield* ask.wizard({ id: "trip", pages: PAGES, prefill: { person: { name: "Ad" } } });
    expectTypeOf(person.name).toEqualTypeOf<string>();
    expectTypeOf(trip).toEqualTypeOf<{ city: string } | undefined>();
    const { more }: { more: { name: string } } = yield { ask: "wizard", pages: { more: { message: "Who else?", schema: NAME } } };
    return yield* step("book", () => `${person.name} and ${more.name} to ${trip?.city}`);
  },
});

const ANSWERS: Script = {
  "trip/person": { name: "Ada" },
  "trip/trip": back,
  "trip/person#2": { name: "Ada L." },
  "trip/trip#2": { city: "Graz" },
  "ask_0/more": { name: "Bo" },
};

describe("a wizard of a generator tool", () => {
  test.each([{}, { crashAt: "every" as const }])("asks page after page, with a way back, with %j", async (options) => {
    const run = await runTool(tool, {}, { answers: ANSWERS, ...options });
    expect(run.text).toBe("Ada L. and Bo to Graz");
    expect([...new Set(run.asks.map(({ key }) => key))]).toEqual(Object.keys(ANSWERS));
  });

  test("is withdrawn, with the page that is open, when it has lost a race", async () => {
    const racing = defineTool({
      name: "racing",
      *run() {
        const won: { name: string } = yield {
          race: { form: { ask: "wizard", id: "trip", pages: PAGES }, nap: { sleep: "nap", for: "1 minute" } },
        };
        yield { ask: "confirm", id: "after", message: won.name };
        return won.name;
      },
    });
    const running = await startTool(racing, {}, {});
    await running.answer({ "form/trip/person": { name: "Ada" } });
    expect(running.task.asks.map(({ key }) => key)).toEqual(["form/trip/trip"]);
    await running.advance("1 minute");
    expect(running.task.asks.map(({ key }) => key)).toEqual(["after"]);
  });

  test("that is not yielded is no wizard", async () => {
    const forgotten = defineTool({
      name: "forgotten",
      // oxlint-disable-next-line require-yield -- that is what goes wrong
      *run() {
        ask.wizard({ id: "trip", pages: PAGES });
        return "done";
      },
    });
    expect((await runTool(forgotten, {}, {})).text).toContain('ask.wizard("trip") was never yielded');
  });
});
