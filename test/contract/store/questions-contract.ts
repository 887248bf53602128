/** Questions: asked, asked again, withdrawn. */
import { describe, expect, test, vi } from "vitest";
import { accept, anAsk, aStep, aWithdrawal, GRACE_MS, HOUR_MS } from "../builders.ts";
import type { UnderTest } from "./under-test.ts";

export function questions({ store, wakeUps, newTaskId, life, overdueAt, begin, record, journalOf, countWakes }: UnderTest): void {
  describe("park", () => {
    test("I3: the task is input_required with its asks in the order in which they were asked, round after round", async () => {
      const [size, name, later] = [anAsk("size", { onTimeout: { default: { size: "2" } } }), anAsk("name"), anAsk("a-later-one")];
      const taskId = await life.create();
      await life.park(taskId, await life.begin({ taskId, run: 1 }), [size, name]);
      expect(await store.load(taskId)).toMatchObject({ status: "input_required", asks: [size, name] });

      await life.park(taskId, await life.begin({ taskId, run: 2 }), [size, name, later]);

      expect((await life.load(taskId)).asks).toMatchObject([size, name, later]);
    });

    test("an open ask has the revision of its last change, and its position after earlier ones", async () => {
      const taskId = await life.parked([anAsk("size"), anAsk("name")]);
      const moments = async () => Object.fromEntries((await life.load(taskId)).asks.map(({ key, since }) => [key, since]));
      expect(await moments()).toEqual({ size: { revision: 2, position: 0 }, name: { revision: 2, position: 1 } });

      const request = { taskId, key: "size", digest: "digest-of-size", violations: [], nowMs: Date.now() };
      await store.refuse(request);
      await life.park(taskId, await life.begin({ taskId, run: 2 }), [anAsk("size"), anAsk("name"), anAsk("colour")]);
      await store.refuse(request);

      expect(await moments()).toEqual({
        size: { revision: 5, position: 0 },
        name: { revision: 2, position: 1 },
        colour: { revision: 4, position: 2 },
      });
      expect((await life.load(taskId)).asks.map(({ key }) => key)).toEqual(["size", "name", "colour"]);
      await store.refuse({ ...request, key: "name", digest: "digest-of-name" });
      expect(await moments()).toMatchObject({ name: { revision: 6, position: 1 } });
    });

    test("every kind of ask and every policy is returned as it was asked", async () => {
      const form = { type: "object", properties: { a: { type: "string" } } };
      const asks = [
        anAsk("form", { request: { type: "form", message: "Wie viele?\n☃", schema: form }, onTimeout: { default: { a: "b" } } }),
        anAsk("url", { request: { type: "url", message: "Sign in", url: "https://example.test/?a=1&b=2" }, onTimeout: "decline" }),
        anAsk("visit", { request: { type: "url", message: "Pay", url: "https://pay.example", completedBy: "event" } }),
        anAsk("sampling", { request: { type: "sampling", params: { messages: [], maxTokens: 10 } }, onTimeout: "fail" }),
        anAsk("hinted", { request: { type: "form", message: "?", schema: {}, hints: { icon: "🔒" } } }),
        anAsk("told", { request: { type: "form", message: "?", schema: {}, about: { priority: "high", dueMs: 60_000 } } }),
        anAsk("shown", {
          request: { type: "form", message: "?", schema: {}, hints: { icon: "🔒" }, about: { context: [{ type: "text", text: "☃" }] } },
        }),
        anAsk("page-told", { request: { type: "url", message: "?", url: "", page: { kind: "secret" }, about: { priority: "low" } } }),
        anAsk("page", { request: { type: "url", message: "?", url: "https://pay.example", hints: { submitLabel: "Pay" } } }),
        anAsk("roots", { request: { type: "roots" } }),
        anAsk("roots#2", { request: { type: "roots" } }),
      ];

      expect((await life.load(await life.parked(asks))).asks).toMatchObject(asks);
    });

    test("I3: a task that only sleeps stays working", async () => {
      const taskId = await life.create();
      const dueAtMs = Date.now() + 5_000;
      expect(await life.park(taskId, await life.begin({ taskId, run: 1 }), [], dueAtMs)).toEqual({ type: "parked" });

      expect(await store.load(taskId)).toMatchObject({ status: "working", revision: 1 });
      expect(await overdueAt(dueAtMs - 1, taskId)).toBeUndefined();
      expect(await overdueAt(dueAtMs, taskId)).toBe(2);
    });

    test("an ask that is already open stays as it was asked, and a run without changes wakes no watcher", async () => {
      const first = anAsk("size", { deadlineMs: Date.now() + 1_000 });
      const taskId = await life.parked([first]);
      const { revision } = await life.load(taskId);

      await life.park(taskId, await life.begin({ taskId, run: 2 }), [anAsk("size", { deadlineMs: Date.now() + HOUR_MS })]);

      expect(await store.load(taskId)).toMatchObject({ asks: [first], revision });
    });

    test("an ask that the run does not name stays open", async () => {
      const taskId = await life.parked([anAsk("size")]);
      await life.park(taskId, await life.begin({ taskId, run: 2 }), []);

      expect(await store.load(taskId)).toMatchObject({ status: "input_required", asks: [{ key: "size" }] });
    });

    test("entries are written with it, and the message if there is one", async () => {
      const taskId = await life.create();
      const token = await life.begin({ taskId, run: 1 });
      const nowMs = Date.now();
      await store.park({
        taskId,
        token,
        nowMs,
        entries: [aStep("a", 1)],
        asks: [],
        dueAtMs: nowMs,
        attempt: 0,
        message: "resting",
        graceMs: 0,
      });

      expect(await store.load(taskId)).toMatchObject({ message: "resting", revision: 2, updatedAtMs: nowMs });
      expect(await begin(taskId, 2)).toMatchObject({ journal: new Map([["step:a", aStep("a", 1).entry]]) });
    });

    test("an answer that arrived during the run makes the task due at once, and its ask is not asked again", async () => {
      const taskId = await life.parked([anAsk("size"), anAsk("name")]);
      const token = await life.begin({ taskId, run: 2 });
      expect(await life.answer(taskId, "size", "4")).toEqual({ receipt: "accepted" });

      const nowMs = Date.now();
      const asks = [anAsk("size"), anAsk("name")];
      const parked = await store.park({
        taskId,
        token,
        nowMs,
        entries: [],
        asks,
        dueAtMs: nowMs + HOUR_MS,
        attempt: 0,
        graceMs: GRACE_MS,
      });

      expect(parked).toEqual({ type: "due", run: 3 });
      expect(await store.load(taskId)).toMatchObject({ status: "input_required", asks: [{ key: "name" }] });
      expect(await overdueAt(nowMs + GRACE_MS - 1, taskId)).toBeUndefined();
      expect(await overdueAt(nowMs + GRACE_MS, taskId)).toBe(3);
    });

    test("an answer that arrived before a takeover is known to the new holder and does not make the task due again", async () => {
      const taskId = await life.parked([anAsk("size"), anAsk("name")]);
      await life.begin({ taskId, run: 2 });
      await life.answer(taskId, "size", "4");

      expect(await life.park(taskId, await life.takeOver({ taskId, run: 2 }), [anAsk("name")])).toEqual({ type: "parked" });
    });

    test("an answer that an earlier run has seen does not make the task due again", async () => {
      const taskId = await life.parked([anAsk("size"), anAsk("name")]);
      await life.answer(taskId, "size", "4");

      expect(await life.park(taskId, await life.begin({ taskId, run: 2 }), [anAsk("name")])).toEqual({ type: "parked" });
    });
  });

  describe("withdrawing an ask", () => {
    const refuse = (taskId: string, key: string) =>
      store.refuse({ taskId, key, digest: `digest-of-${key}`, violations: [], nowMs: Date.now() });

    test("closes it with everything that was noted about it, and wakes watchers (I3)", async () => {
      const taskId = await life.parked([anAsk("size"), anAsk("name")]);
      await refuse(taskId, "size");
      const token = await life.begin({ taskId, run: 2 });
      const { revision } = await life.load(taskId);
      const wakes = await countWakes(taskId);

      expect(await record(taskId, token, aStep("a", 1), aWithdrawal("size", 2))).toBe("recorded");

      await expect.poll(() => wakes.onChange).toHaveBeenCalled();
      wakes.stop();
      expect(await life.load(taskId)).toMatchObject({ status: "input_required", asks: [{ key: "name" }], revision: revision + 1 });
      await record(taskId, token, aWithdrawal("name", 3));
      expect(await life.load(taskId)).toMatchObject({ status: "working", asks: [], revision: revision + 2 });
      expect(await refuse(taskId, "size")).toBeUndefined();
      expect((await journalOf(taskId, 2)).get("ask:size")).toEqual(aWithdrawal("size", 2).entry);
    });

    test("an answer that arrives afterwards is late and makes nothing due", async () => {
      const taskId = await life.parked([anAsk("size")]);
      const token = await life.begin({ taskId, run: 2 });
      await record(taskId, token, aWithdrawal("size", 1));

      expect(await life.answer(taskId, "size", "4")).toEqual({ receipt: "late" });
      expect(await store.answer({ taskId, key: "size", answer: accept("4"), nowMs: Date.now(), graceMs: GRACE_MS })).toEqual({
        receipt: "late",
      });
      expect(await life.park(taskId, token, [])).toEqual({ type: "parked" });
    });

    test("an answer that came first is kept at the place of the withdrawal, so that its sender can repeat it", async () => {
      for (const known of [undefined, true] as const) {
        const taskId = await life.parked([anAsk("size")]);
        const token = await life.begin({ taskId, run: 2 });
        expect(await life.answer(taskId, "size", "4")).toEqual({ receipt: "accepted" });
        await record(taskId, token, { ...aWithdrawal("size", 1), ...(known && { known }) });

        expect(await life.answer(taskId, "size", "4")).toMatchObject({ receipt: "duplicate" });
        expect(await life.answer(taskId, "size", "5")).toEqual({ receipt: "late" });
        expect((await journalOf(taskId, 2)).get("ask:size")).toEqual({
          digest: "digest-of-size",
          outcome: { type: "answer", answer: accept("4") },
          calledAt: "0",
          place: 1,
          withdrawn: true,
        });
      }
    });

    test("if an answer and a withdrawal race, one comes first and both close the ask", async () => {
      for (let round = 0; round < 10; round += 1) {
        const taskId = await life.parked([anAsk("size")]);
        const token = await life.begin({ taskId, run: 2 });

        const [{ receipt }] = await Promise.all([life.answer(taskId, "size", "4"), record(taskId, token, aWithdrawal("size", 1))]);

        expect(await life.load(taskId)).toMatchObject({ status: "working", asks: [] });
        expect(["accepted", "late"]).toContain(receipt);
        expect((await journalOf(taskId, 2)).get("ask:size")).toMatchObject({
          outcome: { type: receipt === "accepted" ? "answer" : "withdrawn" },
          place: 1,
          withdrawn: true,
        });
      }
    });

    test("is visible with the park that writes it, whether or not another ask is open, and the ask is not asked again", async () => {
      for (const open of [["size"], ["size", "name"]]) {
        const taskId = await life.parked(open.map((key) => anAsk(key)));
        const token = await life.begin({ taskId, run: 2 });
        const { revision } = await life.load(taskId);
        const nowMs = Date.now();
        await store.park({
          taskId,
          token,
          nowMs,
          entries: [aWithdrawal("size", 1)],
          asks: [anAsk("size"), anAsk("name")],
          dueAtMs: nowMs + HOUR_MS,
          attempt: 0,
          graceMs: GRACE_MS,
        });

        expect(await life.load(taskId)).toMatchObject({ status: "input_required", asks: [{ key: "name" }], revision: revision + 1 });
      }
    });

    test("it stays withdrawn when the task ends, and every other open ask is closed", async () => {
      const taskId = await life.parked([anAsk("size"), anAsk("name")]);
      const token = await life.begin({ taskId, run: 2 });
      await store.finish({
        taskId,
        token,
        nowMs: Date.now(),
        entries: [aWithdrawal("size", 1)],
        outcome: { type: "result", result: {} },
      });

      expect(await life.load(taskId)).toMatchObject({ status: "completed", asks: [] });
      expect(await life.answer(taskId, "size", "4")).toEqual({ receipt: "late" });
      expect(await life.answer(taskId, "name", "Ada")).toEqual({ receipt: "late" });
    });

    test("withdrawing an ask that was never asked, or any other entry, changes nothing that clients see", async () => {
      const taskId = await life.parked([anAsk("size")]);
      const token = await life.begin({ taskId, run: 2 });
      const before = await life.load(taskId);
      await record(taskId, token, aWithdrawal("name", 1), { ...aWithdrawal("size", 2), key: "now:size" });

      expect(await life.load(taskId)).toEqual(before);
      expect(await life.answer(taskId, "name", "Ada")).toEqual({ receipt: "late" });
    });

    test("I5: a worker that was replaced withdraws nothing", async () => {
      const taskId = await life.parked([anAsk("size")]);
      const dead = await life.begin({ taskId, run: 2 });
      await life.takeOver({ taskId, run: 2 });

      expect(await record(taskId, dead, aWithdrawal("size", 1))).toBe("refused");
      expect(await life.load(taskId)).toMatchObject({ asks: [{ key: "size" }] });
    });
  });

  describe("refuse", () => {
    const violations = [{ path: "/content/size", message: "must be at most 20 ☃" }];
    const refuse = (taskId: string, key: string, digest = `digest-of-${key}`) =>
      store.refuse({ taskId, key, digest, violations, nowMs: Date.now() });

    test("an open ask stays open, and shows how often it was refused and what was wrong with the last reply", async () => {
      const taskId = await life.parked([anAsk("size"), anAsk("name")]);
      await store.refuse({ taskId, key: "size", digest: "digest-of-size", violations: [], nowMs: Date.now() });

      expect(await refuse(taskId, "size")).toBe(2);

      const [size, name] = (await life.load(taskId)).asks;
      expect(size).toMatchObject({ key: "size", refused: { count: 2, violations } });
      expect(name).not.toHaveProperty("refused");
      expect(await life.load(taskId)).toMatchObject({ status: "input_required" });
    });

    test("watchers of the task are woken, and find a new revision", async () => {
      const taskId = await life.parked([anAsk("size")]);
      const { revision } = await life.load(taskId);
      const onChange = vi.fn();
      const stop = await wakeUps.watch(taskId, onChange);

      await refuse(taskId, "size");

      await expect.poll(() => onChange).toHaveBeenCalled();
      expect((await life.load(taskId)).revision).toBe(revision + 1);
      stop();
    });

    test("racing refusals are each counted once", async () => {
      const taskId = await life.parked([anAsk("size")]);
      const counts = await Promise.all(Array.from({ length: 10 }, () => refuse(taskId, "size")));
      expect(counts.toSorted((a, b) => (a ?? 0) - (b ?? 0))).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    });

    test("only open asks are refused: not an answered one, an unknown one, another of that name (I4), or one without a task", async () => {
      const taskId = await life.parked([anAsk("size"), anAsk("name")]);
      await life.answer(taskId, "size", "4");
      const before = await life.load(taskId);

      expect(await refuse(taskId, "size")).toBeUndefined();
      expect(await refuse(taskId, "colour")).toBeUndefined();
      expect(await refuse(taskId, "name", "another digest")).toBeUndefined();
      expect(await refuse(newTaskId(), "name")).toBeUndefined();
      expect(await refuse("no task id", "name")).toBeUndefined();
      expect(await life.load(taskId)).toEqual(before);
    });

    test("a later run that asks the same again leaves the count as it is", async () => {
      const taskId = await life.parked([anAsk("size"), anAsk("name")]);
      await refuse(taskId, "size");
      await life.answer(taskId, "name", "Ada");
      await life.park(taskId, await life.begin({ taskId, run: 2 }), [anAsk("size")]);
      expect((await life.load(taskId)).asks).toMatchObject([{ key: "size", refused: { count: 1 } }]);
    });

    test("an answer is accepted after refusals as before, and removes them", async () => {
      const taskId = await life.parked([anAsk("size"), anAsk("name")]);
      await refuse(taskId, "size");
      expect(await life.answer(taskId, "size", "4")).toMatchObject({ receipt: "accepted" });
      expect((await life.load(taskId)).asks).toMatchObject([{ key: "name" }]);
    });

    test("a refusal changes no expiry and makes nothing due", async () => {
      const taskId = await life.parked([anAsk("size")]);
      await refuse(taskId, "size");
      expect(await life.load(taskId)).not.toHaveProperty("expiresAtMs");
      expect(await overdueAt(Date.now() + 60_000, taskId)).toBeUndefined();
    });
  });
}
