import { describe, expect, test } from "vitest";
import { aboutOf } from "../asks/about.ts";
import { callerNamed } from "../callers/caller.fixture.ts";
import type { Caller } from "../callers/caller.ts";
import { callKey, eventKey } from "../task.ts";
import { answerTask } from "./answer-task.ts";
import { alice, anAsk, anEvent, inMemory, mallory, NOW_MS } from "./in-memory.fixture.ts";
import { readAsk } from "./read-ask.ts";
import { visitPage } from "./visit-page.ts";

const finance = { to: { groups: ["finance"] } };
const frida = callerNamed("frida", { groups: ["finance"] });
const otto = callerNamed("otto", { groups: ["finance"] });
const accept = { action: "accept", content: { n: 1 } };

describe("an ask", () => {
  test("is read by those who may answer it, with the whole request, who asks and what happens at the deadline", async () => {
    const { services, put } = inMemory();
    const ask = anAsk("approve", { audience: finance });
    const taskId = await put([ask]);

    expect(await readAsk(services, { caller: frida, taskId, key: "approve" })).toMatchObject({
      state: "open",
      digest: ask.digest,
      request: ask.request,
      called: { kind: "tool", name: "subject" },
      owner: { principal: "alice", isCaller: false },
      onTimeout: "cancel",
      audience: finance,
    });
    expect(await readAsk(services, { caller: alice, taskId, key: "approve" })).toMatchObject({ state: "of-others" });
  });

  test("shows the owner of its task what others are asked, without the part that shows them another caller's call", async () => {
    const { services, put } = inMemory();
    const context = ["the call", "another's", "why"].map((text) => ({ type: "text", text }) as const);
    const about = { isApproval: true, context, notForOwner: 1 } as const;
    const ask = anAsk("approve", { audience: finance });
    const taskId = await put([{ ...ask, request: { ...ask.request, about } as typeof ask.request }]);
    const ref = { taskId, key: "approve" };
    const read = async (caller: Caller) => {
      const [found, visit] = [await readAsk(services, { ...ref, caller }), await visitPage(services, { ...ref, caller })];
      const requests = [found.state === "settled" ? undefined : found.request, "page" in visit ? visit.page.ask.request : undefined];
      return requests.map((request) => request && aboutOf(request)?.context?.map((part) => part.type === "text" && part.text));
    };
    expect(await read(alice)).toEqual([
      ["the call", "why"],
      ["the call", "why"],
    ]);
    for (const caller of [frida, { ...alice, groups: ["finance"] }])
      expect(await read(caller)).toEqual([
        ["the call", "another's", "why"],
        ["the call", "another's", "why"],
      ]);
  });

  test("is not there for anybody else, before and after its end, nor is a task or a key that never existed", async () => {
    const { services, put, answered } = await asked();
    const own = await put([anAsk("own"), anEvent("paid")]);
    for (const caller of [mallory, { ...frida, tenant: "acme" }, { ...frida, groups: [] }] satisfies Caller[]) {
      for (const at of [
        { taskId: own, key: "own" },
        { taskId: answered, key: "approve" },
      ])
        await expect(readAsk(services, { caller: { ...caller, principal: "mallory", names: [] }, ...at })).rejects.toMatchObject({
          code: "TASK_NOT_FOUND",
        });
    }
    for (const key of ["never", eventKey("paid"), callKey("x"), "x:y"])
      await expect(readAsk(services, { caller: alice, taskId: own, key })).rejects.toMatchObject({ code: "TASK_NOT_FOUND" });
    await expect(readAsk(services, { caller: alice, taskId: "0-none", key: "own" })).rejects.toMatchObject({ code: "TASK_NOT_FOUND" });
  });

  test("that was answered tells the answerer that it counted, and everyone else who was asked who was first", async () => {
    const { services, answered: taskId } = await asked();
    const read = (caller: Caller) => readAsk(services, { caller, taskId, key: "approve" });

    expect(await read(frida)).toMatchObject({
      state: "settled",
      end: "accepted",
      by: { principal: "frida", isCaller: true },
      answer: accept,
      atMs: NOW_MS,
    });
    const seen = await read(otto);
    expect(seen).toMatchObject({ state: "settled", end: "accepted", by: { principal: "frida", isCaller: false } });
    expect(seen).not.toHaveProperty("answer");
    expect(await read(alice)).toMatchObject({ state: "settled", by: { principal: "frida", isCaller: false } });
    // Who answered keeps the record also after leaving the group.
    expect(await read({ ...frida, groups: [] })).toMatchObject({ by: { isCaller: true } });
  });

  test("that was answered says what the person was called, and when, also after the task has continued", async () => {
    const { services, put, real } = inMemory();
    const taskId = await put([anAsk("approve", { audience: finance })]);
    const ada = { ...frida, displayName: "Ada Lovelace", names: ["sub:7", "email:ada@acme.io"] };
    await answerTask(services, { taskId, caller: ada, replies: { approve: accept } });
    // The same person with another name sends the same answer again.
    const again = await answerTask(services, { taskId, caller: { ...ada, displayName: "Ada King" }, replies: { approve: accept } });
    expect(again.receipts.get("approve")).toEqual({ type: "duplicate" });
    const named = { by: { principal: "frida", name: "Ada Lovelace", isCaller: false }, atMs: NOW_MS };
    expect(await readAsk(services, { caller: otto, taskId, key: "approve" })).toMatchObject(named);
    const fence = { taskId, token: "second run", nowMs: NOW_MS, leaseMs: 1_000 };
    await real.begin({ ...fence, run: 2 });
    const entry = { digest: "", calledAt: "0", outcome: { type: "closed" }, place: 1 } as const;
    expect(await real.record({ ...fence, entries: [{ key: "ask:approve", entry, known: true }] })).toBe("recorded");
    expect(await readAsk(services, { caller: otto, taskId, key: "approve" })).toMatchObject(named);
    await expect(readAsk(services, { caller: mallory, taskId, key: "approve" })).rejects.toMatchObject({ code: "TASK_NOT_FOUND" });
  });

  test("that needs several people says who has accepted, and keeps each person's own answer", async () => {
    const { services, put } = inMemory();
    const taskId = await put([anAsk("approve", { audience: { ...finance, quorum: 2 } })]);
    const read = (caller: Caller) => readAsk(services, { caller, taskId, key: "approve" });
    await answerTask(services, { taskId, caller: frida, replies: { approve: accept } });

    expect(await read(frida)).toMatchObject({ state: "accepted", accepted: 1 });
    expect(await read(otto)).toMatchObject({ state: "open", accepted: 1 });
    expect(JSON.stringify(await read(otto))).not.toContain("acceptances");

    await answerTask(services, { taskId, caller: otto, replies: { approve: { action: "accept", content: { n: 2 } } } });
    const settled = await read(frida);
    expect(settled).toMatchObject({ state: "settled", end: "accepted", answer: accept });
    expect(settled).toMatchObject({
      acceptedBy: [
        { principal: "frida", isCaller: true },
        { principal: "otto", isCaller: false },
      ],
    });
  });

  test.each([
    [{ action: "decline" }, "declined"],
    [{ action: "cancel" }, "cancelled"],
  ])("that the owner answers with %o ended as %s", async (reply, end) => {
    const { services, put } = inMemory();
    const taskId = await put([anAsk("own")]);
    await answerTask(services, { taskId, caller: alice, replies: { own: reply } });
    const read = await readAsk(services, { caller: alice, taskId, key: "own" });
    expect(read).toMatchObject({ state: "settled", end, by: { principal: "alice", isCaller: true }, answer: reply });
  });

  test("that was closed with its task says so, and names nobody", async () => {
    const { services, put } = inMemory();
    const taskId = await put([anAsk("approve", { audience: finance })]);
    await services.store.cancel({ taskId, nowMs: NOW_MS, message: "" });
    const read = await readAsk(services, { caller: otto, taskId, key: "approve" });
    expect(read).toMatchObject({ state: "settled", end: "closed" });
    expect(read).not.toHaveProperty("by");
  });
});

async function asked() {
  const made = inMemory();
  const answered = await made.put([anAsk("approve", { audience: finance })]);
  await answerTask(made.services, { taskId: answered, caller: frida, replies: { approve: accept } });
  return { ...made, answered };
}
