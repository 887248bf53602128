/** Wake-ups: hints that something has changed. */
import { isDeepStrictEqual } from "node:util";
import { describe, expect, test } from "vitest";
import { accept, aCall, anAsk, GRACE_MS } from "../builders.ts";
import type { UnderTest } from "./under-test.ts";

const DONE = { type: "result", result: {} } as const;
const FAILED = { type: "error", error: { code: -32603, message: "no" } } as const;

export function wakeUps({ store, wakeUps, newTaskId, taskIdOf, life }: UnderTest): void {
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

    test("those who watch what is asked of them are woken as an ask to one of their names is opened and closed, and nobody else", async () => {
      const group = `finance ${newTaskId()}`;
      // Sealed content has a key of the tenant from its first task on.
      await taskIdOf("acme");
      const woken: string[] = [];
      const watchAs = (who: string, tenant: string | undefined, names: readonly string[]) =>
        wakeUps.watchAsked({ ...(tenant !== undefined && { tenant }), names }, () => void woken.push(who));
      const stops = [
        await watchAs("member", "acme", ["person eve", `group ${group}`]),
        await watchAs("elsewhere", "umbrella", [`group ${group}`]),
        await watchAs("no tenant", undefined, [`group ${group}`]),
        await watchAs("others", "acme", [`role ${group}`]),
      ];
      const audience = { to: { groups: [group] } };
      const opened = async () => {
        const taskId = await taskIdOf("acme");
        await store.create({ taskId, call: aCall({ tenant: "acme" }), graceMs: GRACE_MS });
        const token = await life.begin({ taskId, run: 1 });
        const rest = { entries: [], asks: [{ ...anAsk("pay"), audience }], dueAtMs: Date.now() + 60_000, attempt: 0, graceMs: GRACE_MS };
        await store.park({ taskId, token, tenant: "acme", nowMs: Date.now(), ...rest });
        return taskId;
      };
      const taskId = await opened();
      await expect.poll(() => woken.length).toBeGreaterThan(0);
      const atOpen = woken.length;
      await life.answer(taskId, "pay", "4");
      await expect.poll(() => woken.length).toBeGreaterThan(atOpen);

      stops[0]?.();
      const still = await wakeUps.watchAsked({ tenant: "acme", names: [`group ${group}`] }, () => void woken.push("still"));
      await life.cancel(await opened());
      await expect.poll(() => woken.filter((who) => who === "still").length).toBeGreaterThan(1);
      expect(new Set(woken)).toEqual(new Set(["member", "still"]));
      expect(woken.lastIndexOf("member")).toBeLessThan(woken.indexOf("still"));
      for (const stop of [...stops, still]) stop();
    });

    test("they are woken once by each change of the ask, and by nothing else that happens to its task", async () => {
      const groups = [`finance ${newTaskId()}`];
      const audience = { to: { groups }, quorum: 2 };
      let woken = 0;
      const stop = await wakeUps.watchAsked({ names: [`group ${groups[0]}`] }, () => void (woken += 1));
      const wokenOnce = async (what: string, change: () => Promise<unknown>) => {
        const before = woken;
        await change();
        await expect.poll(() => woken, { message: what }).toBe(before + 1);
      };
      const taskId = await life.create();
      const token = await life.begin({ taskId, run: 1 });
      await wokenOnce("asked", () => life.park(taskId, token, [{ ...anAsk("pay"), audience }, anAsk("mine")]));
      const one = { taskId, key: "pay", digest: "digest-of-pay", nowMs: Date.now() };
      await wokenOnce("said about it", () => store.writeThread({ ...one, thread: { comments: 1 }, history: [] }));
      const accepting = { ...one, answer: accept("4"), graceMs: GRACE_MS };
      const acceptances = [{ content: { value: "4" }, by: "bob", atMs: 1 }];
      await wokenOnce("accepted", () => store.answer({ ...accepting, quorum: { acceptances, missing: 1 } }));
      await store.refuse({ ...one, violations: [] });
      await life.answer(taskId, "mine", "4");
      await wokenOnce("answered", () => life.answer(taskId, "pay", "4"));
      const next = await life.begin({ taskId, run: 2 });
      await store.report({ taskId, token: next, nowMs: Date.now(), items: [], message: "looking" });
      await life.finish(taskId, next);
      // What its end would have said has come before this.
      const other = await life.create();
      const last = await life.begin({ taskId: other, run: 1 });
      await wokenOnce("asked by another task", () => life.park(other, last, [{ ...anAsk("pay"), audience }]));
      await wokenOnce("closed with its task", () => life.cancel(other));
      stop();
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
