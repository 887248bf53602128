import { describe, expect, test } from "vitest";
import { DEFAULT_SETTINGS } from "../settings.ts";
import type { Json, Task } from "../task.ts";
import { type aCall, anAsk, anEvent, inMemory, NOW_MS } from "./in-memory.fixture.ts";
import { receiveEvent, type ReceiveEvent } from "./receive-event.ts";

/** `<task> <event>` is the token. */
const eventTokens = {
  tokenOf: () => ({ token: "", url: "" }),
  read: (token: string) => {
    const [taskId = "", key = ""] = token.split(" ");
    return taskId === "forged" ? undefined : { taskId, key };
  },
};

async function awaiting(options: Parameters<typeof inMemory>[0] = {}, call: Parameters<typeof aCall>[0] = {}) {
  const subject = inMemory({ eventTokens, ...options });
  const taskId = await subject.put([anAsk("size"), anEvent("paid"), anEvent("sent")], call);
  const tell = (body: Json, more: Partial<ReceiveEvent> = {}) =>
    receiveEvent(subject.services, { token: `${taskId} event:paid`, body, ...more });
  return { ...subject, taskId, tell };
}

const paid = { amount: 7 };
const sender = (taskId: string, tenant = "default") => ({
  principal: `event ${taskId}`,
  tenant,
  scopes: [],
  authenticatedBy: "event token",
  names: [],
  groups: [],
  roles: [],
});
const unknown = { code: "EVENT_NOT_FOUND", message: "no such event" };
const late = { code: "EVENT_LATE", message: "the event is no longer expected" };

describe("an open event", () => {
  test("is recorded in its sender's name, once, and the tool runs", async () => {
    const { taskId, tell, requestsOf, runs, facts } = await awaiting();
    expect(await tell(paid, { door: "a door" })).toBe("accepted");
    expect(await tell(paid, { door: "a door" })).toBe("duplicate");
    const recorded = {
      taskId,
      key: "event:paid",
      answer: { action: "accept", content: { body: paid } },
      nowMs: NOW_MS,
      graceMs: DEFAULT_SETTINGS.graceMs,
    };
    const fact = { principal: `event ${taskId}`, door: "a door", action: "answer", taskId };
    expect(requestsOf("answer")).toStrictEqual([
      {
        ...recorded,
        digest: "digest of paid",
        audit: {
          ...fact,
          tool: "tool subject",
          ask: "event:paid",
          question: "digest of paid",
          schema: '<{"required":["amount"],"type":"object"} of 0-put-1>',
          asked: NOW_MS,
          did: "accept",
        },
      },
      recorded,
    ]);
    expect(runs[0]).toStrictEqual({ taskId, run: 2, cause: "answered", share: "principal:alice" });
    expect(facts).toStrictEqual([{ ...fact, ask: "event:paid", verdict: "duplicate" }]);
    await expect(tell({ amount: 8 })).rejects.toMatchObject(late);
    expect(facts[1]).toStrictEqual({ principal: `event ${taskId}`, action: "answer", taskId, ask: "event:paid", verdict: "late" });
  });

  test("that arrives twice at the same time is a duplicate if both are equal, otherwise late", async () => {
    for (const [receipt, becomes] of [
      ["duplicate", "duplicate"],
      ["late", late],
    ] as const) {
      const { tell } = await awaiting({ replace: () => ({ answer: async () => ({ receipt }) }) });
      const telling = tell(paid);
      if (becomes === "duplicate") expect(await telling).toBe(becomes);
      else await expect(telling).rejects.toMatchObject(becomes);
    }
  });

  test("belongs to its tenant", async () => {
    const { taskId, tell, requestsOf } = await awaiting({}, { tenant: "acme" });
    await tell(paid);
    expect(requestsOf("answer")).toMatchObject([{ audit: { principal: `event ${taskId}`, tenant: "acme" } }]);
  });

  test("is charged to its task's tenant, and to nobody else's after the task is gone, before its content is read", async () => {
    const admitted: unknown[] = [];
    const full = new Error("full");
    const admit = async (by: unknown) => (admitted.push(by), await Promise.reject(full));
    for (const tenant of [undefined, "acme"]) {
      const { taskId, tell, requests } = await awaiting({}, tenant === undefined ? {} : { tenant });
      await expect(tell(paid, { admit })).rejects.toBe(full);
      expect(admitted.pop()).toStrictEqual(sender(taskId, tenant));
      expect(requests.map(([name]) => name)).toStrictEqual(["summaries"]);
    }
    const { services } = await awaiting();
    await expect(receiveEvent(services, { token: "0-gone event:paid", body: paid, admit })).rejects.toBe(full);
    expect(admitted).toStrictEqual([sender("0-gone", "event 0-gone")]);
  });

  test("has a limit: at it, and one beyond", async () => {
    const body = { amount: "x".repeat(10) };
    const storedValueMax = JSON.stringify({ action: "accept", content: { body } }).length;
    const { taskId, tell, facts, requestsOf } = await awaiting({ settings: { ...DEFAULT_SETTINGS, storedValueMax } });
    await expect(tell({ amount: "x".repeat(11) })).rejects.toMatchObject({
      code: "TOO_LARGE",
      message: `the body has more than ${storedValueMax} characters of JSON (PARLEY_STORED_VALUE_MAX)`,
    });
    expect(requestsOf("answer")).toStrictEqual([]);
    expect(facts).toMatchObject([{ action: "refuse", taskId, ask: "event:paid", verdict: "invalid" }]);
    expect(await tell(body)).toBe("accepted");
  });

  test("that is invalid is refused with its violations, noted, and stays open", async () => {
    const { taskId, tell, facts } = await awaiting();
    await expect(tell({}, { door: "a door" })).rejects.toMatchObject({
      code: "INVALID_EVENT",
      message: "the body is invalid: /amount is required",
      violations: [{ path: "/amount", message: "is required" }],
    });
    expect(facts).toStrictEqual([
      {
        principal: `event ${taskId}`,
        door: "a door",
        action: "refuse",
        taskId,
        tool: "tool subject",
        ask: "event:paid",
        question: "digest of paid",
        schema: '<{"required":["amount"],"type":"object"} of 0-put-1>',
        asked: NOW_MS,
        verdict: "invalid",
      },
    ]);
    expect(await tell(paid)).toBe("accepted");
  });
});

describe("an event that is not open", () => {
  test.each([
    ["whose token is forged", "forged event:paid"],
    ["whose task is gone", "0-gone event:paid"],
    ["that was never waited for", "0-put-1 event:other"],
  ])("%s is not known", async (_which, token) => {
    const { tell, facts } = await awaiting();
    await expect(tell(paid, { token })).rejects.toMatchObject(unknown);
    expect(facts).toStrictEqual([]);
  });

  test("is unknown if tools cannot wait for events", async () => {
    const { services } = inMemory();
    await expect(receiveEvent(services, { token: "0-put-1 event:paid", body: paid })).rejects.toMatchObject(unknown);
  });

  test("is another event, although that one is open", async () => {
    const { tell, task, taskId } = await awaiting();
    await tell(paid, { token: `${taskId} event:sent` });
    expect((await task(taskId)).events?.map(({ key }) => key)).toStrictEqual(["event:paid"]);
  });

  test("of a task that never waited for any is unknown", async () => {
    const { services, put } = inMemory({ eventTokens });
    const taskId = await put([anAsk("size")]);
    await expect(receiveEvent(services, { token: `${taskId} event:paid`, body: paid })).rejects.toMatchObject(unknown);
  });

  test("is refused with the reason if the task's content cannot be read", async () => {
    const { services, taskId, task, tell } = await awaiting();
    const sealed: Task = { ...(await task(taskId)), unreadable: "key_missing" };
    Object.assign(services.store, { load: async () => sealed });
    await expect(tell(paid)).rejects.toMatchObject({ code: "CONTENT_KEY_MISSING" });
  });
});
