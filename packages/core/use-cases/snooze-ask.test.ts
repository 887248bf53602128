import { describe, expect, test } from "vitest";
import { callerNamed } from "../callers/caller.fixture.ts";
import type { Caller } from "../callers/caller.ts";
import { createMemorySnoozes } from "../memory/index.ts";
import { SNOOZES_MAX } from "../ports/snoozes.ts";
import { answerTask } from "./answer-task.ts";
import { alice, anAsk, HOUR, inMemory, mallory, NOW_MS } from "./in-memory.fixture.ts";
import { claimAsk, commentOnAsk, delegateAsk } from "./join-thread.ts";
import { countAsks, listAsks } from "./list-asks.ts";
import { promptAsks } from "./prompt-asks.ts";
import { readAsk } from "./read-ask.ts";
import type { Services } from "./services.ts";
import { SNOOZE_DAYS_MAX, snoozeAsk, unsnoozeAsk } from "./snooze-ask.ts";

const DAY = 86_400_000;
const finance = { to: { groups: ["finance"] } };
const frida = callerNamed("frida", { groups: ["finance"] });
const otto = callerNamed("otto", { groups: ["finance"] });
const about = { allow: ["delegate"], remindMs: [2 * HOUR], escalate: [{ afterMs: 2 * HOUR, to: { people: ["lea"] } }] } as const;

async function asked(given: Partial<Services> = {}) {
  const memory = inMemory(given);
  const { services } = memory;
  const request = { type: "form", message: "Approve?", schema: { type: "object" }, about } as const;
  const taskId = await memory.put([anAsk("approve", { audience: finance, deadlineMs: NOW_MS + 10 * DAY, request })]);
  const ref = (caller: Caller) => ({ caller, taskId, key: "approve", door: "test" });
  const listed = async (caller: Caller, snoozed?: "only" | "any") =>
    (await listAsks(services, { caller, limit: 10, ...(snoozed && { filter: { snoozed } }) })).asks.map(({ key }) => key);
  const snooze = (caller = frida, untilMs = NOW_MS + DAY) => snoozeAsk(services, { ...ref(caller), untilMs });
  return { ...memory, taskId, ref, listed, snooze };
}

describe("a question that a person puts aside", () => {
  test("leaves their own lists and counts alone, and is listed where it is asked for", async () => {
    const { services, ref, listed, snooze, facts } = await asked();
    expect(await snooze()).toEqual({ type: "snoozed", untilMs: NOW_MS + DAY });

    expect([await listed(frida), await listed(frida, "only"), await listed(frida, "any")]).toEqual([[], ["approve"], ["approve"]]);
    expect(await countAsks(services, { caller: frida })).toEqual({ count: 0, isMore: false });
    expect(await countAsks(services, { caller: frida, filter: { snoozed: "only" } })).toEqual({ count: 1, isMore: false });
    expect([await listed(otto), await listed(otto, "only")]).toEqual([["approve"], []]);
    const { asks } = await listAsks(services, { caller: frida, limit: 1, filter: { snoozed: "only" } });
    expect(asks).toMatchObject([{ snoozedUntilMs: NOW_MS + DAY }]);
    // Read as before, and what is read says so to this person alone.
    expect(await readAsk(services, ref(frida))).toMatchObject({
      state: "open",
      snoozedUntilMs: NOW_MS + DAY,
      history: [{ what: "asked" }, { what: "snoozed", by: { isCaller: true }, atMs: NOW_MS, untilMs: NOW_MS + DAY }],
    });
    expect(JSON.stringify(await readAsk(services, ref(otto)))).not.toMatch(/snoozed/);
    expect(facts).toContainEqual(expect.objectContaining({ action: "snooze", principal: "frida", ask: "approve", door: "test" }));
  });

  test("may be answered all the same, by this person and by others", async () => {
    for (const caller of [frida, otto]) {
      const { services, taskId, snooze, listed } = await asked();
      await snooze();
      const { receipts } = await answerTask(services, { caller, taskId, replies: { approve: { action: "accept", content: {} } } });
      expect(receipts.get("approve")).toEqual({ type: "accepted" });
      expect([await listed(frida), await listed(frida, "only"), await listed(frida, "any")]).toEqual([[], [], []]);
    }
  });

  test("comes back at its time, and not a millisecond before; and when the person wants it", async () => {
    const { services, ref, listed, snooze, pass, facts } = await asked();
    await snooze();
    await pass(DAY - 1);
    expect(await listed(frida)).toEqual([]);
    await pass(1);
    expect([await listed(frida), await listed(frida, "only")]).toEqual([["approve"], []]);

    await snooze(frida, services.clock.now() + HOUR);
    expect(await listed(frida)).toEqual([]);
    expect(await unsnoozeAsk(services, ref(frida))).toEqual({ type: "unsnoozed" });
    expect(await unsnoozeAsk(services, ref(frida)), "twice").toEqual({ type: "unsnoozed" });
    expect(await listed(frida)).toEqual(["approve"]);
    expect(facts).toContainEqual(expect.objectContaining({ action: "unsnooze", principal: "frida" }));
  });

  type Asked = Awaited<ReturnType<typeof asked>>;
  test.each<[what: string, comesBack: boolean, change: (asked: Asked) => Promise<unknown>]>([
    ["somebody comments", true, ({ services, ref }) => commentOnAsk(services, { ...ref(otto), text: "Look at page 2." })],
    ["the person who called comments", true, ({ services, ref }) => commentOnAsk(services, { ...ref(alice), text: "It is urgent." })],
    [
      "people are reminded and others asked as well",
      true,
      ({ services, taskId, pass }) => pass(2 * HOUR).then(() => prompt(services, taskId)),
    ],
    [
      "it is handed to this person",
      true,
      ({ services, ref }) => delegateAsk(services, { ...ref(otto), to: { people: ["frida"] }, reason: "I am on leave." }),
    ],
    [
      "it is handed to somebody else",
      false,
      ({ services, ref }) => delegateAsk(services, { ...ref(otto), to: { people: ["lea"] }, reason: "I am on leave." }),
    ],
    ["somebody is on it", false, ({ services, ref }) => claimAsk(services, ref(otto))],
    ["somebody else puts it aside", false, ({ snooze }) => snooze(otto)],
    ["nothing happens", false, async () => undefined],
  ])("when %s: comes back %s", async (_what, comesBack, change) => {
    const it = await asked();
    await it.snooze();
    await change(it);
    expect(await it.listed(frida)).toEqual(comesBack ? ["approve"] : []);
    expect("snoozedUntilMs" in (await readAsk(it.services, it.ref(frida)))).toBe(!comesBack);
    // It can be put aside again, as it is now.
    await it.snooze();
    expect(await it.listed(frida)).toEqual([]);
  });

  test("is told to the person's other windows, and to nobody else's", async () => {
    const { services, ref, snooze } = await asked();
    const told: string[] = [];
    for (const each of [frida, otto])
      await services.wakeUps.watchAsked({ names: [`person ${each.principal}`, "group finance"] }, () => void told.push(each.principal));
    await snooze();
    await unsnoozeAsk(services, ref(frida));
    await Promise.resolve();
    expect(told).toEqual(["frida", "frida"]);
  });

  test("is kept, also if the other windows cannot be told", async () => {
    const { services, listed, ref } = await asked();
    const tellAsked = () => Promise.reject(new Error("no connection"));
    const cut = { ...services, wakeUps: { ...services.wakeUps, tellAsked } };
    expect(await snoozeAsk(cut, { ...ref(frida), untilMs: NOW_MS + HOUR })).toMatchObject({ type: "snoozed" });
    expect(await listed(frida)).toEqual([]);
  });
});

async function prompt(services: Parameters<typeof promptAsks>[0], taskId: string): Promise<void> {
  const task = await services.store.load(taskId);
  if (task) await promptAsks(services, task, task.asks);
}

describe("putting aside is refused", () => {
  test.each<[what: string, caller: Caller, untilMs: number, expected: object]>([
    ["for a time that is over", frida, NOW_MS, { type: "not_then" }],
    ["for what is no time", frida, Number.NaN, { type: "not_then" }],
    ["until the deadline", frida, NOW_MS + 10 * DAY, { type: "closes_before", deadlineMs: NOW_MS + 10 * DAY }],
    ["for ever", frida, NOW_MS + SNOOZE_DAYS_MAX * DAY + 1, { type: "not_then" }],
    ["to those who only read it", alice, NOW_MS + DAY, { type: "forbidden" }],
  ])("%s", async (_what, caller, untilMs, expected) => {
    const { snooze, listed } = await asked();
    expect(await snooze(caller, untilMs)).toEqual(expected);
    expect(await listed(frida)).toEqual(["approve"]);
  });

  test("not until a millisecond before the deadline", async () => {
    const { snooze } = await asked();
    expect(await snooze(frida, NOW_MS + 10 * DAY - 1)).toMatchObject({ type: "snoozed" });
  });

  test("to those who may not read it, as if it did not exist", async () => {
    const { services, ref, snooze } = await asked();
    await expect(snooze(mallory)).rejects.toMatchObject({ code: "TASK_NOT_FOUND" });
    await expect(unsnoozeAsk(services, ref(mallory))).rejects.toMatchObject({ code: "TASK_NOT_FOUND" });
    await expect(snoozeAsk(services, { ...ref(frida), key: "other", untilMs: NOW_MS + DAY })).rejects.toMatchObject({
      code: "TASK_NOT_FOUND",
    });
  });

  test("once it is closed", async () => {
    const { services, taskId, snooze, ref } = await asked();
    await answerTask(services, { caller: otto, taskId, replies: { approve: { action: "decline" } } });
    expect([await snooze(), await unsnoozeAsk(services, ref(frida))]).toEqual([{ type: "late" }, { type: "late" }]);
  });

  test("beyond as many as one person may put aside", async () => {
    const snoozes = createMemorySnoozes();
    const { snooze } = await asked({ snoozes });
    const other = (at: number) => ({ taskId: `0-${at}`, key: "size", sinceMs: NOW_MS, untilMs: NOW_MS + DAY, seen: "-" });
    for (let at = 1; at <= SNOOZES_MAX; at += 1) await snoozes.put({ person: "frida" }, other(at), NOW_MS);
    expect([await snooze(frida), await snooze(otto)]).toMatchObject([{ type: "full" }, { type: "snoozed" }]);
  });
});

test("what one's own calls ask can be put aside as well, in the order and page by page as any list", async () => {
  const { services, put } = inMemory();
  const ask = (key: string, timeoutMs: number) => anAsk(key, { deadlineMs: NOW_MS + timeoutMs });
  const taskId = await put([ask("c", 9 * DAY), ask("a", 8 * DAY), ask("b", 7 * DAY), ask("open", 6 * DAY)]);
  for (const key of ["a", "b", "c"]) await snoozeAsk(services, { caller: alice, taskId, key, untilMs: NOW_MS + HOUR });
  const keys = async (filter: object) =>
    (await listAsks(services, { caller: alice, limit: 10, order: "deadline", filter })).asks.map(({ key }) => key);
  expect([await keys({}), await keys({ snoozed: "only" }), await keys({ snoozed: "any" })]).toEqual([
    ["open"],
    ["b", "a", "c"],
    ["open", "b", "a", "c"],
  ]);
  const page = { caller: alice, limit: 2, order: "deadline", filter: { snoozed: "only" } } as const;
  const first = await listAsks(services, page);
  const second = await listAsks(services, { ...page, cursor: first.nextCursor ?? "" });
  expect([first, second].map(({ asks }) => asks.map(({ key }) => key))).toEqual([["b", "a"], ["c"]]);
  expect(second.nextCursor).toBeUndefined();
});
