/** The outbox, and what each person hears from it. */
import {
  type Caller,
  cursorOfPlace,
  followOccurrences,
  namesOfAudience,
  OCCURRENCE_TYPES,
  ParleyError,
  type Occurrence,
  type OccurrenceFilter,
  type OccurrencesRead,
  type OccurrenceType,
  type OutboxPlace,
  placeOfCursor,
  readOccurrences,
} from "@parley/core";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { callerNamed } from "../../core/callers/caller.fixture.ts";
import { aCall, aLife, anAsk, anEvent, aStep, aWithdrawal, HOUR_MS } from "../../../test/contract/builders.ts";
import { aContentKey } from "../../../test/contract/content-keys.ts";
import { type OpenRedis, openRedis } from "../../../test/contract/open-redis.ts";
import { plainContent } from "../content/codec.ts";
import { createKeys } from "../keys.ts";
import { createOutbox } from "./outbox.ts";

const DAY_MS = 24 * HOUR_MS;
let opened: OpenRedis;
let start: OutboxPlace;

async function open(outbox = { lengthMax: 1_000, ageMs: DAY_MS }): Promise<void> {
  opened = await openRedis({ outbox, partitions: 2 });
  start = await outboxOf().now();
}

beforeEach(() => open());
afterEach(() => opened.close());

function outboxOf() {
  if (!opened.outbox) throw new Error("the backend has no outbox");
  return opened.outbox;
}

const life = () => aLife(opened.store, () => opened.newTaskId());
const ada = callerNamed("ada");
const bob = callerNamed("bob", { groups: ["finance"] });
const FOR_FINANCE = { audience: { to: { groups: ["finance"] } } };

function read(
  caller: Caller,
  filter: OccurrenceFilter,
  more: { from?: OutboxPlace; limit?: number; maxAgeMs?: number } = {},
): Promise<OccurrencesRead> {
  const services = { store: opened.store, digest: (text: string) => text, clock: { now: Date.now, monotonicMs: () => performance.now() } };
  return readOccurrences({ ...services, outbox: outboxOf() } as never, { caller, filter, from: start, limit: 100, ...more });
}

async function heard(caller: Caller, type: OccurrenceType, more: Partial<OccurrenceFilter> = {}): Promise<object[]> {
  return (await read(caller, { types: [type], ...more })).occurrences.map(({ data }) => data);
}

describe("who hears what", () => {
  test("the owner of a task hears how it goes on and ends, and nobody else", async () => {
    const taskId = await life().parked([anAsk("size")], { principal: "ada" });
    await life().answer(taskId, "size", "4");
    await life().finish(taskId, await life().begin({ taskId, run: 2 }));
    const changes = await heard(ada, "task.changed");
    expect(changes).toMatchObject([{ change: "asked", key: "size" }, { change: "answered", key: "size" }, { change: "completed" }]);
    expect(await heard(ada, "task.ended")).toEqual([{ taskId, called: { kind: "tool", name: "book_dinner" }, status: "completed" }]);
    for (const type of ["task.changed", "task.ended", "ask.opened", "ask.settled"] as const) {
      expect(await heard(bob, type), type).toEqual([]);
      expect(await heard(callerNamed("ada", { tenant: "other" }), type), type).toEqual([]);
    }
  });

  test("those who are asked hear of a question and of its end, but not of the task", async () => {
    const taskId = await life().parked([anAsk("size", FOR_FINANCE)], { principal: "ada" });
    expect(await heard(bob, "ask.opened")).toMatchObject([
      { taskId, key: "size", from: "others", isOpen: true, kind: "form", priority: "normal" },
    ]);
    await life().answer(taskId, "size", "4");
    expect(await heard(bob, "ask.opened")).toMatchObject([{ taskId, key: "size", isOpen: false }]);
    expect(await heard(bob, "ask.settled")).toMatchObject([{ taskId, key: "size", end: "accepted" }]);
    expect(await heard(bob, "task.changed")).toEqual([]);
    // The owner's task asks others: nothing is asked of the owner, who hears how it ended.
    expect(await heard(ada, "ask.opened")).toEqual([]);
    expect(await heard(ada, "ask.settled")).toMatchObject([{ from: "me", end: "accepted" }]);
    expect(await heard(callerNamed("eve", { groups: ["sales"] }), "ask.opened")).toEqual([]);
  });

  test("who is asked but excluded hears nothing: the policy decides, not the index", async () => {
    await life().parked([anAsk("size", { audience: { to: { groups: ["finance"] }, not: "caller" } })], { principal: "bob" });
    expect(await heard(bob, "ask.opened")).toEqual([]);
  });

  test("filters", async () => {
    const one = await life().parked([anAsk("size")], { principal: "ada", name: "one" });
    await life().parked([anAsk("size", FOR_FINANCE)], { principal: "eve", name: "two" });
    const caller = { ...ada, groups: ["finance"] };
    const named = async (filter: Partial<OccurrenceFilter>) =>
      (await heard(caller, "ask.opened", filter)).map((data) => (data as { called: { name: string } }).called.name);
    expect(await named({})).toEqual(["one", "two"]);
    expect(await named({ tool: "two" })).toEqual(["two"]);
    expect(await named({ taskId: one })).toEqual(["one"]);
    expect(await named({ from: "me" })).toEqual(["one"]);
    expect(await named({ from: "others" })).toEqual(["two"]);
  });

  test("every way in which a question ends", async () => {
    const ended = async (end: (taskId: string) => Promise<unknown>) => {
      const taskId = await life().parked([anAsk("size")], { principal: "ada" });
      await end(taskId);
      const [data] = await heard(ada, "ask.settled", { taskId });
      return (data as { end: string }).end;
    };
    const settle = (taskId: string, answer: object, isTimeout = false) =>
      opened.store.answer({
        taskId,
        key: "size",
        digest: "digest-of-size",
        answer,
        nowMs: Date.now() + (isTimeout ? 86_400_000 : 0),
        graceMs: 1_000,
      } as never);
    expect(await ended((taskId) => settle(taskId, { action: "decline" }))).toBe("declined");
    expect(await ended((taskId) => settle(taskId, { action: "cancel" }))).toBe("cancelled");
    expect(await ended((taskId) => settle(taskId, { action: "timeout" }, true))).toBe("timed_out");
    expect(await ended((taskId) => life().cancel(taskId))).toBe("closed");
    expect(
      await ended(async (taskId) => {
        const token = await life().begin({ taskId, run: 2 }, Date.now() + 2 * HOUR_MS);
        await opened.store.record({ taskId, token, nowMs: Date.now(), leaseMs: 1_000, entries: [aWithdrawal("size", 1)] });
      }),
    ).toBe("withdrawn");
  });

  test("what a tool waits for from other systems is nobody's question", async () => {
    await life().parked([anEvent("paid")], { principal: "ada" });
    for (const type of ["ask.opened", "task.changed"] as const) expect(await heard(ada, type)).toEqual([]);
  });

  test("who is handed a question hears of it, and those who knew of it do not hear again", async () => {
    const taskId = await life().parked([anAsk("size", FOR_FINANCE)], { principal: "ada" });
    const carol = callerNamed("carol");
    expect(await heard(carol, "ask.opened")).toEqual([]);
    const to = { people: ["carol"] };
    const thread = { comments: 0, delegations: [{ from: { by: "bob" }, to }], delegated: 1 };
    const asks = { taskId, key: "size", digest: "digest-of-size", nowMs: Date.now() };
    expect(await opened.store.writeThread({ ...asks, thread, handedTo: namesOfAudience({ to }), history: [] })).toBe("accepted");
    expect(await heard(carol, "ask.opened")).toMatchObject([{ taskId, key: "size", from: "others", isOpen: true }]);
    // Who handed their part on is not asked any more, and others of the group were told before.
    expect(await heard(bob, "ask.opened")).toEqual([]);
    expect(await heard(callerNamed("dora", { groups: ["finance"] }), "ask.opened")).toHaveLength(1);
    expect(await heard(ada, "task.changed")).toMatchObject([{ change: "asked" }]);
  });

  test("who is reminded of a question hears so, and of an escalation those who are asked, at first or by it, and the owner", async () => {
    const taskId = await life().parked([anAsk("size", FOR_FINANCE), anAsk("own")], { principal: "ada" });
    const lea = callerNamed("lea", { groups: ["leads"] });
    const to = { groups: ["leads"] };
    const write = (key: string, more: object) =>
      opened.store.writeThread({
        taskId,
        key,
        digest: `digest-of-${key}`,
        nowMs: Date.now(),
        history: [],
        thread: { comments: 0 },
        ...more,
      });
    await write("own", { tells: ["reminded"] });
    await write("size", { tells: ["reminded"] });
    expect(await heard(bob, "ask.reminded")).toMatchObject([{ taskId, key: "size", from: "others", kind: "form", priority: "normal" }]);
    expect(await heard(ada, "ask.reminded")).toMatchObject([{ taskId, key: "own", from: "me" }]);
    expect(await heard(lea, "ask.reminded")).toEqual([]);

    const { revision } = (await opened.store.load(taskId))!.asks.find(({ key }) => key === "size")!.thread!;
    const thread = { comments: 0, escalatedTo: [to] };
    await write("size", { tells: ["escalated"], thread, handedTo: namesOfAudience({ to }), seen: revision });
    for (const [who, from] of [
      [bob, "others"],
      [lea, "others"],
      [ada, "me"],
    ] as const)
      expect(await heard(who, "ask.escalated"), from).toMatchObject([{ taskId, key: "size", from }]);
    expect(await heard(lea, "ask.opened")).toMatchObject([{ taskId, key: "size", isOpen: true }]);
    expect(await heard(bob, "ask.opened")).toHaveLength(1);
    expect(await heard(callerNamed("eve", { groups: ["sales"] }), "ask.escalated")).toEqual([]);
    expect(await heard(ada, "task.changed")).toMatchObject([{ change: "asked" }, { change: "asked" }]);
    // An operator is told whom each is put to.
    const operator = { isOperator: true } as never;
    expect(await heard(operator, "ask.escalated")).toMatchObject([{ key: "size", to, owner: "ada" }]);
    expect(await heard(operator, "ask.reminded")).toMatchObject([{ key: "own" }, { key: "size", to: FOR_FINANCE.audience.to }]);
    expect((await heard(operator, "ask.opened")).at(-1)).toMatchObject({ key: "size", to });
    // Once it is settled there is nothing left to remind of.
    await life().answer(taskId, "size", "4");
    for (const who of [bob, lea, operator]) expect(await heard(who, "ask.escalated")).toEqual([]);
  });

  test("a claim, its release and a comment are heard by who may answer and by the owner, and by others not", async () => {
    const taskId = await life().parked([anAsk("size", FOR_FINANCE), anAsk("own")], { principal: "ada" });
    const around = ["ask.claimed", "ask.released", "ask.commented"] as const;
    let seen: number | undefined;
    for (const [index, tells] of (["claimed", "released", "commented"] as const).entries()) {
      const thread = { comments: index === 2 ? 1 : 0 };
      const asks = { taskId, key: "size", digest: "digest-of-size", nowMs: Date.now(), history: [] };
      // oxlint-disable-next-line no-await-in-loop -- each is written by who has read the last one
      expect(await opened.store.writeThread({ ...asks, thread, tells: [tells], ...(seen !== undefined && { seen }) })).toBe("accepted");
      // oxlint-disable-next-line no-await-in-loop -- as above
      seen = (await opened.store.load(taskId))!.asks.find(({ key }) => key === "size")!.thread!.revision;
    }
    const operator = { isOperator: true } as never;
    for (const type of around) {
      // oxlint-disable no-await-in-loop -- one after another, so that a failure names its type
      expect(await heard(bob, type), type).toMatchObject([{ taskId, key: "size", from: "others", kind: "form", priority: "normal" }]);
      expect(await heard(ada, type), type).toMatchObject([{ taskId, key: "size", from: "me" }]);
      expect(await heard(ada, type, { from: "others" }), type).toEqual([]);
      expect(await heard(callerNamed("eve", { groups: ["sales"] }), type), type).toEqual([]);
      expect(await heard(operator, type), type).toMatchObject([{ key: "size", to: FOR_FINANCE.audience.to, owner: "ada" }]);
      // oxlint-enable no-await-in-loop
    }
    expect(await heard(ada, "task.changed")).toMatchObject([{ change: "asked" }, { change: "asked" }]);
    await life().answer(taskId, "size", "4");
    for (const who of [ada, bob, operator]) expect(await heard(who, "ask.commented")).toEqual([]);
  });

  test("who has accepted still hears a comment, and not who is on it", async () => {
    const audience = { ...FOR_FINANCE.audience, quorum: 2 };
    const taskId = await life().parked([anAsk("size", { audience })], { principal: "ada" });
    const asks = { taskId, key: "size", digest: "digest-of-size", nowMs: Date.now() };
    const quorum = { acceptances: [{ by: "bob", content: {}, atMs: 1 }], missing: 1 };
    const answer = { action: "accept", content: {} } as const;
    expect(await opened.store.answer({ ...asks, answer, quorum, graceMs: 1_000 })).toMatchObject({ receipt: "accepted" });
    const tells = ["claimed", "commented"] as const;
    expect(await opened.store.writeThread({ ...asks, thread: { comments: 1 }, history: [], tells })).toBe("accepted");
    const others = callerNamed("carol", { groups: ["finance"] });
    expect([await heard(bob, "ask.commented"), await heard(bob, "ask.claimed")]).toMatchObject([[{ key: "size" }], []]);
    expect([await heard(others, "ask.commented"), await heard(others, "ask.claimed")]).toMatchObject([
      [{ key: "size" }],
      [{ key: "size" }],
    ]);
  });

  test("a child's question is heard of once: by its owner at the task that was called, by others at the child", async () => {
    const rootId = await life().create({ principal: "ada" });
    const token = await life().begin({ taskId: rootId, run: 1 });
    const childId = `${opened.newTaskId()}~`;
    const call = aCall({ principal: "ada", parent: { taskId: rootId, rootId, depth: 1, key: "call:cook", path: "cook" } });
    const child = anAsk("call:cook", { digest: childId, request: { type: "call" } as never });
    await opened.store.create({
      taskId: childId,
      call,
      graceMs: 1_000,
      parent: { token, nowMs: Date.now(), leaseMs: 1_000, open: child },
    } as never);
    await life().park(childId, await life().begin({ taskId: childId, run: 1 }), [anAsk("salt"), anAsk("pepper", FOR_FINANCE)]);
    expect(await heard(ada, "ask.opened")).toMatchObject([{ taskId: rootId, key: "cook:salt" }]);
    expect(await heard(bob, "ask.opened")).toMatchObject([{ taskId: childId, key: "pepper" }]);
    const asks = { taskId: childId, key: "pepper", digest: "digest-of-pepper", nowMs: Date.now(), history: [] };
    expect(await opened.store.writeThread({ ...asks, thread: { comments: 1 }, tells: ["commented"] })).toBe("accepted");
    expect(await heard(ada, "ask.commented")).toMatchObject([{ taskId: rootId, key: "cook:pepper" }]);
    expect(await heard(bob, "ask.commented")).toMatchObject([{ taskId: childId, key: "pepper" }]);
    await life().answer(childId, "pepper", "4");
    expect(await heard(ada, "ask.settled")).toMatchObject([{ taskId: rootId, key: "cook:pepper", from: "me", end: "answered" }]);
    expect(await heard(ada, "ask.opened")).toHaveLength(1);
    expect(await heard(bob, "ask.settled")).toMatchObject([{ taskId: childId, key: "pepper", end: "accepted" }]);
    await life().cancel(rootId);
    expect(await heard(ada, "task.ended")).toMatchObject([{ taskId: rootId, status: "cancelled" }]);
  });

  test("a task that is gone is still heard of by its owner", async () => {
    const taskId = await life().parked([anAsk("size", FOR_FINANCE)], { principal: "ada", retentionMs: 1 });
    await life().finish(taskId, await life().begin({ taskId, run: 2 }, Date.now() + 2 * HOUR_MS));
    await expect.poll(() => opened.store.load(taskId)).toBeUndefined();
    expect(await heard(ada, "task.ended")).toMatchObject([{ taskId, status: "completed" }]);
    expect(await heard(ada, "ask.settled")).toMatchObject([{ taskId, end: "closed" }]);
    expect(await heard(bob, "ask.settled")).toEqual([]);
  });
});

describe("approvals", () => {
  const KEY = "parley.approval";
  const TYPES = OCCURRENCE_TYPES.filter((type) => type.startsWith("approval."));
  const operator = { isOperator: true } as never;
  const { request } = anAsk(KEY);
  const approval = (audience: object = FOR_FINANCE.audience) =>
    anAsk(KEY, { audience, request: { ...request, about: { isApproval: true } } } as never);
  const answered = (taskId: string, action: string) =>
    opened.store.answer({
      taskId,
      key: KEY,
      digest: `digest-of-${KEY}`,
      answer: { action },
      nowMs: Date.now() + (action === "timeout" ? 86_400_000 : 0),
      graceMs: 1_000,
    } as never);
  /** Without the first word. */
  const all = async (caller: Caller, taskId: string) =>
    (await read(caller, { types: TYPES, taskId })).occurrences.map(({ type }) => type.slice("approval.".length));

  /** What the gate records after a yes. */
  async function decidedAgain(taskId: string, what: "spent" | "void", times = 1): Promise<void> {
    const token = await life().begin({ taskId, run: 2 });
    const step = aStep("parley.still-approved", what === "spent" ? "" : "changed", 2);
    const entries = [{ ...step, entry: { ...step.entry, tells: { what, key: KEY } } }];
    // A client library sends again what it has no reply to.
    for (let time = 0; time < times; time += 1)
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      expect(await opened.store.record({ taskId, token, nowMs: Date.now(), leaseMs: 1_000, entries })).toBe("recorded");
  }

  test.each<[string, (taskId: string) => Promise<unknown>, string[]]>([
    [
      "a yes, and the call runs",
      async (id) => [await answered(id, "accept"), await decidedAgain(id, "spent")],
      ["asked", "given", "spent"],
    ],
    ["sent three times", async (id) => [await answered(id, "accept"), await decidedAgain(id, "spent", 3)], ["asked", "given", "spent"]],
    ["a yes that does not count", async (id) => [await answered(id, "accept"), await decidedAgain(id, "void")], ["asked", "given", "void"]],
    ["a yes that nothing follows yet", (id) => answered(id, "accept"), ["asked", "given"]],
    ["a no", (id) => answered(id, "decline"), ["asked", "refused"]],
    ["a closed form, which decides nothing", (id) => answered(id, "cancel"), ["asked", "withdrawn"]],
    ["nothing in time", (id) => answered(id, "timeout"), ["asked", "expired"]],
    ["a task that is cancelled", (id) => life().cancel(id), ["asked", "withdrawn"]],
  ])("%s: who may decide and who called hear it once, in order, and nobody else", async (_, end, expected) => {
    const taskId = await life().parked([approval()], { principal: "ada", name: "refund" });
    await end(taskId);
    for (const who of [ada, bob, operator]) expect(await all(who, taskId)).toEqual(expected);
    for (const who of [callerNamed("eve", { groups: ["sales"] }), callerNamed("bob", { groups: ["finance"], tenant: "other" })])
      expect(await all(who, taskId)).toEqual([]);
    const { occurrences } = await read(bob, { types: TYPES, taskId });
    expect(occurrences.map(({ data }) => data)).toMatchObject(
      expected.map(() => ({ taskId, key: KEY, from: "others", called: { kind: "tool", name: "refund" } })),
    );
    expect(new Set(occurrences.map(({ id }) => id)).size).toBe(expected.length);
    expect(await heard(ada, "approval.asked", { from: "others" })).toEqual([]);
    expect(await heard(ada, "approval.asked", { from: "me", tool: "refund" })).toHaveLength(1);
    // They are questions besides.
    expect([await heard(bob, "ask.opened"), await heard(bob, "ask.settled")]).toMatchObject([
      { length: 1 },
      { length: expected.length > 1 ? 1 : 0 },
    ]);
  });

  test("who called and is excluded from deciding hears of it as the owner only; an operator is told whom it is put to", async () => {
    const to = FOR_FINANCE.audience.to;
    const taskId = await life().parked([approval({ to, not: "caller" })], { principal: "bob" });
    expect(await heard(bob, "approval.asked")).toMatchObject([{ taskId, from: "me", kind: "form", isOpen: true }]);
    expect(await heard(bob, "approval.asked", { from: "others" })).toEqual([]);
    expect(await heard(operator, "approval.asked")).toMatchObject([{ to, owner: "bob", isOpen: true }]);
    await answered(taskId, "accept");
    expect(await heard(bob, "approval.asked")).toMatchObject([{ isOpen: false }]);
  });

  test("who is handed an approval hears of it, and the owner not again", async () => {
    const taskId = await life().parked([approval()], { principal: "ada" });
    const to = { people: ["carol"] };
    const thread = { comments: 0, delegations: [{ from: { by: "bob" }, to }], delegated: 1 };
    const asks = { taskId, key: KEY, digest: `digest-of-${KEY}`, nowMs: Date.now() };
    expect(await opened.store.writeThread({ ...asks, thread, handedTo: namesOfAudience({ to }), history: [] })).toBe("accepted");
    const carol = callerNamed("carol");
    expect([await all(carol, taskId), await all(ada, taskId)]).toEqual([["asked"], ["asked"]]);
    await answered(taskId, "accept");
    expect([await all(carol, taskId), await all(ada, taskId)]).toEqual([
      ["asked", "given"],
      ["asked", "given"],
    ]);
  });

  test("of several who must agree, the last one gives it", async () => {
    const taskId = await life().parked([approval({ ...FOR_FINANCE.audience, quorum: 2 })], { principal: "ada" });
    const answer = {
      taskId,
      key: KEY,
      digest: `digest-of-${KEY}`,
      answer: { action: "accept", content: {} },
      nowMs: Date.now(),
      graceMs: 1_000,
    };
    const acceptances = [{ by: "bob", content: {}, atMs: 1 }];
    expect(await opened.store.answer({ ...answer, quorum: { acceptances, missing: 1 } } as never)).toMatchObject({ receipt: "accepted" });
    expect(await all(ada, taskId)).toEqual(["asked"]);
    const { revision } = (await opened.store.load(taskId))!.asks[0]!.accepted!;
    const both = [...acceptances, { by: "dora", content: {}, atMs: 2 }];
    await opened.store.answer({ ...answer, quorum: { seen: revision, acceptances: both, missing: 0 } } as never);
    expect(await all(ada, taskId)).toEqual(["asked", "given"]);
  });

  test("a tool's own question is no approval, whatever its name", async () => {
    const taskId = await life().parked([anAsk(KEY, FOR_FINANCE)], { principal: "ada" });
    await answered(taskId, "accept");
    for (const who of [ada, bob, operator]) expect(await all(who, taskId)).toEqual([]);
    expect(await heard(bob, "ask.settled")).toHaveLength(1);
  });

  test("an approval of a child is heard of by its owner at the task that was called", async () => {
    const rootId = await life().create({ principal: "ada" });
    const token = await life().begin({ taskId: rootId, run: 1 });
    const childId = `${opened.newTaskId()}~`;
    const call = aCall({ principal: "ada", parent: { taskId: rootId, rootId, depth: 1, key: "call:cook", path: "cook" } });
    const open = anAsk("call:cook", { digest: childId, request: { type: "call" } as never });
    await opened.store.create({
      taskId: childId,
      call,
      graceMs: 1_000,
      parent: { token, nowMs: Date.now(), leaseMs: 1_000, open },
    } as never);
    await life().park(childId, await life().begin({ taskId: childId, run: 1 }), [approval()]);
    await answered(childId, "accept");
    await decidedAgain(childId, "spent");
    expect([await all(ada, rootId), await all(ada, childId)]).toEqual([["asked", "given", "spent"], []]);
    expect([await all(bob, childId), await all(bob, rootId)]).toEqual([["asked", "given", "spent"], []]);
    expect([await all(operator, childId), await all(operator, rootId)]).toEqual([["asked", "given", "spent"], []]);
  });

  test("the index finds an approval by its names, and nothing of it stays", async () => {
    const taskId = await life().parked([approval()], { principal: "ada" });
    const asked = () => opened.store.asked({ names: namesOfAudience(FOR_FINANCE.audience), order: "oldest", limit: 10 });
    expect(await asked()).toMatchObject([{ taskId, key: KEY }]);
    expect(await opened.redis.keys(`${opened.prefix}:*asked:!*`)).toEqual([]);
    await answered(taskId, "decline");
    expect(await asked()).toEqual([]);
  });
});

test("what a newer version says in an entry is passed over, and the rest is heard", async () => {
  const taskId = await life().parked([anAsk("size", FOR_FINANCE)], { principal: "ada" });
  const key = `${opened.prefix}:{p${taskId.split("-")[0]}}:outbox`;
  const [, [, text = ""]] = (await opened.redis.xrange(key, "-", "+")).at(-1)!;
  const entry = JSON.parse(text) as [...unknown[], string[]];
  const [asked = ""] = entry.at(-1) as string[];
  const newer = [
    ...entry.slice(0, -1),
    ["exalted:size\nabc", `exalted:size ${asked.slice(asked.indexOf("\n"))}`, `${asked} !hallowed`],
    { more: 1 },
  ];
  await opened.redis.xadd(key, "*", "e", JSON.stringify(newer));
  expect(await heard(bob, "ask.opened")).toHaveLength(2);
  for (const type of OCCURRENCE_TYPES.filter((each) => !["ask.opened", "task.changed"].includes(each)))
    expect(await heard(bob, type)).toEqual([]);
});

describe("what a process has no key for", () => {
  const eve = callerNamed("eve", { groups: ["finance"], tenant: "other" });
  const operator = { isOperator: true } as never;
  let keyed: OpenRedis;

  beforeEach(async () => {
    await opened.close();
    const outbox = { lengthMax: 1_000, ageMs: DAY_MS };
    keyed = await openRedis({ outbox, partitions: 2, contentKeys: aContentKey() });
    opened = await openRedis({ outbox, partitions: 2, contentKeys: aContentKey(), prefix: keyed.prefix, drawsIds: false });
    start = await outboxOf().now();
  });
  afterEach(() => keyed.close());

  test("is said to be missing to whom it may concern, and what needs no key is heard", async () => {
    const of = aLife(keyed.store, () => keyed.newTaskId());
    const taskId = await of.parked([anAsk("size", FOR_FINANCE)], { principal: "ada", name: "refund" });
    for (const type of ["ask.opened", "ask.reminded"] as const)
      expect(await read(bob, { types: [type] }), type).toMatchObject({ occurrences: [], isTruncated: type === "ask.opened" });
    expect((await read(bob, { types: ["ask.opened"], tool: "refund", taskId })).isTruncated).toBe(true);
    expect((await read(bob, { types: ["ask.opened"], tool: "another" })).isTruncated).toBe(false);
    expect((await read(bob, { types: ["ask.opened"], taskId: "another" })).isTruncated).toBe(false);
    expect((await read(eve, { types: ["ask.opened"] })).isTruncated).toBe(false);
    expect(await read(ada, { types: ["task.changed"] })).toMatchObject({
      occurrences: [{ data: { change: "asked" } }],
      isTruncated: false,
    });
    // Whether it is still open, and whom it is put to, is not known.
    const { occurrences, isTruncated } = await read(operator, { types: ["ask.opened"] });
    expect(isTruncated).toBe(false);
    expect(occurrences.map(({ data }) => data)).toEqual([
      { taskId, key: "size", called: { kind: "tool", name: "refund" }, owner: "ada", tenant: "default" },
    ]);
    await of.answer(taskId, "size", "4");
    expect((await read(operator, { types: ["ask.settled"] })).occurrences).toMatchObject([
      { data: { taskId, key: "size", end: "answered" } },
    ]);
    expect(await read(bob, { types: ["ask.settled"] })).toMatchObject({ occurrences: [], isTruncated: true });
    expect((await read(ada, { types: ["ask.settled"] })).isTruncated).toBe(true);
  });

  test("is waited for while the service that has it is away", async () => {
    let isAway = true;
    const access = async () => {
      if (isAway) throw new ParleyError("UNAVAILABLE", "the key management service cannot be asked");
      return "open" as const;
    };
    const bounds = { lengthMax: 1_000, ageMs: DAY_MS };
    const codec = { ...plainContent, access };
    const outbox = createOutbox({ redis: opened.redis, keys: createKeys(opened.prefix), partitions: [0, 1], codec, bounds });
    await aLife(keyed.store, () => keyed.newTaskId()).parked([anAsk("size", FOR_FINANCE)], { principal: "ada" });
    await expect(outbox.read(start, 10)).rejects.toMatchObject({ code: "UNAVAILABLE" });
    isAway = false;
    const { entries } = await outbox.read(start, 10);
    expect(entries.map(({ isKeyMissing }) => isKeyMissing)).toEqual([undefined]);
  });

  test("is said to who follows as well", async () => {
    const clock = {
      now: Date.now,
      after: (ms: number, callback: () => void) => {
        const timer = setTimeout(callback, ms);
        return () => clearTimeout(timer);
      },
    };
    const services = { store: opened.store, digest: (text: string) => text, clock, log: { warn: () => undefined }, outbox: outboxOf() };
    const feed = followOccurrences(services as never, { readEveryMs: 20 });
    const told: unknown[] = [];
    for (const [name, caller] of Object.entries({ bob, eve })) {
      feed.follow({
        caller,
        filter: { types: ["ask.opened"] },
        from: start,
        limit: 10,
        deliver: ({ occurrences, isTruncated }) => void told.push([name, occurrences.length, isTruncated]),
        failed: (error) => void told.push(error),
        troubled: () => void told.push("troubled"),
      });
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
    await aLife(keyed.store, () => keyed.newTaskId()).parked([anAsk("size", FOR_FINANCE)], { principal: "ada" });
    await expect.poll(() => told).toEqual([["bob", 0, true]]);
    await new Promise((resolve) => setTimeout(resolve, 100));
    feed.close();
    expect(told).toEqual([["bob", 0, true]]);
  });
});

describe("places", () => {
  /** Page by page, each from the cursor of the one before. */
  async function allOf(caller: Caller, limit: number): Promise<Occurrence[]> {
    const all: Occurrence[] = [];
    for (let from = start; ;) {
      // oxlint-disable-next-line no-await-in-loop -- pages follow each other
      const page = await read(caller, { types: ["ask.opened"] }, { from, limit });
      expect(page.occurrences.length).toBeLessThanOrEqual(limit);
      all.push(...page.occurrences);
      from = placeOfCursor(cursorOfPlace(page.place));
      if (!page.isMore) return all;
    }
  }

  test("pages of any size have everything once, also where one change asks several questions", async () => {
    await Promise.all(Array.from({ length: 7 }, () => life().parked([anAsk("a"), anAsk("b"), anAsk("c")], { principal: "ada" })));
    const all = await allOf(ada, 100);
    expect(all).toHaveLength(21);
    expect(new Set(all.map(({ id }) => id)).size).toBe(21);
    for (const limit of [1, 2, 5]) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      expect((await allOf(ada, limit)).map(({ id }) => id)).toEqual(all.map(({ id }) => id));
    }
    // From the place of any occurrence on, exactly the rest follows.
    const { occurrences } = await read(ada, { types: ["ask.opened"] });
    const rest = await Promise.all(occurrences.map(({ place }) => read(ada, { types: ["ask.opened"] }, { from: place })));
    expect(rest.map((each) => each.occurrences.length)).toEqual(occurrences.map((_, at) => occurrences.length - 1 - at));
  });

  test("a place moves on while nothing happens, and what happens then is heard", async () => {
    const { place } = await read(ada, { types: ["ask.opened"] });
    const later = await read(ada, { types: ["ask.opened"] }, { from: place });
    expect(later).toMatchObject({ occurrences: [], isMore: false, isTruncated: false });
    await life().parked([anAsk("size")], { principal: "ada" });
    expect((await read(ada, { types: ["ask.opened"] }, { from: later.place })).occurrences).toHaveLength(1);
  });

  test("who is too far behind is told so", async () => {
    await opened.close();
    await open({ lengthMax: 100, ageMs: DAY_MS });
    const many = async (count: number) => {
      // oxlint-disable-next-line no-await-in-loop -- in their order
      for (let at = 0; at < count; at++) await life().parked([anAsk("size")], { principal: "ada" });
    };
    await many(99);
    expect(await read(ada, { types: ["ask.opened"] })).toMatchObject({ isTruncated: false, occurrences: { length: 99 } });
    await many(250);
    const { isTruncated, occurrences, place } = await read(ada, { types: ["ask.opened"] }, { limit: 500 });
    expect({ isTruncated, isSome: occurrences.length >= 100 }).toEqual({ isTruncated: true, isSome: true });
    expect(await read(ada, { types: ["ask.opened"] }, { from: place })).toMatchObject({ isTruncated: false, occurrences: [] });
    const old = `1.${Date.now() - DAY_MS - 60_000}-0.${Date.now() - DAY_MS - 60_000}-0`;
    expect(await read(ada, { types: ["ask.opened"] }, { from: placeOfCursor(old) })).toMatchObject({ isTruncated: true });
  });

  test("nothing older than asked for, and it is said", async () => {
    await life().parked([anAsk("size")], { principal: "ada" });
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(await read(ada, { types: ["ask.opened"] }, { maxAgeMs: 1 })).toMatchObject({ occurrences: [], isTruncated: true });
    expect(await read(ada, { types: ["ask.opened"] }, { maxAgeMs: HOUR_MS })).toMatchObject({
      occurrences: { length: 1 },
      isTruncated: false,
    });
  });

  test("a cursor that nobody issued is refused", () => {
    const long = `1.${"1-0.".repeat(2_000)}`;
    for (const cursor of [
      "",
      "1",
      "1.",
      "2.1-0",
      "1.x-0",
      "1.1",
      "1.1-99999999999999999999",
      long,
      `1.${"9".repeat(100_000)}`,
      "1.1-0.__proto__",
    ]) {
      expect(() => placeOfCursor(cursor), cursor.slice(0, 50)).toThrow(expect.objectContaining({ code: "INVALID_CURSOR" }));
    }
  });
});

test("without the setting nothing is written, and with it each partition is bounded and expires", async () => {
  await life().parked([anAsk("size")], { principal: "ada" });
  const key = `${opened.prefix}:{p0}:outbox`;
  expect(await opened.redis.pttl(key)).toBeGreaterThan(DAY_MS - 60_000);
  const [, fields] = (await opened.redis.xrange(key, "-", "+"))[0] ?? ["", []];
  // No content, and not the seed, from which ids and random numbers of the task are derived.
  expect(JSON.parse(fields[1] ?? "")).toEqual([expect.any(String), 2, expect.anything(), "tool", "book_dinner", "ada", 0, ["asked:size"]]);
  await opened.close();
  opened = await openRedis();
  await life().parked([anAsk("size")], { principal: "ada" });
  expect(await opened.redis.exists(`${opened.prefix}:{p0}:outbox`)).toBe(0);
  expect(opened.outbox).toBeUndefined();
});
