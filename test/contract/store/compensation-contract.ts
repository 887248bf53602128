/** Tasks that ended without their result, and the last run that compensates them. */
import type { KeyedEntry } from "@parley/core";
import { describe, expect, test } from "vitest";
import { until } from "../../support/until.ts";
import { anAsk, aStep, GRACE_MS, HOUR_MS, LEASE_MS, newToken, WEEK_MS } from "../builders.ts";
import type { UnderTest } from "./under-test.ts";

export function compensation({ store, life, overdueAt, begin, record }: UnderTest): void {
  describe("a task that has to be compensated", () => {
    const soon = () => Date.now() + 60_000;
    const settle = (taskId: string, token: string, ...entries: KeyedEntry[]) => store.settle({ taskId, token, nowMs: Date.now(), entries });
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

    test("is shown as ended at once, and is due until its last run is settled", async () => {
      const taskId = await life.parked([anAsk("size")]);
      expect(await cancelOwing(taskId)).toBe("cancelled");
      const seen = await life.load(taskId);
      expect(seen).toMatchObject({ status: "cancelled", asks: [], owed: "cancelled", message: "over" });
      expect(await overdueAt(soon(), taskId)).toBe(2);

      const token = await life.begin({ taskId, run: 2 });
      expect(await record(taskId, token, aStep("compensation:/undo", 1))).toBe("recorded");
      expect(await store.report({ taskId, token, nowMs: Date.now(), items: [], message: "undoing" })).toBe("cancelled");
      expect(await settle(taskId, token, aStep("compensation:/done", 2))).toBe("settled");
      expect((await store.journal(taskId)).map(({ key }) => key)).toEqual(
        expect.arrayContaining(["step:compensation:/undo", "step:compensation:/done"]),
      );
      const { owed: _, run: __, ...rest } = seen;
      expect(await life.load(taskId)).toEqual({ ...rest, run: 2 });
      expect(await overdueAt(soon() + WEEK_MS, taskId)).toBeUndefined();
      expect(await begin(taskId, 3)).toEqual({ type: "refused", reason: "finished" });
      expect(await cancelOwing(taskId)).toBe("finished");
    });

    test("that failed or timed out gives its last run that reason and the recorded entries", async () => {
      for (const owes of ["failed", "timeout"] as const) {
        const taskId = await life.create();
        expect(await fail(taskId, await life.begin({ taskId, run: 1 }), owes)).toBe("finished");
        const begun = await begin(taskId, 2);
        expect(begun).toMatchObject({ type: "begun", attempt: 0, task: { status: "failed", owed: owes } });
        expect(begun.type === "begun" && [...begun.journal.keys()]).toEqual(["step:hold"]);
      }
    });

    test("begins its last run with a clean slate, however often its runs failed or were taken over", async () => {
      const taskId = await life.create();
      const first = { taskId, token: await life.begin({ taskId, run: 1 }), nowMs: Date.now(), dueAtMs: Date.now() };
      await store.park({ ...first, entries: [], asks: [], attempt: 3, graceMs: GRACE_MS });
      await life.begin({ taskId, run: 2 });
      const token = await life.takeOver({ taskId, run: 2 });
      await fail(taskId, token, "failed");
      expect(await begin(taskId, 3)).toMatchObject({ type: "begun", attempt: 0, takeovers: 0 });
    });

    test("is due when the lease of its last run ends, which recording and renewing move", async () => {
      const taskId = await life.create();
      await fail(taskId, await life.begin({ taskId, run: 1 }), "failed");
      const token = await life.begin({ taskId, run: 2 });
      const nowMs = Date.now() + 60_000;
      expect(await store.renew({ taskId, token, nowMs, leaseMs: LEASE_MS })).toBe("renewed");
      expect(await overdueAt(nowMs + LEASE_MS - 1, taskId)).toBeUndefined();
      expect(await overdueAt(nowMs + LEASE_MS, taskId)).toBe(2);
      await store.record({ taskId, token, nowMs: nowMs + 1, leaseMs: LEASE_MS, entries: [aStep("compensation:/undo", 1)] });
      expect(await overdueAt(nowMs + LEASE_MS, taskId)).toBeUndefined();
      expect(await overdueAt(nowMs + LEASE_MS + 1, taskId)).toBe(2);
    });

    test("counts the takeovers of its last run until that records something; renewing its lease is not enough", async () => {
      const taskId = await life.create();
      await fail(taskId, await life.begin({ taskId, run: 1 }), "failed");
      await life.begin({ taskId, run: 2 });
      const first = await life.takeOver({ taskId, run: 2 });
      await store.renew({ taskId, token: first, nowMs: Date.now(), leaseMs: LEASE_MS });
      expect(await begin(taskId, 2, { token: "second", nowMs: Date.now() + LEASE_MS })).toMatchObject({ takeovers: 2 });
      await record(taskId, "second", aStep("compensation:/undo", 1));
      expect(await begin(taskId, 2, { nowMs: Date.now() + 2 * LEASE_MS })).toMatchObject({ takeovers: 1 });
    });

    test("that never ran is owed nothing", async () => {
      const taskId = await life.create();
      await cancelOwing(taskId);
      expect((await life.load(taskId)).owed).toBeUndefined();
      expect(await overdueAt(soon(), taskId)).toBeUndefined();
    });

    test("cancelled during a run: the run learns of it, records its work in flight and parks; only then the last run begins", async () => {
      const taskId = await life.create();
      const token = await life.begin({ taskId, run: 1 });
      await cancelOwing(taskId);
      const before = await life.load(taskId);
      expect(await begin(taskId, 2)).toEqual({ type: "refused", reason: "stale" });
      expect(await begin(taskId, 1)).toEqual({ type: "refused", reason: "held" });
      expect(await store.report({ taskId, token, nowMs: Date.now(), items: [], message: "working" })).toBe("cancelled");
      expect(await store.report({ taskId, token: newToken(), nowMs: Date.now(), items: [], message: "working" })).toBe("refused");
      expect(await store.renew({ taskId, token, nowMs: Date.now(), leaseMs: LEASE_MS })).toBe("cancelled");
      expect(await record(taskId, token, aStep("hold", 1))).toBe("cancelled");
      expect(await settle(taskId, token)).toBe("refused");
      expect(await life.finish(taskId, token)).toBe("refused");
      const request = { taskId, token, nowMs: Date.now(), asks: [anAsk("size")], attempt: 3, graceMs: GRACE_MS };
      expect(await store.park({ ...request, entries: [aStep("pay", 2)], dueAtMs: Date.now() + HOUR_MS, message: "parked" })).toEqual({
        type: "parked",
      });
      // I1: clients see nothing of it.
      expect(await life.load(taskId)).toEqual(before);
      const begun = await begin(taskId, 2);
      expect(begun).toMatchObject({ type: "begun", attempt: 0 });
      expect(begun.type === "begun" && [...begun.journal.keys()].toSorted()).toEqual(["step:hold", "step:pay"]);
    });

    test("cancelled during the run of a worker that dies is compensated by another worker once the lease has expired", async () => {
      const taskId = await life.create();
      const old = await life.begin({ taskId, run: 1 });
      await cancelOwing(taskId);
      const token = await life.takeOver({ taskId, run: 1 });
      expect(await record(taskId, old)).toBe("refused");
      expect(await record(taskId, token, aStep("compensation:/undo", 1))).toBe("recorded");
      expect(await settle(taskId, token)).toBe("settled");
    });

    test("cancelled while a worker that took it over has not started: the work of the dead worker stays recorded", async () => {
      const taskId = await life.create();
      await record(taskId, await life.begin({ taskId, run: 1 }), aStep("hold", 1));
      const token = await life.takeOver({ taskId, run: 1 });
      await cancelOwing(taskId);
      await store.release({ taskId, token, nowMs: Date.now() });
      const begun = await begin(taskId, 2);
      expect(begun.type === "begun" && [...begun.journal.keys()]).toEqual(["step:hold"]);
    });

    test("cancelled during a later try of a worker that dies: its last run counts tries and takeovers anew", async () => {
      const taskId = await life.create();
      const first = { taskId, token: await life.begin({ taskId, run: 1 }), nowMs: Date.now(), dueAtMs: Date.now() };
      await store.park({ ...first, entries: [], asks: [], attempt: 3, graceMs: GRACE_MS });
      await life.begin({ taskId, run: 2 });
      await life.takeOver({ taskId, run: 2 });
      await cancelOwing(taskId);
      expect(await begin(taskId, 2, { nowMs: Date.now() + LEASE_MS * 2 })).toMatchObject({ type: "begun", attempt: 0, takeovers: 1 });
    });

    test("is tried again when its last run asks for it, with what that run recorded and how often it failed", async () => {
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

    test("that is owed nothing: a cancelled run learns of it, and nothing that it records is kept", async () => {
      const taskId = await life.create();
      const token = await life.begin({ taskId, run: 1 });
      await life.cancel(taskId);
      expect(await record(taskId, token, aStep("hold", 1))).toBe("cancelled");
      expect((await store.journal(taskId)).map(({ key }) => key)).toEqual([]);
    });

    test("I7: does not expire while it is owed its last run, and afterwards like any other", async () => {
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
}
