/** A task from its creation to its end, and when it expires. */
import type { Call, ClientCapabilities } from "@parley/core";
import { describe, expect, test } from "vitest";
import { until } from "../../support/until.ts";
import { accept, aCall, anAsk, aStep, GRACE_MS, HOUR_MS, LEASE_MS, newToken, WEEK_MS } from "../builders.ts";
import { sealedFor, type UnderTest } from "./under-test.ts";

export function createAndEnd({ store, newTaskId, life, overdueAt, begin, record, journalOf }: UnderTest): void {
  describe("create", () => {
    test("a created task is working and has everything that was sent with the call", async () => {
      const request = { id: 'a "request"', progressToken: 0 };
      const call = aCall({ replies: { early: { action: "decline" } }, request });
      const taskId = newTaskId();

      expect(await store.create({ taskId, call, graceMs: GRACE_MS })).toBe("created");

      const { arguments: _arguments, seed: _seed, replies: _replies, ...facts } = call;
      const task = {
        id: taskId,
        call: facts,
        status: "working",
        revision: 1,
        run: 0,
        updatedAtMs: call.createdAtMs,
        generation: 0,
        asks: [],
      };
      expect(await store.load(taskId)).toEqual(task);
      expect(await begin(taskId, 1)).toMatchObject({
        type: "begun",
        task: { ...task, run: 1, call: { ...call, seed: sealedFor(call.seed) } },
        journal: new Map(),
      });
    });

    test.each([0, 1_000, 1_024, 1_025, 262_144])(
      "arguments and early replies of %i characters reach every run and are not shown to clients",
      async (length) => {
        const given = { arguments: { "party\n": "☃".repeat(length) }, replies: { early: { action: "accept", content: { a: "\n" } } } };
        const taskId = await life.create(given);
        await record(taskId, await life.begin({ taskId, run: 1 }), aStep("a", 1));

        const again = await begin(taskId, 1, { nowMs: Date.now() + LEASE_MS });

        expect(again).toMatchObject({ type: "begun", task: { call: given }, journal: new Map([["step:a", aStep("a", 1).entry]]) });
        expect(JSON.stringify(await store.load(taskId))).not.toContain("party");
      },
    );

    test("what its caller is called is kept with it, also once it has ended, and takes no space if it is not known", async () => {
      for (const caller of [{ name: "Ada ☃", email: "ada@acme.io", subject: "7" }, { name: "api-key:nightly" }]) {
        const taskId = await life.create({ caller });
        expect((await store.load(taskId))?.call.caller).toEqual(caller);
        const token = newToken();
        expect(await begin(taskId, 1, { token })).toMatchObject({ type: "begun", task: { call: { caller } } });
        await life.finish(taskId, token);
        expect((await store.load(taskId))?.call.caller).toEqual(caller);
      }
      expect((await store.load(await life.create({})))?.call).not.toHaveProperty("caller");
    });

    test("the trace that it belongs to is kept with it, and takes no space if there is none", async () => {
      const call = aCall({ traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" });
      const taskId = newTaskId();
      await store.create({ taskId, call, graceMs: GRACE_MS });
      expect(await store.load(taskId)).toMatchObject({ call: { traceparent: call.traceparent } });
      expect((await store.load(await life.create()))?.call).not.toHaveProperty("traceparent");
    });

    test("the request that it carries is kept with it, under any id", async () => {
      for (const request of [{ id: 7 }, { id: "\n", progressToken: "p" }, { id: 0, progressToken: 0 }]) {
        const taskId = await life.create({ request, hidden: true });
        expect((await store.load(taskId))?.call.request).toEqual(request);
        expect(await begin(taskId, 1)).toMatchObject({ task: { call: { request } } });
      }
      expect((await store.load(await life.create()))?.call).not.toHaveProperty("request");
    });

    test("the client's capabilities are returned as they were declared", async () => {
      const declared: ClientCapabilities[] = [
        {},
        { elicitation: { form: false, url: true }, roots: true },
        { elicitation: { form: false, url: false }, sampling: { tools: false } },
        { elicitation: { form: true, url: true }, sampling: { tools: true }, roots: true },
      ];
      for (const capabilities of declared) {
        expect((await life.load(await life.create({ capabilities }))).call.capabilities).toEqual(capabilities);
      }
    });

    test("creating a task twice changes nothing the second time", async () => {
      const taskId = await life.create({ name: "first" });

      expect(await store.create({ taskId, call: aCall({ name: "second" }), graceMs: GRACE_MS })).toBe("exists");

      expect((await life.load(taskId)).call.name).toBe("first");
    });

    test("the first run is overdue once the grace is over, so a caller that dies before it adds the run loses nothing", async () => {
      const { createdAtMs } = aCall();
      const taskId = await life.create({ createdAtMs });

      expect(await overdueAt(createdAtMs + GRACE_MS - 1, taskId)).toBeUndefined();
      expect(await overdueAt(createdAtMs + GRACE_MS, taskId)).toBe(1);
    });

    test("an unknown id, and a string that is not a task id, find no task", async () => {
      expect(await store.load(newTaskId())).toBeUndefined();
      for (const id of ["", "nonsense", "0-short", "0-{p1}:due..............", "99999-AAAAAAAAAAAAAAAAAAAAAA"]) {
        expect(await store.load(id)).toBeUndefined();
        expect(await begin(id, 1)).toEqual({ type: "refused", reason: "unknown" });
        expect(await store.cancel({ taskId: id, nowMs: Date.now(), message: "" })).toBe("unknown");
      }
    });
  });

  describe("create with a key", () => {
    const create = (taskId: string, key: string, fingerprint = "print", call: Partial<Call> = {}) =>
      store.create({ taskId, call: aCall(call), graceMs: GRACE_MS, once: { key, fingerprint } });

    test("returns the same task as long as that exists, with its id and the fingerprint of its call", async () => {
      const [first, second, other] = [newTaskId(), newTaskId(), newTaskId()];
      const key = newToken();
      expect(await create(first, key)).toBe("created");
      expect(await create(second, key, "another print")).toEqual({ known: first, fingerprint: "print" });
      expect(await store.load(second)).toBeUndefined();
      expect(await create(other, newToken())).toBe("created");
      await life.finish(first, await life.begin({ taskId: first, run: 1 }));
      expect(await create(second, key)).toEqual({ known: first, fingerprint: "print" });
    });

    test("that is sent twice changes nothing the second time", async () => {
      const [taskId, key] = [newTaskId(), newToken()];
      expect([await create(taskId, key), await create(taskId, key)]).toEqual(["created", "exists"]);
    });

    test("that is sent twenty times at once creates one task", async () => {
      const key = newToken();
      const taskIds = Array.from({ length: 20 }, newTaskId);
      const became = await Promise.all(taskIds.map((taskId) => create(taskId, key)));
      const created = taskIds[became.indexOf("created")];
      expect(became.filter((each) => each !== "created")).toEqual(
        Array.from({ length: 19 }, () => ({ known: created, fingerprint: "print" })),
      );
    });

    test("is free again when the task is forgotten (I7)", async () => {
      const [first, second, key] = [newTaskId(), newTaskId(), newToken()];
      await create(first, key, "print", { retentionMs: 1 });
      await life.finish(first, await life.begin({ taskId: first, run: 1 }));
      await until(async () => (await store.load(first)) === undefined);
      expect(await create(second, key, "another print")).toBe("created");
    });
  });

  describe("finish", () => {
    test("a result completes the task, an error fails it, and both can be read", async () => {
      const completed = await life.create();
      const result = { content: [{ type: "text", text: "Confirmed" }], isError: true };
      const nowMs = Date.now();
      const fence = { taskId: completed, token: await life.begin({ taskId: completed, run: 1 }), nowMs };
      await store.finish({ ...fence, entries: [], outcome: { type: "result", result }, message: "done" });
      expect(await store.load(completed)).toMatchObject({
        status: "completed",
        outcome: { type: "result", result },
        message: "done",
        updatedAtMs: nowMs,
      });

      const failed = await life.create();
      const error = { code: -32603, message: "no", data: { a: 1 } };
      const token = await life.begin({ taskId: failed, run: 1 });
      await store.finish({ taskId: failed, token, nowMs: Date.now(), entries: [], outcome: { type: "error", error } });
      expect(await store.load(failed)).toMatchObject({ status: "failed", outcome: { type: "error", error } });
    });

    test("what the task said while it waited is gone when it ends", async () => {
      const taskId = await life.create();
      const fence = { taskId, token: await life.begin({ taskId, run: 1 }), nowMs: Date.now() };
      expect(await store.report({ ...fence, items: [], message: "Waiting for the oven" })).toBe("reported");
      expect(await store.load(taskId)).toMatchObject({ message: "Waiting for the oven" });
      await store.finish({ ...fence, entries: [], outcome: { type: "result", result: { content: [] } } });
      expect((await store.load(taskId))?.message).toBeUndefined();
    });

    test("I3: open asks are closed, and an answer to one of them is late", async () => {
      const taskId = await life.parked([anAsk("size")]);
      await life.finish(taskId, await life.begin({ taskId, run: 2 }));

      expect(await store.load(taskId)).toMatchObject({ status: "completed", asks: [] });
      expect(await life.answer(taskId, "size", "4")).toEqual({ receipt: "late" });
      expect(await life.answer(taskId, "colour", "red")).toEqual({ receipt: "unknown" });
    });

    test("I1: a finished task never changes again, and is never due again", async () => {
      const taskId = await life.parked([anAsk("size")]);
      await life.answer(taskId, "size", "4");
      const token = await life.begin({ taskId, run: 2 });
      await life.finish(taskId, token);
      const finished = await life.load(taskId);

      expect(await life.finish(taskId, token, "again")).toBe("refused");
      expect(await life.park(taskId, token, [anAsk("more")])).toEqual({ type: "refused" });
      expect(await store.report({ taskId, token, nowMs: Date.now(), items: [], message: "more" })).toBe("refused");
      expect(await life.cancel(taskId)).toBe("finished");
      expect(await life.answer(taskId, "size", "4")).toEqual({ receipt: "duplicate" });
      expect(await begin(taskId, 3)).toEqual({ type: "refused", reason: "finished" });
      expect(await store.load(taskId)).toEqual(finished);
      expect(await overdueAt(Date.now() + 365 * 24 * HOUR_MS, taskId)).toBeUndefined();
    });
  });

  describe("cancel", () => {
    test("a waiting task is cancelled, its asks are closed", async () => {
      const taskId = await life.parked([anAsk("size")]);

      expect(await life.cancel(taskId)).toBe("cancelled");

      expect(await store.load(taskId)).toMatchObject({ status: "cancelled", asks: [], message: "Cancelled by the client." });
      expect(await life.answer(taskId, "size", "4")).toEqual({ receipt: "late" });
      expect(await overdueAt(Date.now() + 24 * HOUR_MS, taskId)).toBeUndefined();
      expect(await life.cancel(taskId)).toBe("finished");
    });

    test("a run whose task is cancelled learns of it with its next write, and can no longer finish the task", async () => {
      const taskId = await life.create();
      const token = await life.begin({ taskId, run: 1 });
      await life.cancel(taskId);

      expect(await store.renew({ taskId, token, nowMs: Date.now(), leaseMs: LEASE_MS })).toBe("cancelled");
      expect(await life.finish(taskId, token)).toBe("refused");
      expect(await store.load(taskId)).toMatchObject({ status: "cancelled" });
    });

    test("exactly one of a racing result and cancellation ends the task", async () => {
      for (let round = 0; round < 10; round += 1) {
        const taskId = await life.create();
        const token = await life.begin({ taskId, run: 1 });

        const [finished, cancelled] = await Promise.all([life.finish(taskId, token), life.cancel(taskId)]);

        expect([finished === "finished", cancelled === "cancelled"]).toContain(true);
        expect(finished === "finished").toBe(cancelled === "finished");
        expect((await life.load(taskId)).status).toBe(finished === "finished" ? "completed" : "cancelled");
      }
    });
  });

  describe("expiry", () => {
    test("I7: an unfinished task never expires, with any retention: not before its first run, at work, parked or answered", async () => {
      const weekAgo = { createdAtMs: Date.now() - WEEK_MS, retentionMs: 1 };
      const waiting = await life.create(weekAgo);
      const atWork = await life.create(weekAgo);
      const token = await life.begin({ taskId: atWork, run: 1 }, weekAgo.createdAtMs);
      await store.record({ taskId: atWork, token, nowMs: weekAgo.createdAtMs, leaseMs: LEASE_MS, entries: [aStep("a", 1)] });
      await store.report({ taskId: atWork, token, nowMs: weekAgo.createdAtMs, items: [{ type: "progress", progress: 1 }] });
      const parked = await life.create(weekAgo);
      await life.park(parked, await life.begin({ taskId: parked, run: 1 }), [anAsk("size")], weekAgo.createdAtMs);
      const answered = await life.parked([anAsk("size")], weekAgo);
      await life.answer(answered, "size", "4");
      const ended = await life.create(weekAgo);
      await life.cancel(ended);
      await expect.poll(() => store.load(ended)).toBeUndefined();

      for (const [taskId, run] of [
        [waiting, 1],
        [atWork, 1],
        [parked, 2],
        [answered, 2],
      ] as const) {
        expect(await life.load(taskId)).not.toHaveProperty("expiresAtMs");
        expect(await overdueAt(Date.now() + LEASE_MS, taskId)).toBe(run);
      }
      expect((await store.feed(atWork, undefined)).items).toHaveLength(1);
      expect(await journalOf(atWork, 1)).toEqual(new Map([["step:a", aStep("a", 1).entry]]));
      expect((await journalOf(answered, 2)).get("ask:size")).toMatchObject({ outcome: { type: "answer", answer: accept("4") } });
      expect(await life.answer(parked, "size", "4")).toEqual({ receipt: "accepted", nextRun: 2 });
      for (const taskId of [waiting, atWork, parked, answered]) await life.cancel(taskId);
    });

    test("the retention begins with the end, regardless of what the task waited for before", async () => {
      const taskId = await life.create({ createdAtMs: Date.now() - WEEK_MS, retentionMs: HOUR_MS });
      await life.park(taskId, await life.begin({ taskId, run: 1 }), [anAsk("size")], Date.now() + WEEK_MS);
      const nowMs = Date.now();
      await store.cancel({ taskId, nowMs, message: "" });
      expect((await life.load(taskId)).expiresAtMs).toBe(nowMs + HOUR_MS);
    });

    test("a task whose retention is over when it ends is deleted at once and leaves nothing behind", async () => {
      const longAgo = { nowMs: Date.now() - WEEK_MS, entries: [aStep("a", 1)], outcome: { type: "result", result: {} } } as const;
      const finished = await life.parked([anAsk("size")], { retentionMs: 1 });
      await store.finish({ taskId: finished, token: await life.begin({ taskId: finished, run: 2 }), ...longAgo });
      const cancelled = await life.parked([anAsk("size")], { retentionMs: 1 });
      await store.cancel({ taskId: cancelled, nowMs: longAgo.nowMs, message: "" });

      expect([await store.load(finished), await store.load(cancelled)]).toEqual([undefined, undefined]);
    });

    test("a finished task is kept for its retention and then deleted", async () => {
      const nowMs = Date.now();
      const finished = async (retentionMs: number): Promise<string> => {
        const taskId = await life.create({ retentionMs });
        const token = await life.begin({ taskId, run: 1 });
        await store.report({ taskId, token, nowMs, items: [{ type: "progress", progress: 1 }] });
        await store.finish({ taskId, token, nowMs, entries: [aStep("a", 1)], outcome: { type: "result", result: {} } });
        return taskId;
      };
      expect(await store.load(await finished(HOUR_MS))).toMatchObject({ expiresAtMs: nowMs + HOUR_MS });

      const taskId = await finished(100);
      await expect.poll(() => store.load(taskId)).toBeUndefined();
      expect(await store.feed(taskId, undefined)).toEqual({ items: [], cursor: undefined, cursors: [] });
      expect(await life.cancel(taskId)).toBe("unknown");
    });
  });

  describe("overdue", () => {
    test("the tasks that have waited longest come first, up to the given limit", async () => {
      const longAgo = Date.now() - 40 * 60_000;
      const taskIds: string[] = [];
      for (const age of [2, 0, 1]) taskIds[age] = await life.create({ createdAtMs: longAgo - age });

      const all = await store.overdue({ partition: 0, nowMs: longAgo + GRACE_MS, limit: 3 });
      const two = await store.overdue({ partition: 0, nowMs: longAgo + GRACE_MS, limit: 2 });

      expect(all.map(({ taskId }) => taskId)).toEqual(taskIds.toReversed());
      expect(two).toHaveLength(2);
      expect(await store.overdue({ partition: 0, nowMs: longAgo + GRACE_MS, limit: 8 })).toEqual(all);
      for (const taskId of taskIds) await life.cancel(taskId);
    });

    test("tasks beyond the limit hide nothing: the latest ones are returned at once, the others in turns", async () => {
      const longAgo = Date.now() - 40 * 60_000;
      const taskIds: string[] = [];
      for (let age = 0; age < 11; age += 1) taskIds[age] = await life.create({ createdAtMs: longAgo - age });
      const overdue = async (nowMs: number, limit: number) =>
        (await store.overdue({ partition: 0, nowMs, limit })).map(({ taskId }) => taskIds.indexOf(taskId));

      const pages: number[][] = [];
      for (let afterMs = 0; afterMs < 3; afterMs += 1) pages.push(await overdue(longAgo + GRACE_MS + afterMs, 5));
      for (const page of pages) expect(page.slice(-2)).toEqual([1, 0]);
      expect(pages.map((page) => page.slice(0, -2)).toSorted((a, b) => (b[0] ?? 0) - (a[0] ?? 0))).toEqual([
        [10, 9, 8],
        [7, 6, 5],
        [4, 3, 2],
      ]);
      // The last page may be short.
      const seen = new Set<number>();
      for (let afterMs = 0; afterMs < 2; afterMs += 1) {
        const page = await overdue(longAgo + GRACE_MS + afterMs, 8);
        expect(new Set(page).size).toBe(page.length);
        for (const age of page) seen.add(age);
      }
      expect(seen.size).toBe(11);
      for (const taskId of taskIds) await life.cancel(taskId);
    });

    test("a task that is due and cannot be run is postponed; one that is due later, is held or has ended is not", async () => {
      const createdAtMs = Date.now();
      const dueAtMs = createdAtMs + GRACE_MS;
      const [taskId, held, ended] = [
        await life.create({ createdAtMs }),
        await life.create({ createdAtMs }),
        await life.create({ createdAtMs }),
      ];
      const laterMs = dueAtMs + HOUR_MS;
      const postpone = (id: string, nowMs: number) => store.postpone({ taskId: id, nowMs, dueAtMs: laterMs });

      await postpone(taskId, dueAtMs - 1);
      expect(await overdueAt(dueAtMs, taskId)).toBe(1);
      await postpone(taskId, dueAtMs);
      expect(await overdueAt(laterMs - 1, taskId)).toBeUndefined();
      expect(await overdueAt(laterMs, taskId)).toBe(1);

      const heldFromMs = Date.now();
      await life.begin({ taskId: held, run: 1 }, heldFromMs);
      await postpone(held, heldFromMs + LEASE_MS - 1);
      expect(await overdueAt(heldFromMs + LEASE_MS, held)).toBe(1);
      await life.cancel(ended);
      for (const id of [ended, newTaskId(), "no task id"]) await postpone(id, dueAtMs);
      expect(await overdueAt(laterMs, ended)).toBeUndefined();
      for (const id of [taskId, held]) await life.cancel(id);
    });

    test("a partition returns its own tasks only", async () => {
      const taskId = await life.create();

      expect(await store.overdue({ partition: 1, nowMs: Date.now() + HOUR_MS, limit: 10 })).toEqual([]);
      expect(await overdueAt(Date.now() + HOUR_MS, taskId)).toBe(1);
    });
  });
}
