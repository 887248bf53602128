/** Tools that call tools: every change updates parent and child together. */
import { type AwaitedCall, callKey, childId, CHILDREN_MAX, type Json, type ParentLink, type TaskQuotas } from "@parley/core";
import { hash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { accept, aCall, anAsk, anEvent, aWithdrawal, GRACE_MS, HOUR_MS, LEASE_MS, newToken } from "../builders.ts";
import type { UnderTest } from "./under-test.ts";

const digest = (text: string) => hash("sha256", text, "base64url").slice(0, 22);

export function calls({ store, life, begin, journalOf, newTaskId, partitions, overdueAt, countWakes }: UnderTest): void {
  interface Above {
    readonly taskId: string;
    readonly token: string;
    readonly link?: ParentLink;
  }

  interface Calling {
    readonly compensates?: boolean;
    readonly retentionMs?: number;
    readonly principal?: string;
    readonly quotas?: TaskQuotas;
  }

  async function call(
    { taskId, token, link }: Above,
    name: string,
    { compensates = false, principal = "anonymous", quotas, retentionMs = HOUR_MS }: Calling = {},
  ) {
    const id = childId(digest, { id: taskId, seed: "seed" }, name, { tool: "child", arguments: {} });
    const key = callKey(name);
    const { askedAtMs, deadlineMs } = anAsk(name);
    const open: AwaitedCall = {
      key,
      digest: id,
      calledAt: "0",
      request: { type: "call", tool: "child" },
      askedAtMs,
      deadlineMs,
      onTimeout: "cancel",
    };
    const parent: ParentLink = {
      taskId,
      key: name,
      rootId: link?.rootId ?? taskId,
      depth: (link?.depth ?? 0) + 1,
      path: link ? `${link.path}:${name}` : name,
    };
    const created = await store.create({
      taskId: id,
      call: aCall({ hidden: true, principal, parent, retentionMs, ...(compensates && { compensates: true }) }),
      graceMs: GRACE_MS,
      ...(quotas && { quotas }),
      parent: { token, open, nowMs: Date.now(), leaseMs: LEASE_MS },
    });
    return { id, open, created, parent };
  }

  /** A parent at work, with a child that has not begun. */
  async function family(name = "hotel", options: Parameters<typeof call>[2] = {}) {
    const taskId = await life.create();
    const token = await life.begin({ taskId, run: 1 });
    const { id, open, created, parent } = await call({ taskId, token }, name, options);
    expect(created).toBe("created");
    return { taskId, token, childId: id, open, link: parent };
  }

  const finishChild = (taskId: string, token: string, parent: ParentLink, text = "done", childEndsMax = 1_000_000) =>
    store.finish({
      taskId,
      token,
      nowMs: Date.now(),
      entries: [],
      outcome: { type: "result", result: { content: [{ type: "text", text }] } },
      parent: { link: parent, childEndsMax },
    });

  describe("a call of a tool by a tool", () => {
    test("makes the child and opens the call in one change; the parent stays working (I3)", async () => {
      const { taskId, childId: id, open, link } = await family();

      expect(await life.load(taskId)).toMatchObject({ status: "working", asks: [], calls: [open] });
      expect(await life.load(id)).toMatchObject({ status: "working", call: { parent: link, hidden: true } });
      expect(await overdueAt(Date.now() + GRACE_MS, id)).toBe(1);
      expect(await store.child(taskId, "hotel")).toBe(id);
      expect(await store.child(taskId, "flight")).toBeUndefined();
    });

    test("that is sent twice creates one child", async () => {
      const { taskId, token, childId: id } = await family();

      expect(await call({ taskId, token }, "hotel")).toMatchObject({ id, created: "exists" });
    });

    test("renews the lease of the run that calls", async () => {
      const taskId = await life.create();
      const token = await life.begin({ taskId, run: 1 }, Date.now() - LEASE_MS);
      expect(await overdueAt(Date.now(), taskId)).toBe(1);

      const beforeMs = Date.now();
      await call({ taskId, token }, "hotel");

      expect(await overdueAt(beforeMs + LEASE_MS - 1, taskId)).toBeUndefined();
      expect(await overdueAt(Date.now() + LEASE_MS, taskId)).toBe(1);
    });

    test("I5: creates no child if the run no longer holds its task", async () => {
      const taskId = await life.create();
      const old = await life.begin({ taskId, run: 1 });
      await life.takeOver({ taskId, run: 1 });

      const { created, id } = await call({ taskId, token: old }, "hotel");

      expect(created).toBe("refused");
      expect(await store.load(id)).toBeUndefined();
      expect((await life.load(taskId)).calls).toBeUndefined();
    });

    test("I5: is refused if it is sent again by a run that lost its task, although the child exists by now", async () => {
      const { taskId, token } = await family();
      const holder = await life.takeOver({ taskId, run: 1 });

      expect((await call({ taskId, token }, "hotel")).created).toBe("refused");
      expect((await call({ taskId, token: holder }, "hotel")).created).toBe("exists");
    });

    test("creates no child if the task was cancelled, and returns that", async () => {
      const taskId = await life.create();
      const token = await life.begin({ taskId, run: 1 });
      await life.cancel(taskId);

      const { created, id } = await call({ taskId, token }, "hotel");

      expect([created, await store.load(id)]).toEqual(["cancelled", undefined]);
    });

    test("creates no child if the task was cancelled and is to be compensated, before its run lets go", async () => {
      const taskId = await life.create({ compensates: true });
      const token = await life.begin({ taskId, run: 1 });
      await store.cancel({ taskId, nowMs: Date.now(), message: "Cancelled by the client.", owes: true });

      const { created, id } = await call({ taskId, token }, "hotel");

      expect([created, await store.load(id)]).toEqual(["cancelled", undefined]);
    });

    test("creates no child if the parent gave up the call before", async () => {
      const taskId = await life.create();
      const token = await life.begin({ taskId, run: 1 });
      await store.record({ taskId, token, nowMs: Date.now(), leaseMs: LEASE_MS, entries: [aWithdrawal("call:hotel", 1)] });

      const { created, id } = await call({ taskId, token }, "hotel");

      expect([created, await store.load(id)]).toEqual(["settled", undefined]);
    });

    test("creates no child beyond the limit of unfinished tasks below one root; one that ends makes room", async () => {
      const { taskId, token, childId: first } = await family("first");
      const child = await life.begin({ taskId: first, run: 1 });
      const { parent: link } = await call({ taskId, token }, "spare");
      const below = { taskId: first, token: child, link: { ...link, taskId, key: "first", path: "first" } };
      for (let count = 2; count < CHILDREN_MAX; count += 1) await call(below, `one-${count}`);

      expect((await call({ taskId, token }, "more")).created).toBe("crowded");
      await life.cancel((await call(below, "one-2")).id);
      expect((await call({ taskId, token }, "more")).created).toBe("created");
      expect((await call(below, "yet-more")).created).toBe("crowded");
    });

    test("is counted by quotas where its parent is, until it ends", async () => {
      const principal = `p-${crypto.randomUUID()}`;
      const quotas: TaskQuotas = { principal: { tasks: 2, bytes: 1e6 }, tenant: { tasks: 1e6, bytes: 1e9 } };
      const taskId = newTaskId();
      await store.create({ taskId, call: aCall({ principal }), graceMs: GRACE_MS, quotas });
      const token = await life.begin({ taskId, run: 1 });
      const over = { over: "tasks", of: "principal" };

      const one = await call({ taskId, token }, "one", { principal, quotas });
      expect(one.created).toBe("created");
      if (partitions > 1) return;
      expect((await call({ taskId, token }, "two", { principal, quotas })).created).toEqual(over);
      await life.cancel(one.id);
      expect((await call({ taskId, token }, "two", { principal, quotas })).created).toBe("created");

      const uncounted = await family();
      expect((await call({ taskId: uncounted.taskId, token: uncounted.token }, "two", { principal, quotas })).created).toBe("created");
    });
  });

  describe("the end of a child", () => {
    test("answers the parent's call and makes the parent due, in one change", async () => {
      const { taskId, token, childId: id, open, link } = await family();
      await life.park(taskId, token, [open]);
      const child = await life.begin({ taskId: id, run: 1 });
      const { revision } = await life.load(taskId);
      const { onChange, stop } = await countWakes(taskId);

      expect(await finishChild(id, child, link, "booked")).toEqual({ parentRun: { taskId, run: 2 } });

      const after = await life.load(taskId);
      expect([after.revision, after.calls]).toEqual([revision + 1, undefined]);
      await expect.poll(() => onChange.mock.calls.length).toBe(1);
      stop();
      expect(await overdueAt(Date.now(), taskId)).toBe(2);
      expect(await store.child(taskId, "hotel")).toBe(id);
      const content = { result: { content: [{ type: "text", text: "booked" }] } } as Json;
      expect((await journalOf(taskId, 2)).get("ask:call:hotel")).toMatchObject({
        digest: id,
        outcome: { type: "answer", answer: { action: "accept", content } },
        arrived: { atMs: expect.any(Number), revision: revision + 1 },
      });
    });

    test("answers its own call among others", async () => {
      const { taskId, token, open } = await family();
      const flight = await call({ taskId, token }, "flight");
      await life.park(taskId, token, [open, anAsk("nights"), flight.open]);
      await finishChild(flight.id, await life.begin({ taskId: flight.id, run: 1 }), flight.parent);

      expect(await life.load(taskId)).toMatchObject({ asks: [{ key: "nights" }], calls: [{ key: open.key }] });
      expect((await journalOf(taskId, 2)).has("ask:call:flight")).toBe(true);
    });

    test("before its parent parks makes the parent due when it parks, and the call is not opened again", async () => {
      const { taskId, token, childId: id, open, link } = await family();
      const child = await life.begin({ taskId: id, run: 1 });
      expect(await finishChild(id, child, link)).toBe("finished");

      expect(await life.park(taskId, token, [open])).toEqual({ type: "due", run: 2 });
      expect((await life.load(taskId)).calls).toBeUndefined();
    });

    test("is reported to the parent as cancelled if someone cancelled the child", async () => {
      const { taskId, token, childId: id, open } = await family();
      await life.park(taskId, token, [open]);

      expect(await life.cancel(id)).toEqual({ parentRun: { taskId, run: 2 } });
      expect((await journalOf(taskId, 2)).get("ask:call:hotel")).toMatchObject({ digest: id, outcome: { type: "cancelled" } });
      expect(await store.journal(taskId)).toMatchObject([{ key: "ask:call:hotel", child: id, state: "cancelled" }]);
    });

    test("is replaced by an error beyond what children together may return to a parent; a restart makes room", async () => {
      const { taskId, token, link, childId: first } = await family("first");
      const room = 1_500;
      const end = async (id: string, parent: ParentLink, text: string) =>
        finishChild(id, await life.begin({ taskId: id, run: 1 }), parent, text, room);
      const next = async (above: Above, name: string) => {
        const { id, parent } = await call(above, name);
        return { id, end: (text: string) => end(id, parent, text) };
      };
      const [second, third, fourth] = [
        await next({ taskId, token }, "second"),
        await next({ taskId, token }, "third"),
        await next({ taskId, token }, "fourth"),
      ];
      await end(first, link, "1".repeat(1_000));
      await second.end("2".repeat(1_000));
      await third.end("3");
      await fourth.end("4".repeat(1_000));

      const again = newToken();
      const taken = await begin(taskId, 1, { token: again, nowMs: Date.now() + LEASE_MS });
      if (taken.type !== "begun") throw new Error(taken.type);
      const ends = [...taken.journal].map(([key, { outcome }]) => [key, outcome.type === "error" ? outcome.name : outcome.type]);
      expect(Object.fromEntries(ends)).toStrictEqual({
        "ask:call:first": "answer",
        "ask:call:second": "JOURNAL_FULL",
        "ask:call:third": "answer",
        "ask:call:fourth": "JOURNAL_FULL",
      });
      // The child's own result is unchanged.
      expect((await life.load(second.id)).outcome).toMatchObject({ result: { content: [{ text: "2".repeat(1_000) }] } });

      await life.restart(taskId, again);
      const anew = await next({ taskId, token: await life.begin({ taskId, run: 2 }) }, "first@1");
      await anew.end("1".repeat(1_000));
      expect((await journalOf(taskId, 2)).get("ask:call:first@1")?.outcome.type).toBe("answer");
    });

    test("reaches the parent even if the child is not kept after its end", async () => {
      for (const ends of ["finished", "cancelled"]) {
        const { taskId, token, childId: id, open, link } = await family("hotel", { retentionMs: 0 });
        await life.park(taskId, token, [open]);
        const child = await life.begin({ taskId: id, run: 1 });

        expect(await (ends === "finished" ? finishChild(id, child, link) : life.cancel(id))).toEqual({ parentRun: { taskId, run: 2 } });

        expect(await store.load(id)).toBeUndefined();
        expect(await overdueAt(Date.now(), taskId)).toBe(2);
        expect((await journalOf(taskId, 2)).get("ask:call:hotel")).toMatchObject({ digest: id });
      }
    });

    test("whose call was given up changes nothing at the parent", async () => {
      const { taskId, token, childId: id, link } = await family();
      const child = await life.begin({ taskId: id, run: 1 });
      await store.record({ taskId, token, nowMs: Date.now(), leaseMs: LEASE_MS, entries: [withdrawal(id, "hotel")] });

      expect(await finishChild(id, child, link)).toBe("refused");
      expect((await life.load(id)).status).toBe("cancelled");
      expect((await life.load(taskId)).calls).toBeUndefined();
    });
  });

  describe("a child that waits for people at another server", () => {
    const BOB = "Waiting for people at crm: Waiting for an answer from Bob.";
    const ANN = "Waiting for people at crm: Waiting for an answer from Ann.";
    const say = (taskId: string, token: string, message: string) => store.report({ taskId, token, nowMs: Date.now(), items: [], message });
    const statusOf = async (taskId: string) => (await life.load(taskId)).message;
    const parked = { nowMs: Date.now(), entries: [], asks: [], dueAtMs: Date.now() + LEASE_MS, attempt: 1, graceMs: GRACE_MS };

    test("is named in the status of its root, which clients know, for as long as it says so, and who watches the root is woken", async () => {
      const { taskId, token, childId: id, link, open } = await family();
      await life.park(taskId, token, [open]);
      const child = await life.begin({ taskId: id, run: 1 });
      const { onChange, stop } = await countWakes(taskId);
      await say(id, child, "Asking Bob.");
      expect([await statusOf(taskId), onChange.mock.calls.length]).toEqual([undefined, 0]);
      for (const [said, shown] of [
        [BOB, BOB],
        [ANN, ANN],
        ["crm is working.", undefined],
        [BOB, BOB],
      ] as const) {
        const { length } = onChange.mock.calls;
        await say(id, child, said);
        await expect.poll(() => onChange.mock.calls.length).toBe(length + 1);
        expect(await statusOf(taskId)).toBe(shown);
      }
      await finishChild(id, child, link);
      expect(await statusOf(taskId)).toBeUndefined();
      stop();
    });

    test("stands before what its root says itself, among two others at most, and once if they say the same", async () => {
      const { taskId, token, childId: first } = await family("a");
      await say(taskId, token, "Packing.");
      const others = [];
      for (const name of ["b", "c", "d"]) others.push((await call({ taskId, token }, name)).id);
      const said = [];
      for (const [index, id] of [first, ...others].entries()) {
        await say(id, await life.begin({ taskId: id, run: 1 }), index === 1 ? BOB : ANN);
        said.push(await statusOf(taskId));
      }
      expect(said[0]).toBe(`${ANN}\nPacking.`);
      expect(said[1]?.split("\n").toSorted()).toEqual(["Packing.", ANN, BOB].toSorted());
      expect(said[3]?.split("\n").at(-1)).toBe("Packing.");
      expect(new Set(said[3]?.split("\n")).size).toBe(said[3]?.split("\n").length);
    });

    test.each(["restarts", "parks with another status"])("and %s: the root no longer says so, and who watches it is woken", async (how) => {
      const { taskId, token, childId: id, open } = await family();
      await life.park(taskId, token, [open]);
      const child = await life.begin({ taskId: id, run: 1 });
      await say(id, child, BOB);
      const { onChange, stop } = await countWakes(taskId);

      if (how === "restarts") await life.restart(id, child);
      else await store.park({ ...parked, taskId: id, token: child, message: "Waiting for a free slot." });

      await expect.poll(() => onChange.mock.calls.length).toBe(1);
      expect(await statusOf(taskId)).toBeUndefined();
      stop();
    });

    test.each([
      ["is cancelled"],
      ["is given up"],
      ["ends"],
      ["is cancelled with its parent", "below"],
      ["ends with its parent", "below"],
      ["ends as its parent restarts", "below"],
      ["is given up by its parent", "below"],
    ])("and %s: the root no longer says so, and who watches it is woken", async (how, where = "") => {
      const { taskId, token, childId: id, link, open } = await family();
      await life.park(taskId, token, [open]);
      const child = await life.begin({ taskId: id, run: 1 });
      const below = where === "below" ? await call({ taskId: id, token: child, link }, "room") : undefined;
      const waiting = below ? await life.begin({ taskId: below.id, run: 1 }) : child;
      await say(below?.id ?? id, waiting, BOB);
      expect(await statusOf(taskId)).toBe(BOB);
      const { onChange, stop } = await countWakes(taskId);
      const giveUp = (holder: string, held: string, given: string, name: string) =>
        store.record({ taskId: holder, token: held, nowMs: Date.now(), leaseMs: LEASE_MS, entries: [withdrawal(given, name)] });

      const ways: Readonly<Record<string, () => Promise<unknown>>> = {
        "is cancelled": () => life.cancel(id),
        "is given up": async () => giveUp(taskId, await life.begin({ taskId, run: 2 }), id, "hotel"),
        ends: () => finishChild(id, child, link),
        "is cancelled with its parent": () => life.cancel(id),
        "ends with its parent": () => finishChild(id, child, link),
        "ends as its parent restarts": () => life.restart(id, child),
        "is given up by its parent": () => giveUp(id, child, below?.id ?? "", "room"),
      };
      await ways[how]?.();

      await expect.poll(() => onChange.mock.calls.length).toBeGreaterThan(0);
      expect(await statusOf(taskId)).toBeUndefined();
      stop();
    });
  });

  describe("the end of a parent", () => {
    test("cancels its children, and theirs, in one change", async () => {
      const { taskId, token, childId: id, link } = await family();
      const child = await life.begin({ taskId: id, run: 1 });
      const grandchild = await call({ taskId: id, token: child, link }, "room");
      expect(grandchild.parent).toMatchObject({ rootId: taskId, depth: 2, path: "hotel:room" });
      const { onChange, stop } = await countWakes(id);

      await life.finish(taskId, token);

      expect([(await life.load(id)).status, (await life.load(grandchild.id)).status]).toEqual(["cancelled", "cancelled"]);
      expect(await overdueAt(Date.now() + HOUR_MS, id)).toBeUndefined();
      await expect.poll(() => onChange.mock.calls.length).toBeGreaterThan(0);
      stop();
      // The run in progress learns of it.
      expect(await store.renew({ taskId: id, token: child, nowMs: Date.now(), leaseMs: LEASE_MS })).toBe("cancelled");
    });

    test("by its cancellation does the same, and leaves children that have ended as they are", async () => {
      const { taskId, token, childId: id, link } = await family();
      const other = await call({ taskId, token }, "flight");
      await finishChild(id, await life.begin({ taskId: id, run: 1 }), link);

      await life.cancel(taskId);

      expect([(await life.load(id)).status, (await life.load(other.id)).status]).toEqual(["completed", "cancelled"]);
    });

    test("leaves a child that has to be compensated due, once it has run", async () => {
      const { taskId, token, childId: id } = await family("hotel", { compensates: true });
      const other = await call({ taskId, token }, "flight", { compensates: true });
      await life.park(id, await life.begin({ taskId: id, run: 1 }), [anAsk("nights")]);

      await life.cancel(taskId);

      expect(await life.load(id)).toMatchObject({ status: "cancelled", owed: "cancelled" });
      expect(await life.load(other.id)).not.toHaveProperty("owed");
    });

    test("that restarts does the same, and the next generation has another child", async () => {
      const { taskId, token, childId: id } = await family();
      await life.restart(taskId, token);

      expect((await life.load(id)).status).toBe("cancelled");
      expect((await life.load(taskId)).calls).toBeUndefined();
    });

    test("at the call's deadline cancels the child", async () => {
      const { taskId, childId: id, open } = await family();

      await store.answer({ taskId, key: open.key, digest: id, answer: { action: "timeout" }, nowMs: open.deadlineMs, graceMs: GRACE_MS });

      expect((await life.load(id)).status).toBe("cancelled");
    });
  });

  describe("what a child asks", () => {
    async function asked(...names: string[]) {
      const { taskId, token, childId: id, open, link } = await family();
      await life.park(taskId, token, [open]);
      const child = await life.begin({ taskId: id, run: 1 });
      await life.park(
        id,
        child,
        names.map((name) => anAsk(name)),
      );
      return { taskId, childId: id, link };
    }

    const listedAs = async (taskId: string) => (await store.summaries([taskId]))[0]?.status;

    test("is open at the root too, also in lists, as the child asks it, until it is answered at the child (I3)", async () => {
      const { taskId, childId: id } = await asked("nights", "beds");
      const shown = await life.load(taskId);
      expect(shown).toMatchObject({
        status: "input_required",
        asks: [
          { key: "hotel:nights", digest: "digest-of-nights", route: { taskId: id, key: "nights" }, request: anAsk("nights").request },
          { key: "hotel:beds", route: { taskId: id, key: "beds" } },
        ],
      });
      expect(shown.asks.map(({ since }) => since?.position)).toEqual([0, 1]);
      expect(await listedAs(taskId)).toBe("input_required");
      // A list finds it where it is asked.
      const places = [
        { taskId, key: "hotel:nights" },
        { taskId: id, key: "nights" },
      ];
      expect(await store.openAsks(places)).toMatchObject([undefined, { call: { name: "book_dinner" }, ask: { key: "nights" } }]);

      const refused = {
        taskId: id,
        key: "beds",
        digest: "digest-of-beds",
        violations: [{ path: "/n", message: "must" }],
        nowMs: Date.now(),
      };
      expect(await store.refuse(refused)).toBe(1);
      const both = (await life.load(taskId)).asks.toSorted((a, b) => (a.key < b.key ? -1 : 1));
      expect(both.map(({ key, refused: invalid }) => [key, invalid?.count])).toEqual([
        ["hotel:beds", 1],
        ["hotel:nights", undefined],
      ]);
      await life.answer(id, "nights", "3");
      expect(await life.load(taskId)).toMatchObject({ status: "input_required", asks: [{ key: "hotel:beds" }] });
      await life.answer(id, "beds", "2");
      expect(await life.load(taskId)).toMatchObject({ status: "working", asks: [] });
      expect(await listedAs(taskId)).toBe("working");
    });

    test("wakes watchers of the root, each time", async () => {
      const { taskId, token, childId: id, open } = await family();
      await life.park(taskId, token, [open]);
      const child = await life.begin({ taskId: id, run: 1 });
      const { onChange, stop } = await countWakes(taskId);
      const before = (await life.load(taskId)).revision;

      await life.park(id, child, [anAsk("nights")]);
      await expect.poll(() => onChange.mock.calls.length).toBe(1);
      const put = await life.load(taskId);
      expect([put.revision, put.asks[0]?.since?.revision]).toEqual([before + 1, before + 1]);

      const refused = {
        taskId: id,
        key: "nights",
        digest: "digest-of-nights",
        violations: [{ path: "/n", message: "must" }],
        nowMs: Date.now(),
      };
      expect(await store.refuse(refused)).toBe(1);
      await expect.poll(() => onChange.mock.calls.length).toBe(2);
      expect((await life.load(taskId)).asks).toMatchObject([{ refused: { count: 1 }, since: { revision: before + 2 } }]);

      await store.agree({ taskId: id, key: "nights", digest: "digest-of-nights", nowMs: Date.now() });
      await expect.poll(() => onChange.mock.calls.length).toBe(3);
      expect((await life.load(taskId)).asks).toMatchObject([{ agreed: true, since: { revision: before + 2 } }]);

      // What the root does not show changes nothing there.
      const again = await life.begin({ taskId: id, run: 2 });
      expect(await store.report({ taskId: id, token: again, nowMs: Date.now(), items: [], message: "nearly there" })).toBe("reported");
      expect(await life.load(taskId)).toMatchObject({ revision: before + 3 });

      await life.answer(id, "nights", "3");
      await expect.poll(() => onChange.mock.calls.length).toBe(4);
      expect(await life.load(taskId)).toMatchObject({ revision: before + 4, asks: [] });
      stop();
    });

    test("and several must accept, is shown at the root with each acceptance", async () => {
      const { taskId, childId: id } = await asked("nights");
      const before = (await life.load(taskId)).revision;
      const quorum = { acceptances: [{ by: "eve", content: { value: "yes" }, atMs: 5 }], missing: 1 };
      const given = {
        taskId: id,
        key: "nights",
        digest: "digest-of-nights",
        answer: accept("yes"),
        by: "eve",
        nowMs: Date.now(),
        graceMs: GRACE_MS,
      };
      expect(await store.answer({ ...given, quorum })).toMatchObject({ receipt: "accepted" });

      const shown = await life.load(taskId);
      expect([shown.revision, shown.status]).toEqual([before + 1, "input_required"]);
      expect(shown.asks).toMatchObject([{ key: "hotel:nights", accepted: { acceptances: quorum.acceptances } }]);
    });

    test("is shown beside the root's own asks, under a separate key", async () => {
      const { taskId, token, childId: id, open } = await family();
      await life.park(taskId, token, [open, anAsk("nights")]);
      await life.park(id, await life.begin({ taskId: id, run: 1 }), [anAsk("nights"), anEvent("paid")]);
      const shown = await life.load(taskId);
      expect(shown.asks.map(({ key }) => key)).toEqual(["nights", "hotel:nights"]);
      expect(shown).not.toHaveProperty("events");

      expect(await life.answer(taskId, "nights", "1")).toMatchObject({ receipt: "accepted" });
      expect(await life.load(taskId)).toMatchObject({ status: "input_required", asks: [{ key: "hotel:nights" }] });
      expect((await life.load(id)).asks).toMatchObject([{ key: "nights" }]);
    });

    test("of a grandchild is shown by the root, until a task between them ends", async () => {
      const { taskId, token, childId: id, link, open } = await family();
      await life.park(taskId, token, [open]);
      const child = await life.begin({ taskId: id, run: 1 });
      const below = await call({ taskId: id, token: child, link }, "room");
      await life.park(id, child, [below.open]);
      await life.park(below.id, await life.begin({ taskId: below.id, run: 1 }), [anAsk("view")]);
      expect(await life.load(taskId)).toMatchObject({
        status: "input_required",
        asks: [{ key: "hotel:room:view", route: { taskId: below.id } }],
      });
      expect((await life.load(id)).asks).toEqual([]);

      await life.cancel(id);

      expect(await life.load(taskId)).toMatchObject({ status: "working", asks: [] });
      expect((await life.load(below.id)).status).toBe("cancelled");
    });

    test("is no longer shown when the root gives up the call while it waits for something else", async () => {
      const { taskId, childId: id } = await asked("nights");
      const token = await life.begin({ taskId, run: 2 });

      await store.record({ taskId, token, nowMs: Date.now(), leaseMs: LEASE_MS, entries: [withdrawal(id, "hotel")] });

      expect(await life.load(taskId)).toMatchObject({ status: "working", asks: [] });
      expect((await life.load(id)).status).toBe("cancelled");
    });

    test("is shown among the oldest thousand; as those are answered, the next ones follow", async () => {
      const { taskId, token, childId: first } = await family();
      const asks = Array.from({ length: 251 }, (_, number) => anAsk(`q${number}`));
      const others = [await call({ taskId, token }, "b"), await call({ taskId, token }, "c"), await call({ taskId, token }, "d")];
      for (const id of [first, ...others.map((each) => each.id)]) await life.park(id, await life.begin({ taskId: id, run: 1 }), asks);

      const shown = (await life.load(taskId)).asks;
      expect([shown.length, shown.at(-1)?.key]).toEqual([1_000, "d:q246"]);
      await life.answer(first, "q0", "yes");
      expect((await life.load(taskId)).asks.at(-1)?.key).toBe("d:q247");
      // One that is asked again is the newest, and the root's own is shown in any case.
      const refused = { taskId: first, key: "q1", digest: "digest-of-q1", violations: [{ path: "", message: "must" }], nowMs: Date.now() };
      await store.refuse(refused);
      await life.park(taskId, token, [anAsk("own")]);
      const keys = (await life.load(taskId)).asks.map(({ key }) => key);
      expect([keys.length, keys.includes("own"), keys.includes("hotel:q1"), keys.includes("d:q248")]).toEqual([1_001, true, false, true]);
    });

    test("is not part of the root's own runs or journal", async () => {
      const { taskId, childId: id } = await asked("nights");
      await life.answer(id, "nights", "3");
      const begun = await begin(taskId, 2);
      expect(begun).toMatchObject({ type: "begun", task: { asks: [], calls: [{ digest: id }] } });
      await life.cancel(taskId);
      expect((await store.journal(taskId)).map(({ key, child, state }) => [key, child, state])).toEqual([["ask:call:hotel", id, "closed"]]);
    });

    test("is not noted by the root when that ends", async () => {
      const { taskId, childId: id } = await asked("nights");
      await life.cancel(taskId);
      expect((await store.journal(taskId)).map(({ key }) => key)).toEqual(["ask:call:hotel"]);
      expect((await store.journal(id)).map(({ key }) => key)).toEqual(["ask:nights"]);
    });

    test("is answered at the child only: at the root its key is unknown", async () => {
      const { taskId } = await asked("nights");
      const answer = { taskId, key: "hotel:nights", answer: accept("3"), nowMs: Date.now(), graceMs: GRACE_MS };
      expect(await store.answer(answer)).toEqual({ receipt: "unknown" });
    });
  });

  function withdrawal(id: string, name: string) {
    const { key, entry } = aWithdrawal(callKey(name), 1);
    return { key, entry: { ...entry, digest: id } };
  }
}
