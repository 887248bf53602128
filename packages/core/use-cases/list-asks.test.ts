import { describe, expect, test } from "vitest";
import { callerNamed } from "../callers/caller.fixture.ts";
import type { Caller } from "../callers/caller.ts";
import { ASK_ORDERS, placeMs } from "../callers/open-asks.ts";
import { answerTask } from "./answer-task.ts";
import { alice, anAsk, bob, HOUR, inMemory, NOW_MS } from "./in-memory.fixture.ts";
import { ASK_SUMMARY_CHARS, countAsks, listAsks } from "./list-asks.ts";
import { readAsk } from "./read-ask.ts";
import { snoozeAsk } from "./snooze-ask.ts";

const finance = { to: { groups: ["finance"] } };
const frida = callerNamed("frida", { groups: ["finance"] });

describe("a list of asks", () => {
  test("has what is asked of the caller, in their own tasks and in others', and nothing else", async () => {
    const { services, put } = inMemory();
    const mine = await put([anAsk("own", { askedAtMs: NOW_MS + 1 })], { principal: "frida" });
    const theirs = await put([anAsk("approve", { audience: finance, askedAtMs: NOW_MS + 2 }), anAsk("own")]);
    await put([anAsk("foreign", { audience: { to: { groups: ["legal"] } } })]);
    await put([anAsk("in another tenant", { audience: finance })], { tenant: "acme" });
    await put([anAsk("of the client", { request: { type: "roots" } })], { principal: "frida" });

    const { asks, nextCursor } = await listAsks(services, { caller: frida, limit: 10 });

    expect(asks.map(({ taskId, key, owner }) => [taskId, key, owner])).toStrictEqual([
      [mine, "own", { principal: "frida", isCaller: true }],
      [theirs, "approve", { principal: "alice", isCaller: false }],
    ]);
    expect(nextCursor).toBeUndefined();
    expect(await countAsks(services, { caller: frida })).toStrictEqual({ count: 2, isMore: false });
  });

  test("decides by policy when it is read: a caller who is excluded, or has left the group, does not see the ask", async () => {
    const { services, put } = inMemory();
    const fourEyes = { ...finance, not: "caller" } as const;
    const taskId = await put([anAsk("approve", { audience: fourEyes })]);
    const keys = async (caller: Caller) => (await listAsks(services, { caller, limit: 10 })).asks.map((ask) => [ask.taskId, ask.key]);

    expect(await keys(frida)).toStrictEqual([[taskId, "approve"]]);
    expect(await keys({ ...alice, groups: ["finance"] })).toStrictEqual([]);
    expect(await keys({ ...frida, groups: [] })).toStrictEqual([]);
    expect(await keys({ ...frida, authenticatedBy: "nobody" })).toStrictEqual([]);
  });

  test("has an ask that the caller's own task puts to a group of theirs once", async () => {
    const { services, put } = inMemory();
    await put([anAsk("approve", { audience: finance })], { principal: "frida" });
    expect((await listAsks(services, { caller: frida, limit: 10 })).asks.map(({ key }) => key)).toStrictEqual(["approve"]);
  });

  test("is filtered by tool, owner, age and deadline", async () => {
    const { services, put } = inMemory();
    await put([anAsk("a", { askedAtMs: NOW_MS + 1 })], { principal: "frida", name: "pay" });
    await put([anAsk("b", { audience: finance, askedAtMs: NOW_MS + 2, deadlineMs: NOW_MS + 5 })], { name: "pay" });
    await put([anAsk("c", { audience: finance, askedAtMs: NOW_MS + 3 })], { name: "book" });
    const keys = async (filter: object) => (await listAsks(services, { caller: frida, filter, limit: 10 })).asks.map(({ key }) => key);

    expect(await keys({ called: "pay" })).toStrictEqual(["a", "b"]);
    expect(await keys({ owner: "others" })).toStrictEqual(["b", "c"]);
    expect(await keys({ owner: "caller" })).toStrictEqual(["a"]);
    expect(await keys({ askedAfterMs: NOW_MS + 1, askedBeforeMs: NOW_MS + 3 })).toStrictEqual(["b"]);
    expect(await keys({ deadlineBeforeMs: NOW_MS + HOUR })).toStrictEqual(["b"]);
  });

  test.each(["due", "priority"] as const)(
    "pages in the order %s through own tasks and others', each ask once, whether it says so or not",
    async (order) => {
      const { services, put } = inMemory();
      const MINUTE = 60_000;
      const said = { a: { dueMs: 5 * MINUTE }, b: {}, c: { priority: "urgent" }, d: { dueMs: MINUTE, priority: "low" }, e: {} } as const;
      for (const [index, [key, about]] of Object.entries(said).entries()) {
        const request = { type: "form", message: key, schema: { type: "object" }, about } as const;
        const ask = anAsk(key, { request, deadlineMs: NOW_MS + (50 - 10 * index) * MINUTE });
        if (index % 2) await put([ask], { principal: "frida" });
        else await put([{ ...ask, audience: finance }]);
      }
      for (const limit of [1, 2, 10]) {
        const seen: string[] = [];
        let cursor: string | undefined;
        do {
          const page = await listAsks(services, { caller: frida, order, limit, ...(cursor !== undefined && { cursor }) });
          seen.push(...page.asks.map(({ key }) => key));
          cursor = page.nextCursor;
        } while (cursor !== undefined);
        expect(seen.join("")).toBe(order === "due" ? "daecb" : "caebd");
      }
    },
  );

  test.each(["oldest", "newest", "deadline"] as const)(
    "pages in the order %s through own tasks and others', each ask once",
    async (order) => {
      const { services, put } = inMemory();
      const moments = [5, 3, 9, 1, 7, 3, 8];
      for (const [index, moment] of moments.entries()) {
        const times = { askedAtMs: NOW_MS + moment, deadlineMs: NOW_MS + HOUR - moment };
        if (index % 2) await put([anAsk(`k${index}`, times)], { principal: "frida" });
        else await put([anAsk(`k${index}`, { ...times, audience: finance })]);
      }

      const seen: number[] = [];
      let cursor: string | undefined;
      do {
        const page = await listAsks(services, { caller: frida, order, limit: 2, ...(cursor !== undefined && { cursor }) });
        seen.push(...page.asks.map(({ askedAtMs }) => askedAtMs - NOW_MS));
        cursor = page.nextCursor;
      } while (cursor !== undefined);

      const sorted = moments.toSorted((a, b) => a - b);
      expect(seen).toStrictEqual(order === "oldest" ? sorted : sorted.toReversed());
    },
  );

  test("reads little more than it shows, however many tasks of the caller's own and of others' wait, in every order", async () => {
    const { services, put } = inMemory();
    const drawn = (index: number, salt: number) => (index * 7_919 + salt * 104_729) % 997;
    const known = new Map<string, ReturnType<typeof anAsk>>();
    for (let index = 0; index < 400; index += 1) {
      const times = { askedAtMs: NOW_MS + drawn(index, 1), deadlineMs: NOW_MS + HOUR + drawn(index, 2) };
      const about = { ...(index % 3 === 0 && { dueMs: drawn(index, 3) }), ...(index % 5 === 0 && { priority: "urgent" as const }) };
      const request = { type: "form", message: "?", schema: { type: "object" }, about } as const;
      const ask = anAsk(`k${index}`, { ...times, request, ...(index % 4 === 0 && { audience: finance }) });
      known.set(`k${index}`, ask);
      await put([ask], { principal: index % 4 === 0 ? "alice" : "frida" });
    }
    let loads = 0;
    const { load } = services.store;
    const store = { ...services.store, load: (taskId: string) => ((loads += 1), load(taskId)) };
    for (const order of ASK_ORDERS) {
      for (const limit of [7, 50, 100]) {
        const seen: string[] = [];
        let cursor: string | undefined;
        do {
          loads = 0;
          const page = await listAsks({ ...services, store }, { caller: frida, order, limit, ...(cursor !== undefined && { cursor }) });
          expect(loads).toBeLessThanOrEqual(limit + 64);
          seen.push(...page.asks.map(({ key }) => key));
          cursor = page.nextCursor;
        } while (cursor !== undefined);
        expect(seen.toSorted()).toStrictEqual([...known.keys()].toSorted());
        const places = seen.map((key) => placeMs(order, known.get(key) ?? anAsk("gone")) * (order === "newest" ? -1 : 1));
        expect(places, order).toStrictEqual(places.toSorted((a, b) => a - b));
      }
    }
  });

  test("marks what cannot be undone, for a form with either hint and for nothing else, as reading the ask does", async () => {
    const { services, put } = inMemory();
    const form = { type: "form", message: "Delete?", schema: { type: "object" } } as const;
    const url = { type: "url", message: "Visit.", url: "https://example.com", hints: { destructive: true } } as never;
    const requests = [
      form,
      { ...form, hints: { destructive: true } },
      { ...form, hints: { dangerous: true } },
      { ...form, hints: { destructive: "yes" } },
      url,
    ];
    const taskId = await put(
      requests.map((request, index) => anAsk(`k${index}`, { request, askedAtMs: NOW_MS + index, audience: finance })),
    );

    const { asks } = await listAsks(services, { caller: frida, limit: 10 });
    expect(asks.map(({ isRisky = false }) => isRisky)).toStrictEqual([false, true, true, false, false]);
    for (const { key, isRisky } of asks) {
      const read = await readAsk(services, { caller: frida, taskId, key, door: "test" });
      expect("isRisky" in read ? read.isRisky : undefined).toBe(isRisky);
    }
  });

  test("a page whose filter leaves out nearly everything ends early, and the next one continues", async () => {
    const { services, put } = inMemory();
    const many = Array.from({ length: 600 }, (_, index) => anAsk(`k${index}`, { audience: finance, askedAtMs: NOW_MS + index }));
    await put(many);
    await put([anAsk("rare", { audience: finance, askedAtMs: NOW_MS + 1_000 })], { name: "rare" });
    const filter = { called: "rare" };

    const first = await listAsks(services, { caller: frida, filter, limit: 10 });
    const second = await listAsks(services, { caller: frida, filter, limit: 10, cursor: first.nextCursor ?? "" });

    expect(first.asks).toStrictEqual([]);
    expect(second.asks.map(({ key }) => key)).toStrictEqual(["rare"]);
    expect(await countAsks(services, { caller: frida })).toStrictEqual({ count: 100, isMore: true });
  });

  test("reads little more than it shows, each place once, whatever is put aside", async () => {
    const { services, put } = inMemory();
    const asks = Array.from({ length: 300 }, (_, index) => anAsk(`k${index}`, { audience: finance, askedAtMs: NOW_MS + index }));
    const taskId = await put(asks);
    for (const { key } of asks.slice(0, 40)) await snoozeAsk(services, { caller: frida, taskId, key, untilMs: NOW_MS + 60_000 });
    const read: string[][] = [];
    const { store } = services;
    const counted = {
      ...services,
      store: {
        ...store,
        openAsks: (places: Parameters<typeof store.openAsks>[0]) => (read.push(places.map(({ key }) => key)), store.openAsks(places)),
      },
    };
    const looks = async (list: Omit<Parameters<typeof listAsks>[1], "caller">) => {
      read.length = 0;
      const shown = (await listAsks(counted, { caller: frida, ...list })).asks.length;
      expect(new Set(read.flat()).size).toBe(read.flat().length);
      return [shown, ...read.map(({ length }) => length)];
    };
    expect(await looks({ limit: 50 })).toStrictEqual([50, 51, 40]);
    expect(await looks({ limit: 50, order: "newest" })).toStrictEqual([50, 51]);
    expect(await looks({ limit: 100 })).toStrictEqual([100, 101, 40]);
    expect(await looks({ limit: 50, filter: { snoozed: "only" } })).toStrictEqual([40, 40]);
    expect(await looks({ limit: 50, filter: { called: "none" } })).toStrictEqual([0, 51, 128, 121]);
  });

  test("leaves out what the caller has accepted while others are missing", async () => {
    const { services, put } = inMemory();
    const taskId = await put([anAsk("approve", { audience: { ...finance, quorum: 2 } })]);
    await answerTask(services, { taskId, caller: frida, replies: { approve: { action: "accept", content: { n: 1 } } } });
    const other = callerNamed("otto", { groups: ["finance"] });

    expect((await listAsks(services, { caller: frida, limit: 10 })).asks).toStrictEqual([]);
    expect((await listAsks(services, { caller: other, limit: 10 })).asks).toMatchObject([{ key: "approve", accepted: 1 }]);
  });

  test("shows long questions cut", async () => {
    const { services, put } = inMemory();
    await put([anAsk("long", { request: { type: "form", message: "x".repeat(5_000), schema: {} } })]);
    const [ask] = (await listAsks(services, { caller: alice, limit: 1 })).asks;
    expect(ask?.message.length).toBe(ASK_SUMMARY_CHARS + 1);
  });

  test.each([
    "",
    "x",
    "oldest",
    "oldest.1.0-a",
    "newest.1.0-a.k",
    "oldest.-1.0-a.k",
    "oldest.1e3.0-a.k",
    "oldest.01.0-a.k",
    "oldest.1.a b.k",
    `oldest.1.0-a.${"k".repeat(1_000_000)}`,
  ])("refuses a cursor that it did not issue (%#)", async (cursor) => {
    const { services } = inMemory();
    await expect(listAsks(services, { caller: bob, limit: 1, cursor })).rejects.toMatchObject({ code: "INVALID_CURSOR" });
  });
});
