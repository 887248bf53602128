import type { Tool } from "@parley/core";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { type Context, defineTool } from "../index.ts";
import { startTool } from "../testing/testing.ts";
import { readRecordedTask, type RecordedTask, redactJson, toRecordedTask } from "./recorded-task.ts";
import { replayRecorded } from "./replay-recorded.ts";

type Run = (ctx: Context, order: string) => Promise<string>;

const INPUT = z.object({ order: z.string().min(3) });
const tool = (run: Run, input: z.ZodType<{ order: string }> = INPUT): Tool =>
  defineTool({ name: "ship", input, run: ({ order }, ctx) => run(ctx, order) });

const APPROVAL = z.object({ how: z.enum(["air", "sea"]), note: z.string().optional() });
const approve = (ctx: Context, message: string) => ctx.elicit("approve", { message, schema: APPROVAL });

const held: string[] = [];
const ship: Run = async (ctx, order) => {
  await ctx.step("hold", () => held.push(order));
  const { how } = await approve(ctx, "Ship it?");
  if (how === "sea") await ctx.sleep("tide", "6 hours");
  await ctx.step("send", () => held.push("sent"));
  return "sent";
};

/** A task that waits at `approve`, and one that was answered and sleeps until the tide. */
async function waiting(run: Run = ship): Promise<RecordedTask> {
  return await (await startTool(tool(run), { order: "4711" })).exported();
}
async function sleeping(): Promise<RecordedTask> {
  const running = await startTool(tool(ship), { order: "4711" });
  await running.answer({ approve: { how: "sea" } });
  return await running.exported();
}

describe("a waiting task, replayed from its export,", () => {
  test("continues under the code that created it, and waits for the same; nothing is repeated", async () => {
    const exported = await waiting();
    const asleep = await sleeping();
    held.length = 0;
    expect(await replayRecorded(tool(ship), exported)).toMatchObject({
      verdict: "continues",
      next: "waits for ask:approve",
      recorded: ["step:hold", "ask:approve"],
      found: ["step:hold", "ask:approve"],
    });
    expect(await replayRecorded(tool(ship), asleep)).toMatchObject({ verdict: "continues", next: "sleeps" });
    expect(held).toEqual([]);
  });

  test("waits for its event, and diverges if that is a different one now", async () => {
    const paid =
      (amount: z.ZodType): Run =>
      async (ctx) => {
        const event = ctx.event("paid", { schema: z.object({ amount }), timeout: "1 day" });
        await ctx.step("order", () => held.push("ordered"));
        await event.received();
        return "paid";
      };
    const exported = readRecordedTask(JSON.stringify(await waiting(paid(z.number())))) as RecordedTask;
    expect(exported.events).toMatchObject([{ key: "event:paid", request: { type: "event" } }]);
    expect(await replayRecorded(tool(paid(z.number())), exported)).toMatchObject({ verdict: "continues" });
    expect(await replayRecorded(tool(paid(z.string())), exported)).toMatchObject({ verdict: "diverges" });
  });

  test("continues behind a question that several people accepted", async () => {
    const board: Run = async (ctx) => {
      const all = await ctx.elicit("board", { message: "Ship it?", schema: APPROVAL, to: { groups: ["board"] }, quorum: 2 });
      const by = ctx.answeredBy("board")?.accepted?.map(({ principal }) => principal);
      await approve(ctx, `${all.map(({ content }) => content.how).join(" and ")}, says ${String(by)}?`);
      return "sent";
    };
    const running = await startTool(tool(board), { order: "4711" });
    await running.answer({ board: { how: "sea" } }, { principal: "ada", groups: ["board"] });
    await running.answer({ board: { how: "air" } }, { principal: "eve", groups: ["board"] });
    const { verdict, next } = await replayRecorded(tool(board), await running.exported());
    expect([verdict, next]).toEqual(["continues", "waits for ask:approve"]);
  });

  test("asks what it asked with the id that its schema drew from an answer", async () => {
    let drawn = 0;
    const schema = z.object({ id: z.number().default(() => (drawn += 1)) });
    const draws: Run = async (ctx) => {
      const { id } = await ctx.elicit("which", { message: "Which?", schema });
      await approve(ctx, `Ship ${id}?`);
      return "sent";
    };
    const running = await startTool(tool(draws), { order: "4711" });
    await running.answer({ which: {} });
    const exported = readRecordedTask(JSON.stringify(await running.exported())) as RecordedTask;
    expect(await replayRecorded(tool(draws), exported)).toMatchObject({
      verdict: "continues",
      next: "waits for ask:approve",
      recorded: ["ask:which", "ask:approve"],
    });
  });

  test("stops at the first step that is not recorded, and names it", async () => {
    const exported = await sleeping();
    const late = { ...exported, atMs: exported.atMs + 7 * 3_600_000 };
    held.length = 0;
    expect(await replayRecorded(tool(ship), late)).toMatchObject({ verdict: "continues", next: "does step:send" });
    expect(held).toEqual([]);
  });

  test.each<[string, Run, string, readonly string[]]>([
    [
      "a renamed step",
      async (ctx) => String(await ctx.step("hold-it", () => 1)),
      "recorded step:hold, ask:approve (not called again), found new step:hold-it",
      ["step:hold-it"],
    ],
    [
      // The question follows from no settlement now, so it is a different one.
      "a step that is gone",
      async (ctx) => (await approve(ctx, "Ship it?")).how,
      "recorded step:hold, ask:approve (not called again), found new ask:approve#2",
      ["ask:approve#2"],
    ],
    [
      "another message",
      async (ctx) => {
        await ctx.step("hold", () => 1);
        return (await approve(ctx, "Really?")).how;
      },
      'the question "approve" has changed',
      ["step:hold", "ask:approve"],
    ],
    ["an end over what was recorded", async () => "early", "found the end of the handler", []],
    [
      "an error over what was recorded",
      async () => {
        throw new TypeError("broken");
      },
      "with the error TypeError: broken",
      [],
    ],
  ])("diverges with %s", async (_what, run, reason, found) => {
    const replayed = await replayRecorded(tool(run), await waiting());
    expect(replayed).toMatchObject({ verdict: "diverges", reason: expect.stringContaining(reason) });
    expect(replayed.found).toEqual(found);
  });

  test("shows the question before and after", async () => {
    const { changed } = await replayRecorded(
      tool(async (ctx) => {
        await ctx.step("hold", () => 1);
        await approve(ctx, "Really?");
        return "";
      }),
      await waiting(),
    );
    expect(changed).toMatchObject({ key: "approve", recorded: { message: "Ship it?" }, found: { message: "Really?" } });
  });

  test("diverges with an input schema that refuses its arguments, and says why", async () => {
    const stricter = tool(ship, z.object({ order: z.string().min(9) }));
    expect(await replayRecorded(stricter, await waiting())).toMatchObject({
      verdict: "diverges",
      reason: expect.stringContaining("invalid arguments for tool ship"),
    });
  });

  test("fails with code that ends it with an error once it has caught up", async () => {
    const running = await startTool(tool(ship), { order: "4711" });
    const { journal, ...exported } = await running.exported();
    const answer = { type: "answer", answer: { action: "accept", content: { how: "air" } } } as const;
    const { digest = "", calledAt = "" } = exported.asks[0] ?? {};
    const answered = {
      ...exported,
      asks: [],
      journal: { ...journal, "ask:approve": { digest, calledAt, outcome: answer, arrived: { atMs: 1, revision: 9 } } },
    };
    const broken: Run = async (ctx) => {
      await ctx.step("hold", () => 1);
      const { note } = await approve(ctx, "Ship it?");
      return (note as string).trim();
    };
    expect(await replayRecorded(tool(broken), answered)).toMatchObject({ verdict: "fails", reason: expect.stringContaining("TypeError") });
    expect(await replayRecorded(tool(ship), answered)).toMatchObject({ verdict: "continues", next: "does step:send" });
  });

  test("is unknown if the handler waits too long for something outside; shorter waits are allowed", async () => {
    const outside =
      (ms: number): Run =>
      async (ctx, order) => {
        await new Promise((resolve) => setTimeout(resolve, ms));
        return ship(ctx, order);
      };
    expect(await replayRecorded(tool(outside(400)), await waiting(), { patienceMs: 20 })).toMatchObject({
      verdict: "unknown",
      reason: expect.stringMatching(/something outside ctx \(Timeout\) for more than 20 ms/),
    });
    expect(await replayRecorded(tool(outside(20)), await waiting())).toMatchObject({ verdict: "continues" });
  });

  test("fails with code that waits for something that never happens", async () => {
    const stuck: Run = async (ctx) => {
      await ctx.step("hold", () => 1);
      void approve(ctx, "Ship it?");
      return new Promise(() => undefined);
    };
    expect(await replayRecorded(tool(stuck), await waiting())).toMatchObject({ verdict: "continues" }); // it parks, as it would
    const silent: Run = async (ctx) => {
      await ctx.step("hold", () => 1);
      return new Promise(() => undefined);
    };
    expect(await replayRecorded(tool(silent), await waiting())).toMatchObject({
      verdict: "diverges",
      reason: expect.stringContaining("ask:approve"),
    });
  });
});

describe("a redacted export", () => {
  const redacted = async (run: Run) => {
    const { call, asks, journal, ...exported } = await waiting(run);
    const task = {
      ...exported,
      id: exported.taskId,
      call: { seed: "seed", retentionMs: 1, hidden: false, ...call },
      revision: 1,
      updatedAtMs: 1,
      asks,
    };
    return toRecordedTask(
      { task, journal: new Map(Object.entries(journal)) },
      { atMs: exported.atMs, redaction: { withContent: false, fields: [] }, isSealed: false },
    );
  };
  const quoting: Run = async (ctx, order) => {
    await ctx.step("hold", () => order);
    await approve(ctx, `Ship ${order}?`);
    return "";
  };

  test("has no content", async () => {
    const text = JSON.stringify(await redacted(quoting));
    expect(text).not.toContain("4711");
    expect(text).not.toContain("Ship");
    expect(text).not.toContain("anonymous");
    expect(text).not.toContain("token-"); // the seed
  });

  test("proves what does not depend on values, and says what is unknown", async () => {
    expect(await replayRecorded(tool(ship), await redacted(ship))).toMatchObject({ verdict: "continues" });
    expect(await replayRecorded(tool(quoting), await redacted(quoting))).toMatchObject({
      verdict: "unknown",
      reason: expect.stringContaining("cannot compare ask:approve with the question that was asked"),
    });
    expect(
      await replayRecorded(
        tool(async () => "early"),
        await redacted(quoting),
      ),
    ).toMatchObject({ verdict: "unknown" });
  });

  test("is compared with the code that the task runs on", async () => {
    const baseline = tool(quoting);
    const exported = await redacted(quoting);
    expect(await replayRecorded(tool(quoting), exported, { baseline })).toMatchObject({ verdict: "continues" });
    expect(
      await replayRecorded(
        tool(async () => "early"),
        exported,
        { baseline },
      ),
    ).toMatchObject({ verdict: "diverges" });
    const reworded: Run = async (ctx, order) => {
      await ctx.step("hold", () => order);
      await approve(ctx, `Send ${order}?`);
      return "";
    };
    const changed = await replayRecorded(tool(reworded), exported, { baseline });
    expect(changed).toMatchObject({
      verdict: "diverges",
      changed: { recorded: { message: "Ship 1111?" }, found: { message: "Send 1111?" } },
    });
    const other = await replayRecorded(tool(quoting), exported, { baseline: tool(async () => "another tool") });
    expect(other).toMatchObject({ verdict: "unknown", reason: expect.stringContaining("the baseline does not replay the task itself") });
  });

  test("may keep everything except the named members, and what is in them", () => {
    const value = { iban: "DE44", to: { address: { city: "Graz" } }, list: [{ iban: "AT61" }], note: "hello" };
    expect(redactJson(value, { withContent: true, fields: ["iban", "address"] })).toEqual({
      iban: "XX11",
      to: { address: { city: "Xxxx" } },
      list: [{ iban: "XX11" }],
      note: "hello",
    });
  });
});

describe("a line of an export", () => {
  test("is read back as it was written", async () => {
    const exported = await waiting();
    expect(readRecordedTask(JSON.stringify(exported))).toEqual(exported);
  });
});
