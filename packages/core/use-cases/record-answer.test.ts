import { describe, expect, test } from "vitest";
import type { TaskStore } from "../ports.ts";
import { DEFAULT_SETTINGS } from "../settings.ts";
import type { Ask } from "../task.ts";
import { alice, anAsk, bob, carol, inMemory, NOW_MS } from "./in-memory.fixture.ts";
import { acceptWithOthers, compareAnswer, comparedWith, factOf, recordAnswer, tooLarge } from "./record-answer.ts";

const { graceMs } = DEFAULT_SETTINGS;
const yes = { action: "accept", content: { n: 4 } } as const;
const twoOfUs = (key: string) => anAsk(key, { audience: { to: "tenant", quorum: 2 } });
const acceptance = (name: string, n: number) => ({
  ...(name !== "alice" && { by: name }),
  name,
  assurance: "token",
  content: { n },
  atMs: NOW_MS,
});

/** The audit fact of an answer to the ask "size". */
const said = (did: string, more: object = {}) => ({
  principal: "alice",
  action: "answer",
  assurance: "token",
  taskId: "0-put-1",
  tool: "tool subject",
  ask: "size",
  question: "digest of size",
  schema: '<{"properties":{"n":{"maximum":20,"type":"integer"}},"type":"object"} of 0-put-1>',
  version: 2,
  asked: NOW_MS,
  did,
  ...more,
});

async function opened(ask: Ask = anAsk("size"), ...options: Parameters<typeof inMemory>) {
  const subject = inMemory(...options);
  const task = await subject.task(await subject.put([ask]));
  const [open] = task.asks;
  if (!open) throw new Error("nothing is open");
  return { ...subject, taskId: task.id, task, ask: open };
}

/**
 * A store that returns these results for the first answers and then works normally; undefined passes an answer
 * through.
 */
const saying =
  (...receipts: readonly ("overtaken" | "accepted" | undefined)[]) =>
  ({ answer }: TaskStore): Partial<TaskStore> => {
    const left = [...receipts];
    return {
      async answer(request) {
        const receipt = left.shift();
        return receipt ? { receipt } : await answer(request);
      },
    };
  };

test("a bare acceptance claims nothing, and names its sender unless that is the owner", () => {
  const { services } = inMemory();
  const bare = { taskId: "0-1", key: "size", answer: { action: "accept" }, nowMs: NOW_MS, graceMs };
  expect(comparedWith(services, { taskId: "0-1", key: "size" })).toStrictEqual(bare);
  expect(comparedWith(services, { taskId: "0-1", key: "size", by: "bob" })).toStrictEqual({ ...bare, by: "bob" });
});

test("a stored answer has a maximum size: at it, and one beyond", () => {
  const settings = { ...DEFAULT_SETTINGS, storedValueMax: 10 };
  expect(tooLarge(settings, "x".repeat(8))).toStrictEqual([]);
  expect(tooLarge(settings, "x".repeat(9))).toStrictEqual([
    { path: "", message: "must have at most 10 characters of JSON (PARLEY_STORED_VALUE_MAX)" },
  ]);
});

const given = (name: string) => ({ name, atMs: NOW_MS, assurance: "token" });

test("a fact names the task, its tool and the question", async () => {
  const { services, task, ask } = await opened();
  const { principal: _, did: __, assurance: ___, ...fact } = said("accept");
  expect(factOf(services, "refuse", task, ask)).toStrictEqual({ ...fact, action: "refuse" });
});

describe("an answer that settles its ask alone", () => {
  test("is recorded against the question, with its fact, and is sent together with the run that it makes due", async () => {
    const { services, taskId, task, ask, requestsOf, runs, logged } = await opened();
    expect(await recordAnswer(services, { actor: { caller: alice }, task, ask, answer: yes })).toStrictEqual({ type: "accepted" });
    expect(requestsOf("answer")).toStrictEqual([
      { taskId, key: "size", digest: "digest of size", answer: yes, given: given("alice"), nowMs: NOW_MS, graceMs, audit: said("accept") },
    ]);
    expect(runs).toStrictEqual([{ taskId, run: 2, cause: "answered", share: "principal:alice" }]);
    expect(logged).toStrictEqual([["info", "answer received", { taskId, key: "size", receipt: "accepted" }]]);
  });

  test("names its sender unless that is the owner, and has the deposit of a page", async () => {
    const { services, task, ask, requestsOf } = await opened();
    const page = { deposit: "sealed" };
    await recordAnswer(services, { actor: { caller: bob, door: "a page" }, task, ask, answer: { action: "decline" }, by: "bob", page });
    expect(requestsOf("answer")).toMatchObject([{ by: "bob", page, audit: said("decline", { principal: "bob", door: "a page" }) }]);
  });

  test("that declines has a reason, of which the audit has the digest", async () => {
    const { services, task, ask, requestsOf } = await opened();
    const declined = { action: "decline", reason: "Too expensive." } as const;
    await recordAnswer(services, { actor: { caller: alice }, task, ask, answer: declined });
    const reason = services.digest("Too expensive.", task.id);
    expect(requestsOf("answer")).toMatchObject([{ answer: declined, audit: said("decline", { reason }) }]);
  });

  test("adds the run that the store makes due if it is not the expected one", async () => {
    const { services, taskId, task, ask, runs } = await opened();
    await recordAnswer(services, { actor: { caller: alice }, task: { ...task, run: 6 }, ask, answer: yes });
    expect(runs).toStrictEqual([
      { taskId, run: 7, cause: "answered", share: "principal:alice" },
      { taskId, run: 2, cause: "answered", share: "principal:alice" },
    ]);
  });

  test("is offered to a listening worker, and the run is added if the store says that none received it", async () => {
    const told: unknown[] = [];
    const added: unknown[] = [];
    const queue = {
      add: async (run: object) => void added.push(run),
      lane: (run: object) => (told.push(run), "an ear"),
    };
    const heard = await opened(anAsk("size"), { queue, replace: saying("accepted") });
    await recordAnswer(heard.services, { actor: { caller: alice }, task: heard.task, ask: heard.ask, answer: yes });
    expect([told, added]).toStrictEqual([[{ taskId: heard.taskId, cause: "answered", share: "principal:alice" }], []]);
    expect(heard.requestsOf("answer")).toMatchObject([{ lane: "an ear" }]);

    const missed = await opened(anAsk("size"), { queue });
    await recordAnswer(missed.services, { actor: { caller: alice }, task: missed.task, ask: missed.ask, answer: yes });
    expect(added).toStrictEqual([{ taskId: missed.taskId, run: 2, cause: "answered", share: "principal:alice" }]);
  });

  test("is never overtaken", async () => {
    const { services, task, ask } = await opened(anAsk("size"), { replace: saying("overtaken") });
    const recording = recordAnswer(services, { actor: { caller: alice }, task, ask, answer: yes });
    await expect(recording).rejects.toThrow(new Error("an answer that settles its ask alone was overtaken"));
  });
});

describe("of an ask with a quorum", () => {
  test("acceptances are counted until the last one settles it, and a repeated one is a duplicate", async () => {
    const { services, taskId, task, ask, requestsOf, runs, logged, facts } = await opened(twoOfUs("size"));
    const first = { actor: { caller: alice }, task, ask, content: { n: 4 } };
    expect(await acceptWithOthers(services, first)).toStrictEqual({ type: "accepted", missing: 1 });
    const counted = await services.store.load(taskId);
    const [askNow] = counted?.asks ?? [];
    if (!counted || !askNow) throw new Error("it was settled");
    expect(runs).toStrictEqual([]);
    expect(await acceptWithOthers(services, { ...first, task: counted, ask: askNow })).toStrictEqual({ type: "duplicate" });
    const { assurance: _, ...repeated } = said("accept", { verdict: "duplicate" });
    expect(facts).toStrictEqual([repeated]);

    const last = { actor: { caller: bob }, by: "bob", task: counted, ask: askNow, content: { n: 5 } };
    expect(await acceptWithOthers(services, last)).toStrictEqual({ type: "accepted" });
    const request = { taskId, key: "size", digest: "digest of size", nowMs: NOW_MS, graceMs };
    expect(requestsOf("answer")).toStrictEqual([
      {
        ...request,
        answer: yes,
        giver: { principal: "alice" },
        given: given("alice"),
        quorum: { acceptances: [acceptance("alice", 4)], missing: 1 },
        audit: said("accept", { accepted: "1 of 2" }),
      },
      {
        ...request,
        answer: { action: "accept", content: { n: 5 } },
        by: "bob",
        giver: { principal: "bob" },
        given: given("bob"),
        quorum: { seen: 3, acceptances: [acceptance("alice", 4), acceptance("bob", 5)], missing: 0 },
        audit: said("accept", { principal: "bob", accepted: "2 of 2" }),
      },
    ]);
    expect(runs).toStrictEqual([{ taskId, run: 2, cause: "answered", share: "principal:alice" }]);
    expect(logged).toStrictEqual([
      ["info", "answer received", { taskId, key: "size", receipt: "accepted", missing: 1 }],
      ["info", "answer received", { taskId, key: "size", receipt: "accepted", missing: 0 }],
    ]);
  });

  test("all acceptances together stay within the limit", async () => {
    const settings = { ...DEFAULT_SETTINGS, storedValueMax: JSON.stringify([acceptance("alice", 4), acceptance("bob", 5)]).length };
    const { services, taskId, task, ask } = await opened(twoOfUs("size"), { settings });
    await acceptWithOthers(services, { actor: { caller: alice }, task, ask, content: { n: 4 } });
    const bobs = (n: number) => acceptWithOthers(services, { actor: { caller: bob }, by: "bob", task, ask, content: { n } });
    expect(await bobs(50)).toStrictEqual({
      type: "invalid",
      violations: [{ path: "", message: `must have at most ${settings.storedValueMax} characters of JSON (PARLEY_STORED_VALUE_MAX)` }],
    });
    expect((await services.store.load(taskId))?.asks).toHaveLength(1);
    expect(await bobs(5)).toStrictEqual({ type: "accepted" });
  });

  test("a decline settles it alone, with those who had accepted", async () => {
    const { services, taskId, task, ask, requestsOf, runs } = await opened(twoOfUs("size"));
    await acceptWithOthers(services, { actor: { caller: bob }, by: "bob", task, ask, content: { n: 5 } });
    // It was read before Bob accepted, so it is read again.
    const answer = { action: "decline" } as const;
    expect(await recordAnswer(services, { actor: { caller: alice }, task, ask, answer })).toStrictEqual({ type: "accepted" });
    expect(requestsOf("answer").slice(1)).toMatchObject([
      { answer, quorum: { acceptances: [], missing: 0 }, audit: said("decline", { accepted: "0 of 2" }) },
      { answer, quorum: { seen: 3, acceptances: [acceptance("bob", 5)], missing: 0 }, audit: said("decline", { accepted: "1 of 2" }) },
    ]);
    expect(runs).toStrictEqual([{ taskId, run: 2, cause: "answered", share: "principal:alice" }]);
  });

  test("an acceptance that another one overtook is counted after it", async () => {
    const { services, task, ask, requestsOf } = await opened(anAsk("size", { audience: { to: "tenant", quorum: 3 } }));
    await acceptWithOthers(services, { actor: { caller: bob }, by: "bob", task, ask, content: { n: 5 } });
    const late = { actor: { caller: carol }, by: "carol", task, ask, content: { n: 6 } };
    expect(await acceptWithOthers(services, late)).toStrictEqual({ type: "accepted", missing: 1 });
    expect(requestsOf("answer").at(-1)).toMatchObject({ quorum: { seen: 3, acceptances: [acceptance("bob", 5), acceptance("carol", 6)] } });
  });

  test("one that is closed when it is read again is compared with the recorded answer", async () => {
    const replace = saying(undefined, undefined, "overtaken", undefined, "overtaken");
    const { services, taskId, task, ask, requestsOf, runs } = await opened(twoOfUs("size"), { replace });
    const accept = (caller: typeof alice, n: number, by?: string) =>
      acceptWithOthers(services, { actor: { caller }, by, task, ask, content: { n } });
    await accept(alice, 4);
    await accept(bob, 5, "bob");
    expect(await accept(bob, 5, "bob")).toStrictEqual({ type: "duplicate" });
    expect(requestsOf("answer").at(-1)).toStrictEqual({
      taskId,
      key: "size",
      answer: { action: "accept", content: { n: 5 } },
      by: "bob",
      nowMs: NOW_MS,
      graceMs,
    });
    expect(await accept(carol, 5, "carol")).toStrictEqual({ type: "late" });
    expect(runs.at(-1)).toStrictEqual({ taskId, run: 2, cause: "answered" });
  });

  test("neither another question under its key nor another key with its digest is mistaken for it", async () => {
    const subject = inMemory({ replace: saying("overtaken", "overtaken") });
    const { services } = subject;
    const taskId = await subject.put([twoOfUs("other"), { ...twoOfUs("size"), digest: "digest of other" }]);
    const task = await subject.task(taskId);
    const size = task.asks[1];
    if (!size) throw new Error("not open");
    const mine = { actor: { caller: alice }, task, ask: size, content: { n: 4 } };
    expect(await acceptWithOthers(services, mine)).toStrictEqual({ type: "accepted", missing: 1 });
    expect((await subject.task(taskId)).asks.map(({ accepted }) => accepted?.acceptances.length)).toStrictEqual([undefined, 1]);

    const was = await opened(twoOfUs("size"), { replace: saying("overtaken") });
    const before = { ...was.ask, digest: "what was asked before" };
    expect(await acceptWithOthers(was.services, { ...mine, task: was.task, ask: before })).toStrictEqual({ type: "unknown" });
  });

  test("the receipt of one that did not count says nothing about others", async () => {
    const { services, task, ask } = await opened(twoOfUs("size"));
    const before = { ...ask, digest: "what was asked before" };
    const mine = { actor: { caller: alice }, task, ask: before, content: { n: 4 } };
    expect(await acceptWithOthers(services, mine)).toStrictEqual({ type: "late" });
  });

  test("one that is overtaken more often than a quorum has people is asked to retry", async () => {
    const key = "k".repeat(201);
    const { services, task, ask, requestsOf } = await opened(twoOfUs(key), {
      replace: () => ({ answer: async () => ({ receipt: "overtaken" }) }),
    });
    await expect(acceptWithOthers(services, { actor: { caller: alice }, task, ask, content: {} })).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: `too many people answered "${"k".repeat(200)}…" at once: answer again`,
    });
    expect(requestsOf("answer")).toHaveLength(40);
  });

  test("one whose task no longer exists is unknown", async () => {
    const { services, task, ask } = await opened(twoOfUs("size"), { replace: saying("overtaken") });
    const mine = { actor: { caller: alice }, task: { ...task, id: "0-gone" }, ask, content: {} };
    expect(await acceptWithOthers(services, mine)).toStrictEqual({ type: "unknown" });
  });
});

describe("an answer to a closed ask", () => {
  test("is compared with the recorded one, and adds the run again in case it was lost", async () => {
    const { services, taskId, task, ask, requestsOf, runs, logged } = await opened();
    await recordAnswer(services, { actor: { caller: alice }, task, ask, answer: yes });
    for (const list of [runs, logged]) list.length = 0;
    expect(await compareAnswer(services, { taskId, key: "size", answer: yes })).toStrictEqual({ type: "duplicate" });
    expect(requestsOf("answer").at(-1)).toStrictEqual({ taskId, key: "size", answer: yes, nowMs: NOW_MS, graceMs });
    expect(runs).toStrictEqual([{ taskId, run: 2, cause: "answered" }]);
    expect(logged).toStrictEqual([["info", "answer received", { taskId, key: "size", receipt: "duplicate" }]]);

    expect(await compareAnswer(services, { taskId, key: "size", answer: yes, by: "bob" })).toStrictEqual({ type: "late" });
    expect(requestsOf("answer").at(-1)).toStrictEqual({ taskId, key: "size", answer: yes, by: "bob", nowMs: NOW_MS, graceMs });
    expect(runs).toHaveLength(1);
  });

  test("is logged with a long key cut, and not at all for an unknown key", async () => {
    const key = "k".repeat(201);
    const { services, taskId, task, ask, logged } = await opened(anAsk(key));
    await recordAnswer(services, { actor: { caller: alice }, task, ask, answer: yes });
    logged.length = 0;
    expect(await compareAnswer(services, { taskId, key: "never", answer: yes })).toStrictEqual({ type: "unknown" });
    expect(logged).toStrictEqual([]);
    await compareAnswer(services, { taskId, key, answer: yes });
    expect(logged).toStrictEqual([["info", "answer received", { taskId, key: `${"k".repeat(200)}…`, receipt: "duplicate" }]]);
  });

  test("is never overtaken", async () => {
    const { services, taskId } = await opened(anAsk("size"), { replace: saying("overtaken") });
    await expect(compareAnswer(services, { taskId, key: "size", answer: yes })).rejects.toThrow("was overtaken");
  });
});
