/**
 * What every task store promises: each method, and each race that it settles. Run against memory and against Redis.
 *
 * Invariants are named as in docs/architecture.md.
 */
import { isDeepStrictEqual } from "node:util";
import {
  type Answer,
  type Call,
  type ClientCapabilities,
  type Entry,
  inOrder,
  type KeyedEntry,
  type Open,
  type Outcome,
  type ParkRequest,
  summaryOf,
  type TaskQuotas,
  type TaskEvents,
  type TaskStore,
} from "@parley/core";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { until } from "../support/until.ts";
import {
  accept,
  aCall,
  aLife,
  anAsk,
  anEvent,
  aStep,
  aWithdrawal,
  GRACE_MS,
  HOUR_MS,
  LEASE_MS,
  newTaskId as newPlainTaskId,
  newToken,
} from "./builders.ts";

const WEEK_MS = 7 * 24 * HOUR_MS;

export interface StoreUnderTest {
  readonly store: TaskStore;
  readonly events: TaskEvents;
  /** Ids of tasks that the store seals, if it seals any. */
  readonly newTaskId?: () => string;
  close(): Promise<void>;
}

/** `partitions`: several count for themselves, and each lets in a little more than its part of a quota. */
export function describeStore(name: string, open: () => Promise<StoreUnderTest>, { partitions = 1 } = {}): void {
  describe(`the task store ${name}`, () => {
    let store: TaskStore;
    let events: TaskEvents;
    let newTaskId: () => string;
    let life: ReturnType<typeof aLife>;
    let close: () => Promise<void>;

    beforeAll(async () => {
      ({ store, events, close, newTaskId = newPlainTaskId } = await open());
      life = aLife(store, newTaskId);
    });
    afterAll(() => close());

    const overdueAt = async (nowMs: number, taskId: string) =>
      (await store.overdue({ partition: 0, nowMs, limit: 10_000 })).find((run) => run.taskId === taskId)?.run;
    const begin = (taskId: string, run: number, { token = newToken(), nowMs = Date.now() } = {}) =>
      store.begin({ taskId, run, token, nowMs, leaseMs: LEASE_MS });
    const record = (taskId: string, token: string, ...entries: KeyedEntry[]) =>
      store.record({ taskId, token, nowMs: Date.now(), leaseMs: LEASE_MS, entries });
    /** What is recorded, as who takes the open run over, or begins the next, is given it. */
    const journalOf = async (taskId: string, run: number): Promise<ReadonlyMap<string, Entry>> => {
      const begun = await begin(taskId, run, { nowMs: Date.now() + WEEK_MS });
      if (begun.type !== "begun") throw new Error(`run ${run} was refused: ${begun.reason}`);
      return begun.journal;
    };
    const countWakes = async (taskId: string) => {
      const onChange = vi.fn();
      return { onChange, stop: await events.watch(taskId, onChange) };
    };

    describe("create", () => {
      test("a created task is working, with everything that it was called with", async () => {
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
        expect(await begin(taskId, 1)).toMatchObject({ type: "begun", task: { ...task, run: 1, call }, journal: new Map() });
      });

      test.each([0, 1_000, 1_024, 1_025, 262_144])(
        "arguments and early replies of %i characters reach every run, and nobody else",
        async (length) => {
          const given = { arguments: { "party\n": "☃".repeat(length) }, replies: { early: { action: "accept", content: { a: "\n" } } } };
          const taskId = await life.create(given);
          await record(taskId, await life.begin({ taskId, run: 1 }), aStep("a", 1));

          const again = await begin(taskId, 1, { nowMs: Date.now() + LEASE_MS });

          expect(again).toMatchObject({ type: "begun", task: { call: given }, journal: new Map([["step:a", aStep("a", 1).entry]]) });
          expect(JSON.stringify(await store.load(taskId))).not.toContain("party");
        },
      );

      test("the trace that it belongs to is kept with it, and takes no byte when there is none", async () => {
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

      test("what the client can be asked for comes back as it was said", async () => {
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

      test("an id that was never given out, and one that is no task id at all, are no task", async () => {
        expect(await store.load(newTaskId())).toBeUndefined();
        for (const id of ["", "nonsense", "0-short", "0-{p1}:due..............", "99999-AAAAAAAAAAAAAAAAAAAAAA"]) {
          expect(await store.load(id)).toBeUndefined();
          expect(await begin(id, 1)).toEqual({ type: "refused", reason: "unknown" });
          expect(await store.cancel({ taskId: id, nowMs: Date.now(), message: "" })).toBe("unknown");
        }
      });
    });

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

      test("only the next run begins; what was begun before or is not due yet is stale", async () => {
        const taskId = await life.parked([anAsk("size")]);

        expect(await begin(taskId, 1)).toEqual({ type: "refused", reason: "stale" });
        expect(await begin(taskId, 3)).toEqual({ type: "refused", reason: "stale" });
        expect(await begin(taskId, 2)).toMatchObject({ type: "begun" });
      });

      test("I5: taking over an open run draws a new token and shuts the old holder out of every write", async () => {
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

      test("of many racing workers with one run exactly one holds the task, at its start and when it is taken over", async () => {
        const taskId = await life.create();
        const nowMs = Date.now();
        const race = (atMs: number) => Promise.all(Array.from({ length: 10 }, () => begin(taskId, 1, { nowMs: atMs })));

        for (const begun of [await race(nowMs), await race(nowMs + LEASE_MS)]) {
          expect(begun.filter(({ type }) => type === "begun")).toHaveLength(1);
          expect(begun.filter((each) => each.type === "refused" && each.reason === "held")).toHaveLength(9);
        }
      });

      test("a holder is not displaced before its lease has run out, and each renewal and record moves that time", async () => {
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

      test("a begin that is sent twice is one: its holder is neither refused nor counted as a takeover", async () => {
        const taskId = await life.parked([anAsk("size"), anAsk("name")]);
        const token = newToken();
        await begin(taskId, 2, { token });
        await life.answer(taskId, "size", "4");

        expect(await begin(taskId, 2, { token })).toMatchObject({ type: "begun", takeovers: 0, task: { asks: [{ key: "name" }] } });
        expect(await life.park(taskId, token, [anAsk("name")])).toEqual({ type: "parked" });
      });

      test("takeovers are counted until something is recorded; that a holder renews, reports or is given an answer is no progress", async () => {
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

      test("parking ends the count of takeovers, to be tried again too", async () => {
        for (const attempt of [0, 1]) {
          const taskId = await life.create();
          await life.begin({ taskId, run: 1 });
          const token = await life.takeOver({ taskId, run: 1 });
          await store.park({ taskId, token, nowMs: Date.now(), entries: [], asks: [], dueAtMs: Date.now(), attempt, graceMs: GRACE_MS });

          expect(await begin(taskId, 2)).toMatchObject({ type: "begun", attempt, takeovers: 0 });
          expect(await begin(taskId, 2, { nowMs: Date.now() + LEASE_MS })).toMatchObject({ takeovers: 1 });
        }
      });

      test("a run whose holder falls silent is overdue at the end of its lease, under its own number", async () => {
        const taskId = await life.create();
        const nowMs = Date.now();
        await store.begin({ taskId, run: 1, token: newToken(), nowMs, leaseMs: LEASE_MS });

        expect(await overdueAt(nowMs + LEASE_MS - 1, taskId)).toBeUndefined();
        expect(await overdueAt(nowMs + LEASE_MS, taskId)).toBe(1);
      });

      test("the run that is tried again knows how often it failed", async () => {
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
      test("an entry that is there stays as it is", async () => {
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

      test("an entry that no run has settled takes its place and keeps what it holds; what has not come to anything gives way to what it came to", async () => {
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
          // Written again without a place, nothing changes.
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

      test("the place of an entry that nobody holds, written as known, makes no entry", async () => {
        const taskId = await life.create();
        await record(taskId, await life.begin({ taskId, run: 1 }), { ...aStep("a", 1), known: true });
        expect(await journalOf(taskId, 1)).toEqual(new Map());
      });

      test("every kind of outcome comes back as it went in", async () => {
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

      test("recording and renewing move the end of the lease", async () => {
        const taskId = await life.create();
        const token = await life.begin({ taskId, run: 1 });
        const nowMs = Date.now() + 60_000;

        expect(await store.renew({ taskId, token, nowMs, leaseMs: LEASE_MS })).toBe("renewed");
        expect(await overdueAt(nowMs + LEASE_MS - 1, taskId)).toBeUndefined();
        await store.record({ taskId, token, nowMs: nowMs + 1, leaseMs: LEASE_MS, entries: [] });
        expect(await overdueAt(nowMs + LEASE_MS, taskId)).toBeUndefined();
        expect(await overdueAt(nowMs + LEASE_MS + 1, taskId)).toBe(1);
      });

      test("clients see nothing of it: the revision stays", async () => {
        const taskId = await life.create();
        const token = await life.begin({ taskId, run: 1 });
        await store.record({ taskId, token, nowMs: Date.now(), leaseMs: LEASE_MS, entries: [aStep("a", 1)] });

        expect((await life.load(taskId)).revision).toBe(1);
      });
    });

    describe("an event", () => {
      const opened = async (...asks: Open[]) => {
        const taskId = await life.create();
        const token = await life.begin({ taskId, run: 1 });
        await store.record({ taskId, token, nowMs: Date.now(), leaseMs: LEASE_MS, entries: [], asks });
        return { taskId, token };
      };

      test("is open from the record that opens it, and the task stays working (I3)", async () => {
        const paid = anEvent("paid", { onTimeout: { default: { body: null } } });
        const { taskId, token } = await opened(paid);
        expect(await life.load(taskId)).toMatchObject({ status: "working", asks: [], events: [paid] });

        await life.park(taskId, token, [paid, anAsk("size")]);
        expect(await life.load(taskId)).toMatchObject({ status: "input_required", asks: [{ key: "size" }], events: [paid] });
        await life.answer(taskId, "size", "4");
        expect(await life.load(taskId)).toMatchObject({ status: "working", asks: [], events: [paid] });
      });

      test("opened twice is opened once, and stays as it was", async () => {
        const { taskId, token } = await opened(anEvent("paid"));
        const before = await life.load(taskId);
        const later = anEvent("paid", { deadlineMs: Date.now() + 2 * HOUR_MS });
        await store.record({ taskId, token, nowMs: Date.now(), leaseMs: LEASE_MS, entries: [], asks: [later] });
        expect(await life.load(taskId)).toEqual(before);
      });

      test("that is told of while the run works makes the task due as it parks, and is not open again", async () => {
        const paid = anEvent("paid");
        const { taskId, token } = await opened(paid);
        expect(await life.answer(taskId, paid.key, "4")).toEqual({ receipt: "accepted" });
        expect(await life.answer(taskId, paid.key, "4")).toEqual({ receipt: "duplicate" });
        expect(await life.answer(taskId, paid.key, "5")).toEqual({ receipt: "late" });

        expect(await life.park(taskId, token, [paid])).toEqual({ type: "due", run: 2 });
        expect((await life.load(taskId)).events).toBeUndefined();
        expect((await journalOf(taskId, 2)).get("ask:event:paid")).toMatchObject({ outcome: { type: "answer", answer: accept("4") } });
      });

      test("is known to the worker that takes over from one that died behind the record", async () => {
        const paid = anEvent("paid");
        const { taskId } = await opened(paid);
        expect(await begin(taskId, 1, { nowMs: Date.now() + LEASE_MS })).toMatchObject({ type: "begun", task: { events: [paid] } });
      });

      test("is closed with its task, and by its withdrawal; who tells of it then is late", async () => {
        const paid = anEvent("paid");
        const { taskId } = await opened(paid);
        await life.cancel(taskId);
        expect((await life.load(taskId)).events).toBeUndefined();
        expect(await life.answer(taskId, paid.key, "4")).toEqual({ receipt: "late" });

        const other = await opened(paid);
        await record(other.taskId, other.token, aWithdrawal(paid.key, 1));
        expect((await life.load(other.taskId)).events).toBeUndefined();
        expect(await life.answer(other.taskId, paid.key, "4")).toEqual({ receipt: "late" });
      });

      test("I5: a worker that was replaced opens none", async () => {
        const taskId = await life.create();
        const old = await life.begin({ taskId, run: 1 });
        await life.takeOver({ taskId, run: 1 });
        const request = { taskId, token: old, nowMs: Date.now(), leaseMs: LEASE_MS, entries: [], asks: [anEvent("paid")] };
        expect(await store.record(request)).toBe("refused");
        expect((await life.load(taskId)).events).toBeUndefined();
      });
    });

    describe("create with a key", () => {
      const create = (taskId: string, key: string, fingerprint = "print", call: Partial<Call> = {}) =>
        store.create({ taskId, call: aCall(call), graceMs: GRACE_MS, once: { key, fingerprint } });

      test("is one task for as long as there is that task, and says which and of what call it is", async () => {
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

      test("of twenty at once makes one task", async () => {
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

    describe("a task that has to be compensated", () => {
      const soon = () => Date.now() + 60_000;
      const settle = (taskId: string, token: string, ...entries: KeyedEntry[]) =>
        store.settle({ taskId, token, nowMs: Date.now(), entries });
      const cancelOwing = (taskId: string) => store.cancel({ taskId, nowMs: Date.now(), message: "over", owes: true });
      const fail = (taskId: string, token: string, owes?: "failed" | "timeout") =>
        store.finish({
          taskId,
          token,
          nowMs: Date.now(),
          entries: [aStep("hold", 1)],
          outcome: { type: "error", error: { code: -1, message: "no" } },
          ...(owes && { owes }),
        });

      test("is seen as ended at once, and is due until its last run is settled", async () => {
        const taskId = await life.parked([anAsk("size")]);
        expect(await cancelOwing(taskId)).toBe("cancelled");
        const seen = await life.load(taskId);
        expect(seen).toMatchObject({ status: "cancelled", asks: [], owed: "cancelled", message: "over" });
        expect(await overdueAt(soon(), taskId)).toBe(2);

        const token = await life.begin({ taskId, run: 2 });
        expect(await record(taskId, token, aStep("compensation:/undo", 1))).toBe("recorded");
        expect(await settle(taskId, token)).toBe("settled");
        const { owed: _, run: __, ...rest } = seen;
        expect(await life.load(taskId)).toEqual({ ...rest, run: 2 });
        expect(await overdueAt(soon() + WEEK_MS, taskId)).toBeUndefined();
        expect(await begin(taskId, 3)).toEqual({ type: "refused", reason: "finished" });
        expect(await cancelOwing(taskId)).toBe("finished");
      });

      test("that failed, or ran out of time, says so to its last run, which is given what was recorded", async () => {
        for (const owes of ["failed", "timeout"] as const) {
          const taskId = await life.create();
          expect(await fail(taskId, await life.begin({ taskId, run: 1 }), owes)).toBe("finished");
          const begun = await begin(taskId, 2);
          expect(begun).toMatchObject({ type: "begun", attempt: 0, task: { status: "failed", owed: owes } });
          expect(begun.type === "begun" && [...begun.journal.keys()]).toEqual(["step:hold"]);
        }
      });

      test("that never ran is owed nothing", async () => {
        const taskId = await life.create();
        await cancelOwing(taskId);
        expect((await life.load(taskId)).owed).toBeUndefined();
        expect(await overdueAt(soon(), taskId)).toBeUndefined();
      });

      test("cancelled under its run: the run is told, notes what it has in flight, and lets go; only then the last run begins", async () => {
        const taskId = await life.create();
        const token = await life.begin({ taskId, run: 1 });
        await cancelOwing(taskId);
        const before = await life.load(taskId);
        expect(await begin(taskId, 2)).toEqual({ type: "refused", reason: "stale" });
        expect(await begin(taskId, 1)).toEqual({ type: "refused", reason: "held" });
        expect(await store.report({ taskId, token, nowMs: Date.now(), items: [], message: "working" })).toBe("cancelled");
        expect(await store.renew({ taskId, token, nowMs: Date.now(), leaseMs: LEASE_MS })).toBe("cancelled");
        expect(await record(taskId, token, aStep("hold", 1))).toBe("cancelled");
        expect(await settle(taskId, token)).toBe("refused");
        expect(await life.finish(taskId, token)).toBe("refused");
        const request = { taskId, token, nowMs: Date.now(), asks: [anAsk("size")], attempt: 3, graceMs: GRACE_MS };
        expect(await store.park({ ...request, entries: [aStep("pay", 2)], dueAtMs: Date.now() + HOUR_MS, message: "parked" })).toEqual({
          type: "parked",
        });
        // I1: nobody sees anything of it.
        expect(await life.load(taskId)).toEqual(before);
        const begun = await begin(taskId, 2);
        expect(begun).toMatchObject({ type: "begun", attempt: 0 });
        expect(begun.type === "begun" && [...begun.journal.keys()].toSorted()).toEqual(["step:hold", "step:pay"]);
      });

      test("cancelled under a worker that dies is begun by another one when the lease has run out", async () => {
        const taskId = await life.create();
        const old = await life.begin({ taskId, run: 1 });
        await cancelOwing(taskId);
        const token = await life.takeOver({ taskId, run: 1 });
        expect(await record(taskId, old)).toBe("refused");
        expect(await record(taskId, token, aStep("compensation:/undo", 1))).toBe("recorded");
        expect(await settle(taskId, token)).toBe("settled");
      });

      test("is tried again when its last run says, with what that has recorded and how often it failed", async () => {
        const taskId = await life.create();
        await fail(taskId, await life.begin({ taskId, run: 1 }), "failed");
        const token = await life.begin({ taskId, run: 2 });
        const dueAtMs = Date.now() + HOUR_MS;
        const request = { taskId, token, nowMs: Date.now(), asks: [], attempt: 1, graceMs: GRACE_MS, dueAtMs };
        expect(await store.park({ ...request, entries: [aStep("compensation:/undo", 1)] })).toEqual({ type: "parked" });
        expect(await overdueAt(dueAtMs - 1, taskId)).toBeUndefined();
        expect(await overdueAt(dueAtMs, taskId)).toBe(3);
        expect(await begin(taskId, 3)).toMatchObject({ type: "begun", attempt: 1, takeovers: 0 });
      });

      test("of a task that is owed nothing a cancelled run is told so, and nothing of it is kept", async () => {
        const taskId = await life.create();
        const token = await life.begin({ taskId, run: 1 });
        await life.cancel(taskId);
        expect(await record(taskId, token, aStep("hold", 1))).toBe("cancelled");
        expect((await store.journal(taskId)).map(({ key }) => key)).toEqual([]);
      });

      test("I7: does not expire while it is owed its last run, and with it as any other", async () => {
        const taskId = await life.create({ retentionMs: 1 });
        await fail(taskId, await life.begin({ taskId, run: 1 }), "failed");
        const { expiresAtMs = 0 } = await life.load(taskId);
        await until(() => Date.now() > expiresAtMs);
        expect((await life.load(taskId)).owed).toBe("failed");
        expect(await settle(taskId, await life.begin({ taskId, run: 2 }))).toBe("settled");
        expect(await store.load(taskId)).toBeUndefined();
      });

      test("I5: a worker that was replaced settles nothing", async () => {
        const taskId = await life.create();
        await fail(taskId, await life.begin({ taskId, run: 1 }), "failed");
        const old = await life.begin({ taskId, run: 2 });
        await life.takeOver({ taskId, run: 2 });
        expect(await settle(taskId, old)).toBe("refused");
        expect((await life.load(taskId)).owed).toBe("failed");
      });
    });

    describe("withdrawing an ask", () => {
      const refuse = (taskId: string, key: string) =>
        store.refuse({ taskId, key, digest: `digest-of-${key}`, violations: [], nowMs: Date.now() });

      test("closes it with what is noted about it, and watchers are told (I3)", async () => {
        const taskId = await life.parked([anAsk("size"), anAsk("name")]);
        await refuse(taskId, "size");
        const token = await life.begin({ taskId, run: 2 });
        const { revision } = await life.load(taskId);
        const wakes = await countWakes(taskId);

        expect(await record(taskId, token, aStep("a", 1), aWithdrawal("size", 2))).toBe("recorded");

        await vi.waitFor(() => expect(wakes.onChange).toHaveBeenCalled());
        wakes.stop();
        expect(await life.load(taskId)).toMatchObject({ status: "input_required", asks: [{ key: "name" }], revision: revision + 1 });
        await record(taskId, token, aWithdrawal("name", 3));
        expect(await life.load(taskId)).toMatchObject({ status: "working", asks: [], revision: revision + 2 });
        expect(await refuse(taskId, "size")).toBeUndefined();
        expect((await journalOf(taskId, 2)).get("ask:size")).toEqual(aWithdrawal("size", 2).entry);
      });

      test("an answer that comes behind it is late, and makes nothing due", async () => {
        const taskId = await life.parked([anAsk("size")]);
        const token = await life.begin({ taskId, run: 2 });
        await record(taskId, token, aWithdrawal("size", 1));

        expect(await life.answer(taskId, "size", "4")).toEqual({ receipt: "late" });
        expect(await store.answer({ taskId, key: "size", answer: accept("4"), nowMs: Date.now(), graceMs: GRACE_MS })).toEqual({
          receipt: "late",
        });
        expect(await life.park(taskId, token, [])).toEqual({ type: "parked" });
      });

      test("an answer that came first is kept in the place of the withdrawal, so that its sender is told so again", async () => {
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

      test("of an answer and a withdrawal that race, one comes first and the ask is closed by both", async () => {
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

      test("is told with the park that writes it, whether another ask is open, or takes its place, and the ask is not put again", async () => {
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

      test("with the end of the task it stays withdrawn, and every other open ask is closed", async () => {
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

      test("an ask that was never put, or anything else, is withdrawn without anybody being told", async () => {
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

    describe("beginning anew", () => {
      const restart = (taskId: string, token: string, request: Partial<ParkRequest> = {}) => {
        const nowMs = Date.now();
        const parked = { taskId, token, nowMs, entries: [], asks: [], dueAtMs: nowMs + HOUR_MS, attempt: 0, graceMs: GRACE_MS };
        return store.park({ ...parked, restart: { arguments: { round: 2, party: [] } }, ...request });
      };

      test("the task has an empty journal and the new arguments, nothing is asked, and the next run is due at once", async () => {
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
          task: { ...task, run: 3, call: { ...facts, seed, arguments: { round: 2, party: [] } } },
          journal: new Map(),
          journalSize: 0,
          attempt: 0,
          takeovers: 0,
        });
      });

      test("again and again: the last arguments count, however large they and those before are, and the generation grows", async () => {
        for (const first of [1, 2_000]) {
          const taskId = await life.create({ arguments: { text: "x".repeat(first) }, seed: "seed" });
          let token = await life.begin({ taskId, run: 1 });
          for (const [index, length] of [2_000, 3_000, 1, 2, 2_000].entries()) {
            const given = { text: "y".repeat(length) };
            await restart(taskId, token, { restart: { arguments: given } });
            token = newToken();
            expect(await begin(taskId, index + 2, { token })).toMatchObject({
              task: { generation: index + 1, call: { arguments: given, seed: "seed" } },
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

      test("an answer to what was asked before is late, in any generation; a key that no ask can have had yet is unknown", async () => {
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
      });

      test("an answer that came while the run was open goes with what it answered", async () => {
        const taskId = await life.parked([anAsk("size")]);
        const token = await life.begin({ taskId, run: 2 });
        expect(await life.answer(taskId, "size", "4")).toEqual({ receipt: "accepted" });

        expect(await restart(taskId, token)).toEqual({ type: "due", run: 3 });
        expect(await begin(taskId, 3)).toMatchObject({ journal: new Map() });
        expect(await life.answer(taskId, "size", "4")).toEqual({ receipt: "late" });
      });

      test("watchers of the task are told", async () => {
        const taskId = await life.create();
        const token = await life.begin({ taskId, run: 1 });
        const wakes = await countWakes(taskId);
        await restart(taskId, token);
        await vi.waitFor(() => expect(wakes.onChange).toHaveBeenCalled());
        wakes.stop();
      });

      test("I5: a worker that was replaced cannot do it", async () => {
        const taskId = await life.parked([anAsk("size")]);
        const dead = await life.begin({ taskId, run: 2 });
        await life.takeOver({ taskId, run: 2 });
        const before = await life.load(taskId);

        expect(await restart(taskId, dead)).toEqual({ type: "refused" });
        expect(await life.load(taskId)).toEqual(before);
      });
    });

    describe("report", () => {
      test("message, text for the model and feed are there for clients, and the feed is read on from a cursor", async () => {
        const taskId = await life.create();
        const token = await life.begin({ taskId, run: 1 });
        const report = { taskId, token, nowMs: Date.now() };
        expect(await store.feed(taskId, undefined)).toEqual({ items: [], cursor: undefined });

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
        expect(await store.feed(taskId, second.cursor)).toEqual({ items: [], cursor: second.cursor });
      });

      test("a feed is read in pieces of any size, and none of them is left out or read twice", async () => {
        const taskId = await life.create();
        const token = await life.begin({ taskId, run: 1 });
        const items = Array.from({ length: 5 }, (_, progress) => ({ type: "progress", progress }) as const);
        await store.report({ taskId, token, nowMs: Date.now(), items });

        const first = await store.feed(taskId, undefined, 2);
        const second = await store.feed(taskId, first.cursor, 3);

        expect([first.items, second.items]).toEqual([items.slice(0, 2), items.slice(2)]);
        expect((await store.feed(taskId, second.cursor, 1)).items).toEqual([]);
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
      test("says what is recorded, where it stands and since when it waits, and nothing of what was said", async () => {
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

    describe("recorded", () => {
      test("gives what the next run would be given, and begins none: arguments, open asks, entries with their values", async () => {
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

      test("a task is of the version that it was made with, until it moves, in its course or as it begins again; '' is none", async () => {
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

      test("knows no task that is not there", async () => {
        expect(await store.recorded(newTaskId())).toBeUndefined();
        expect(await store.recorded("no task id")).toBeUndefined();
      });
    });

    describe("park", () => {
      test("I3: the task is input_required with its asks in the order in which they were put, round after round", async () => {
        const [size, name, later] = [anAsk("size", { onTimeout: { default: { size: "2" } } }), anAsk("name"), anAsk("a-later-one")];
        const taskId = await life.create();
        await life.park(taskId, await life.begin({ taskId, run: 1 }), [size, name]);
        expect(await store.load(taskId)).toMatchObject({ status: "input_required", asks: [size, name] });

        await life.park(taskId, await life.begin({ taskId, run: 2 }), [size, name, later]);

        expect((await life.load(taskId)).asks).toMatchObject([size, name, later]);
      });

      test("of an open ask is known since when it is as it is: a later one is behind, also one of the same park, and one that was refused", async () => {
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
      });

      test("every kind of ask, and every policy, comes back as it was put", async () => {
        const form = { type: "object", properties: { a: { type: "string" } } };
        const asks = [
          anAsk("form", { request: { type: "form", message: "Wie viele?\n☃", schema: form }, onTimeout: { default: { a: "b" } } }),
          anAsk("url", { request: { type: "url", message: "Sign in", url: "https://example.test/?a=1&b=2" }, onTimeout: "decline" }),
          anAsk("visit", { request: { type: "url", message: "Pay", url: "https://pay.example", completedBy: "event" } }),
          anAsk("sampling", { request: { type: "sampling", params: { messages: [], maxTokens: 10 } }, onTimeout: "fail" }),
          anAsk("hinted", { request: { type: "form", message: "?", schema: {}, hints: { icon: "🔒" } } }),
          anAsk("page", { request: { type: "url", message: "?", url: "https://pay.example", hints: { submitLabel: "Pay" } } }),
          anAsk("roots", { request: { type: "roots" } }),
          anAsk("roots#2", { request: { type: "roots" } }),
        ];

        expect((await life.load(await life.parked(asks))).asks).toMatchObject(asks);
      });

      test("I3: a task that waits for a time alone stays working", async () => {
        const taskId = await life.create();
        const dueAtMs = Date.now() + 5_000;
        expect(await life.park(taskId, await life.begin({ taskId, run: 1 }), [], dueAtMs)).toEqual({ type: "parked" });

        expect(await store.load(taskId)).toMatchObject({ status: "working", revision: 1 });
        expect(await overdueAt(dueAtMs - 1, taskId)).toBeUndefined();
        expect(await overdueAt(dueAtMs, taskId)).toBe(2);
      });

      test("an ask that is open already stays as it was put, and a run that found nothing new wakes nobody", async () => {
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

      test("an answer that came while the run was open makes the task due at once, and its ask is not put again", async () => {
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
        expect(await overdueAt(nowMs + GRACE_MS, taskId)).toBe(3);
      });

      test("an answer that came before a takeover is known to who took over, and does not make the task due again", async () => {
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

    describe("answer", () => {
      test("an accepted answer is in the journal under the ask's digest, without a place yet, and the next run is due", async () => {
        const taskId = await life.parked([anAsk("size", { calledAt: "12o" })]);
        const nowMs = Date.now();

        const request = { taskId, key: "size", digest: "digest-of-size", answer: accept("4"), graceMs: GRACE_MS };
        expect(await store.answer({ ...request, nowMs })).toEqual({ receipt: "accepted", nextRun: 2 });

        expect(await store.load(taskId)).toMatchObject({ status: "working", asks: [], revision: 3 });
        expect(await overdueAt(nowMs + HOUR_MS / 2, taskId)).toBe(2);
        expect(await begin(taskId, 2)).toMatchObject({
          journal: new Map([
            [
              "ask:size",
              {
                digest: "digest-of-size",
                outcome: { type: "answer", answer: accept("4") },
                calledAt: "12o",
                arrived: { atMs: nowMs, revision: 3 },
              },
            ],
          ]),
        });
      });

      test("answers of one millisecond are told apart by the revision that each led to", async () => {
        const taskId = await life.parked([anAsk("size"), anAsk("name")]);
        const nowMs = Date.now();
        const send = (key: string) =>
          store.answer({ taskId, key, digest: `digest-of-${key}`, answer: accept("4"), nowMs, graceMs: GRACE_MS });
        await send("name");
        await send("size");

        const journal = await journalOf(taskId, 2);
        expect(journal.get("ask:name")?.arrived).toEqual({ atMs: nowMs, revision: 3 });
        expect(journal.get("ask:size")?.arrived).toEqual({ atMs: nowMs, revision: 4 });
      });

      test("that nobody answered is dated at the deadline, however late a worker looks", async () => {
        const deadlineMs = Date.now() - WEEK_MS;
        const taskId = await life.parked([anAsk("size", { askedAtMs: deadlineMs - HOUR_MS, deadlineMs })]);
        const token = await life.begin({ taskId, run: 2 });
        const request = { taskId, key: "size", digest: "digest-of-size", nowMs: Date.now(), graceMs: GRACE_MS, token };
        await store.answer({ ...request, answer: { action: "timeout" } });

        expect((await journalOf(taskId, 2)).get("ask:size")).toEqual({
          digest: "digest-of-size",
          outcome: { type: "answer", answer: { action: "timeout" } },
          calledAt: "0",
          arrived: { atMs: deadlineMs, revision: 3 },
        });
      });

      test("an answer that a run has settled is as much the same again as one that no run has", async () => {
        const taskId = await life.parked([anAsk("size"), anAsk("name")]);
        await life.answer(taskId, "size", "4");
        const token = await life.begin({ taskId, run: 2 });
        const entry = { digest: "digest-of-size", outcome: { type: "answer", answer: accept("4") }, calledAt: "0", place: 1 } as const;
        await record(taskId, token, { key: "ask:size", entry, known: true });

        expect(await life.answer(taskId, "size", "4")).toEqual({ receipt: "duplicate" });
        expect(await life.answer(taskId, "size", "5")).toEqual({ receipt: "late" });
        const toAnother = { taskId, key: "size", digest: "of-another-question", answer: accept("4"), graceMs: GRACE_MS };
        expect(await store.answer({ ...toAnother, nowMs: Date.now() })).toEqual({ receipt: "late" });
        expect((await journalOf(taskId, 2)).get("ask:size")).toEqual(entry);
      });

      test("I3: the task stays input_required until the last ask is answered, but each answer has its run", async () => {
        const taskId = await life.parked([anAsk("size"), anAsk("name")]);

        expect(await life.answer(taskId, "name", "Ada")).toEqual({ receipt: "accepted", nextRun: 2 });
        expect(await store.load(taskId)).toMatchObject({ status: "input_required", asks: [{ key: "size" }] });
        expect(await life.answer(taskId, "size", "4")).toEqual({ receipt: "accepted", nextRun: 2 });
        expect(await store.load(taskId)).toMatchObject({ status: "working", asks: [] });
      });

      test("I2: of 20 racing answers exactly one is accepted, and each loser is told what became of it", async () => {
        const taskId = await life.parked([anAsk("size")]);

        const recorded = await Promise.all(Array.from({ length: 20 }, (_, i) => life.answer(taskId, "size", String(i % 4))));

        const receipts = recorded.map(({ receipt }) => receipt);
        expect(receipts.filter((receipt) => receipt === "accepted")).toHaveLength(1);
        expect(receipts.filter((receipt) => receipt === "duplicate")).toHaveLength(4);
        expect(receipts.filter((receipt) => receipt === "late")).toHaveLength(15);
      });

      test("the same answer again is a duplicate, and names the run again as long as it has not begun: its first sender may have died", async () => {
        const taskId = await life.parked([anAsk("size")]);
        await life.answer(taskId, "size", "4");

        expect(await life.answer(taskId, "size", "4")).toEqual({ receipt: "duplicate", nextRun: 2 });
        const token = await life.begin({ taskId, run: 2 });
        expect(await life.answer(taskId, "size", "4")).toEqual({ receipt: "duplicate" });
        await life.park(taskId, token, [anAsk("name")]);
        expect(await life.answer(taskId, "size", "4")).toEqual({ receipt: "duplicate" });
        expect(await life.answer(taskId, "size", "5")).toEqual({ receipt: "late" });
      });

      test("while a run is open a duplicate names no run, even when the lease has ended: the sweep names the one to take over", async () => {
        const taskId = await life.parked([anAsk("size")]);
        await life.answer(taskId, "size", "4");
        await life.begin({ taskId, run: 2 });
        const request = { taskId, key: "size", digest: "digest-of-size", answer: accept("4"), graceMs: GRACE_MS };

        expect(await store.answer({ ...request, nowMs: Date.now() + 2 * LEASE_MS })).toEqual({ receipt: "duplicate" });
      });

      test("two answers are the same in any order of their fields", async () => {
        const taskId = await life.parked([anAsk("size")]);
        const send = (answer: Answer) =>
          store.answer({ taskId, key: "size", digest: "digest-of-size", answer, nowMs: Date.now(), graceMs: GRACE_MS });
        await send({ action: "accept", content: { a: 1, b: { c: [1], d: "2" } } });

        expect(await send({ content: { b: { d: "2", c: [1] }, a: 1 }, action: "accept" })).toMatchObject({ receipt: "duplicate" });
        expect(await send({ action: "accept", content: { a: 1, b: { c: [1], d: "3" } } })).toEqual({ receipt: "late" });
      });

      test("a key that no ask ever had is unknown, and so is every key of a task that is not there", async () => {
        const taskId = await life.parked([anAsk("size")]);

        expect(await life.answer(taskId, "colour", "red")).toEqual({ receipt: "unknown" });
        expect(await life.answer(newTaskId(), "size", "4")).toEqual({ receipt: "unknown" });
        expect(await store.load(taskId)).toMatchObject({ status: "input_required", revision: 2 });
      });

      test("I4: an answer that was given to another question of the same name claims nothing", async () => {
        const taskId = await life.parked([anAsk("size", { digest: "of-another-question" })]);

        expect(await life.answer(taskId, "size", "4")).toEqual({ receipt: "late" });
        expect(await store.load(taskId)).toMatchObject({ status: "input_required", asks: [{ key: "size" }] });
      });

      test("an answer without a digest claims nothing and is only compared with what is recorded", async () => {
        const taskId = await life.parked([anAsk("size"), anAsk("name")]);
        const send = (key: string, value: string) =>
          store.answer({ taskId, key, answer: accept(value), nowMs: Date.now(), graceMs: GRACE_MS });
        await life.answer(taskId, "size", "4");

        expect(await send("size", "4")).toEqual({ receipt: "duplicate", nextRun: 2 });
        expect(await send("size", "5")).toEqual({ receipt: "late" });
        expect(await send("name", "Ada")).toEqual({ receipt: "unknown" });
        expect((await life.load(taskId)).asks.map(({ key }) => key)).toEqual(["name"]);
      });

      test("the holder closes an ask at its deadline without a further run, and a person who was faster has won", async () => {
        const taskId = await life.parked([anAsk("size"), anAsk("name")]);
        const token = await life.begin({ taskId, run: 2 });
        const close = (key: string) =>
          store.answer({
            taskId,
            key,
            digest: `digest-of-${key}`,
            answer: { action: "timeout" },
            nowMs: Date.now(),
            graceMs: GRACE_MS,
            token,
          });

        expect(await close("size")).toEqual({ receipt: "accepted" });
        expect(await close("size")).toEqual({ receipt: "duplicate" });
        expect(await life.answer(taskId, "size", "4")).toEqual({ receipt: "late" });
        expect(await life.park(taskId, token, [anAsk("name")])).toEqual({ type: "parked" });

        const next = await life.begin({ taskId, run: 3 });
        expect(await life.answer(taskId, "name", "Ada")).toEqual({ receipt: "accepted" });
        const late = { taskId, key: "name", digest: "digest-of-name", nowMs: Date.now(), graceMs: GRACE_MS, token: next };
        expect(await store.answer({ ...late, answer: { action: "timeout" } })).toEqual({ receipt: "late" });
      });

      test("I5: a worker that was replaced cannot close an ask", async () => {
        const taskId = await life.parked([anAsk("size")]);
        const dead = await life.begin({ taskId, run: 2 });
        await life.takeOver({ taskId, run: 2 });
        const request = { taskId, key: "size", digest: "digest-of-size", nowMs: Date.now(), graceMs: GRACE_MS };

        expect(await store.answer({ ...request, answer: { action: "timeout" }, token: dead })).toEqual({ receipt: "late" });
        expect(await store.load(taskId)).toMatchObject({ asks: [{ key: "size" }] });
      });
    });

    describe("agree", () => {
      const agree = (taskId: string, key: string, digest = `digest-of-${key}`) => store.agree({ taskId, key, digest, nowMs: Date.now() });

      test("an ask that the person agreed to visit stays open and says so; twice is once, and who follows the task is woken", async () => {
        const taskId = await life.parked([anAsk("size"), anAsk("name")]);
        const { revision } = await life.load(taskId);
        const { onChange, stop } = await countWakes(taskId);

        expect(await agree(taskId, "size")).toBe("accepted");
        expect(await agree(taskId, "size")).toBe("duplicate");

        await vi.waitFor(() => expect(onChange).toHaveBeenCalled());
        const task = await life.load(taskId);
        expect(task).toMatchObject({ status: "input_required", revision: revision + 1 });
        expect(task.asks.map(({ key, agreed }) => [key, agreed])).toEqual([
          ["size", true],
          ["name", undefined],
        ]);
        stop();
      });

      test("there is nothing to agree to where the ask is not open: answered, never asked, another question of that name (I4), no task", async () => {
        const taskId = await life.parked([anAsk("size")]);
        expect(await agree(taskId, "size", "digest-of-another")).toBe("late");
        expect(await agree(taskId, "name")).toBe("late");
        expect(await agree(newTaskId(), "size")).toBe("late");
        expect(await agree("nonsense", "size")).toBe("late");
        const nowMs = Date.now();
        await store.answer({ taskId, key: "size", digest: "digest-of-size", answer: accept("4"), nowMs, graceMs: GRACE_MS });
        expect(await agree(taskId, "size")).toBe("late");
        expect((await life.load(taskId)).asks).toEqual([]);
      });
    });

    describe("an answer on a page", () => {
      const onPage = (taskId: string, more: object = {}) =>
        store.answer({
          taskId,
          key: "key",
          digest: "digest-of-key",
          answer: { action: "accept", content: { deposit: "key" } },
          page: { deposit: "sealed ☃" },
          nowMs: Date.now(),
          graceMs: GRACE_MS,
          ...more,
        });
      const bare = (taskId: string, more: object = {}) => ({
        taskId,
        key: "key",
        answer: { action: "accept" as const },
        nowMs: Date.now(),
        graceMs: GRACE_MS,
        ...more,
      });

      test("is recorded with what it says, and leaves its deposit with the task until the task ends", async () => {
        const taskId = await life.parked([anAsk("key")]);
        expect(await store.deposit(taskId, "key")).toBeUndefined();
        expect((await onPage(taskId)).receipt).toBe("accepted");
        expect(await store.deposit(taskId, "key")).toBe("sealed ☃");
        expect(await store.deposit(taskId, "other")).toBeUndefined();
        expect(await store.deposit("nonsense", "key")).toBeUndefined();
        expect((await journalOf(taskId, 2)).get("ask:key")?.outcome).toEqual({
          type: "answer",
          answer: { action: "accept", content: { deposit: "key" } },
        });
        await store.cancel({ taskId, nowMs: Date.now(), message: "" });
        expect(await store.deposit(taskId, "key")).toBeUndefined();
      });

      test("a bare acceptance behind it says the same, from anyone; anything else is late, and leaves nothing", async () => {
        const taskId = await life.parked([anAsk("key")]);
        await onPage(taskId, { by: "bob" });
        expect((await store.answer(bare(taskId, { by: "bob" }))).receipt).toBe("duplicate");
        expect((await store.answer(bare(taskId, { by: "eve" }))).receipt).toBe("late");
        expect((await store.answer(bare(taskId))).receipt).toBe("late");
        expect((await store.answer(bare(taskId, { by: "bob", answer: { action: "decline" } }))).receipt).toBe("late");
        expect((await onPage(taskId, { page: { deposit: "another" } })).receipt).not.toBe("accepted");
        expect(await store.deposit(taskId, "key")).toBe("sealed ☃");
      });

      test("of racing ones one is accepted, and its deposit is the one that is kept", async () => {
        const taskId = await life.parked([anAsk("key")]);
        const sent = await Promise.all(
          Array.from({ length: 10 }, async (_, n) => ({ n, ...(await onPage(taskId, { page: { deposit: `${n}` } })) })),
        );
        const accepted = sent.filter(({ receipt }) => receipt === "accepted");
        expect(accepted).toHaveLength(1);
        expect(await store.deposit(taskId, "key")).toBe(`${accepted[0]?.n}`);
      });

      test("is forgotten when the task begins anew", async () => {
        const taskId = await life.parked([anAsk("key")]);
        await onPage(taskId);
        const token = await life.begin({ taskId, run: 2 });
        await store.park({
          taskId,
          token,
          nowMs: Date.now(),
          entries: [],
          asks: [],
          dueAtMs: Date.now(),
          attempt: 0,
          graceMs: GRACE_MS,
          restart: { arguments: {} },
        });
        expect(await store.deposit(taskId, "key")).toBeUndefined();
      });
    });

    describe("refuse", () => {
      const violations = [{ path: "/content/size", message: "must be at most 20 ☃" }];
      const refuse = (taskId: string, key: string, digest = `digest-of-${key}`) =>
        store.refuse({ taskId, key, digest, violations, nowMs: Date.now() });

      test("an open ask tells how often it was refused and what was wrong with the last reply, and stays open", async () => {
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
        const stop = await events.watch(taskId, onChange);

        await refuse(taskId, "size");

        await vi.waitFor(() => expect(onChange).toHaveBeenCalled());
        expect((await life.load(taskId)).revision).toBe(revision + 1);
        stop();
      });

      test("of racing refusals each is counted once", async () => {
        const taskId = await life.parked([anAsk("size")]);
        const counts = await Promise.all(Array.from({ length: 10 }, () => refuse(taskId, "size")));
        expect(counts.toSorted((a, b) => (a ?? 0) - (b ?? 0))).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
      });

      test("what is not open is not refused: answered, never asked, another question of that name (I4), no task", async () => {
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

      test("an answer is accepted after refusals as before them, and nothing of them is left", async () => {
        const taskId = await life.parked([anAsk("size"), anAsk("name")]);
        await refuse(taskId, "size");
        expect(await life.answer(taskId, "size", "4")).toMatchObject({ receipt: "accepted" });
        expect((await life.load(taskId)).asks).toMatchObject([{ key: "name" }]);
      });

      test("a refusal moves no expiry and makes nothing due", async () => {
        const taskId = await life.parked([anAsk("size")]);
        await refuse(taskId, "size");
        expect(await life.load(taskId)).not.toHaveProperty("expiresAtMs");
        expect(await overdueAt(Date.now() + 60_000, taskId)).toBeUndefined();
      });
    });

    describe("finish", () => {
      test("a result completes the task, an error fails it, and both are there to be read", async () => {
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

      test("a run that is at work when its task is cancelled is told so, and can end nothing from then on", async () => {
        const taskId = await life.create();
        const token = await life.begin({ taskId, run: 1 });
        await life.cancel(taskId);

        expect(await store.renew({ taskId, token, nowMs: Date.now(), leaseMs: LEASE_MS })).toBe("cancelled");
        expect(await life.finish(taskId, token)).toBe("refused");
        expect(await store.load(taskId)).toMatchObject({ status: "cancelled" });
      });

      test("of a result and a cancellation that race exactly one ends the task", async () => {
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

    describe("overdue", () => {
      test("the tasks that have waited longest come first, and only as many as were asked for", async () => {
        const longAgo = Date.now() - 40 * 60_000;
        const taskIds: string[] = [];
        for (const age of [2, 0, 1]) taskIds[age] = await life.create({ createdAtMs: longAgo - age });

        const all = await store.overdue({ partition: 0, nowMs: longAgo + GRACE_MS, limit: 100 });
        const two = await store.overdue({ partition: 0, nowMs: longAgo + GRACE_MS, limit: 2 });

        expect(all.map(({ taskId }) => taskId)).toEqual(taskIds.toReversed());
        expect(two).toEqual(all.slice(0, 2));
        for (const taskId of taskIds) await life.cancel(taskId);
      });

      test("a partition knows its own tasks only", async () => {
        const taskId = await life.create();

        expect(await store.overdue({ partition: 1, nowMs: Date.now() + HOUR_MS, limit: 10 })).toEqual([]);
        expect(await overdueAt(Date.now() + HOUR_MS, taskId)).toBe(1);
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
        await vi.waitFor(async () => expect(await store.load(ended)).toBeUndefined());

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

      test("a task whose retention is over as it ends is gone at once, and leaves nothing", async () => {
        const longAgo = { nowMs: Date.now() - WEEK_MS, entries: [aStep("a", 1)], outcome: { type: "result", result: {} } } as const;
        const finished = await life.parked([anAsk("size")], { retentionMs: 1 });
        await store.finish({ taskId: finished, token: await life.begin({ taskId: finished, run: 2 }), ...longAgo });
        const cancelled = await life.parked([anAsk("size")], { retentionMs: 1 });
        await store.cancel({ taskId: cancelled, nowMs: longAgo.nowMs, message: "" });

        expect([await store.load(finished), await store.load(cancelled)]).toEqual([undefined, undefined]);
      });

      test("a finished task is there for its retention and then gone", async () => {
        const taskId = await life.create({ retentionMs: 100 });
        const token = await life.begin({ taskId, run: 1 });
        await store.report({ taskId, token, nowMs: Date.now(), items: [{ type: "progress", progress: 1 }] });
        const nowMs = Date.now();
        await store.finish({ taskId, token, nowMs, entries: [aStep("a", 1)], outcome: { type: "result", result: {} } });
        expect(await store.load(taskId)).toMatchObject({ expiresAtMs: nowMs + 100 });

        await vi.waitFor(async () => expect(await store.load(taskId)).toBeUndefined());
        expect(await store.feed(taskId, undefined)).toEqual({ items: [], cursor: undefined });
        expect(await life.cancel(taskId)).toBe("unknown");
      });
    });

    describe.runIf(partitions === 1)("quotas", () => {
      const roomy = { tasks: 1_000, bytes: 1_000_000 };
      const create = async (call: Partial<Call>, quotas: TaskQuotas | undefined) => {
        const taskId = newTaskId();
        const created = await store.create({ taskId, call: aCall(call), graceMs: GRACE_MS, ...(quotas && { quotas }) });
        return { taskId, created };
      };
      /** Nobody of any other test. */
      const somebody = () => ({ principal: `ada-${newToken()}`, tenant: `acme-${newToken()}` });

      test("bound the unfinished tasks of a principal, at the limit and one beyond; nothing is written of one beyond", async () => {
        const ada = somebody();
        const quotas = { principal: { ...roomy, tasks: 2 }, tenant: roomy };
        const tasks = [await create(ada, quotas), await create(ada, quotas), await create(ada, quotas)];
        expect(tasks.map(({ created }) => created)).toEqual(["created", "created", { over: "tasks", of: "principal" }]);
        expect(await store.load(tasks[2]!.taskId)).toBeUndefined();
        expect((await store.list({ principal: ada.principal, limit: 10 })).tasks).toHaveLength(2);
        expect((await create({ ...ada, principal: "somebody else" }, quotas)).created).toBe("created");
      });

      test("make room with the end of a task, by result, error or cancellation, begun or not, and once", async () => {
        const ada = somebody();
        const quotas = { principal: { ...roomy, tasks: 1 }, tenant: roomy };
        for (const end of ["finish", "cancel", "cancel before its run"]) {
          const { taskId, created } = await create(ada, quotas);
          expect(created).toBe("created");
          expect((await create(ada, quotas)).created).toEqual({ over: "tasks", of: "principal" });
          if (end === "finish") await life.finish(taskId, await life.begin({ taskId, run: 1 }));
          if (end === "cancel") await life.begin({ taskId, run: 1 });
          if (end !== "finish") await life.cancel(taskId);
          await life.cancel(taskId);
        }
        expect((await create(ada, quotas)).created).toBe("created");
        expect((await create(ada, quotas)).created).toEqual({ over: "tasks", of: "principal" });
      });

      test("bound what callers put into unfinished tasks, wherever it is kept", async () => {
        const ada = somebody();
        for (const length of [100, 100_000]) {
          const given = { ...ada, arguments: { text: "x".repeat(length) } };
          const quotas = { principal: { ...roomy, bytes: Math.floor(2.5 * (length + 13)) }, tenant: roomy };
          const first = await create(given, quotas);
          const second = await create(given, quotas);
          expect([first.created, second.created]).toEqual(["created", "created"]);
          expect((await create(given, quotas)).created).toEqual({ over: "bytes", of: "principal" });
          await life.cancel(first.taskId);
          const third = await create(given, quotas);
          expect(third.created).toBe("created");
          await life.cancel(second.taskId);
          await life.cancel(third.taskId);
        }
      });

      test("count what was given with a call until its task ends, also of one that began anew with something else", async () => {
        const ada = somebody();
        const given = { ...ada, arguments: { text: "x".repeat(100_000) } };
        const quotas = { principal: { ...roomy, bytes: 250_000 }, tenant: roomy };
        const other = await create(given, quotas);
        const { taskId } = await create(given, quotas);
        const token = await life.begin({ taskId, run: 1 });
        const nowMs = Date.now();
        const anew = { entries: [], asks: [], dueAtMs: nowMs, attempt: 0, graceMs: GRACE_MS, restart: { arguments: {} } };
        await store.park({ taskId, token, nowMs, ...anew });
        await life.cancel(taskId);
        expect((await create(given, quotas)).created).toBe("created");
        expect((await create(given, quotas)).created).toEqual({ over: "bytes", of: "principal" });
        expect((await store.load(other.taskId))?.status).toBe("working");
      });

      test("bound all principals of a tenant together, and no other tenant", async () => {
        const ada = somebody();
        const quotas = { principal: roomy, tenant: { ...roomy, tasks: 2 } };
        const bob = { ...ada, principal: "bob" };
        expect([(await create(ada, quotas)).created, (await create(bob, quotas)).created]).toEqual(["created", "created"]);
        expect((await create(ada, quotas)).created).toEqual({ over: "tasks", of: "tenant" });
        expect((await create({ ...ada, tenant: `other-${newToken()}` }, quotas)).created).toBe("created");
      });

      test("count no task that was created without them, at its end neither", async () => {
        const ada = somebody();
        const quotas = { principal: { ...roomy, tasks: 1 }, tenant: roomy };
        const uncounted = await create(ada, undefined);
        expect((await create(ada, quotas)).created).toBe("created");
        await life.cancel(uncounted.taskId);
        expect((await create(ada, quotas)).created).toEqual({ over: "tasks", of: "principal" });
      });
    });

    describe("who is asked, and who answers", () => {
      test("an ask keeps its audience, and a task its tenant", async () => {
        const audience = { to: { groups: ["finance"] }, not: "caller" } as const;
        const taskId = await life.parked([{ ...anAsk("pay"), audience }, anAsk("size")], { tenant: "acme" });
        const task = await life.load(taskId);
        expect(task.call.tenant).toBe("acme");
        expect(task.asks.map((ask) => ask.audience)).toEqual([audience, undefined]);
        expect(await begin(taskId, 2)).toMatchObject({ task: { call: { tenant: "acme" }, asks: [{ audience }, {}] } });
        expect((await life.load(await life.create())).call).not.toHaveProperty("tenant");
      });

      test("the same answer of somebody else is late, and of the same one a duplicate; the run reads who gave it", async () => {
        const taskId = await life.parked([anAsk("pay")]);
        const give = (by?: string, digest?: string) =>
          store.answer({
            taskId,
            key: "pay",
            answer: accept("4"),
            nowMs: Date.now(),
            graceMs: GRACE_MS,
            ...(digest !== undefined && { digest }),
            ...(by !== undefined && { by }),
          });
        expect(await give("eve", anAsk("pay").digest)).toMatchObject({ receipt: "accepted" });
        expect(await give("eve")).toMatchObject({ receipt: "duplicate" });
        expect(await give("bob")).toEqual({ receipt: "late" });
        expect(await give()).toEqual({ receipt: "late" });
        const begun = await begin(taskId, 2);
        expect(begun.type === "begun" && begun.journal.get("ask:pay")?.outcome).toEqual({ type: "answer", answer: accept("4"), by: "eve" });
      });
    });

    describe("list", () => {
      const page = (principal: string, limit: number, cursor?: string) =>
        store.list({ principal, limit, ...(cursor !== undefined && { cursor }) });

      test("a principal's own tasks, newest first, page by page, without hidden ones", async () => {
        const principal = `ada-${newToken()}`;
        const taskIds: string[] = [];
        for (let i = 0; i < 5; i += 1) taskIds.unshift(await life.create({ principal }));
        await life.create({ principal, hidden: true });
        await life.create({ principal: "somebody else" });

        const first = await page(principal, 2);
        const second = await page(principal, 2, first.nextCursor);
        const third = await page(principal, 2, second.nextCursor);

        expect([first, second, third].map(({ tasks }) => tasks.map(({ id }) => id))).toEqual([
          taskIds.slice(0, 2),
          taskIds.slice(2, 4),
          taskIds.slice(4),
        ]);
        expect(third.nextCursor).toBeUndefined();
        expect((await page(principal, 5)).nextCursor).toBeUndefined();
      });

      test("of each task what a list shows, and nothing that is large", async () => {
        const principal = `lin-${newToken()}`;
        const large = "x".repeat(200_000);
        const asks = [anAsk("size", { request: { type: "form", message: large, schema: {} } })];
        const end = async (outcome: Outcome) => {
          const taskId = await life.create({ principal, arguments: { large } });
          await store.finish({ taskId, token: await life.begin({ taskId, run: 1 }), nowMs: Date.now(), entries: [], outcome });
        };
        const text = (words: string) => ({ type: "text", text: words });
        await life.create({ principal, hidden: false, arguments: { large } });
        await life.parked(asks, { principal, arguments: { large } });
        await end({ type: "result", result: { content: [text(large)] } });
        await end({ type: "result", result: { content: [{ type: "image" }, text("No."), text("Never.")], isError: true } });
        await end({ type: "result", result: { isError: true } });
        await end({ type: "error", error: { code: -1, message: large, data: large } });
        await life.cancel(await life.create({ principal }));

        const { tasks } = await page(principal, 10);

        expect(tasks.map(({ status, problem }) => [status, problem?.slice(0, 3)])).toEqual([
          ["cancelled", undefined],
          ["failed", "xxx"],
          ["completed", ""],
          ["completed", "No."],
          ["completed", undefined],
          ["input_required", undefined],
          ["working", undefined],
        ]);
        const loaded = await Promise.all(tasks.map(({ id }) => life.load(id)));
        expect(tasks).toEqual(loaded.map(summaryOf));
        expect(await store.summaries([newTaskId(), ...tasks.map(({ id }) => id), "no task id"])).toEqual([undefined, ...tasks, undefined]);
        expect(JSON.stringify(tasks).length).toBeLessThan(4_000);
      });

      test("a page ends where its tasks have said a megabyte, and the rest is on the next ones", async () => {
        const principal = `max-${newToken()}`;
        const taskIds: string[] = [];
        for (let i = 0; i < 20; i += 1) {
          const taskId = await life.create({ principal });
          const token = await life.begin({ taskId, run: 1 });
          await store.report({ taskId, token, nowMs: Date.now(), items: [], message: "x".repeat(100_000) });
          taskIds.unshift(taskId);
        }

        const first = await page(principal, 20);
        const second = await page(principal, 20, first.nextCursor);

        expect([first.tasks.length, second.tasks.length, second.nextCursor]).toEqual([10, 10, undefined]);
        expect([...first.tasks, ...second.tasks].map(({ id }) => id)).toEqual(taskIds);
      });

      test("a task that alone has said more is a page of its own", async () => {
        const principal = `moe-${newToken()}`;
        for (const length of [1, 1_100_000, 1]) {
          const taskId = await life.create({ principal });
          const token = await life.begin({ taskId, run: 1 });
          await store.report({ taskId, token, nowMs: Date.now(), items: [], message: "x".repeat(length) });
        }
        const lengths: number[][] = [];
        let cursor: string | undefined;
        do {
          const { tasks, nextCursor } = await page(principal, 10, cursor);
          lengths.push(tasks.map(({ message }) => message?.length ?? 0));
          cursor = nextCursor;
        } while (cursor !== undefined);
        expect(lengths).toEqual([[1], [1_100_000], [1]]);
      });

      test("tasks that are gone are left out, and do not make a page shorter", async () => {
        const principal = `eve-${newToken()}`;
        const kept = [await life.create({ principal }), await life.create({ principal })];
        const gone = await life.create({ principal, retentionMs: 10 });
        const newest = await life.create({ principal });
        await life.cancel(gone);
        await vi.waitFor(async () => expect(await store.load(gone)).toBeUndefined());

        const { tasks, nextCursor } = await page(principal, 3);

        expect(tasks.map(({ id }) => id)).toEqual([newest, ...kept.toReversed()]);
        expect(nextCursor).toBeUndefined();
      });

      test("a principal without tasks has an empty list, and a made-up cursor is refused", async () => {
        expect(await page("nobody", 10)).toEqual({ tasks: [] });
        const madeUp = [
          "made up",
          "",
          "0-0.0",
          "0-0.3",
          "00-1.0",
          "1-1.00000",
          "1.0",
          "-1-0.0",
          "9999999999999999-9007199254740993.0",
          "1-1.0 ",
        ];
        for (const cursor of madeUp) {
          await expect(page("anonymous", 10, cursor)).rejects.toMatchObject({
            code: "INVALID_CURSOR",
            message: expect.stringMatching(/^cursor /),
          });
        }
      });
    });

    describe("wake-ups", () => {
      test("every change that clients can see wakes who watches the task, after it can be read", async () => {
        const taskId = newTaskId();
        const seen: number[] = [];
        const stop = await events.watch(taskId, () => {
          void store.load(taskId).then((task) => seen.push(task?.revision ?? 0));
        });
        const wakesAt = (revision: number) => vi.waitFor(() => expect(seen.at(-1)).toBe(revision));

        await store.create({ taskId, call: aCall(), graceMs: GRACE_MS });
        await wakesAt(1);
        const token = await life.begin({ taskId, run: 1 });
        await store.report({ taskId, token, nowMs: Date.now(), items: [], message: "looking" });
        await wakesAt(2);
        await life.park(taskId, token, [anAsk("size")]);
        await wakesAt(3);
        await life.answer(taskId, "size", "4");
        await wakesAt(4);
        await life.finish(taskId, await life.begin({ taskId, run: 2 }));
        await wakesAt(5);
        stop();
        expect(seen).toEqual([1, 2, 3, 4, 5]);
      });

      test("who stopped watching, and who watches another task, is left alone", async () => {
        const [taskId, other] = [await life.create(), await life.create()];
        const calls: string[] = [];
        const stopped = await events.watch(taskId, () => calls.push("stopped"));
        const watching = await events.watch(taskId, () => calls.push("watching"));
        const elsewhere = await events.watch(other, () => calls.push("elsewhere"));

        stopped();
        await life.cancel(taskId);
        await vi.waitFor(() => expect(calls).toContain("watching"));

        expect(calls).toEqual(["watching"]);
        watching();
        elsewhere();
      });

      test("an announcement reaches every listener", async () => {
        const heard: unknown[] = [];
        const stop = await events.onAnnouncement((announcement) => heard.push(announcement));

        await events.announce({ type: "resource", uri: "file:///a b" });

        await vi.waitFor(() => expect(heard.some((item) => isDeepStrictEqual(item, { type: "resource", uri: "file:///a b" }))).toBe(true));
        stop();
      });
    });
  });
}
