/**
 * 10. Generator tools
 *
 * A different style for the same thing: a generator yields what it asks, does and reports, and receives the results. Engine, journal and rules
 * are the same. Choose the style that you prefer; one tool can use both, because `ctx` is still the second argument.
 */
import { type ToolGenerator, ask, defineTool, dryRun, step } from "@parley/sdk";
import { runTool } from "@parley/sdk/testing";
import { expect, test } from "vitest";

const booked: string[] = [];

const trip = defineTool({
  name: "trip",
  *run() {
    yield { emit: "status", message: "Planning a trip" };
    // TypeScript cannot know the type of a bare yield: declare it …
    const size: number = yield { ask: "number", id: "travellers", message: "How many?", min: 1, step: 1 };
    // … or use the helpers, which have types.
    const train = yield* ask.select({ id: "train", message: "Which train?", options: ["morning", "noon"] });
    const seats = yield* step("book", () => booked.push(train));
    return `${size} in the ${train} train, booking ${seats}`;
  },
});

test("everything that is yielded is asked, done and reported once", async () => {
  const run = await runTool(trip, {}, { answers: { travellers: 2, train: "noon" }, crashAt: "every" });
  expect(run.text).toBe("2 in the noon train, booking 1");
  expect(booked).toEqual(["noon"]);
});

/** A part of a tool. Use it in a tool with `yield*`, or run several at once with `all`. */
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

test("parts that run at once have separate names", async () => {
  const run = await runTool(approvals, {}, { answers: { "ada/approve": true, "bob/approve": false } });
  expect(run.text).toBe("refused");
});

test("a dry run lists what a tool would ask, and does nothing", async () => {
  const before = booked.length;
  const { asks, steps } = await dryRun(trip, {}, { answers: { travellers: 1, train: "morning" }, steps: { book: 1 } });
  expect(asks.map(({ name }) => name)).toEqual(["travellers", "train"]);
  expect(steps).toEqual(["book"]);
  expect(booked).toHaveLength(before);
});
