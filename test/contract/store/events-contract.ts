/** Events: another system reports each of them once. */
import type { Open } from "@parley/core";
import { describe, expect, test } from "vitest";
import { accept, anAsk, anEvent, aWithdrawal, HOUR_MS, LEASE_MS } from "../builders.ts";
import type { UnderTest } from "./under-test.ts";

export function events({ store, life, begin, record, journalOf }: UnderTest): void {
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

    test("that is opened twice stays as it was opened first", async () => {
      const { taskId, token } = await opened(anEvent("paid"));
      const before = await life.load(taskId);
      const later = anEvent("paid", { deadlineMs: Date.now() + 2 * HOUR_MS });
      await store.record({ taskId, token, nowMs: Date.now(), leaseMs: LEASE_MS, entries: [], asks: [later] });
      expect(await life.load(taskId)).toEqual(before);
    });

    test("that is reported during a run makes the task due when it parks, and is not opened again", async () => {
      const paid = anEvent("paid");
      const { taskId, token } = await opened(paid);
      expect(await life.answer(taskId, paid.key, "4")).toEqual({ receipt: "accepted" });
      expect(await life.answer(taskId, paid.key, "4")).toEqual({ receipt: "duplicate" });
      expect(await life.answer(taskId, paid.key, "5")).toEqual({ receipt: "late" });

      expect(await life.park(taskId, token, [paid])).toEqual({ type: "due", run: 2 });
      expect((await life.load(taskId)).events).toBeUndefined();
      expect((await journalOf(taskId, 2)).get("ask:event:paid")).toMatchObject({ outcome: { type: "answer", answer: accept("4") } });
    });

    test("is known to the worker that takes over from one that died after recording it", async () => {
      const paid = anEvent("paid");
      const { taskId } = await opened(paid);
      expect(await begin(taskId, 1, { nowMs: Date.now() + LEASE_MS })).toMatchObject({ type: "begun", task: { events: [paid] } });
    });

    test("is closed when its task ends or it is withdrawn; a report after that is late", async () => {
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

    test("I5: a worker that was replaced opens no event", async () => {
      const taskId = await life.create();
      const old = await life.begin({ taskId, run: 1 });
      await life.takeOver({ taskId, run: 1 });
      const request = { taskId, token: old, nowMs: Date.now(), leaseMs: LEASE_MS, entries: [], asks: [anEvent("paid")] };
      expect(await store.record(request)).toBe("refused");
      expect((await life.load(taskId)).events).toBeUndefined();
    });
  });
}
