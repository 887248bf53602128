/** The index of open asks, and how asks ended. */
import {
  ANSWERED_MAX,
  ASK_ORDERS,
  type Ask,
  type AskedRequest,
  type AskOrder,
  type AskPlace,
  type Audience,
  eventKey,
  inAskOrder,
  namesOfAudience,
  placeMs,
  type Priority,
} from "@parley/core";
import { describe, expect, test } from "vitest";
import { accept, aCall, anAsk, anEvent, GRACE_MS, HOUR_MS, LEASE_MS, newToken } from "../builders.ts";
import type { UnderTest } from "./under-test.ts";

const NOW_MS = Date.now();

export function asked({ store, newTaskId, taskIdOf, life, begin }: UnderTest): void {
  const people = (...names: string[]): Audience => ({ to: { people: names } });
  const groups = (...names: string[]): Audience => ({ to: { groups: names } });
  const unique = (name: string) => `${name}-${newToken()}`;

  /** Keys of the asks that are found under the names of this audience. */
  async function found(audience: Audience, request: Partial<AskedRequest> = {}): Promise<string[]> {
    const places = await store.asked({ names: namesOfAudience(audience), order: "oldest", limit: 100, ...request });
    return places.map(({ key }) => key);
  }

  /** Page by page. */
  async function allPlaces(request: AskedRequest): Promise<AskPlace[]> {
    const page = await store.asked(request);
    const last = page.at(-1);
    const rest = last && (page.length === request.limit || last.isElsewhere) ? await allPlaces({ ...request, after: last }) : [];
    return [...page, ...rest];
  }
  const allKeys = async (request: AskedRequest) => (await allPlaces(request)).map(({ key }) => key);
  const withoutAudience = ({ audience: _audience, ...open }: Ask) => open;

  const ask = (key: string, audience: Audience | undefined, askedAtMs = NOW_MS, deadlineMs = NOW_MS + HOUR_MS) =>
    anAsk(key, { askedAtMs, deadlineMs, ...(audience && { audience }) });

  async function parkedFor(tenant: string, audience: Audience): Promise<string> {
    const ofTenant = { tenant };
    const taskId = await taskIdOf(tenant);
    await store.create({ taskId, call: aCall(ofTenant), graceMs: GRACE_MS });
    const token = await life.begin({ taskId, run: 1 });
    const request = { taskId, token, nowMs: NOW_MS, entries: [], asks: [ask("size", audience)], dueAtMs: NOW_MS + HOUR_MS, attempt: 0 };
    await store.park({ ...request, graceMs: GRACE_MS, ...ofTenant });
    return taskId;
  }

  describe("asked", () => {
    test("finds an ask under each name of its audience, once, and under no other", async () => {
      const [ada, finance, approver] = [unique("ada"), unique("finance"), unique("approver")];
      const to = { people: [ada], groups: [finance], roles: [approver] };
      const taskId = await life.parked([ask("size", { to }), ask("own", undefined)]);

      const all = await store.asked({ names: namesOfAudience({ to }), order: "oldest", limit: 10 });

      expect(all).toEqual([{ taskId, key: "size", atMs: NOW_MS }]);
      for (const only of [people(ada), groups(finance), { to: { roles: [approver] } }]) expect(await found(only)).toEqual(["size"]);
      // A group is no person and no role of that name.
      for (const other of [people(finance), groups(ada), { to: { roles: [ada] } }, people(`${ada}x`)])
        expect(await found(other)).toEqual([]);
    });

    test("keeps tenants apart, and finds what is put to a whole tenant", async () => {
      const [mine, theirs] = [unique("tenant"), unique("tenant")];
      const finance = groups("finance");
      await parkedFor(mine, finance);
      await parkedFor(mine, { to: "tenant" });

      expect(await found(finance, { tenant: mine })).toEqual(["size"]);
      expect(await found({ to: "tenant" }, { tenant: mine })).toEqual(["size"]);
      expect(await found(finance, { tenant: theirs })).toEqual([]);
      expect(await found({ to: "tenant" }, { tenant: theirs })).toEqual([]);
    });

    test.each<[AskOrder, string[]]>([
      ["oldest", ["a", "b", "c", "d", "e"]],
      ["newest", ["e", "d", "c", "b", "a"]],
      ["deadline", ["c", "a", "e", "b", "d"]],
    ])("in the order %s, page by page, over several names and tasks", async (order, expected) => {
      const [one, other] = [unique("one"), unique("other")];
      const deadlines = { a: 2, b: 4, c: 1, d: 5, e: 3 };
      for (const [index, [key, deadline]] of Object.entries(deadlines).entries()) {
        const audience = groups(...(index % 2 ? [one] : [one, other]));
        await life.parked([ask(key, audience, NOW_MS + index, NOW_MS + deadline * HOUR_MS)]);
      }

      const names = namesOfAudience(groups(one, other));
      expect(await allKeys({ names, order, limit: 2 })).toEqual(expected);
    });

    // Hours: when it closes, when it is wanted, and how urgent it is.
    const WANTED: Readonly<Record<string, readonly [closes: number, due?: number | undefined, priority?: Priority]>> = {
      a: [6, 1],
      b: [2],
      c: [5, 3, "low"],
      d: [8, undefined, "urgent"],
      e: [4, 4],
      f: [3.5, undefined, "low"],
      g: [7, 2.5, "high"],
      // Wanted after it closes: a tool may say so.
      h: [1, 9, "urgent"],
      i: [5.5],
    };
    const wanted = (key: string, audience: Audience) => {
      const [closes = 0, due, priority] = WANTED[key] ?? [];
      const about = { ...(due !== undefined && { dueMs: due * HOUR_MS }), ...(priority && { priority }) };
      const { request } = anAsk(key);
      return { ...ask(key, audience, NOW_MS, NOW_MS + closes * HOUR_MS), request: { ...request, about } as typeof request };
    };
    const BY: readonly (readonly [AskOrder, string])[] = [
      ["due", "abgcfeidh"],
      ["priority", "dhgabeicf"],
      ["deadline", "hbfeciagd"],
    ];

    test.each(BY)("in the order %s, asks are where they say, or by their deadline, page by page: %s", async (order, expected) => {
      const [one, other] = [unique("one"), unique("other")];
      for (const [index, key] of Object.keys(WANTED).entries())
        await life.parked([wanted(key, groups(...(index % 2 ? [one] : [one, other])))]);
      const names = namesOfAudience(groups(one, other));
      const at = (limit: number) => allKeys({ names, order, limit });

      for (const limit of [1, 2, 3, 100]) expect((await at(limit)).join(""), String(limit)).toBe(expected);
    });

    test.each(BY)(
      "in the order %s, one that is handed on is where it was, for those who got it, and gone for all once it is settled",
      async (order) => {
        const [finance, bob] = [unique("finance"), unique("bob")];
        const places = (audience: Audience) => store.asked({ names: namesOfAudience(audience), order, limit: 10 });
        // To a group, and to its owner alone.
        for (const audience of [groups(finance), undefined]) {
          const open = audience ? wanted("g", audience) : withoutAudience(wanted("g", groups(finance)));
          const taskId = await life.parked([open]);
          const thread = { comments: 0, delegations: [{ from: { by: "ada" }, to: { people: [bob] } }] };
          const handedTo = namesOfAudience(people(bob));
          const request = { taskId, key: "g", digest: "digest-of-g", thread, history: [], handedTo, places: open, nowMs: NOW_MS };
          expect(await store.writeThread(request)).toBe("accepted");
          const expected = [{ taskId, key: "g", atMs: placeMs(order, open) }];
          expect(await places(people(bob))).toEqual(expected);
          expect(await places(groups(finance))).toEqual(audience ? expected : []);
          await life.answer(taskId, "g", "4");
          expect([await places(people(bob)), await places(groups(finance))]).toEqual([[], []]);
        }
      },
    );

    test.each(Object.keys(WANTED))("an ask alone is found once in each order (%s)", async (key) => {
      const finance = groups(unique("finance"));
      const taskId = await life.parked([wanted(key, finance)]);
      for (const order of ASK_ORDERS)
        for (const limit of [1, 10]) {
          const places = await allPlaces({ names: namesOfAudience(finance), order, limit });
          expect(places, order).toEqual([{ taskId, key, atMs: placeMs(order, wanted(key, finance)) }]);
        }
    });

    test.each<AskOrder>(["oldest", "newest"])("asks of the same moment are each listed once (%s)", async (order) => {
      const audience = groups(unique("finance"));
      const keys = Array.from({ length: 7 }, (_, index) => `k${index}`);
      await life.parked(keys.map((key) => ask(key, audience)));

      const seen = await allKeys({ names: namesOfAudience(audience), order, limit: 3 });

      expect(seen).toEqual(order === "oldest" ? keys : keys.toReversed());
    });

    test("an ask leaves the index when it is answered, withdrawn, timed out, or closed with its task", async () => {
      const audience = groups(unique("finance"));
      const parked = (key: string) => life.parked([ask(key, audience)]);
      const [answered, cancelled, timedOut, withdrawn, finished, restarted] = await Promise.all(
        ["answered", "cancelled", "timed-out", "withdrawn", "finished", "restarted"].map(parked),
      );
      expect((await found(audience)).length).toBe(6);

      await life.answer(answered ?? "", "answered", "4");
      await life.cancel(cancelled ?? "");
      const digest = "digest-of-timed-out";
      const request = { key: "timed-out", digest, answer: { action: "timeout" }, nowMs: NOW_MS + HOUR_MS, graceMs: GRACE_MS } as const;
      await store.answer({ taskId: timedOut ?? "", ...request });
      const entry = { digest: "digest-of-withdrawn", outcome: { type: "withdrawn" }, calledAt: "0", place: 1, withdrawn: true } as const;
      const token = await life.begin({ taskId: withdrawn ?? "", run: 2 });
      const entries = [{ key: "ask:withdrawn", entry }];
      await store.record({ taskId: withdrawn ?? "", token, nowMs: NOW_MS, leaseMs: LEASE_MS, entries });
      await life.finish(finished ?? "", await life.begin({ taskId: finished ?? "", run: 2 }));
      await life.restart(restarted ?? "", await life.begin({ taskId: restarted ?? "", run: 2 }));

      expect(await found(audience)).toEqual([]);
    });

    test("an ask that several people must accept stays until it is settled", async () => {
      const audience: Audience = { ...groups(unique("finance")), quorum: 2 };
      const taskId = await life.parked([ask("size", audience)]);
      const answer = (seen: number | undefined, missing: number) =>
        store.answer({
          taskId,
          key: "size",
          digest: "digest-of-size",
          answer: accept("4"),
          by: "ada",
          quorum: { ...(seen !== undefined && { seen }), acceptances: [{ by: "ada", content: {}, atMs: 1 }], missing },
          nowMs: NOW_MS,
          graceMs: GRACE_MS,
        });

      await answer(undefined, 1);
      expect(await found(audience)).toEqual(["size"]);
      const seen = (await life.load(taskId)).asks[0]?.accepted?.revision;
      await answer(seen, 0);
      expect(await found(audience)).toEqual([]);
    });

    test("keeps what a person has answered, the newest first, in the pages that one asks for, and nothing of what did not count", async () => {
      const [principal, audience] = [unique("bob"), groups(unique("finance"))];
      const keys = ["one", "two", "three"];
      const taskId = await life.parked(keys.map((key) => ask(key, audience)));
      const give = async (key: string, nowMs: number, request: object = {}) =>
        await store.answer({
          taskId,
          key,
          digest: `digest-of-${key}`,
          answer: accept("4"),
          by: principal,
          giver: { principal },
          nowMs,
          graceMs: GRACE_MS,
          ...request,
        });
      await give("two", NOW_MS + 2);
      await give("one", NOW_MS + 1);
      // Late, of nobody, and to an ask that has changed.
      await give("two", NOW_MS + 9, { answer: accept("5") });
      await give("three", NOW_MS + 9, { digest: "another" });
      await store.answer({ taskId, key: "three", digest: "digest-of-three", answer: accept("4"), nowMs: NOW_MS + 9, graceMs: GRACE_MS });

      const answered = async (request: object = {}) => await store.answered({ principal, limit: 10, ...request });
      const [two, one] = [
        { taskId, key: "two", atMs: NOW_MS + 2 },
        { taskId, key: "one", atMs: NOW_MS + 1 },
      ];
      expect(await answered()).toEqual([two, one]);
      expect(await answered({ limit: 1 })).toEqual([two]);
      expect(await answered({ after: two })).toEqual([one]);
      expect(await answered({ after: one })).toEqual([]);
      expect(await answered({ principal: unique("carol") })).toEqual([]);
      expect(await answered({ tenant: unique("tenant") })).toEqual([]);
    });

    test("keeps a bounded number of answers of one person, and one who changes their mind has answered once", async () => {
      const principal = unique("bob");
      const audience: Audience = { ...groups(unique("finance")), quorum: 2 };
      const taskId = await life.parked([ask("size", audience)]);
      let seen: number | undefined;
      for (let count = 0; count <= 2; count += 1) {
        const acceptances = [{ by: principal, content: { count }, atMs: count }];
        const quorum = { ...(seen !== undefined && { seen }), acceptances, missing: 1 };
        const request = { key: "size", digest: "digest-of-size", answer: accept(String(count)), by: principal, giver: { principal } };
        await store.answer({ taskId, ...request, quorum, nowMs: NOW_MS + count, graceMs: GRACE_MS });
        seen = (await life.load(taskId)).asks[0]?.accepted?.revision;
      }
      expect(await store.answered({ principal, limit: 10 })).toEqual([{ taskId, key: "size", atMs: NOW_MS + 2 }]);

      const many = Array.from({ length: ANSWERED_MAX + 1 }, (_, index) => `q${index}`);
      for (let from = 0; from < many.length; from += 50) {
        const asked = many.slice(from, from + 50);
        const other = await life.parked(asked.map((key) => ask(key, audience)));
        for (const key of asked)
          await store.answer({
            taskId: other,
            key,
            digest: `digest-of-${key}`,
            answer: accept("4"),
            by: principal,
            giver: { principal },
            nowMs: NOW_MS + 10 + Number(key.slice(1)),
            graceMs: GRACE_MS,
          });
      }
      const kept = await store.answered({ principal, limit: 2 * ANSWERED_MAX });
      expect([kept.length, kept[0]?.key, kept.at(-1)?.key]).toEqual([ANSWERED_MAX, `q${ANSWERED_MAX}`, "q1"]);
    });

    test("an ask that is opened while its run works is found as well, once however often it is asked", async () => {
      const audience = groups(unique("finance"));
      const taskId = await life.create();
      const token = await life.begin({ taskId, run: 1 });
      const request = { taskId, token, nowMs: NOW_MS, leaseMs: LEASE_MS, entries: [], asks: [ask("size", audience)] };
      await store.record(request);
      await store.record({ ...request, asks: [ask("size", audience, NOW_MS + 5)] });
      await life.park(taskId, token, [ask("size", audience, NOW_MS + 9)]);

      const places = await store.asked({ names: namesOfAudience(audience), order: "oldest", limit: 10 });

      expect(places).toEqual([{ taskId, key: "size", atMs: NOW_MS }]);
    });
  });

  describe("openAsks", () => {
    test("reads each as its task has it, with the facts of the call and without what came with it, in the given order", async () => {
      const principal = unique("ada ☃");
      const nowMs = Date.now();
      const quorum = { ...groups("finance"), quorum: 2 };
      const keys = ["noted", "refused", "agreed", "accepted", "plain"];
      const taskId = await life.parked(
        keys.map((key) => ask(key, key === "accepted" ? quorum : undefined)),
        { principal, caller: { name: "Ada ☃" }, arguments: { lines: "a\nb", much: "x".repeat(10_000) } },
      );
      const other = await life.parked([ask("plain", groups("finance"))], { name: "pay" });
      const at = (key: string) => ({ taskId, key, digest: `digest-of-${key}`, nowMs });
      await store.writeThread({ ...at("noted"), thread: { comments: 1 }, history: [{ what: "asked", atMs: NOW_MS }] });
      await store.refuse({ ...at("refused"), violations: [{ path: "/n", message: "must ☃" }] });
      await store.agree(at("agreed"));
      const acceptances = [{ by: "eve", content: { value: "☃" }, atMs: 5 }];
      await store.answer({ ...at("accepted"), answer: accept("☃"), by: "eve", quorum: { acceptances, missing: 1 }, graceMs: GRACE_MS });
      const [mine, theirs] = await Promise.all([life.load(taskId), life.load(other)]);

      const places = [{ taskId: other, key: "plain" }, ...keys.map((key) => ({ taskId, key })), { taskId: other, key: "plain" }];
      const found = await store.openAsks(places);

      const listed = (task: typeof mine, key: string) => {
        const { retentionMs: _, ...call } = task.call;
        const { refused: __, agreed: ___, since: ____, ...shown } = task.asks.find((each) => each.key === key)!;
        return { call, ask: shown };
      };
      const theirAsk = listed(theirs, "plain");
      expect(found).toMatchObject([theirAsk, ...keys.map((key) => listed(mine, key)), theirAsk]);
      expect(found[1]?.ask.thread?.comments).toBe(1);
      expect(found[4]?.ask.accepted?.acceptances).toEqual(acceptances);
      for (const each of found) expect(each?.call).not.toHaveProperty("arguments");
    });

    test("finds nothing that is not open, not a question, or no task", async () => {
      const taskId = await life.parked([ask("size", undefined), ask("closed", undefined), anEvent("paid")]);
      await life.answer(taskId, "closed", "4");
      const over = await life.parked([ask("size", undefined)]);
      await life.cancel(over);
      const wanted = [
        { taskId, key: "closed" },
        { taskId, key: "never" },
        { taskId, key: eventKey("paid") },
        { taskId: over, key: "size" },
        { taskId: newTaskId(), key: "size" },
        { taskId: "no id", key: "size" },
      ];
      expect(await store.openAsks(wanted)).toEqual(wanted.map(() => undefined));
      expect(await store.openAsks([])).toEqual([]);
    });

    test("reads as many as are wanted", async () => {
      const keys = Array.from({ length: 150 }, (_, index) => `k${index}`);
      const taskId = await life.parked(keys.map((key) => ask(key, undefined)));
      const found = await store.openAsks(keys.map((key) => ({ taskId, key })));
      expect(found.map((each) => each?.ask.key)).toEqual(keys);
    });
  });

  describe("ownAsked", () => {
    const own = async (principal: string, order: AskOrder = "oldest", tasksMax = 100) =>
      (await store.ownAsked({ principal, order, tasksMax })).toSorted((a, b) => inAskOrder("oldest", a, b));

    test("finds what a person's own tasks ask, whomever they ask, as long as it is open", async () => {
      const principal = unique("ada");
      const finance = groups(unique("finance"));
      const taskId = await life.parked([ask("size", undefined), ask("approve", finance, NOW_MS + 1)], { principal });
      await life.parked([ask("hidden", undefined)], { principal, hidden: true });
      await life.parked([ask("foreign", undefined)], { principal: unique("bob") });
      await life.create({ principal });
      const size = { taskId, key: "size", atMs: NOW_MS };
      const approve = { taskId, key: "approve", atMs: NOW_MS + 1 };
      expect(await own(principal)).toEqual([size, approve]);

      await life.answer(taskId, "size", "4");
      expect(await own(principal)).toEqual([approve]);
      await life.cancel(taskId);
      expect(await own(principal)).toEqual([]);
    });

    test("says where each has its place in each order", async () => {
      const principal = unique("ada");
      const request = { ...anAsk("size").request, about: { dueMs: 60_000, priority: "urgent" } } as Ask["request"];
      const asks = [{ ...ask("size", undefined), request }, ask("date", undefined, NOW_MS + 1)];
      const taskId = await life.parked(asks, { principal });
      for (const order of ASK_ORDERS) {
        const expected = asks.map((each) => ({ taskId, key: each.key, atMs: placeMs(order, each) }));
        expect(await own(principal, order), order).toEqual(expected.toSorted((a, b) => inAskOrder("oldest", a, b)));
      }
    });

    test("looks at the newest tasks, of which it is given the number", async () => {
      const principal = unique("ada");
      const keys = ["one", "two", "three", "four"];
      for (const [index, key] of keys.entries()) {
        if (index === 2) await life.create({ principal });
        await life.parked([ask(key, undefined, NOW_MS + index)], { principal });
      }
      const found = async (tasksMax: number) => (await own(principal, "oldest", tasksMax)).map(({ key }) => key);
      expect(await found(5)).toEqual(keys);
      // A fourth one asks nothing.
      expect(await found(4)).toEqual(["two", "three", "four"]);
      expect(await found(1)).toEqual(["four"]);
    });

    test("follows what becomes of a question: answered, and another one in its place", async () => {
      const principal = unique("ada");
      const taskId = await life.parked([ask("size", undefined)], { principal });
      expect(await own(principal)).toHaveLength(1);
      await life.answer(taskId, "size", "4");
      const token = await life.begin({ taskId, run: 2 });
      await life.park(taskId, token, [ask("date", undefined, NOW_MS + 7)]);
      expect(await own(principal)).toEqual([{ taskId, key: "date", atMs: NOW_MS + 7 }]);
    });
  });

  describe("settledAsk", () => {
    const settled = (taskId: string, key: string, audience: Audience, tenant?: string) =>
      store.settledAsk({ taskId, key, names: namesOfAudience(audience), ...(tenant !== undefined && { tenant }) });

    test("says how an ask ended and whether it was put to these names, while it is open nothing", async () => {
      const finance = groups(unique("finance"));
      const taskId = await life.parked([ask("size", finance), ask("open", finance)]);
      const answer = { taskId, key: "size", digest: "digest-of-size", answer: accept("4"), by: "ada", nowMs: NOW_MS, graceMs: GRACE_MS };
      await store.answer(answer);

      expect(await settled(taskId, "size", finance)).toEqual({
        digest: "digest-of-size",
        outcome: { type: "answer", answer: accept("4"), by: "ada" },
        arrivedAtMs: NOW_MS,
        wasAsked: true,
      });
      expect(await settled(taskId, "size", groups("others"))).toMatchObject({ wasAsked: false });
      expect(await settled(taskId, "open", finance)).toBeUndefined();
      expect(await settled(taskId, "never", finance)).toBeUndefined();
      expect(await settled(newTaskId(), "size", finance)).toBeUndefined();
      expect(await settled("no task", "size", finance)).toBeUndefined();
    });

    test("still says so after the task has ended, and not to another tenant", async () => {
      const [mine, finance] = [unique("tenant"), groups("finance")];
      const taskId = await parkedFor(mine, finance);
      await life.cancel(taskId);

      expect(await settled(taskId, "size", finance, mine)).toMatchObject({ outcome: { type: "closed" }, wasAsked: true });
      expect(await settled(taskId, "size", finance)).toMatchObject({ wasAsked: false });
    });

    test("a task that is over keeps the answers to those it asked, and of its owner's that they were given", async () => {
      const finance = groups(unique("finance"));
      const taskId = await life.parked([ask("size", finance), ask("own", undefined), ask("open", undefined)]);
      await store.answer({
        taskId,
        key: "size",
        digest: "digest-of-size",
        answer: accept("4"),
        by: "ada",
        nowMs: NOW_MS,
        graceMs: GRACE_MS,
      });
      await life.answer(taskId, "own", "5");
      await life.finish(taskId, await life.begin({ taskId, run: 2 }));

      const outcome = { type: "answer", answer: accept("4"), by: "ada" };
      expect(await settled(taskId, "size", finance)).toMatchObject({ digest: "digest-of-size", outcome, wasAsked: true });
      const own = await settled(taskId, "own", finance);
      expect(own).toMatchObject({ digest: "digest-of-own", wasAsked: false });
      expect(own).not.toHaveProperty("outcome");
      expect(await settled(taskId, "open", finance)).toMatchObject({ outcome: { type: "closed" } });
      expect(await settled(taskId, "never", finance)).toBeUndefined();
    });

    test("an ask of before a restart is forgotten", async () => {
      const finance = groups(unique("finance"));
      const taskId = await life.parked([ask("size", finance)]);
      await life.answer(taskId, "size", "4");
      const begun = await begin(taskId, 2);
      await life.restart(taskId, begun.type === "begun" ? await life.takeOver({ taskId, run: 2 }) : "");

      expect(await settled(taskId, "size", finance)).toBeUndefined();
    });
  });
}
