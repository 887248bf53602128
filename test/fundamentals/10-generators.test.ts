/**
 * 10. Generator tools
 *
 * Another way to write the same: a generator yields what it asks, does and tells, and gets back what came of it. The engine, the journal and
 * the rules are the same. Which style to take is a matter of taste, and one tool may use both: `ctx` is the second argument, as always.
 */
import { type ToolGenerator, ask, defineTool, dryRun, step } from "@parley/sdk";
import { runTool } from "@parley/sdk/testing";
import { expect, test } from "vitest";

const booked: string[] = [];

const trip = defineTool({
  name: "trip",
  *run() {
    yield { emit: "status", message: "Planning a trip" };
    // TypeScript cannot know what a bare yield gives: say it …
    const size: number = yield { ask: "number", id: "travellers", message: "How many?", min: 1, step: 1 };
    // … or use the helpers, which do.
    const train = yield* ask.select({ id: "train", message: "Which train?", options: ["morning", "noon"] });
    const seats = yield* step("book", () => booked.push(train));
    return `${size} in the ${train} train, booking ${seats}`;
  },
});

test("what is yielded is asked, done and reported, once", async () => {
  const run = await runTool(trip, {}, { answers: { travellers: 2, train: "noon" }, crashAt: "every" });
  expect(run.text).toBe("2 in the noon train, booking 1");
  expect(booked).toEqual(["noon"]);
});

/** A part of a tool. Another one takes it over with `yield*`, or runs several at once by `all`. */
function* approval(who: string): ToolGenerator<boolean> {
  const isApproved: boolean = yield { ask: "confirm", id: "approve", message: `${who}, do you approve?` };
  return isApproved;
}

const approvals = defineTool({
  name: "approvals",
  *run() {
    const given: Record<string, boolean> = yield { all: { ada: approval("Ada"), bob: approval("Bob") } };
    return Object.values(given).every(Boolean) ? "approved" : "refused";
  },
});

test("several at once have separate names", async () => {
  const run = await runTool(approvals, {}, { answers: { "ada/approve": true, "bob/approve": false } });
  expect(run.text).toBe("refused");
});

test("a dry run says what a tool would ask, and does nothing", async () => {
  const before = booked.length;
  const { asks, steps } = await dryRun(trip, {}, { answers: { travellers: 1, train: "morning" }, steps: { book: 1 } });
  expect(asks.map(({ name }) => name)).toEqual(["travellers", "train"]);
  expect(steps).toEqual(["book"]);
  expect(booked).toHaveLength(before);
});
