/** Runs: who holds a task, what a run writes, and what the next one reads. */
import type { Entry, KeyedEntry, ParkRequest } from "@parley/core";
import { describe, expect, test } from "vitest";
import { accept, aCall, anAsk, aStep, GRACE_MS, HOUR_MS, LEASE_MS, newToken } from "../builders.ts";
import { sealedFor, type UnderTest } from "./under-test.ts";

export function runs({ store, newTaskId, life, overdueAt, begin, record, journalOf, countWakes }: UnderTest): void {
  describe("begin", () => {
    test("a run gets its task and the journal of the runs before it", async () => {
      const taskId = await life.create();
      const token = await life.begin({ taskId, run: 1 });
      await store.record({ taskId, token, nowMs: Date.now(), leaseMs: LEASE_MS, entries: [aStep("hold", "table 4")] });
      await life.park(taskId, token, [anAsk("size")]);

      const begun = await begin(taskId, 2);

      expect(begun).toMatchObject({
        type: "begun",
        attempt: 0,
        takeovers: 0,
        task: { id: taskId, run: 2, status: "input_required", asks: [{ key: "size" }] },
      });
      if (begun.type !== "begun") return;
      expect([...begun.journal]).toEqual([["step:hold", aStep("hold", "table 4").entry]]);
    });

    test("the size of the journal is what its outcomes have in characters of JSON, and 32 for each entry", async () => {
      const taskId = await life.create();
      const token = await life.begin({ taskId, run: 1 });
      await record(taskId, token, aStep("a", "☃"), aStep("b", 2, 2));
      await life.park(taskId, token, []);

      expect(await begin(taskId, 2)).toMatchObject({
        journalSize: 2 * 32 + '{"type":"value","value":"☃"}{"type":"value","value":2}'.length,
      });
    });

    test("only the next run begins; earlier and later ones are stale", async () => {
      const taskId = await life.parked([anAsk("size")]);

      expect(await begin(taskId, 1)).toEqual({ type: "refused", reason: "stale" });
      expect(await begin(taskId, 3)).toEqual({ type: "refused", reason: "stale" });
      expect(await begin(taskId, 2)).toMatchObject({ type: "begun" });
    });

    test("I5: taking over an open run issues a new token, and every write of the old holder is refused", async () => {
      const taskId = await life.create();
      const dead = await life.begin({ taskId, run: 1 });
      expect(await begin(taskId, 2)).toEqual({ type: "refused", reason: "stale" });
      const holder = await life.takeOver({ taskId, run: 1 });

      const fence = { taskId, token: dead, nowMs: Date.now() };
      expect(await store.record({ ...fence, leaseMs: LEASE_MS, entries: [aStep("late", 1)] })).toBe("refused");
      expect(await store.renew({ ...fence, leaseMs: LEASE_MS })).toBe("refused");
      expect(await store.report({ ...fence, items: [], message: "still here" })).toBe("refused");
      expect(await life.park(taskId, dead, [anAsk("ghost")])).toEqual({ type: "refused" });
      expect(await life.finish(taskId, dead, "ghost")).toBe("refused");

      expect(await life.load(taskId)).toMatchObject({ status: "working", revision: 1, asks: [] });
      expect(await life.finish(taskId, holder)).toBe("finished");
    });

    test("exactly one of many workers that race for a run holds the task, at its start and at a takeover", async () => {
      const taskId = await life.create();
      const nowMs = Date.now();
      const race = (atMs: number) => Promise.all(Array.from({ length: 10 }, () => begin(taskId, 1, { nowMs: atMs })));

      for (const begun of [await race(nowMs), await race(nowMs + LEASE_MS)]) {
        expect(begun.filter(({ type }) => type === "begun")).toHaveLength(1);
        expect(begun.filter((each) => each.type === "refused" && each.reason === "held")).toHaveLength(9);
      }
    });

    test("a holder is not displaced before its lease expires, and each renewal and record extends it", async () => {
      const taskId = await life.create();
      const token = newToken();
      const nowMs = Date.now();
      await begin(taskId, 1, { token, nowMs });
      const held = { type: "refused", reason: "held" };

      expect(await begin(taskId, 1, { nowMs: nowMs + LEASE_MS - 1 })).toEqual(held);
      await store.renew({ taskId, token, nowMs: nowMs + 2_000, leaseMs: LEASE_MS });
      expect(await begin(taskId, 1, { nowMs: nowMs + LEASE_MS + 1_999 })).toEqual(held);
      await store.record({ taskId, token, nowMs: nowMs + 4_000, leaseMs: LEASE_MS, entries: [aStep("a", 1)] });
      expect(await begin(taskId, 1, { nowMs: nowMs + LEASE_MS + 3_999 })).toEqual(held);

      expect(await store.renew({ taskId, token, nowMs: nowMs + 4_000, leaseMs: LEASE_MS })).toBe("renewed");
      expect(await begin(taskId, 1, { nowMs: nowMs + LEASE_MS + 4_000 })).toMatchObject({ type: "begun", takeovers: 1 });
      expect(await store.renew({ taskId, token, nowMs: nowMs + LEASE_MS + 4_000, leaseMs: LEASE_MS })).toBe("refused");
    });

    test("a begin that is sent twice counts once: its holder is neither refused nor counted as a takeover", async () => {
      const taskId = await life.parked([anAsk("size"), anAsk("name")]);
      const token = newToken();
      await begin(taskId, 2, { token });
      await life.answer(taskId, "size", "4");

      expect(await begin(taskId, 2, { token })).toMatchObject({ type: "begun", takeovers: 0, task: { asks: [{ key: "name" }] } });
      expect(await life.park(taskId, token, [anAsk("name")])).toEqual({ type: "parked" });
    });

    test("takeovers are counted until an entry is recorded; renewals, reports and answers are not progress", async () => {
      const taskId = await life.parked([anAsk("size")]);
      let nowMs = Date.now();
      await begin(taskId, 2, { nowMs });
      const takeOver = async () => {
        const token = newToken();
        const begun = await begin(taskId, 2, { token, nowMs: (nowMs += 2 * LEASE_MS) });
        return { token, takeovers: begun.type === "begun" ? begun.takeovers : undefined };
      };

      expect((await takeOver()).takeovers).toBe(1);
      const second = await takeOver();
      expect(second.takeovers).toBe(2);
      expect(await store.load(taskId)).toMatchObject({ run: 2, takeovers: 2 });
      const fence = { taskId, token: second.token, nowMs };
      await store.renew({ ...fence, leaseMs: LEASE_MS });
      await store.record({ ...fence, leaseMs: LEASE_MS, entries: [] });
      await store.report({ ...fence, items: [{ type: "progress", progress: 1 }] });
      await life.answer(taskId, "size", "4");
      const third = await takeOver();
      expect(third.takeovers).toBe(3);
      await store.record({ ...fence, token: third.token, leaseMs: LEASE_MS, entries: [aStep("a", 1)] });
      expect(await store.load(taskId)).not.toHaveProperty("takeovers");
      expect((await takeOver()).takeovers).toBe(1);
    });

    test("the opening is written with the task's first begin, sent once or twice, and by no later one", async () => {
      const taskId = await life.create();
      const token = newToken();
      const opening = [aStep("open", "first")];
      const nowMs = Date.now();
      const of = { taskId, run: 1, nowMs, leaseMs: LEASE_MS };
      for (const each of ["sent", "sent again"]) {
        const begun = await store.begin({ ...of, token, opening });
        if (begun.type !== "begun") throw new Error(`${each}: ${begun.type}`);
        expect([...begun.journal]).toEqual([["step:open", opening[0]?.entry]]);
      }
      const late = [aStep("open", "second"), aStep("more", 1)];
      expect(await store.begin({ ...of, token: newToken(), opening: late })).toEqual({ type: "refused", reason: "held" });
      const over = await store.begin({ ...of, token: newToken(), nowMs: nowMs + LEASE_MS, opening: late });
      expect(over).toMatchObject({ type: "begun", takeovers: 1 });
      expect([...(await journalOf(taskId, 1))]).toEqual([["step:open", opening[0]?.entry]]);
    });

    test("after a run whose worker died before it recorded anything, no opening is written", async () => {
      const taskId = await life.create();
      await life.begin({ taskId, run: 1 });
      const nowMs = Date.now() + LEASE_MS;
      const over = await store.begin({ taskId, run: 1, token: newToken(), nowMs, leaseMs: LEASE_MS, opening: [aStep("open", 1)] });
      expect(over).toMatchObject({ type: "begun", takeovers: 1 });
      expect([...(await journalOf(taskId, 1))]).toEqual([]);
    });

    test("the opening of a released run is removed, unless an earlier run had begun", async () => {
      const opening = [aStep("open", "first")];
      const back = await life.create({ arguments: { long: "x".repeat(2_000) } });
      const first = { taskId: back, run: 1, token: newToken(), nowMs: Date.now(), leaseMs: LEASE_MS };
      await store.begin({ ...first, opening });
      await store.release(first);
      const next = await begin(back, 2);
      expect(next).toMatchObject({ type: "begun", takeovers: 0, task: { call: { arguments: { long: "x".repeat(2_000) } } } });
      expect([...(await journalOf(back, 2))]).toEqual([]);

      const lost = await life.create();
      await store.begin({ ...first, taskId: lost, opening });
      const token = await life.takeOver({ taskId: lost, run: 1 });
      await store.release({ taskId: lost, token, nowMs: Date.now() });
      expect([...(await journalOf(lost, 2))]).toEqual([["step:open", opening[0]?.entry]]);
    });

    test("a later run writes no opening, and its release removes no entry", async () => {
      const taskId = await life.create();
      const token = await life.begin({ taskId, run: 1 });
      await record(taskId, token, aStep("hold", 1));
      await life.park(taskId, token, []);
      const second = { taskId, run: 2, token: newToken(), nowMs: Date.now(), leaseMs: LEASE_MS };
      await store.begin({ ...second, opening: [aStep("open", 1)] });
      await store.release(second);
      expect([...(await journalOf(taskId, 3)).keys()]).toEqual(["step:hold"]);
    });

    test("a released run is not taken over: the next one begins, and the count of takeovers does not change", async () => {
      const taskId = await life.create();
      await life.begin({ taskId, run: 1 });
      const token = await life.takeOver({ taskId, run: 1 });
      const nowMs = Date.now();
      await store.renew({ taskId, token, nowMs, leaseMs: LEASE_MS });

      await store.release({ taskId, token: "another", nowMs });
      expect(await begin(taskId, 1)).toEqual({ type: "refused", reason: "held" });
      await store.release({ taskId, token, nowMs });

      expect(await store.renew({ taskId, token, nowMs, leaseMs: LEASE_MS })).toBe("refused");
      // A store that does not reply is not asked again at once.
      expect(await overdueAt(nowMs + LEASE_MS - 1, taskId)).toBeUndefined();
      expect(await overdueAt(nowMs + LEASE_MS, taskId)).toBe(2);
      expect(await begin(taskId, 2)).toMatchObject({ type: "begun", takeovers: 1 });
    });

    test("after a released run the next one is due at once if an answer arrived in the meantime", async () => {
      const taskId = await life.parked([anAsk("size")]);
      const token = await life.begin({ taskId, run: 2 });
      expect(await life.answer(taskId, "size", "4")).toEqual({ receipt: "accepted" });

      const nowMs = Date.now();
      await store.release({ taskId, token, nowMs });
      expect(await overdueAt(nowMs, taskId)).toBe(3);
    });

    test("parking resets the count of takeovers, also for a retry", async () => {
      for (const attempt of [0, 1]) {
        const taskId = await life.create();
        await life.begin({ taskId, run: 1 });
        const token = await life.takeOver({ taskId, run: 1 });
        await store.park({ taskId, token, nowMs: Date.now(), entries: [], asks: [], dueAtMs: Date.now(), attempt, graceMs: GRACE_MS });

        expect(await begin(taskId, 2)).toMatchObject({ type: "begun", attempt, takeovers: 0 });
        expect(await begin(taskId, 2, { nowMs: Date.now() + LEASE_MS })).toMatchObject({ takeovers: 1 });
      }
    });

    test("a run whose holder falls silent is overdue when its lease expires, under the same number", async () => {
      const taskId = await life.create();
      const nowMs = Date.now();
      await store.begin({ taskId, run: 1, token: newToken(), nowMs, leaseMs: LEASE_MS });

      expect(await overdueAt(nowMs + LEASE_MS - 1, taskId)).toBeUndefined();
      expect(await overdueAt(nowMs + LEASE_MS, taskId)).toBe(1);
    });

    test("a retried run knows how often it has failed", async () => {
      const taskId = await life.create();
      const token = await life.begin({ taskId, run: 1 });
      await store.park({ taskId, token, nowMs: Date.now(), entries: [], asks: [], dueAtMs: Date.now(), attempt: 2, graceMs: GRACE_MS });

      expect(await begin(taskId, 2)).toMatchObject({ type: "begun", attempt: 2 });
    });

    test("I1: no run of a finished task begins", async () => {
      const taskId = await life.create();
      await life.cancel(taskId);

      expect(await begin(taskId, 1)).toEqual({ type: "refused", reason: "finished" });
    });
  });

  describe("record", () => {
    test("an entry that exists stays as it is", async () => {
      const taskId = await life.create();
      const token = await life.begin({ taskId, run: 1 });

      expect(await record(taskId, token, aStep("a", "first", 1), aStep("b", 2, 2))).toBe("recorded");
      expect(await record(taskId, token, aStep("a", "second", 3))).toBe("recorded");
      expect(await record(taskId, token, { ...aStep("a", "third", 4), known: true })).toBe("recorded");

      expect(await journalOf(taskId, 1)).toEqual(
        new Map([
          ["step:a", aStep("a", "first", 1).entry],
          ["step:b", aStep("b", 2, 2).entry],
        ]),
      );
    });

    test("an unsettled entry takes its place and keeps its outcome; one that has only begun is replaced by its outcome", async () => {
      const value = { type: "value", value: 1_767_225_600_000 } as const;
      const arrived = { atMs: 1_767_225_600_000, revision: 3 };
      const settleBy: ((entry: Entry) => Omit<KeyedEntry, "key">)[] = [
        (entry) => ({ entry: { ...entry, place: 7 } }),
        (entry) => ({ entry: { ...entry, digest: "other", calledAt: "9o", outcome: { type: "value", value: 0 }, place: 7 } }),
        (entry) => ({ entry: { ...entry, place: 7 }, known: true }),
      ];
      for (const settle of settleBy) {
        const taskId = await life.create();
        const token = await life.begin({ taskId, run: 1 });
        const asleep: KeyedEntry = { key: "sleep:night", entry: { digest: "", outcome: value, calledAt: "2o" } };
        const outlived: KeyedEntry = { key: "step:charge", entry: { digest: "d", outcome: value, calledAt: "0", arrived } };
        await record(taskId, token, asleep, outlived);
        // Writing it again without a place changes nothing.
        const { arrived: _, ...unsettled } = outlived.entry;
        await record(taskId, token, asleep, { ...outlived, known: true }, { ...outlived, entry: unsettled });
        await life.park(taskId, token, []);
        const holder = newToken();
        expect(await begin(taskId, 2, { token: holder })).toMatchObject({
          journal: new Map([asleep, outlived].map(({ key, entry }) => [key, entry])),
        });

        await record(taskId, holder, ...[asleep, outlived].map(({ key, entry }) => ({ key, ...settle(entry) })));
        await record(taskId, holder, { ...asleep, entry: { ...asleep.entry, place: 8, withdrawn: true }, known: true });

        expect(await journalOf(taskId, 2)).toEqual(
          new Map<string, Entry>([
            ["sleep:night", settle(asleep.entry).known ? { ...asleep.entry, place: 7 } : settle(asleep.entry).entry],
            ["step:charge", { digest: "d", outcome: value, calledAt: "0", place: 7 }],
          ]),
        );
      }
    });

    test("a place that is written for a missing entry creates no entry", async () => {
      const taskId = await life.create();
      await record(taskId, await life.begin({ taskId, run: 1 }), { ...aStep("a", 1), known: true });
      expect(await journalOf(taskId, 1)).toEqual(new Map());
    });

    test("every kind of outcome is returned as it was recorded", async () => {
      const taskId = await life.create();
      const token = await life.begin({ taskId, run: 1 });
      const entries: KeyedEntry[] = [
        { key: "step:nothing", entry: { digest: "", outcome: { type: "value" }, calledAt: "0", place: 1 } },
        {
          key: "step:broken",
          entry: { digest: "", outcome: { type: "error", name: "Error", message: "no\ntable" }, calledAt: "1o", place: 2 },
        },
        {
          key: "ask:early",
          entry: { digest: "abc", outcome: { type: "answer", answer: { action: "decline" } }, calledAt: "2", place: 12 },
        },
        { key: "ask:given-up", entry: { digest: "abc", outcome: { type: "withdrawn" }, calledAt: "2", place: 4, withdrawn: true } },
        { key: "sleep:alice/night@1#2", entry: { digest: "", outcome: { type: "withdrawn" }, calledAt: "2", place: 5, withdrawn: true } },
        { key: "sleep:open", entry: { digest: "", outcome: { type: "value", value: 1_767_225_600_000 }, calledAt: "2" } },
        {
          key: "step:deep",
          entry: {
            digest: "",
            outcome: { type: "value", value: { b: [1, null, { "ü ": true }], a: "" } },
            calledAt: "0",
            arrived: { atMs: 1_767_225_600_000, revision: 12 },
          },
        },
      ];
      await record(taskId, token, ...entries);

      expect(await journalOf(taskId, 1)).toEqual(new Map(entries.map(({ key, entry }) => [key, entry])));
    });

    test("recording and renewing extend the lease", async () => {
      const taskId = await life.create();
      const token = await life.begin({ taskId, run: 1 });
      const nowMs = Date.now() + 60_000;

      expect(await store.renew({ taskId, token, nowMs, leaseMs: LEASE_MS })).toBe("renewed");
      expect(await overdueAt(nowMs + LEASE_MS - 1, taskId)).toBeUndefined();
      await store.record({ taskId, token, nowMs: nowMs + 1, leaseMs: LEASE_MS, entries: [] });
      expect(await overdueAt(nowMs + LEASE_MS, taskId)).toBeUndefined();
      expect(await overdueAt(nowMs + LEASE_MS + 1, taskId)).toBe(1);
    });

    test("recording is invisible to clients: the revision stays", async () => {
      const taskId = await life.create();
      const token = await life.begin({ taskId, run: 1 });
      await store.record({ taskId, token, nowMs: Date.now(), leaseMs: LEASE_MS, entries: [aStep("a", 1)] });

      expect((await life.load(taskId)).revision).toBe(1);
    });
  });

  describe("a restart", () => {
    const restart = (taskId: string, token: string, request: Partial<ParkRequest> = {}) => {
      const nowMs = Date.now();
      const parked = { taskId, token, nowMs, entries: [], asks: [], dueAtMs: nowMs + HOUR_MS, attempt: 0, graceMs: GRACE_MS };
      return store.park({ ...parked, restart: { arguments: { round: 2, party: [] } }, ...request });
    };

    test("empties the journal, replaces the arguments, closes all asks, and makes the next run due at once", async () => {
      const call = aCall({
        replies: { size: { action: "decline" } },
        traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
      });
      const taskId = newTaskId();
      await store.create({ taskId, call, graceMs: GRACE_MS });
      const first = await life.begin({ taskId, run: 1 });
      await store.report({
        taskId,
        token: first,
        nowMs: Date.now(),
        items: [{ type: "progress", progress: 1 }],
        immediateResponse: "Wait.",
      });
      const asked = { taskId, token: first, nowMs: Date.now(), dueAtMs: Date.now() + HOUR_MS, graceMs: GRACE_MS, message: "waiting" };
      await store.park({ ...asked, entries: [aStep("a", 1)], asks: [anAsk("size")], attempt: 1 });
      await store.refuse({ taskId, key: "size", digest: "digest-of-size", violations: [], nowMs: Date.now() });
      await life.begin({ taskId, run: 2 });
      const token = await life.takeOver({ taskId, run: 2 });
      const { revision } = await life.load(taskId);
      const nowMs = Date.now();

      const ignored = { entries: [aStep("b", 1)], asks: [anAsk("name")], attempt: 1, message: "again" };
      expect(await restart(taskId, token, { ...ignored, nowMs })).toEqual({ type: "due", run: 3 });

      const { replies: _replies, arguments: _arguments, seed, ...facts } = call;
      const task = {
        id: taskId,
        call: facts,
        status: "working",
        revision: revision + 1,
        run: 2,
        updatedAtMs: nowMs,
        generation: 1,
        asks: [],
      };
      expect(await store.load(taskId)).toEqual(task);
      expect((await store.feed(taskId, undefined)).items).toHaveLength(1);
      expect(await overdueAt(nowMs + GRACE_MS - 1, taskId)).toBeUndefined();
      expect(await overdueAt(nowMs + GRACE_MS, taskId)).toBe(3);
      expect(await begin(taskId, 3)).toEqual({
        type: "begun",
        task: { ...task, run: 3, call: { ...facts, seed: sealedFor(seed), arguments: { round: 2, party: [] } } },
        journal: new Map(),
        journalSize: 0,
        attempt: 0,
        takeovers: 0,
      });
    });

    test("can be repeated: the last arguments count, large or small, and the generation grows", async () => {
      for (const first of [1, 2_000]) {
        const taskId = await life.create({ arguments: { text: "x".repeat(first) }, seed: "seed" });
        let token = await life.begin({ taskId, run: 1 });
        for (const [index, length] of [2_000, 3_000, 1, 2, 2_000].entries()) {
          const given = { text: "y".repeat(length) };
          await restart(taskId, token, { restart: { arguments: given } });
          token = newToken();
          expect(await begin(taskId, index + 2, { token })).toMatchObject({
            task: { generation: index + 1, call: { arguments: given, seed: sealedFor("seed") } },
            journal: new Map(),
            journalSize: 0,
          });
          const { id: _id, ...seen } = await life.load(taskId);
          expect(JSON.stringify(seen)).not.toContain("yy");
        }
        await life.finish(taskId, token);
        expect(await life.load(taskId)).toMatchObject({ status: "completed", generation: 5 });
      }
    });

    test("makes answers to earlier asks late, in every generation; a key that no ask can have had yet is unknown", async () => {
      const taskId = await life.parked([anAsk("size")]);
      expect(await life.answer(taskId, "name#2", "Ada")).toEqual({ receipt: "unknown" });
      await restart(taskId, await life.begin({ taskId, run: 2 }));
      expect(await life.answer(taskId, "size", "4")).toEqual({ receipt: "late" });
      expect(await life.answer(taskId, "size#2", "4")).toEqual({ receipt: "late" });
      expect(await life.answer(taskId, "size@1", "4")).toEqual({ receipt: "unknown" });

      await life.park(taskId, await life.begin({ taskId, run: 3 }), [anAsk("size@1#2")]);
      expect(await life.load(taskId)).toMatchObject({ asks: [{ key: "size@1#2" }] });
      expect(await life.answer(taskId, "size@1#2", "4")).toMatchObject({ receipt: "accepted" });
      expect(await life.answer(taskId, "size@1#2", "4")).toMatchObject({ receipt: "duplicate" });
      await restart(taskId, await life.begin({ taskId, run: 4 }));
      expect(await life.answer(taskId, "size@1#2", "4")).toEqual({ receipt: "late" });
      expect(await store.answer({ taskId, key: "size@1", answer: accept("4"), nowMs: Date.now(), graceMs: GRACE_MS })).toEqual({
        receipt: "late",
      });
      expect(await life.answer(taskId, "size@2", "4")).toEqual({ receipt: "unknown" });
      expect(await life.answer(taskId, "size@3#7", "4")).toEqual({ receipt: "unknown" });
      for (let run = 5; run < 13; run += 1) await restart(taskId, await life.begin({ taskId, run }));
      expect(await life.answer(taskId, "size@9", "4")).toEqual({ receipt: "late" });
      expect(await life.answer(taskId, "size@10", "4")).toEqual({ receipt: "unknown" });
    });

    test("drops an answer that arrived during the run, with its ask", async () => {
      const taskId = await life.parked([anAsk("size")]);
      const token = await life.begin({ taskId, run: 2 });
      expect(await life.answer(taskId, "size", "4")).toEqual({ receipt: "accepted" });

      expect(await restart(taskId, token)).toEqual({ type: "due", run: 3 });
      expect(await begin(taskId, 3)).toMatchObject({ journal: new Map() });
      expect(await life.answer(taskId, "size", "4")).toEqual({ receipt: "late" });
    });

    test("wakes watchers of the task", async () => {
      const taskId = await life.create();
      const token = await life.begin({ taskId, run: 1 });
      const wakes = await countWakes(taskId);
      await restart(taskId, token);
      await expect.poll(() => wakes.onChange).toHaveBeenCalled();
      wakes.stop();
    });

    test("I5: is refused to a worker that was replaced", async () => {
      const taskId = await life.parked([anAsk("size")]);
      const dead = await life.begin({ taskId, run: 2 });
      await life.takeOver({ taskId, run: 2 });
      const before = await life.load(taskId);

      expect(await restart(taskId, dead)).toEqual({ type: "refused" });
      expect(await life.load(taskId)).toEqual(before);
    });
  });
}
