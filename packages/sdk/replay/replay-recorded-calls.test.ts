/** Recorded tasks that wait for another tool, replayed from their exports. */
import type { Answer, Entry, Tool } from "@parley/core";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { type Context, defineTool } from "../index.ts";
import { startTool } from "../testing/testing.ts";
import { readRecordedTask, type RecordedTask } from "./recorded-task.ts";
import { replayRecorded } from "./replay-recorded.ts";

type Run = (ctx: Context) => Promise<string>;

const parent = (run: Run): Tool => defineTool({ name: "trip", run: (_args, ctx) => run(ctx) });

const hotel = defineTool({
  name: "book_hotel",
  input: z.object({ city: z.string() }),
  run: async (_args, ctx) => String(await ctx.confirm("sure", { message: "Sure?" })),
});

const books =
  (city: string, tool = "book_hotel"): Run =>
  async (ctx) => {
    await ctx.call(tool, { city }, { key: "hotel" });
    return "booked";
  };

/** A task that waits for its child, as an export holds it. */
async function waiting(change: Partial<RecordedTask> = {}): Promise<RecordedTask> {
  const running = await startTool(parent(books("Oslo")), {}, { tools: [hotel] });
  const exported = readRecordedTask(JSON.stringify(await running.exported())) as RecordedTask;
  expect(exported.calls).toMatchObject([{ key: "call:hotel", request: { type: "call", tool: "book_hotel" } }]);
  return { ...exported, ...change };
}

/** The same after the child has ended: the call is in the journal, and no longer among the open ones. */
async function ended(change: Partial<RecordedTask> = {}): Promise<RecordedTask> {
  const { calls, ...exported } = await waiting();
  const { digest = "", calledAt = "" } = calls?.[0] ?? {};
  const answer: Answer = { action: "accept", content: { result: { content: [] } } };
  const entry: Entry = { digest, calledAt, outcome: { type: "answer", answer }, arrived: { atMs: 1, revision: 9 } };
  return { ...exported, journal: { ...exported.journal, "ask:call:hotel": entry }, ...change };
}

describe("a task that waits for another tool, replayed from its export,", () => {
  test("continues, and waits for the same call", async () => {
    expect(await replayRecorded(parent(books("Oslo")), await waiting())).toMatchObject({
      verdict: "continues",
      recorded: ["ask:call:hotel"],
      found: ["ask:call:hotel"],
    });
    expect(await replayRecorded(parent(books("Oslo")), await ended())).toMatchObject({ verdict: "continues", next: "ends" });
  });

  test.each<[string, Run]>([
    ["other arguments", books("Rome")],
    ["another tool", books("Oslo", "book_flight")],
  ])("diverges with %s, while the child works and after its end", async (_, run) => {
    const reason = expect.stringMatching(/^recorded ask:call:hotel with digest \S+, found ask:call:hotel with digest \S+, of book_\w+$/);
    expect(await replayRecorded(parent(run), await waiting())).toMatchObject({ verdict: "diverges", reason });
    expect(await replayRecorded(parent(run), await ended())).toMatchObject({ verdict: "diverges", reason });
  });

  test("stops at a call that is not recorded, and names it; no child is made", async () => {
    const twice: Run = async (ctx) => {
      await ctx.call("book_hotel", { city: "Oslo" }, { key: "hotel" });
      return String(await ctx.call("book_flight", {}, { key: "flight" }));
    };
    const replayed = await replayRecorded(parent(twice), await ended());
    expect(replayed).toMatchObject({ verdict: "continues", next: "does ask:call:flight", found: ["ask:call:hotel", "ask:call:flight"] });
  });

  test("stops at a call that is not recorded also if the export has no seed from which the child's id could follow", async () => {
    const both: Run = async (ctx) => {
      await Promise.all([ctx.call("book_hotel", { city: "Oslo" }, { key: "hotel" }), ctx.call("book_flight", {}, { key: "flight" })]);
      return "booked";
    };
    const { call, ...task } = await waiting();
    const { seed: _, ...redacted } = call;
    const replayed = await replayRecorded(parent(both), { ...task, call: redacted });
    expect(replayed).toMatchObject({ verdict: "continues", next: "does ask:call:flight", found: ["ask:call:hotel", "ask:call:flight"] });
  });

  test("compares each call with the recorded one of its key", async () => {
    const both =
      (hotel: string, flight: string): Run =>
      async (ctx) => {
        await Promise.all([ctx.call(hotel, { city: "Oslo" }, { key: "hotel" }), ctx.call(flight, { city: "Oslo" }, { key: "flight" })]);
        return "booked";
      };
    const other = defineTool({
      name: "book_flight",
      input: z.object({ city: z.string() }),
      run: async (_args, ctx) => String(await ctx.confirm("sure", { message: "Sure?" })),
    });
    const exported = await (await startTool(parent(both("book_hotel", "book_flight")), {}, { tools: [hotel, other] })).exported();
    const redacted = { ...exported, isRedacted: true };
    const baseline = parent(both("book_hotel", "book_flight"));
    expect(await replayRecorded(baseline, redacted, { baseline })).toMatchObject({ verdict: "continues" });
    expect(await replayRecorded(parent(both("book_hotel", "book_train")), redacted, { baseline })).toMatchObject({
      verdict: "diverges",
      reason: expect.stringMatching(/with digest another, of book_train$/),
    });
  });

  test.each<[string, (task: RecordedTask) => RecordedTask]>([
    ["is redacted", (task) => ({ ...task, isRedacted: true })],
    ["has no seed", ({ call: { seed: _seed, ...call }, ...task }) => ({ ...task, call })],
  ])("is compared by the tool alone if the export %s, as long as the call is open", async (_, without) => {
    // The arguments may be placeholders, or the child's id cannot be computed.
    for (const task of [await waiting(), await ended()]) {
      expect((await replayRecorded(parent(books("Rome")), without(task))).verdict).toBe("continues");
    }
    const other = parent(books("Oslo", "book_flight"));
    const verdicts = [await waiting(), await ended()].map(async (task) => (await replayRecorded(other, without(task))).verdict);
    expect(await Promise.all(verdicts)).toStrictEqual([expect.stringMatching(/^(diverges|unknown)$/), "continues"]);
  });
});
