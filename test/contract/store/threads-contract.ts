/** What people do around an open ask: who is on it, and its history. */
import type { ThreadEntry, ThreadRequest } from "@parley/core";
import { describe, expect, test, vi } from "vitest";
import { anAsk, HOUR_MS, newToken } from "../builders.ts";
import type { UnderTest } from "./under-test.ts";

export function threads({ store, wakeUps, life, countWakes }: UnderTest): void {
  async function countAskedChanges(person: string) {
    const onChange = vi.fn();
    return { onChange, stop: await wakeUps.watchAsked({ names: [`person ${person}`] }, onChange) };
  }

  const ada = { by: "ada", name: "Ada ☃" };
  const claim = { ...ada, untilMs: 5_000 };
  const entries: readonly ThreadEntry[] = [
    { what: "asked", atMs: 1_000 },
    { what: "claimed", atMs: 2_000, ...claim },
    { what: "commented", atMs: 3_000, ...ada, text: "Wie viele?\n☃ ist kalt" },
  ];
  const size = (taskId: string, more: Partial<ThreadRequest> = {}): ThreadRequest => ({
    taskId,
    key: "size",
    digest: "digest-of-size",
    thread: { comments: 1, claim },
    history: entries,
    nowMs: Date.now(),
    ...more,
  });
  const threadOf = async (taskId: string) => (await life.load(taskId)).asks.find(({ key }) => key === "size")?.thread;

  describe("writeThread", () => {
    test("is read with the ask, its history by itself, and wakes who watches the task; the ask is not asked again", async () => {
      const taskId = await life.parked([anAsk("size"), anAsk("name")]);
      const before = await life.load(taskId);
      expect(await store.thread(taskId, "size")).toEqual([]);
      const { onChange, stop } = await countWakes(taskId);

      expect(await store.writeThread(size(taskId))).toBe("accepted");

      const after = await life.load(taskId);
      expect(after).toMatchObject({ revision: before.revision + 1, status: "input_required" });
      expect(after.asks.map(({ key, since, thread }) => ({ key, since, thread }))).toEqual([
        { key: "size", since: before.asks[0]!.since, thread: { revision: before.revision + 1, comments: 1, claim } },
        { key: "name", since: before.asks[1]!.since, thread: undefined },
      ]);
      expect(await store.thread(taskId, "size")).toEqual(entries);
      expect(await store.thread(taskId, "name")).toEqual([]);
      await expect.poll(() => onChange.mock.calls.length).toBe(1);
      stop();
    });

    test("takes a change only of one who has read the last one: of two at once, one is overtaken", async () => {
      const taskId = await life.parked([anAsk("size")]);

      const both = await Promise.all([store.writeThread(size(taskId)), store.writeThread(size(taskId, { history: [] }))]);
      expect(both.toSorted()).toEqual(["accepted", "overtaken"]);
      const { revision } = (await threadOf(taskId))!;
      for (const seen of [revision - 1, revision + 1]) expect(await store.writeThread(size(taskId, { seen }))).toBe("overtaken");
      expect(await store.writeThread(size(taskId, { seen: revision, thread: { comments: 0 }, history: [entries[0]!] }))).toBe("accepted");

      expect(await threadOf(taskId)).toEqual({ revision: revision + 1, comments: 0 });
      expect(await store.thread(taskId, "size")).toEqual([entries[0]]);
    });

    test("changes nothing around an ask that is not open, or is another question by now", async () => {
      const taskId = await life.parked([anAsk("size"), anAsk("name")]);
      await life.answer(taskId, "size", "4");
      const before = await life.load(taskId);

      for (const request of [size(taskId), size(taskId, { key: "name" }), size(taskId, { key: "never" }), size("0-none")])
        expect(await store.writeThread(request)).toBe("late");

      expect(await life.load(taskId)).toEqual(before);
      expect(await store.thread(taskId, "size")).toEqual([]);
      expect(await store.thread("0-none", "size")).toEqual([]);
    });

    test("has a history that outlives the ask and goes with the task; who is on it goes with the ask", async () => {
      const taskId = await life.parked([anAsk("size", { audience: { to: { groups: ["finance"] } } })]);
      await store.writeThread(size(taskId));
      await life.answer(taskId, "size", "4");
      const read = async () => (await store.settledAsk({ taskId, key: "size", names: [] }))?.history;
      expect(await read()).toEqual(entries);

      const token = await life.begin({ taskId, run: 2 });
      await life.park(taskId, token, [anAsk("size#2")]);
      expect((await life.load(taskId)).asks.map(({ thread }) => thread)).toEqual([undefined]);
      await life.cancel(taskId);

      expect(await read()).toEqual(entries);
      expect(await store.settledAsk({ taskId, key: "size#2", names: [] })).not.toHaveProperty("history");
    });

    test("hands an ask on: it is found under those names as well, whether or not others were asked, until it is closed", async () => {
      const [finance, bob] = [`finance-${newToken()}`, `bob-${newToken()}`];
      const found = async (name: string) =>
        (await store.asked({ names: [name], order: "deadline", limit: 10 })).map(({ taskId, key }) => `${taskId} ${key}`);
      const audience = { to: { groups: [finance] } };
      const taskId = await life.parked([anAsk("size", { audience }), anAsk("own"), anAsk("name")]);
      const { onChange, stop } = await countAskedChanges(bob);
      const to = { delegations: [{ from: ada, to: { people: [bob] } }], delegated: 1 };
      const handed = { thread: { comments: 0, ...to }, handedTo: [`person ${bob}`] };
      expect(await store.writeThread(size(taskId, handed))).toBe("accepted");
      await store.writeThread(size(taskId, { ...handed, key: "own", digest: "digest-of-own" }));

      expect((await life.load(taskId)).asks.map(({ thread }) => thread?.delegations)).toEqual([to.delegations, to.delegations, undefined]);
      expect((await found(`person ${bob}`)).toSorted()).toEqual([`${taskId} own`, `${taskId} size`]);
      expect(await found(`group ${finance}`)).toEqual([`${taskId} size`]);
      await expect.poll(() => onChange.mock.calls.length).toBeGreaterThan(0);
      stop();
      const { revision } = (await threadOf(taskId))!;
      await store.writeThread(size(taskId, { ...handed, seen: revision }));
      // A run that asks again changes nothing.
      await life.park(taskId, await life.begin({ taskId, run: 2 }), [anAsk("size", { audience }), anAsk("own"), anAsk("name")]);
      expect(await found(`person ${bob}`)).toHaveLength(2);

      await life.answer(taskId, "size", "4");
      expect(await found(`person ${bob}`)).toEqual([`${taskId} own`]);
      expect(await store.settledAsk({ taskId, key: "size", names: [`person ${bob}`] })).toMatchObject({ wasAsked: true });
      await life.cancel(taskId);
      expect(await found(`person ${bob}`)).toEqual([]);
      expect(await found(`group ${finance}`)).toEqual([]);
      expect(await store.settledAsk({ taskId, key: "size", names: [`person ${bob}`] })).toMatchObject({ wasAsked: true });
    });

    test("moves the deadline of an ask: it is found there, and the task is due then if that is sooner, also where a run is open", async () => {
      const finance = `finance-${newToken()}`;
      const audience = { to: { groups: [finance] } };
      const nowMs = Date.now();
      const ask = anAsk("size", { audience, askedAtMs: nowMs, deadlineMs: nowMs + HOUR_MS });
      const request = { ...ask.request, about: { priority: "urgent" } } as typeof ask.request;
      const taskId = await life.parked([{ ...ask, request }]);
      const places = async (order: "deadline" | "due" | "priority") =>
        (await store.asked({ names: [`group ${finance}`], order, limit: 10 }))
          .filter(({ isElsewhere }) => !isElsewhere)
          .map(({ atMs }) => atMs);
      const isDue = async (atMs: number) =>
        (await store.overdue({ partition: 0, nowMs: atMs, limit: 10_000 })).some((run) => run.taskId === taskId);
      const moveTo = async (deadlineMs: number) => {
        const seen = (await threadOf(taskId))?.revision;
        const moved = { askedAtMs: nowMs, deadlineMs, request };
        const thread = { thread: { comments: 0 }, moved, ...(seen !== undefined && { seen }) };
        expect(await store.writeThread({ ...size(taskId, {}), nowMs, ...thread })).toBe("accepted");
      };

      await moveTo(nowMs + 3 * HOUR_MS);
      expect((await life.load(taskId)).asks[0]?.deadlineMs).toBe(nowMs + 3 * HOUR_MS);
      expect([await places("deadline"), await places("due"), await places("priority")]).toEqual([
        [nowMs + 3 * HOUR_MS],
        [nowMs + 3 * HOUR_MS],
        [nowMs + 3 * HOUR_MS],
      ]);
      // As a run parks that found the later deadline.
      const token = await life.begin({ taskId, run: 2 });
      const parked = { taskId, token, nowMs, entries: [], asks: [], attempt: 0, graceMs: 0 };
      expect(await store.park({ ...parked, dueAtMs: nowMs + 3 * HOUR_MS })).toMatchObject({ type: "parked" });
      await moveTo(nowMs + 2 * HOUR_MS);
      expect([await isDue(nowMs + 2 * HOUR_MS - 1), await isDue(nowMs + 2 * HOUR_MS)]).toEqual([false, true]);
      expect(await places("deadline")).toEqual([nowMs + 2 * HOUR_MS]);
      // A run that has read the deadline before is followed by another one, which finds what it is.
      const again = await life.begin({ taskId, run: 3 });
      await moveTo(nowMs + HOUR_MS);
      expect(await store.park({ ...parked, token: again, dueAtMs: nowMs + 2 * HOUR_MS })).toMatchObject({ type: "due", run: 4 });
      await life.answer(taskId, "size", "4");
      expect([await places("deadline"), await places("priority")]).toEqual([[], []]);
    });

    test("escalates an ask: it is found under those names as well, by who it was put to first too, until it is closed", async () => {
      const [finance, leads] = [`finance-${newToken()}`, `leads-${newToken()}`];
      const found = async (name: string) =>
        (await store.asked({ names: [`group ${name}`], order: "oldest", limit: 10 })).map(({ taskId, key }) => `${taskId} ${key}`);
      const taskId = await life.parked([anAsk("size", { audience: { to: { groups: [finance] } } }), anAsk("own")]);
      const escalated = {
        thread: { comments: 0, reminded: { count: 1, atMs: 2_000 }, escalatedTo: [{ groups: [leads] }] },
        handedTo: [`group ${leads}`],
        tells: ["reminded", "escalated"],
        history: [entries[0]!, { what: "reminded", atMs: 2_000 }, { what: "escalated", atMs: 2_000, to: { groups: [leads] } }],
      } as const;
      for (const key of ["size", "own"])
        expect(await store.writeThread(size(taskId, { ...escalated, key, digest: `digest-of-${key}` }))).toBe("accepted");

      expect(await threadOf(taskId)).toMatchObject(escalated.thread);
      expect(await store.thread(taskId, "size")).toEqual(escalated.history);
      expect([await found(finance), (await found(leads)).toSorted()]).toEqual([[`${taskId} size`], [`${taskId} own`, `${taskId} size`]]);
      await life.answer(taskId, "size", "4");
      expect([await found(finance), await found(leads)]).toEqual([[], [`${taskId} own`]]);
      expect(await store.settledAsk({ taskId, key: "size", names: [`group ${leads}`] })).toMatchObject({ wasAsked: true });
      await life.cancel(taskId);
      expect(await found(leads)).toEqual([]);
    });

    test("is forgotten with the answers when the task restarts", async () => {
      const taskId = await life.parked([anAsk("size")]);
      await store.writeThread(size(taskId));

      await life.restart(taskId, await life.begin({ taskId, run: 2 }));
      expect(await store.thread(taskId, "size")).toEqual([]);
      await life.park(taskId, await life.begin({ taskId, run: 3 }), [anAsk("size")]);

      expect(await threadOf(taskId)).toBeUndefined();
    });
  });
}
