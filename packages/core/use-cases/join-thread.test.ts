import { describe, expect, test } from "vitest";
import { callerNamed } from "../callers/caller.fixture.ts";
import type { Caller } from "../callers/caller.ts";
import { COMMENTS_MAX, HISTORY_MAX } from "../callers/threads.ts";
import { answerTask } from "./answer-task.ts";
import { alice, anAsk, inMemory, mallory, NOW_MS } from "./in-memory.fixture.ts";
import { askBack, claimAsk, commentOnAsk, releaseAsk, replyToAsk } from "./join-thread.ts";
import { listAsks } from "./list-asks.ts";
import { readAsk } from "./read-ask.ts";

const MINUTE = 60_000;
const finance = { to: { groups: ["finance"] } };
const frida = callerNamed("frida", { groups: ["finance"], displayName: "Frida F." });
const otto = callerNamed("otto", { groups: ["finance"] });
const accept = { action: "accept", content: { n: 1 } };

async function asked(audience: object = finance) {
  const memory = inMemory();
  const taskId = await memory.put([anAsk("approve", { audience: { ...finance, ...audience } })]);
  const ref = (caller: Caller) => ({ caller, taskId, key: "approve", door: "test" });
  const { services } = memory;
  return {
    ...memory,
    taskId,
    ref,
    claimedBy: async (caller: Caller) => (await listAsks(services, { caller, limit: 10 })).asks[0]?.claimedBy,
    whatOf: async (caller: Caller) => (await readAsk(services, ref(caller))).history.map(({ what, by }) => [what, by?.principal]),
    answer: (caller: Caller, reply: object) => answerTask(services, { caller, taskId, replies: { approve: reply } }),
  };
}

describe("a claim", () => {
  test("says who is on it until when, to everyone who was asked, and keeps nobody from answering", async () => {
    const { services, ref, claimedBy, whatOf, answer } = await asked();
    const until = { name: "Frida F.", untilMs: NOW_MS + 10 * MINUTE };
    const claim = await claimAsk(services, ref(frida));

    expect(claim).toEqual({ type: "claimed", claimedBy: { principal: "frida", isCaller: true, ...until } });
    expect(await claimedBy(otto)).toEqual({ principal: "frida", isCaller: false, ...until });
    expect(await readAsk(services, ref(alice))).toMatchObject({ state: "of-others", claimedBy: { principal: "frida", isCaller: false } });
    expect(await claimAsk(services, ref(otto))).toMatchObject({ type: "taken", claimedBy: { principal: "frida" } });
    expect((await answer(otto, accept)).receipts.get("approve")).toEqual({ type: "accepted" });

    const happened = [["asked"], ["claimed", "frida"], ["accepted", "otto"]].map(([what, by]) => [what, by]);
    for (const caller of [frida, otto, alice]) expect(await whatOf(caller)).toEqual(happened);
    expect(await readAsk(services, ref(frida))).not.toHaveProperty("claimedBy");
  });

  test("ends by itself, and then somebody else may claim; a renewal moves its end and fills no history", async () => {
    const { services, ref, claimedBy, whatOf, pass } = await asked();
    await claimAsk(services, { ...ref(frida), minutes: 2 });
    await pass(MINUTE);
    await claimAsk(services, { ...ref(frida), minutes: 2 });
    expect(await claimedBy(otto)).toMatchObject({ untilMs: NOW_MS + 3 * MINUTE });
    await pass(2 * MINUTE - 1);
    expect(await claimAsk(services, ref(otto))).toMatchObject({ type: "taken" });
    await pass(1);

    expect(await claimedBy(otto)).toBeUndefined();
    expect(await claimAsk(services, ref(otto))).toMatchObject({ type: "claimed", claimedBy: { principal: "otto" } });
    expect(await whatOf(otto)).toEqual([
      ["asked", undefined],
      ["claimed", "frida"],
      ["claimed", "otto"],
    ]);
  });

  test("is released by the person who has it, through any client, and by nobody else", async () => {
    const { services, ref, claimedBy, whatOf } = await asked();
    const person = { person: "issuer frida" };
    await claimAsk(services, ref({ ...frida, ...person }));
    expect(await releaseAsk(services, ref(otto))).toEqual({ type: "released" });
    expect(await claimedBy(otto)).toMatchObject({ principal: "frida" });

    expect(await releaseAsk(services, ref({ ...frida, ...person, principal: "frida at another client" }))).toEqual({ type: "released" });

    expect(await claimedBy(otto)).toBeUndefined();
    expect((await whatOf(otto)).map(([what]) => what)).toEqual(["asked", "claimed", "released"]);
  });

  test("ends when the person has accepted, though others are missing", async () => {
    const { services, ref, claimedBy, answer } = await asked({ quorum: 2 });
    await claimAsk(services, ref(frida));
    await answer(otto, accept);
    expect(await claimedBy(callerNamed("third", { groups: ["finance"] }))).toMatchObject({ principal: "frida" });
    await answer(frida, accept);
    expect(await readAsk(services, ref(frida))).toMatchObject({ state: "settled", end: "accepted" });

    const again = await asked({ quorum: 3 });
    await claimAsk(again.services, again.ref(frida));
    await again.answer(frida, accept);
    expect(await again.claimedBy(otto)).toBeUndefined();
    expect(await claimAsk(again.services, again.ref(otto))).toMatchObject({ type: "claimed" });
  });

  test("is for those who may answer: the owner of the task reads it, and may not claim what is put to others", async () => {
    const { services, ref, facts, whatOf } = await asked({ not: "caller" });
    expect(await claimAsk(services, ref({ ...alice, groups: ["finance"] }))).toEqual({ type: "forbidden" });
    expect(facts).toMatchObject([{ action: "claim", principal: "alice", ask: "approve", verdict: "forbidden" }]);
    expect(await whatOf(alice)).toEqual([["asked", undefined]]);
  });
});

describe("a comment", () => {
  test("is read by everyone who may read the question, also once it is closed, and neither answers it nor wakes its tool", async () => {
    const { services, ref, runs, answer, requestsOf } = await asked();
    const texts = async (caller: Caller) => {
      const { comments } = await readAsk(services, ref(caller));
      return comments.map(({ by, text }) => [by.principal, by.isCaller, text]);
    };
    expect(await commentOnAsk(services, { ...ref(frida), text: "Which budget?" })).toEqual({ type: "commented" });
    expect(await commentOnAsk(services, { ...ref(alice), text: "That of <b>March</b>." })).toEqual({ type: "commented" });

    expect((await listAsks(services, { caller: otto, limit: 1 })).asks).toMatchObject([{ commentCount: 2 }]);
    expect(runs).toEqual([]);
    await answer(otto, accept);
    expect(await texts(frida)).toEqual([
      ["frida", true, "Which budget?"],
      ["alice", false, "That of <b>March</b>."],
    ]);
    expect(await texts(alice)).toHaveLength(2);
    expect(await commentOnAsk(services, { ...ref(frida), text: "Too late" })).toEqual({ type: "late" });
    const { audit } = requestsOf("writeThread")[0] as { readonly audit: object };
    expect(audit).toMatchObject({ action: "comment", principal: "frida", ask: "approve", comment: expect.stringContaining("Which") });
  });

  test("is refused when there are fifty, and what happens besides is dropped, the oldest first", async () => {
    const { services, ref, pass } = await asked();
    for (let at = 0; at < COMMENTS_MAX; at += 1) {
      expect(await commentOnAsk(services, { ...ref(frida), text: `number ${at}` })).toEqual({ type: "commented" });
    }
    expect(await commentOnAsk(services, { ...ref(otto), text: "one more" })).toEqual({ type: "full" });
    for (let at = 0; at < HISTORY_MAX; at += 1) {
      await claimAsk(services, { ...ref(frida), minutes: 1 });
      await pass(MINUTE);
    }
    const { history, comments } = await readAsk(services, ref(otto));
    expect(comments.map(({ text }) => text)).toEqual(Array.from({ length: COMMENTS_MAX }, (_, at) => `number ${at}`));
    expect([history[0]?.what, history.length]).toEqual(["asked", COMMENTS_MAX + HISTORY_MAX]);
    expect(history.at(-1)).toMatchObject({ what: "claimed", atMs: NOW_MS + (HISTORY_MAX - 1) * MINUTE });
  });

  test("is written once and beside all others, however many write at once", async () => {
    const { services, ref } = await asked();
    const people = Array.from({ length: 8 }, (_, at) => callerNamed(`p${at}`, { groups: ["finance"] }));
    await Promise.all(people.map((caller) => commentOnAsk(services, { ...ref(caller), text: `of ${caller.principal}` })));
    const { comments } = await readAsk(services, ref(frida));
    expect(comments.map(({ text }) => text).toSorted()).toEqual(people.map(({ principal }) => `of ${principal}`));
  });

  test("that was written though its reply was lost is not written again", async () => {
    let isLost = true;
    const memory = inMemory({
      replace: (real) => ({
        async writeThread(request) {
          const became = await real.writeThread(request);
          if (!isLost) return became;
          // The connection broke behind the write, and the command was sent again.
          isLost = false;
          return await real.writeThread(request);
        },
      }),
    });
    const taskId = await memory.put([anAsk("approve", { audience: finance })]);
    const ref = { caller: frida, taskId, key: "approve" };
    expect(await commentOnAsk(memory.services, { ...ref, text: "Once" })).toEqual({ type: "commented" });
    expect((await readAsk(memory.services, ref)).comments).toHaveLength(1);
  });
});

test("each is told to others once, without a word of it, and a claim that is renewed is nothing new", async () => {
  const { services, ref, requestsOf } = await asked();
  await claimAsk(services, ref(frida));
  await claimAsk(services, ref(frida));
  await commentOnAsk(services, { ...ref(alice), text: "Which budget?" });
  await releaseAsk(services, ref(frida));
  await releaseAsk(services, ref(frida));
  const told = (requestsOf("writeThread") as { readonly tells: readonly string[] }[]).map(({ tells }) => tells);
  expect(told).toEqual([["claimed"], [], ["commented"], ["released"]]);
});

test("nothing of it exists for those who may not read the question", async () => {
  const { services, ref, requestsOf } = await asked();
  const strangers = [mallory, { ...frida, tenant: "acme" }, { ...frida, groups: [] }];
  for (const at of [
    ref,
    (caller: Caller) => ({ ...ref(caller), key: "never" }),
    (caller: Caller) => ({ ...ref(caller), taskId: "0-none" }),
  ]) {
    for (const caller of strangers) {
      const gone = { code: "TASK_NOT_FOUND" };
      await expect(claimAsk(services, at(caller))).rejects.toMatchObject(gone);
      await expect(releaseAsk(services, at(caller))).rejects.toMatchObject(gone);
      await expect(commentOnAsk(services, { ...at(caller), text: "?" })).rejects.toMatchObject(gone);
    }
  }
  expect(requestsOf("writeThread")).toEqual([]);
});

test("a child's question is claimed where its root shows it, and the root is told", async () => {
  const { services, putWithChild, task } = inMemory();
  const { taskId, child } = await putWithChild([], [anAsk("size")]);
  const before = await task(taskId);
  expect(await claimAsk(services, { caller: alice, taskId, key: "book:size" })).toMatchObject({ type: "claimed" });

  expect((await task(taskId)).revision).toBeGreaterThan(before.revision);
  expect((await task(taskId)).asks).toMatchObject([{ key: "book:size", thread: { claim: { by: "alice" } } }]);
  expect((await readAsk(services, { caller: alice, taskId: child, key: "size" })).history).toMatchObject([{}, { what: "claimed" }]);
});

describe("asking back", () => {
  const DAY = 86_400_000;
  async function wanted(allow: readonly string[] = ["askBack", "pause"], audience: object = finance) {
    const memory = inMemory();
    const request = { type: "form", message: "Pay?", schema: { type: "object" }, about: { allow } } as never;
    const ask = anAsk("approve", { audience: audience as never, deadlineMs: NOW_MS + 2 * DAY, request });
    const taskId = await memory.put([ask]);
    const { services } = memory;
    const ref = (caller: Caller) => ({ caller, taskId, key: "approve", door: "test" });
    const read = (caller: Caller) => readAsk(services, ref(caller));
    return {
      ...memory,
      taskId,
      ref,
      read,
      back: (caller: Caller, text = "Which budget?") => askBack(services, { ...ref(caller), text }),
      reply: (caller: Caller, text = "Marketing.") => replyToAsk(services, { ...ref(caller), text }),
      listed: async (caller: Caller, toReply?: "only" | "any") =>
        (await listAsks(services, { caller, limit: 10, ...(toReply && { filter: { toReply } }) })).asks,
      deadline: async () => (await memory.real.load(taskId))!.asks[0]!.deadlineMs - NOW_MS,
    };
  }

  test("waits for the person who made the call, who replies; both stand in the history, the comments and the audit", async () => {
    const { back, reply, read, listed, requestsOf } = await wanted();
    expect(await back(frida)).toEqual({ type: "asked_back" });
    const asks = { by: { principal: "frida", name: "Frida F." }, text: "Which budget?", isPaused: true };
    expect(await listed(otto)).toMatchObject([{ askedBack: asks }]);
    // The person who made the call may not answer, and finds it where they ask for it.
    expect([await listed(alice), (await listed(alice, "only")).length, (await listed(otto, "only")).length]).toEqual([[], 1, 0]);
    expect(await listed(alice, "any")).toMatchObject([{ isToReply: true, askedBack: asks }]);
    expect(await read(alice)).toMatchObject({ state: "of-others", askedBack: asks });

    expect(await reply(alice)).toEqual({ type: "replied" });
    expect([await listed(alice, "any"), await reply(alice)]).toEqual([[], { type: "not_asked" }]);
    const open = await read(frida);
    expect(open).not.toHaveProperty("askedBack");
    expect(open).toMatchObject({
      state: "open",
      history: [{ what: "asked" }, { what: "askedBack", by: { isCaller: true } }, { what: "replied", by: { principal: "alice" } }],
      comments: [
        { text: "Which budget?", as: "askedBack" },
        { text: "Marketing.", as: "replied" },
      ],
    });
    expect(requestsOf("writeThread")).toMatchObject([
      { audit: { action: "askBack", principal: "frida", comment: expect.stringContaining("Which budget?") }, tells: ["commented"] },
      { audit: { action: "reply", principal: "alice", comment: expect.stringContaining("Marketing.") }, tells: ["commented"] },
    ]);
  });

  test.each<[what: string, allow: readonly string[], steps: readonly (readonly ["back" | "reply" | "pass", number?])[], hours: number]>([
    ["stands still until the reply", ["askBack", "pause"], [["pass", 10], ["back"], ["pass", 5], ["reply"]], 53],
    ["is put off as long as there is none", ["askBack", "pause"], [["back"], ["pass", 5]], 96],
    ["stands still at most as long as the question was to be open", ["askBack", "pause"], [["back"], ["pass", 90], ["reply"]], 96],
    [
      "stands still once for two questions before a reply",
      ["askBack", "pause"],
      [["back"], ["pass", 3], ["back"], ["pass", 4], ["reply"]],
      55,
    ],
    ["stands still each time", ["askBack", "pause"], [["back"], ["pass", 3], ["reply"], ["pass", 1], ["back"], ["pass", 4], ["reply"]], 55],
    [
      "stands still all in all as long as the question was to be open",
      ["askBack", "pause"],
      [["back"], ["pass", 30], ["reply"], ["back"], ["pass", 90], ["reply"]],
      96,
    ],
    ["stays where the tool does not allow it", ["askBack"], [["back"], ["pass", 5], ["reply"]], 48],
  ])("the deadline %s", async (_what, allow, steps, hours) => {
    const { back, reply, pass, deadline } = await wanted(allow);
    for (const [step, amount = 0] of steps) {
      if (step === "pass") await pass(amount * 60 * MINUTE);
      else expect(await (step === "back" ? back(frida) : reply(alice))).toMatchObject({ type: step === "back" ? "asked_back" : "replied" });
    }
    expect((await deadline()) / (60 * MINUTE)).toBe(hours);
  });

  test.each<[what: string, allow: readonly string[], audience: object, who: Caller, type: string]>([
    ["where the tool does not allow it", [], finance, frida, "not_allowed"],
    ["to the person who made the call, of themselves", ["askBack"], { to: "tenant" }, alice, "not_allowed"],
    ["to who may not answer", ["askBack"], finance, alice, "forbidden"],
  ])("is refused %s", async (_what, allow, audience, who, type) => {
    const { back, reply, read } = await wanted(allow, audience);
    expect([await back(who), await reply(alice)]).toEqual([{ type }, { type: "not_asked" }]);
    expect((await read(alice)).history).toHaveLength(1);
  });

  test("is for those who may read it, and a reply for the owner alone; both are late once it is closed, or its deadline is over", async () => {
    const { back, reply, pass, services, taskId } = await wanted();
    await expect(back(mallory)).rejects.toMatchObject({ code: "TASK_NOT_FOUND" });
    await back(frida);
    expect(await reply(otto)).toEqual({ type: "forbidden" });
    await pass(4 * DAY);
    expect(await back(frida)).toEqual({ type: "late" });
    await answerTask(services, { caller: otto, taskId, replies: { approve: { action: "decline" } } });
    expect([await back(frida), await reply(alice)]).toEqual([{ type: "late" }, { type: "late" }]);
  });

  test("is refused beyond as many comments as a question has, and leaves room for the reply", async () => {
    const { back, reply, services, ref } = await wanted();
    const comment = async () => await commentOnAsk(services, { ...ref(frida), text: "more" });
    await back(frida);
    for (let count = 2; count < COMMENTS_MAX; count += 1) expect(await comment()).toEqual({ type: "commented" });
    expect([await comment(), await back(frida), await reply(alice)]).toEqual([{ type: "full" }, { type: "full" }, { type: "replied" }]);
    expect([await comment(), await back(frida), await reply(alice)]).toEqual([{ type: "full" }, { type: "full" }, { type: "not_asked" }]);
  });

  test("is refused if the reply would find no room", async () => {
    const { back, services, ref } = await wanted();
    for (let count = 1; count < COMMENTS_MAX; count += 1) await commentOnAsk(services, { ...ref(frida), text: `${count}` });
    expect([await back(frida), (await commentOnAsk(services, { ...ref(frida), text: "last" })).type]).toEqual([
      { type: "full" },
      "commented",
    ]);
  });
});
