import { describe, expect, test } from "vitest";
import type { Observer } from "../ports.ts";
import { DEFAULT_SETTINGS } from "../settings.ts";
import type { Ask, Task } from "../task.ts";
import { type AnswerTask, answerTask } from "./answer-task.ts";
import { alice, anAsk, anEvent, bob, carol, inMemory, mallory, NOW_MS } from "./in-memory.fixture.ts";
import type { Services } from "./services.ts";

const yes = { action: "accept", content: { n: 4 } } as const;
const tooMany = { action: "accept", content: { n: 21 } } as const;
const violations = [{ path: "/content/n", message: "must be at most 20" }];
const noTask = (taskId: string) => ({ code: "TASK_NOT_FOUND", message: `no task "${taskId}"` });
const forBob = (key: string, more: Partial<Ask> = {}) => anAsk(key, { audience: { to: { people: ["bob"] } }, ...more });
/** Both Bob and the owner may answer. */
const forBoth = (key: string) => anAsk(key, { audience: { to: { people: ["alice", "bob"] } } });

/** The ask's part of an audit fact. */
const asked = (key: string, taskId = "0-put-1") => ({
  taskId,
  tool: "tool subject",
  ask: key,
  question: `digest of ${key}`,
  schema: `<{"properties":{"n":{"maximum":20,"type":"integer"}},"type":"object"} of ${taskId}>`,
  version: 2,
  asked: NOW_MS,
});

async function answered(services: Services, request: AnswerTask) {
  const { receipts, task } = await answerTask(services, request);
  return { receipts: Object.fromEntries(receipts), task };
}
const receiptsOf = async (services: Services, request: AnswerTask) => (await answered(services, request)).receipts;

describe("a request with answers", () => {
  test("has a limit on their number: at it, and one beyond", async () => {
    const { services, put } = inMemory({ settings: { ...DEFAULT_SETTINGS, repliesMax: 2 } });
    const taskId = await put([anAsk("a"), anAsk("b")]);
    expect(await receiptsOf(services, { taskId, caller: alice, replies: { a: yes, b: yes } })).toStrictEqual({
      a: { type: "accepted" },
      b: { type: "accepted" },
    });
    await expect(answerTask(services, { taskId, caller: alice, replies: { a: yes, b: yes, c: yes } })).rejects.toMatchObject({
      code: "TOO_MANY_ANSWERS",
      message: "3 answers in one request; the limit is 2 (PARLEY_REPLIES_MAX)",
    });
  });

  test("returns the task as it was before, as its sender may see it", async () => {
    const { services, put, task } = inMemory();
    const taskId = await put([anAsk("size"), forBob("bobs")]);
    const before = await task(taskId);
    const [size, bobs] = before.asks;
    const own = await answered(services, { taskId, caller: alice, replies: { size: yes } });
    expect(own.task).toStrictEqual({ ...before, asks: [size], asksOfOthers: [bobs] });
    const others = await answered(services, { taskId, caller: bob, replies: { bobs: { action: "decline" } } });
    expect(others.task.asks).toStrictEqual([bobs]);
  });

  test("cannot name events and calls of tools: clients do not answer those", async () => {
    const { services, put, requests } = inMemory();
    const taskId = await put([anAsk("size"), anEvent("paid")]);
    const replies = { "event:paid": { action: "accept", content: { body: { amount: 1 } } }, "call:book": yes };
    expect(await receiptsOf(services, { taskId, caller: alice, replies })).toStrictEqual({
      "event:paid": { type: "unknown" },
      "call:book": { type: "unknown" },
    });
    expect(requests).toStrictEqual([["load", taskId]]);
  });

  test.each([
    ["key_missing", "CONTENT_KEY_MISSING", "cannot be read now"],
    ["erased", "CONTENT_ERASED", "was erased"],
    ["damaged", "CONTENT_DAMAGED", "is damaged"],
  ] as const)("is refused if the content of the task is %s", async (unreadable, code, what) => {
    const load = async (): Promise<Task> => ({ ...(await task(taskId)), unreadable });
    const { services, put, task } = inMemory({ replace: () => ({ load }) });
    const taskId = await put([anAsk("size")]);
    await expect(answerTask(services, { taskId, caller: alice, replies: { size: yes } })).rejects.toMatchObject({
      code,
      message: `the content of the task ${taskId} ${what}`,
    });
  });

  test("has each answer observed, with the ask if one is open", async () => {
    const seen: unknown[] = [];
    const observer: Pick<Observer, "answering"> = {
      async answering({ task, key, ...told }, work) {
        const receipt = await work();
        seen.push([task.id, key, told, receipt]);
        return receipt;
      },
    };
    const { services, put } = inMemory({ observer: observer as Observer });
    const taskId = await put([anAsk("size")]);
    await answerTask(services, { taskId, caller: alice, replies: { size: yes } });
    await answerTask(services, { taskId, caller: alice, replies: { other: yes } });
    expect(seen).toStrictEqual([
      [taskId, "size", { ask: expect.objectContaining({ key: "size" }) }, { type: "accepted" }],
      [taskId, "other", {}, { type: "unknown" }],
    ]);
  });
});

describe("permission to answer", () => {
  test("is refused to the owner for an ask with another audience; the owner learns so, and the audit and the log name the attempt", async () => {
    const { services, put, requestsOf, facts, logged } = inMemory();
    const taskId = await put([forBob("bobs")]);
    const receipts = await receiptsOf(services, { taskId, caller: alice, door: "a door", replies: { bobs: yes } });
    expect(receipts).toStrictEqual({ bobs: { type: "forbidden" } });
    expect(requestsOf("answer")).toStrictEqual([]);
    expect(facts).toStrictEqual([{ principal: "alice", door: "a door", action: "answer", ...asked("bobs"), verdict: "forbidden" }]);
    expect(logged).toStrictEqual([["info", "answer received", { taskId, key: "bobs", receipt: "forbidden" }]]);
  });

  test("covers one ask only, and the answer names its sender", async () => {
    const { services, put, requestsOf } = inMemory();
    const taskId = await put([forBob("bobs"), anAsk("size")]);
    const send = (replies: Record<string, unknown>) => receiptsOf(services, { taskId, caller: bob, replies });
    expect(await send({ size: yes })).toStrictEqual({ size: { type: "unknown" } });
    expect(await send({ bobs: yes })).toStrictEqual({ bobs: { type: "accepted" } });
    expect(requestsOf("answer")).toMatchObject([
      { key: "size", answer: yes, by: "bob" },
      { key: "bobs", digest: "digest of bobs", answer: yes, by: "bob" },
    ]);
  });

  test("is implicit for the owner, whose answer has no name, and is not counted without a quorum", async () => {
    const { services, put, requestsOf } = inMemory();
    const taskId = await put([forBoth("ours")]);
    await answerTask(services, { taskId, caller: alice, replies: { ours: yes } });
    expect(requestsOf("answer")[0]).not.toHaveProperty("by");
    expect(requestsOf("answer")[0]).not.toHaveProperty("quorum");
  });

  test("with a quorum counts acceptances, and reads one without content as empty content", async () => {
    const { services, put, requestsOf } = inMemory();
    const url = { type: "url", message: "Look.", url: "https://example.com/" } as const;
    const taskId = await put([anAsk("pay", { audience: { to: "tenant", quorum: 2 }, request: url })]);
    expect(await receiptsOf(services, { taskId, caller: alice, replies: { pay: { action: "accept" } } })).toStrictEqual({
      pay: { type: "accepted", missing: 1 },
    });
    expect(await receiptsOf(services, { taskId, caller: bob, replies: { pay: { action: "decline" } } })).toStrictEqual({
      pay: { type: "accepted" },
    });
    expect(requestsOf("answer")).toMatchObject([
      { quorum: { acceptances: [{ content: {} }], missing: 1 } },
      { by: "bob", answer: { action: "decline" }, quorum: { missing: 0 } },
    ]);
    const form = await put([anAsk("form", { audience: { to: "tenant", quorum: 2 } })]);
    await answerTask(services, { taskId: form, caller: bob, replies: { form: yes } });
    expect(requestsOf("answer").at(-1)).toMatchObject({ quorum: { acceptances: [{ by: "bob", content: { n: 4 } }] } });
  });
});

describe("an invalid answer", () => {
  test("leaves the ask open, and is noted", async () => {
    const { services, put, facts, requests } = inMemory();
    const taskId = await put([anAsk("size")]);
    expect(await receiptsOf(services, { taskId, caller: alice, replies: { size: tooMany } })).toStrictEqual({
      size: { type: "invalid", violations },
    });
    expect(facts).toStrictEqual([{ principal: "alice", action: "refuse", ...asked("size"), verdict: "invalid" }]);
    expect(requests).toStrictEqual([["load", taskId]]);
  });

  test("that is too large is not examined any further, at the limit and one beyond", async () => {
    const content = (length: number) => ({ text: "x".repeat(length) });
    const storedValueMax = JSON.stringify({ action: "accept", content: content(10) }).length;
    const looked: unknown[] = [];
    const { services, put } = inMemory({
      settings: { ...DEFAULT_SETTINGS, storedValueMax },
      validate: (_schema, value) => (looked.push(value), []),
    });
    const taskId = await put([anAsk("size")]);
    const answer = (length: number) =>
      receiptsOf(services, { taskId, caller: alice, replies: { size: { action: "accept", content: content(length) } } });
    const message = `must have at most ${storedValueMax} characters of JSON (PARLEY_STORED_VALUE_MAX)`;
    // Its content alone is too large.
    expect(await answer(1_000)).toStrictEqual({ size: { type: "invalid", violations: [{ path: "/content", message }] } });
    expect(looked).toStrictEqual([]);
    expect(await answer(11)).toStrictEqual({ size: { type: "invalid", violations: [{ path: "", message }] } });
    expect(await answer(10)).toStrictEqual({ size: { type: "accepted" } });
    expect(looked).toStrictEqual([content(11), content(10)]);
  });

  test("that is too large only beside what others have said is refused like any other: noted, or asked again", async () => {
    const storedValueMax = 250;
    const { services, put, requestsOf, facts } = inMemory({ settings: { ...DEFAULT_SETTINGS, storedValueMax } });
    const taskId = await put([anAsk("size", { audience: { to: "tenant", quorum: 2 } })]);
    const replies = { size: { action: "accept", content: { n: 4, text: "x".repeat(100) } } };
    expect(await receiptsOf(services, { taskId, caller: alice, replies })).toStrictEqual({ size: { type: "accepted", missing: 1 } });
    const message = `must have at most ${storedValueMax} characters of JSON (PARLEY_STORED_VALUE_MAX)`;
    const refused = { size: { type: "invalid", violations: [{ path: "", message }] } };
    expect(await receiptsOf(services, { taskId, caller: bob, replies })).toStrictEqual(refused);
    expect(facts).toMatchObject([{ principal: "bob", action: "refuse", ask: "size", verdict: "invalid" }]);
    expect(await receiptsOf(services, { taskId, caller: bob, replies, countRefusals: true })).toStrictEqual(refused);
    expect(requestsOf("refuse")).toMatchObject([{ key: "size", audit: { principal: "bob", action: "refuse" } }]);
  });

  test("is counted with its fact if its sender can only be asked again, and the last allowed one cancels the question", async () => {
    const { services, put, task, requestsOf, logged, facts } = inMemory({ settings: { ...DEFAULT_SETTINGS, refusalsMax: 2 } });
    const taskId = await put([forBoth("size")]);
    const wrong = () => receiptsOf(services, { taskId, caller: bob, door: "a session", replies: { size: tooMany }, countRefusals: true });
    const fact = { principal: "bob", door: "a session", ...asked("size") };

    expect(await wrong()).toStrictEqual({ size: { type: "invalid", violations } });
    expect(requestsOf("refuse")).toStrictEqual([
      { taskId, key: "size", digest: "digest of size", violations, nowMs: NOW_MS, audit: { ...fact, action: "refuse" } },
    ]);
    expect(facts).toStrictEqual([]);
    expect(logged).toStrictEqual([["info", "answer refused, question will be asked again", { taskId, key: "size", count: 1 }]]);

    expect(await wrong()).toStrictEqual({ size: { type: "accepted" } });
    expect(requestsOf("answer")).toMatchObject([
      { answer: { action: "cancel" }, by: "bob", audit: { ...fact, version: 3, action: "answer", did: "cancel" } },
    ]);
    expect(logged.slice(1)).toStrictEqual([
      ["warn", "answers refused too often, question cancelled", { taskId, key: "size", count: 2 }],
      ["info", "answer received", { taskId, key: "size", receipt: "accepted" }],
    ]);
    expect((await task(taskId)).asks).toStrictEqual([]);
  });

  test("is late if the ask was closed in the meantime", async () => {
    const { services, put } = inMemory({ replace: () => ({ refuse: async () => undefined }) });
    const taskId = await put([anAsk("size")]);
    expect(await receiptsOf(services, { taskId, caller: alice, replies: { size: tooMany }, countRefusals: true })).toStrictEqual({
      size: { type: "late" },
    });
  });
});

describe("an ask with a page", () => {
  const onPage = (key: string) => anAsk(key, { request: { type: "url", message: "Enter it.", url: "", page: { kind: "secret" } } });
  const named = { principal: "alice", taskId: "0-put-1", tool: "tool subject", ask: "key" };
  const fact = { ...named, question: "digest of key", version: 2, asked: NOW_MS };

  test("is agreed to by an acceptance, once, and stays open", async () => {
    const { services, put, task, requestsOf, logged } = inMemory();
    const taskId = await put([onPage("key")]);
    const accept = () => receiptsOf(services, { taskId, caller: alice, replies: { key: { action: "accept" } } });
    expect(await accept()).toStrictEqual({ key: { type: "accepted" } });
    expect(await accept()).toStrictEqual({ key: { type: "duplicate" } });
    expect(requestsOf("agree")).toStrictEqual(
      [0, 1].map(() => ({
        taskId,
        key: "key",
        digest: "digest of key",
        nowMs: NOW_MS,
        audit: { ...fact, action: "answer", did: "accept" },
      })),
    );
    expect(requestsOf("answer")).toStrictEqual([]);
    expect(logged).toStrictEqual(["accepted", "duplicate"].map((receipt) => ["info", "page agreed to", { taskId, key: "key", receipt }]));
    expect((await task(taskId)).asks).toMatchObject([{ key: "key", agreed: true }]);
  });

  test("is declined by the client like any other", async () => {
    const { services, put, task } = inMemory();
    const taskId = await put([onPage("key")]);
    expect(await receiptsOf(services, { taskId, caller: alice, replies: { key: { action: "decline" } } })).toStrictEqual({
      key: { type: "accepted" },
    });
    expect((await task(taskId)).asks).toStrictEqual([]);
  });

  test("that was completed in the meantime is compared with the recorded answer", async () => {
    const { services, put, requestsOf } = inMemory({ replace: () => ({ agree: async () => "late" }) });
    const taskId = await put([anAsk("key", { ...onPage("key"), audience: { to: { people: ["bob"] } } })]);
    expect(await receiptsOf(services, { taskId, caller: bob, replies: { key: { action: "accept" } } })).toStrictEqual({
      key: { type: "unknown" },
    });
    expect(requestsOf("answer")).toMatchObject([{ key: "key", answer: { action: "accept" }, by: "bob" }]);
  });
});

describe("an answer to a closed ask", () => {
  test("is noted once, however it may be read, with its result, and not at all for an unknown key", async () => {
    const { services, put, facts, requestsOf } = inMemory();
    const key = "k".repeat(201);
    const taskId = await put([anAsk(key)]);
    const send = (replies: Record<string, unknown>) => receiptsOf(services, { taskId, caller: alice, replies });
    await send({ [key]: { action: "accept" } });
    const before = requestsOf("answer").length;
    expect(await send({ [key]: { action: "accept" } })).toStrictEqual({ [key]: { type: "duplicate" } });
    // The first reading was right.
    expect(requestsOf("answer").slice(before)).toMatchObject([{ answer: { action: "accept", content: {} } }]);
    expect(await send({ [key]: yes, never: yes })).toStrictEqual({ [key]: { type: "late" }, never: { type: "unknown" } });
    expect(await send({ [key]: "nonsense" })).toStrictEqual({ [key]: { type: "unknown" } });
    const noted = { principal: "alice", action: "answer", taskId, ask: `${"k".repeat(200)}…` };
    expect(facts).toStrictEqual([
      { ...noted, verdict: "duplicate" },
      { ...noted, verdict: "late" },
    ]);
  });

  test("from a former member of its audience is a duplicate if it is theirs; otherwise the task does not exist", async () => {
    const { services, put, facts, requestsOf } = inMemory();
    const taskId = await put([forBob("bobs"), anAsk("size")]);
    const reply = { action: "accept", content: {} };
    await answerTask(services, { taskId, caller: bob, replies: { bobs: reply } });
    const before = requestsOf("answer").length;

    const again = await answered(services, { taskId, caller: bob, replies: { never: yes, "event:paid": yes, bobs: reply } });
    expect(again.receipts).toStrictEqual({ bobs: { type: "duplicate" } });
    expect(again.task).toMatchObject({ id: taskId, asks: [] });
    expect(again.task).not.toHaveProperty("outcome");
    expect(facts).toStrictEqual([{ principal: "bob", action: "answer", taskId, ask: "bobs", verdict: "duplicate" }]);
    // Each reading of each of them was tried, except for the event.
    expect(requestsOf("answer").slice(before)).toMatchObject(["never", "never", "bobs", "bobs"].map((key) => ({ key, by: "bob" })));

    for (const replies of [{ bobs: yes }, { never: yes }, {}])
      await expect(answerTask(services, { taskId, caller: bob, replies })).rejects.toMatchObject(noTask(taskId));
    await expect(answerTask(services, { taskId, caller: mallory, replies: { bobs: reply } })).rejects.toMatchObject(noTask(taskId));
    await expect(answerTask(services, { taskId: "0-never", caller: bob, replies: { bobs: reply } })).rejects.toMatchObject(
      noTask("0-never"),
    );
  });
});

describe("a child's ask that the task shows", () => {
  test("is answered at the child, together with the task's own asks", async () => {
    const { services, putWithChild, task } = inMemory();
    const { taskId, child } = await putWithChild([anAsk("size")], [anAsk("date"), anAsk("time")]);
    const before = await task(taskId);
    const { receipts, task: shown } = await answered(services, {
      taskId,
      caller: alice,
      replies: { size: yes, "book:date": yes, "book:time": tooMany },
    });
    expect(receipts).toStrictEqual({
      size: { type: "accepted" },
      "book:date": { type: "accepted" },
      "book:time": { type: "invalid", violations },
    });
    expect(shown).toStrictEqual(before);
    expect((await task(taskId)).asks.map(({ key }) => key)).toStrictEqual(["book:time"]);
    expect((await task(child)).asks.map(({ key }) => key)).toStrictEqual(["time"]);
  });

  test("is late if the child has answered or is gone, and unknown if there was none", async () => {
    const { services, real, putWithChild, requestsOf } = inMemory();
    const { taskId, child } = await putWithChild([], [anAsk("date")]);
    const send = (key: string, reply: unknown = yes) => receiptsOf(services, { taskId, caller: alice, replies: { [key]: reply } });
    await send("book:date");
    expect(requestsOf("load")).toStrictEqual([taskId, child]);
    expect(await send("book:date")).toStrictEqual({ "book:date": { type: "duplicate" } });
    expect(await send("book:date", { action: "decline" })).toStrictEqual({ "book:date": { type: "late" } });
    expect(await send("other:date")).toStrictEqual({ "other:date": { type: "unknown" } });
    const forgotten = {
      ...services,
      store: { ...services.store, load: async (id: string) => (id === child ? undefined : await real.load(id)) },
    };
    expect(await receiptsOf(forgotten, { taskId, caller: alice, replies: { "book:time": yes } })).toStrictEqual({
      "book:time": { type: "late" },
    });
  });

  test("is answered by its audience, which learns nothing else of either task, also when they repeat it", async () => {
    const { services, putWithChild } = inMemory();
    const { taskId } = await putWithChild([anAsk("size")], [forBob("bobs"), anAsk("date")]);
    const send = (replies: Record<string, unknown>, caller = bob) => answered(services, { taskId, caller, replies });
    expect((await send({ "book:date": yes, "other:x": yes, size: yes })).receipts).toStrictEqual({
      "book:date": { type: "unknown" },
      "other:x": { type: "unknown" },
      size: { type: "unknown" },
    });
    expect((await send({ "book:bobs": yes })).receipts).toStrictEqual({ "book:bobs": { type: "accepted" } });

    const again = await send({ size: yes, "book:bobs": yes });
    expect(again.receipts).toStrictEqual({ "book:bobs": { type: "duplicate" } });
    expect(again.task).toMatchObject({ id: taskId, asks: [] });
    for (const caller of [bob, carol, mallory])
      await expect(send({ "book:date": yes, size: yes }, caller)).rejects.toMatchObject(noTask(taskId));
    await expect(answerTask(services, { taskId: "0-never", caller: alice, replies: { "book:date": yes } })).rejects.toMatchObject(
      noTask("0-never"),
    );
  });

  test("reveals nothing to a member of an audience who guesses the child's name", async () => {
    const { services, real, putWithChild } = inMemory();
    const { taskId, child } = await putWithChild([forBob("bobs")], [anAsk("date")]);
    const load = async (id: string) => (id === child ? undefined : await real.load(id));
    const forgotten = { ...services, store: { ...services.store, load } };
    expect(await receiptsOf(forgotten, { taskId, caller: bob, replies: { "book:date": yes } })).toStrictEqual({
      "book:date": { type: "unknown" },
    });
  });

  test("fails as a whole if the store fails", async () => {
    const { services, putWithChild, real } = inMemory();
    const { taskId, child } = await putWithChild([], [anAsk("date")]);
    const away = new Error("away");
    const load = async (id: string) => (id === child ? await Promise.reject(away) : await real.load(id));
    const failing = { ...services, store: { ...services.store, load } };
    await expect(answerTask(failing, { taskId, caller: alice, replies: { "book:date": yes } })).rejects.toBe(away);
    const erased = async (id: string): Promise<Task | undefined> => {
      const task = await real.load(id);
      return task && id === child ? { ...task, unreadable: "erased" } : task;
    };
    const unreadable = { ...services, store: { ...services.store, load: erased } };
    await expect(answerTask(unreadable, { taskId, caller: alice, replies: { "book:date": yes } })).rejects.toMatchObject({
      code: "CONTENT_ERASED",
    });
  });
});
