import { describe, expect, test } from "vitest";
import type { Observer } from "../ports.ts";
import { DEFAULT_SETTINGS } from "../settings.ts";
import type { Ask, Task } from "../task.ts";
import { alice, anAsk, bob, carol, inMemory, mallory, NOW_MS } from "./in-memory.fixture.ts";
import { delegateAsk } from "./join-thread.ts";
import { type AnswerOnPage, answerOnPage, leavePage, type LeavePage, visitPage } from "./visit-page.ts";

const page = { kind: "secret" } as const;
const request = { type: "url", message: "Enter the key.", url: "", page } as const;
const onPage = (key: string, more: Partial<Ask> = {}) => anAsk(key, { request, ...more });
const forBob = { audience: { to: { people: ["bob"] } } };
const { graceMs } = DEFAULT_SETTINGS;
const noTask = (taskId: string) => ({ code: "TASK_NOT_FOUND", message: `no task "${taskId}"` });

async function opened(asks: readonly Ask[] = [anAsk("size"), onPage("key")], options: Parameters<typeof inMemory>[0] = {}) {
  const subject = inMemory(options);
  const taskId = await subject.put(asks);
  const leave = (more: Partial<LeavePage> = {}) =>
    leavePage(subject.services, {
      taskId,
      caller: alice,
      door: "a page",
      key: "key",
      digest: "digest of key",
      answer: { action: "accept", content: { kept: true } },
      ...more,
    });
  return { ...subject, taskId, visit: (key: string, caller = alice) => visitPage(subject.services, { taskId, caller, key }), leave };
}

/** A task whose content cannot be read. */
const unreadable = async ({ task, taskId, services }: Awaited<ReturnType<typeof opened>>) => {
  const sealed: Task = { ...(await task(taskId)), unreadable: "erased" };
  Object.assign(services.store, { load: async () => sealed });
};

describe("a page that is visited", () => {
  test("shows its ask to those who may answer it, and changes nothing", async () => {
    const { taskId, task, visit, requests } = await opened();
    const { asks, call } = await task(taskId);
    expect(await visit("key")).toStrictEqual({ type: "open", page: { ask: asks[1], message: "Enter the key.", page, call } });
    expect(requests).toStrictEqual([["load", taskId]]);
  });

  test("of an ask with another audience belongs to that audience, and the owner learns so", async () => {
    const { visit } = await opened([onPage("key", forBob)]);
    expect(await visit("key", bob)).toMatchObject({ type: "open" });
    expect(await visit("key")).toMatchObject({ type: "of-others", page: { message: "Enter the key." } });
  });

  test("of an ask that its visitor handed on is read and not answered by them, and by nobody else who is not asked", async () => {
    const about = { allow: ["delegate"] } as const;
    const { visit, leave, services, taskId } = await opened([onPage("key", { ...forBob, request: { ...request, about } })]);
    await delegateAsk(services, { taskId, key: "key", caller: bob, door: "a page", to: { people: ["carol"] }, reason: "On leave" });
    expect(await visit("key", carol)).toMatchObject({ type: "open" });
    expect(await visit("key", bob)).toMatchObject({ type: "of-others", page: { message: "Enter the key." } });
    expect(await leave({ caller: bob })).toStrictEqual({ type: "forbidden" });
    await expect(visit("key", mallory)).rejects.toMatchObject(noTask(taskId));
  });

  test("is completed or closed once its ask is not open any more", async () => {
    const { taskId, visit, leave, services, requestsOf } = await opened([onPage("key"), onPage("other")]);
    await leave();
    await leave({ key: "other", digest: "digest of other", answer: { action: "decline" } });
    const before = requestsOf("answer").length;
    expect(await visit("key")).toStrictEqual({ type: "completed" });
    expect(await visit("other")).toStrictEqual({ type: "closed" });
    const bare = { taskId, answer: { action: "accept" }, nowMs: services.clock.now(), graceMs };
    expect(requestsOf("answer").slice(before)).toStrictEqual([
      { ...bare, key: "key" },
      { ...bare, key: "other" },
    ]);
  });

  test("is shown as completed to the person who completed it, and for all others the task does not exist", async () => {
    const { taskId, visit, leave, requestsOf } = await opened([onPage("key", forBob)]);
    expect(await leave({ caller: bob })).toStrictEqual({ type: "accepted" });
    expect(await visit("key", bob)).toStrictEqual({ type: "completed" });
    expect(requestsOf("answer").at(-1)).toStrictEqual({
      taskId,
      key: "key",
      answer: { action: "accept" },
      by: "bob",
      nowMs: NOW_MS,
      graceMs,
    });
    expect(await visit("key")).toStrictEqual({ type: "closed" });
    await expect(visit("key", mallory)).rejects.toMatchObject(noTask(taskId));
  });

  test.each([
    ["a key that was never put", "never", alice],
    ["a request for folders", "roots", alice],
    ["a request for a model", "sampling", alice],
    ["somebody who is not asked", "key", mallory],
    ["somebody who is not asked to fill in a form", "size", mallory],
  ])("does not exist for %s", async (_what, key, caller) => {
    const requests = [anAsk("roots", { request: { type: "roots" } }), anAsk("sampling", { request: { type: "sampling", params: {} } })];
    const { taskId, visit } = await opened([anAsk("size"), onPage("key"), ...requests]);
    await expect(visit(key, caller)).rejects.toMatchObject(noTask(taskId));
  });

  test("shows a form with its hints, and a link elsewhere", async () => {
    const hints = { destructive: true };
    const schema = { type: "object", properties: {} };
    const elsewhere = { type: "url", message: "Look.", url: "https://example.com/" } as const;
    const { visit } = await opened([
      anAsk("sure", { request: { type: "form", message: "Sure?", schema, hints } }),
      anAsk("elsewhere", { request: elsewhere }),
      anAsk("pay", { request: { ...elsewhere, completedBy: "event" } }),
    ]);
    const pages = await Promise.all(["sure", "elsewhere", "pay"].map((key) => visit(key)));
    expect(pages.map((each) => each.type === "open" && each.page.page)).toStrictEqual([
      { kind: "form", schema, hints },
      { kind: "link", url: "https://example.com/", isReported: false },
      { kind: "link", url: "https://example.com/", isReported: true },
    ]);
  });

  test("of a deleted task does not exist, and reports content that cannot be read", async () => {
    const subject = await opened();
    await expect(visitPage(subject.services, { taskId: "0-gone", caller: alice, key: "key" })).rejects.toMatchObject(noTask("0-gone"));
    await unreadable(subject);
    await expect(subject.visit("key")).rejects.toMatchObject({ code: "CONTENT_ERASED" });
    await expect(subject.leave()).rejects.toMatchObject({ code: "CONTENT_ERASED" });
  });
});

describe("leaving a page", () => {
  const written = {
    taskId: "0-put-1",
    key: "key",
    digest: "digest of key",
    nowMs: NOW_MS,
    given: { name: "alice", atMs: NOW_MS, assurance: "token" },
    graceMs,
    audit: {
      principal: "alice",
      door: "a page",
      action: "answer",
      taskId: "0-put-1",
      tool: "tool subject",
      ask: "key",
      question: "digest of key",
      version: 2,
      asked: NOW_MS,
      did: "accept",
      assurance: "token",
    },
  };

  test("records what it collected as given on a page, and its deposit", async () => {
    const kept = await opened();
    expect(await kept.leave()).toStrictEqual({ type: "accepted" });
    const answer = { action: "accept", content: { kept: true } };
    expect(kept.requestsOf("answer")).toStrictEqual([{ ...written, answer, page: {} }]);
    expect(kept.runs).toStrictEqual([{ taskId: kept.taskId, run: 2, cause: "answered", share: "principal:alice" }]);

    const left = await opened();
    await left.leave({ answer: { action: "accept", content: { kept: true }, deposit: "sealed" } });
    expect(left.requestsOf("answer")).toStrictEqual([{ ...written, answer, page: { deposit: "sealed" } }]);
    expect(await left.real.deposit(left.taskId, "key")).toBe("sealed");
  });

  test("may decline, which is not an answer of the page", async () => {
    const { leave, requestsOf } = await opened();
    expect(await leave({ answer: { action: "decline" } })).toStrictEqual({ type: "accepted" });
    expect(requestsOf("answer")).toStrictEqual([
      { ...written, answer: { action: "decline" }, audit: { ...written.audit, did: "decline" } },
    ]);
  });

  test("is for the ask's audience: the answer names the person", async () => {
    const { leave, requestsOf, facts } = await opened([onPage("key", forBob)]);
    expect(await leave()).toStrictEqual({ type: "forbidden" });
    expect(facts).toMatchObject([{ action: "answer", principal: "alice", ask: "key", verdict: "forbidden" }]);
    expect(requestsOf("answer")).toStrictEqual([]);
    await leave({ caller: bob });
    expect(requestsOf("answer")).toMatchObject([{ by: "bob", audit: { principal: "bob" } }]);
  });

  test("is too late for a form, which is answered and not left", async () => {
    const { leave, task, taskId } = await opened();
    expect(await leave({ key: "size", digest: "digest of size" })).toStrictEqual({ type: "late" });
    expect((await task(taskId)).asks).toHaveLength(2);
  });

  test("is too late for a settled ask, or one that was asked differently", async () => {
    const { leave } = await opened();
    expect(await leave({ digest: "of what was asked before" })).toStrictEqual({ type: "late" });
    await leave();
    expect(await leave()).toStrictEqual({ type: "late" });
  });

  test.each([
    ["a key that was never put", { key: "never" }],
    ["somebody who is not asked", { caller: mallory }],
    ["a task that is gone", { taskId: "0-gone" }],
  ])("is impossible for %s", async (_what, more) => {
    const { taskId, leave } = await opened();
    await expect(leave(more)).rejects.toMatchObject(noTask("taskId" in more ? more.taskId : taskId));
  });

  test("is observed", async () => {
    const seen: unknown[] = [];
    const observer: Pick<Observer, "answering"> = {
      async answering({ task, key, ask }, work) {
        const receipt = await work();
        seen.push([task.id, key, ask?.digest, receipt]);
        return receipt;
      },
    };
    const { taskId, leave, requestsOf } = await opened([onPage("key")], { observer: observer as Observer });
    expect(await leave()).toStrictEqual({ type: "accepted" });
    expect(seen).toStrictEqual([[taskId, "key", "digest of key", { type: "accepted" }]]);
    expect(requestsOf("answer")).toHaveLength(1);
  });
});

describe("an answer on a page", () => {
  async function asked(more: Partial<Ask> = {}) {
    const subject = await opened([anAsk("size", more), onPage("key")]);
    const answer = (given: Partial<AnswerOnPage> = {}) =>
      answerOnPage(subject.services, {
        taskId: subject.taskId,
        caller: alice,
        door: "a page",
        key: "size",
        digest: "digest of size",
        reply: { action: "accept", content: { n: 4 } },
        ...given,
      });
    return { ...subject, answer };
  }

  test("settles the ask once, and names its sender unless it is the owner", async () => {
    const { answer, requestsOf } = await asked(forBob);
    expect(await answer({ caller: bob })).toStrictEqual({ type: "accepted" });
    expect(await answer({ caller: bob })).toStrictEqual({ type: "duplicate" });
    expect(await answer({ reply: { action: "decline" } })).toStrictEqual({ type: "late" });
    expect(requestsOf("answer")[0]).toMatchObject({
      key: "size",
      digest: "digest of size",
      by: "bob",
      audit: { door: "a page", did: "accept" },
    });
  });

  test("is validated, and leaves the ask open if it is invalid", async () => {
    const { answer, task, taskId } = await asked();
    expect(await answer({ reply: { action: "accept", content: { n: 21 } } })).toMatchObject({
      type: "invalid",
      violations: [{ path: "/content/n" }],
    });
    expect((await task(taskId)).asks).toHaveLength(2);
  });

  test("never reaches a question that was asked differently: not when it arrives, nor in between", async () => {
    const { answer, services, requestsOf, task, taskId } = await asked();
    expect(await answer({ digest: "of what was asked before" })).toStrictEqual({ type: "late" });
    expect(requestsOf("answer")).toStrictEqual([]);
    const { load } = services.store;
    Object.assign(services.store, {
      load: async (id: string) => {
        const read = await load(id);
        return read && { ...read, asks: read.asks.map((ask) => ({ ...ask, digest: "as it was read" })) };
      },
    });
    expect(await answer({ digest: "as it was read" })).toStrictEqual({ type: "late" });
    expect((await task(taskId)).asks).toHaveLength(2);
  });

  test("of somebody who is not asked is refused as for a task that never existed; the owner of a question to others is told", async () => {
    const { answer, taskId } = await asked(forBob);
    await expect(answer({ caller: mallory })).rejects.toMatchObject(noTask(taskId));
    expect(await answer()).toStrictEqual({ type: "forbidden" });
  });
});
