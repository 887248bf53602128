/** Wake-ups: hints that something has changed. */
import { isDeepStrictEqual } from "node:util";
import { describe, expect, test } from "vitest";
import { aCall, anAsk, GRACE_MS } from "../builders.ts";
import type { UnderTest } from "./under-test.ts";

const DONE = { type: "result", result: {} } as const;
const FAILED = { type: "error", error: { code: -32603, message: "no" } } as const;

export function wakeUps({ store, wakeUps, newTaskId, life }: UnderTest): void {
  describe("wake-ups", () => {
    test("every change that clients can see wakes watchers of the task once it can be read", async () => {
      const taskId = newTaskId();
      const seen: number[] = [];
      const changes: unknown[] = [];
      const stop = await wakeUps.watch(taskId, (change) => {
        changes.push(change);
        void store.load(taskId).then((task) => seen.push(task?.revision ?? 0));
      });
      const wakesAt = (revision: number) => expect.poll(() => seen.at(-1)).toBe(revision);

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
      expect(changes).toMatchObject([1, 2, 3, 4, 5].map((revision) => ({ revision, isEnd: revision === 5 })));
    });

    test("every end of a task is reported as an end, and no other change is", async () => {
      const ends: boolean[] = [];
      for (const outcome of [DONE, FAILED, undefined]) {
        const taskId = await life.parked([anAsk("size"), anAsk("name")]);
        const stop = await wakeUps.watch(taskId, (change) => void ends.push(change?.isEnd === true));
        await life.answer(taskId, "size", "4");
        if (outcome) await store.finish({ taskId, token: await life.begin({ taskId, run: 2 }), nowMs: Date.now(), entries: [], outcome });
        else await life.cancel(taskId);
        await expect.poll(() => ends.at(-1)).toBe(true);
        stop();
      }
      expect(ends).toEqual([false, true, false, true, false, true]);
    });

    test("watchers that stopped, and watchers of other tasks, are not woken", async () => {
      const [taskId, other] = [await life.create(), await life.create()];
      const calls: string[] = [];
      const stopped = await wakeUps.watch(taskId, () => calls.push("stopped"));
      const watching = await wakeUps.watch(taskId, () => calls.push("watching"));
      const elsewhere = await wakeUps.watch(other, () => calls.push("elsewhere"));

      stopped();
      await life.cancel(taskId);
      await expect.poll(() => calls).toContain("watching");

      expect(calls).toEqual(["watching"]);
      watching();
      elsewhere();
    });

    test("an announcement reaches every listener", async () => {
      const heard: unknown[] = [];
      const stop = await wakeUps.onAnnouncement((announcement) => heard.push(announcement));

      await wakeUps.announce({ type: "resource", uri: "file:///a b" });

      await expect.poll(() => heard.some((item) => isDeepStrictEqual(item, { type: "resource", uri: "file:///a b" }))).toBe(true);
      stop();
    });
  });
}
