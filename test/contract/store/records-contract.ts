/** Reads of a task besides its state: its feed, its journal, and everything that an export contains. */
import { inOrder, type KeyedEntry, readingKey } from "@parley/core";
import { describe, expect, test } from "vitest";
import { accept, anAsk, aStep, aWithdrawal, GRACE_MS, LEASE_MS, newToken } from "../builders.ts";
import { until } from "../../support/until.ts";
import type { UnderTest } from "./under-test.ts";

export function records({ store, newTaskId, life, record, journalOf }: UnderTest): void {
  describe("report", () => {
    test("message, text for the model and feed are shown to clients, and the feed is read on from a cursor", async () => {
      const taskId = await life.create();
      const token = await life.begin({ taskId, run: 1 });
      const report = { taskId, token, nowMs: Date.now() };
      expect(await store.feed(taskId, undefined)).toEqual({ items: [], cursor: undefined, cursors: [] });

      await store.report({
        ...report,
        items: [{ type: "progress", progress: 1, total: 3 }],
        message: "looking",
        immediateResponse: "Wait a bit.",
      });
      const first = await store.feed(taskId, undefined);
      await store.report({
        ...report,
        items: [
          { type: "log", level: "info", data: { table: 4 } },
          { type: "emit", kind: "toast", data: { message: "Held ☃" } },
          { type: "progress", progress: 2 },
        ],
      });
      const second = await store.feed(taskId, first.cursor);

      expect(await store.load(taskId)).toMatchObject({ message: "looking", immediateResponse: "Wait a bit.", revision: 3 });
      expect(first.items).toEqual([{ type: "progress", progress: 1, total: 3 }]);
      expect(second.items).toEqual([
        { type: "log", level: "info", data: { table: 4 } },
        { type: "emit", kind: "toast", data: { message: "Held ☃" } },
        { type: "progress", progress: 2 },
      ]);
      expect(await store.feed(taskId, second.cursor)).toEqual({ items: [], cursor: second.cursor, cursors: [] });
    });

    test("a feed is read in pieces of any size, and no item is left out or read twice", async () => {
      const taskId = await life.create();
      const token = await life.begin({ taskId, run: 1 });
      const items = Array.from({ length: 5 }, (_, progress) => ({ type: "progress", progress }) as const);
      await store.report({ taskId, token, nowMs: Date.now(), items });

      const first = await store.feed(taskId, undefined, 2);
      const second = await store.feed(taskId, first.cursor, 3);

      expect([first.items, second.items]).toEqual([items.slice(0, 2), items.slice(2)]);
      expect((await store.feed(taskId, second.cursor, 1)).items).toEqual([]);
      expect(second.cursors.at(-1)).toBe(second.cursor);
      const [one = ""] = second.cursors;
      expect((await store.feed(taskId, one)).items).toEqual(items.slice(3));
    });

    test("a feed keeps the newest thousand items", async () => {
      const taskId = await life.create();
      const token = await life.begin({ taskId, run: 1 });
      const items = Array.from({ length: 1_200 }, (_, progress) => ({ type: "progress", progress }) as const);
      await store.report({ taskId, token, nowMs: Date.now(), items });

      const feed = await store.feed(taskId, undefined);

      expect(feed.items).toEqual(items.slice(200));
    });
  });

  describe("journal", () => {
    test("lists each entry with its place and arrival, without its content", async () => {
      const taskId = await life.create({ arguments: { large: "x".repeat(5_000) } });
      const token = await life.begin({ taskId, run: 1 });
      await record(
        taskId,
        token,
        aStep("a", `a secret that is ${"long ".repeat(1_000)}`),
        { key: "step:b", entry: { digest: "", outcome: { type: "begun" }, calledAt: "0" } },
        { key: "sleep:c", entry: { digest: "", outcome: { type: "value", value: 5 }, calledAt: "0" } },
        aWithdrawal("size", 2),
      );
      await life.park(taskId, token, [anAsk("name"), anAsk("age")]);
      const answeredAtMs = Date.now();
      const answer = { taskId, key: "name", digest: "digest-of-name", answer: accept("Ann"), nowMs: answeredAtMs, graceMs: GRACE_MS };
      await store.answer(answer);
      await store.cancel({ taskId, nowMs: Date.now(), message: "over" });

      const lines = await store.journal(taskId);

      expect(inOrder(lines)).toEqual([
        { key: "step:a", place: 1, state: "recorded" },
        { key: "ask:size", place: 2, state: "withdrawn" },
        { key: "ask:name", arrivedAtMs: answeredAtMs, state: "recorded" },
        { key: "ask:age", state: "closed" },
        { key: "sleep:c", state: "recorded" },
        { key: "step:b", state: "begun" },
      ]);
      expect(await store.journal(newTaskId())).toEqual([]);
      expect(await store.journal("no task id")).toEqual([]);
    });
  });

  test("what others hear with an entry is no part of it, and without subscribers changes nothing", async () => {
    const taskId = await life.create();
    const token = await life.begin({ taskId, run: 1 });
    await record(taskId, token, { key: "step:a", entry: { digest: "", outcome: { type: "begun" }, calledAt: "0" } });
    const { revision } = await life.load(taskId);
    const step = aStep("a", "yes");
    await record(taskId, token, { ...step, entry: { ...step.entry, tells: { what: "spent", key: "ask" } } });
    expect((await life.load(taskId)).revision).toBe(revision);
    expect([...(await journalOf(taskId, 1))]).toEqual([["step:a", step.entry]]);
  });

  describe("a recorded value", () => {
    test("has its keys in the order in which the first run saw them, because a handler may iterate over them", async () => {
      const taskId = await life.create();
      const token = await life.begin({ taskId, run: 1 });
      await record(taskId, token, aStep("stock", { pears: 3, apples: { red: 1, green: 2 } }));
      await life.park(taskId, token, [anAsk("basket")]);
      const answer = { action: "accept", content: { pears: 1, apples: 2 } } as const;
      await store.answer({ taskId, key: "basket", digest: "digest-of-basket", answer, nowMs: Date.now(), graceMs: GRACE_MS });

      const next = await store.begin({ taskId, run: 2, token: newToken(), nowMs: Date.now(), leaseMs: LEASE_MS });

      const recorded = (key: string) => JSON.stringify(next.type === "begun" && next.journal.get(key)?.outcome);
      expect(recorded("step:stock")).toContain('{"pears":3,"apples":{"red":1,"green":2}}');
      expect(recorded("ask:basket")).toContain('{"pears":1,"apples":2}');
    });
  });

  describe("what a schema made of an answer", () => {
    test("is returned with the journal and counts in its size, and is not listed as an effect", async () => {
      const taskId = await life.create();
      const token = await life.begin({ taskId, run: 1 });
      const outcome = { type: "value", value: { id: "drawn" } } as const;
      const reading: KeyedEntry = { key: readingKey("event:paid@1#2"), entry: { digest: "", calledAt: "0", outcome } };
      await record(taskId, token, reading, aStep("a", 1));

      const recorded = await store.recorded(taskId);
      expect(recorded?.type === "recorded" && recorded.journal.get(reading.key)).toEqual(reading.entry);
      expect((await store.journal(taskId)).map(({ key }) => key)).toEqual(["step:a"]);
      // Workers of an older version skip keys without a colon.
      expect(reading.key).not.toContain(":");
      await life.park(taskId, token, []);
      const next = await store.begin({ taskId, run: 2, token: "next", nowMs: Date.now(), leaseMs: LEASE_MS });
      expect(next.type === "begun" && next.journal.get(reading.key)).toEqual(reading.entry);
    });
  });

  describe("recorded", () => {
    test("returns what the next run would receive, without beginning it: arguments, open asks, entries with their values", async () => {
      const given = { text: "x".repeat(2_000) };
      const taskId = await life.create({ arguments: given });
      const first = await life.begin({ taskId, run: 1 });
      const step: KeyedEntry = { key: "step:a", entry: { digest: "", calledAt: "0", place: 1, outcome: { type: "value", value: "é" } } };
      await store.record({ taskId, token: first, nowMs: Date.now(), leaseMs: LEASE_MS, entries: [step] });
      await life.park(taskId, first, [anAsk("size"), anAsk("name")]);
      await life.answer(taskId, "size", "4");

      const recorded = await store.recorded(taskId);
      const again = await store.recorded(taskId);

      expect(again).toEqual(recorded);
      expect(recorded).toMatchObject({ type: "recorded", task: { id: taskId, call: { arguments: given, seed: expect.any(String) } } });
      const begun = await store.begin({ taskId, run: 2, token: newToken(), nowMs: Date.now(), leaseMs: LEASE_MS });
      if (recorded?.type !== "recorded" || begun.type !== "begun") throw new Error("the task is not there");
      expect(recorded.journal).toEqual(begun.journal);
      expect(recorded.task).toEqual({ ...begun.task, run: 1 });
      expect(recorded.task.asks.map(({ key }) => key)).toEqual(["name"]);
    });

    test("a task keeps the version that it was created with until a run or a restart moves it; '' means none", async () => {
      const taskId = await life.create({ version: "1" });
      const versions = async () => [(await life.load(taskId)).call.version, (await read(taskId)).call.version];
      expect(await versions()).toEqual(["1", "1"]);
      const token = await life.begin({ taskId, run: 1 });
      const write = { taskId, token, nowMs: Date.now() };
      await store.report({ ...write, items: [], version: "2" });
      expect(await versions()).toEqual(["2", "2"]);
      const rest = { entries: [], asks: [], dueAtMs: Date.now(), attempt: 0, graceMs: GRACE_MS };
      await store.park({ ...write, ...rest, restart: { arguments: {}, version: "3" } });
      expect(await versions()).toEqual(["3", "3"]);
      const next = await life.begin({ taskId, run: 2 });
      await store.park({ ...write, token: next, ...rest, restart: { arguments: {} } });
      expect(await versions()).toEqual(["3", "3"]);
      await store.report({ ...write, token: await life.begin({ taskId, run: 3 }), items: [], version: "" });
      expect(await versions()).toEqual([undefined, undefined]);

      async function read(id: string) {
        const recorded = await store.recorded(id);
        if (recorded?.type !== "recorded") throw new Error("the task is not there");
        return recorded.task;
      }
    });

    test("returns nothing for a task that is over: no run will find its arguments and its journal again", async () => {
      const taskId = await life.parked([anAsk("size")], { arguments: { text: "x".repeat(2_000) } });
      await life.answer(taskId, "size", "4");
      await life.finish(taskId, await life.begin({ taskId, run: 2 }));
      expect(await store.recorded(taskId)).toBeUndefined();
    });

    test("still returns a task that has ended and has to be compensated, until that is done", async () => {
      const taskId = await life.create({ arguments: { text: "x".repeat(2_000) }, compensates: true });
      const first = await life.begin({ taskId, run: 1 });
      const outcome = { type: "error", error: { code: 1, message: "no" } } as const;
      await store.finish({ taskId, token: first, nowMs: Date.now(), entries: [aStep("a", 1)], outcome, owes: "failed" });
      expect(await store.recorded(taskId)).toMatchObject({ type: "recorded", task: { call: { arguments: { text: "x".repeat(2_000) } } } });
      const token = await life.begin({ taskId, run: 2 });
      await store.settle({ taskId, token, nowMs: Date.now(), entries: [aStep("compensation:/a", 1)] });
      expect(await store.recorded(taskId)).toBeUndefined();
      expect((await store.journal(taskId)).map(({ key }) => key).toSorted()).toEqual(["step:a", "step:compensation:/a"]);
    });

    describe("a task that keeps its content", () => {
      const given = { text: "x".repeat(2_000) };
      const keeping = { arguments: given, keepsContent: true } as const;

      test.each([
        ["completed", (taskId: string, token: string) => life.finish(taskId, token)],
        ["cancelled", (taskId: string) => life.cancel(taskId)],
      ] as const)("is returned whole once it is %s, with its feed and its receipts", async (status, end) => {
        const taskId = await life.parked([anAsk("size"), anAsk("open")], keeping);
        await life.answer(taskId, "size", "4");
        const token = await life.begin({ taskId, run: 2 });
        await record(taskId, token, aStep("hold", "held", 2));
        await store.report({ taskId, token, nowMs: Date.now(), items: [{ type: "progress", progress: 1 }] });
        await end(taskId, token);

        const recorded = await store.recorded(taskId);
        if (recorded?.type !== "recorded") throw new Error("the task is not there");
        expect(recorded.task).toMatchObject({ status, call: { arguments: given, keepsContent: true, seed: expect.any(String) } });
        expect(recorded.journal.get("ask:size")?.outcome).toMatchObject({ type: "answer" });
        expect(recorded.journal.get("ask:open")?.outcome).toEqual({ type: "closed" });
        expect(recorded.journal.get("step:hold")?.outcome).toEqual({ type: "value", value: "held" });
        expect((await store.feed(taskId, undefined)).items).toEqual([{ type: "progress", progress: 1 }]);
        expect((await store.journal(taskId)).map(({ key }) => key).toSorted()).toEqual(["ask:open", "ask:size", "step:hold"]);
        expect(await life.answer(taskId, "size", "4")).toEqual({ receipt: "duplicate" });
        expect(await life.answer(taskId, "size", "5")).toEqual({ receipt: "late" });
        expect(await life.load(taskId)).toMatchObject({ status, call: { keepsContent: true } });
      });

      test("has the arguments of its last restart and what was recorded since", async () => {
        const taskId = await life.create(keeping);
        const token = await life.begin({ taskId, run: 1 });
        await record(taskId, token, aStep("before", 1));
        const rest = { entries: [], asks: [], dueAtMs: Date.now(), attempt: 0, graceMs: GRACE_MS };
        await store.park({ taskId, token, nowMs: Date.now(), ...rest, restart: { arguments: { text: "again" } } });
        const next = await life.begin({ taskId, run: 2 });
        await record(taskId, next, aStep("after", 1));
        await life.finish(taskId, next);
        const recorded = await store.recorded(taskId);
        expect(recorded).toMatchObject({ type: "recorded", task: { call: { arguments: { text: "again" } } } });
        expect(recorded?.type === "recorded" && [...recorded.journal.keys()]).toEqual(["step:after"]);
      });

      test("keeps the record of its compensation too", async () => {
        const taskId = await life.create({ ...keeping, compensates: true });
        const first = await life.begin({ taskId, run: 1 });
        const outcome = { type: "error", error: { code: 1, message: "no" } } as const;
        await store.finish({ taskId, token: first, nowMs: Date.now(), entries: [aStep("a", 1)], outcome, owes: "failed" });
        const token = await life.begin({ taskId, run: 2 });
        await store.settle({ taskId, token, nowMs: Date.now(), entries: [aStep("compensation:/a", 1)] });
        const recorded = await store.recorded(taskId);
        expect(recorded).toMatchObject({ type: "recorded", task: { status: "failed", call: { arguments: given } } });
        expect(recorded?.type === "recorded" && [...recorded.journal.keys()].toSorted()).toEqual(["step:a", "step:compensation:/a"]);
      });

      test("is gone with its retention, whole", async () => {
        const taskId = await life.create({ ...keeping, retentionMs: 2_000 });
        const token = await life.begin({ taskId, run: 1 });
        await store.report({ taskId, token, nowMs: Date.now(), items: [{ type: "progress", progress: 1 }] });
        await life.finish(taskId, token);
        expect(await store.recorded(taskId)).toMatchObject({ type: "recorded" });
        await until(async () => (await store.recorded(taskId)) === undefined);
        expect(await store.journal(taskId)).toEqual([]);
        expect((await store.feed(taskId, undefined)).items).toEqual([]);
      });

      test("leaves nothing if it is not kept after its end", async () => {
        const taskId = await life.create({ ...keeping, retentionMs: 0 });
        await life.finish(taskId, await life.begin({ taskId, run: 1 }));
        expect(await store.recorded(taskId)).toBeUndefined();
      });
    });

    test("returns nothing for a missing task", async () => {
      expect(await store.recorded(newTaskId())).toBeUndefined();
      expect(await store.recorded("no task id")).toBeUndefined();
    });
  });
}
