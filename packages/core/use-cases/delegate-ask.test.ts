import { describe, expect, test } from "vitest";
import { callerNamed } from "../callers/caller.fixture.ts";
import type { Caller } from "../callers/caller.ts";
import { DELEGATIONS_MAX } from "../callers/threads.ts";
import type { Addressees, Ask, Audience } from "../task.ts";
import { answerTask } from "./answer-task.ts";
import { alice, anAsk, bob, carol, inMemory, mallory } from "./in-memory.fixture.ts";
import { claimAsk, delegateAsk, delegationProblems } from "./join-thread.ts";
import { listAsks } from "./list-asks.ts";
import { readAsk } from "./read-ask.ts";

const groups = ["finance"];
const frida = callerNamed("frida", { groups, displayName: "Frida F." });
const otto = callerNamed("otto", { groups });
const legal = ["lea", "lou"].map((name) => callerNamed(name, { groups: ["legal"] })) as [Caller, Caller];
const accept = { action: "accept", content: { n: 1 } };
const people = (...names: string[]) => ({ people: names });

/** `null`: only its owner is asked. */
async function asked(audience: Partial<Audience> | null = {}, more: Partial<Ask> = {}) {
  const memory = inMemory();
  const request = { type: "form", message: "Pay?", schema: { type: "object" }, about: { allow: ["delegate"] } } as const;
  const to = audience && { audience: { to: { groups }, ...audience } };
  const taskId = await memory.put([anAsk("approve", { request, ...to, ...more })]);
  const { services } = memory;
  const ref = (caller: Caller) => ({ caller, taskId, key: "approve", door: "test" });
  return {
    ...memory,
    taskId,
    ref,
    delegate: async (caller: Caller, given: Addressees) =>
      (await delegateAsk(services, { ...ref(caller), to: given, reason: "On leave" })).type,
    /** The receipt, `none` if the task does not exist for the caller. */
    async answer(caller: Caller, reply: object = accept) {
      const given = await answerTask(services, { ...ref(caller), replies: { approve: reply } }).catch(() => undefined);
      return given?.receipts.get("approve")?.type ?? "none";
    },
    isListed: async (caller: Caller) => (await listAsks(services, { caller, limit: 10 })).asks.length === 1,
  };
}

describe("a question that is handed on", () => {
  test("is answered by those who got it, in the place of the person who handed it on, who may not answer any more", async () => {
    const { services, ref, delegate, answer, isListed, requestsOf } = await asked();
    expect([await isListed(frida), await isListed(bob)]).toEqual([true, false]);
    expect(await delegate(frida, people("bob"))).toBe("delegated");

    expect([await isListed(frida), await isListed(bob), await isListed(otto)]).toEqual([false, true, true]);
    expect((await listAsks(services, { caller: bob, limit: 1 })).asks).toMatchObject([
      { delegatedBy: { principal: "frida", name: "Frida F." } },
    ]);
    expect(await readAsk(services, ref(frida))).toMatchObject({
      state: "of-others",
      history: [
        { what: "asked" },
        { what: "delegated", by: { principal: "frida", isCaller: true }, to: people("bob"), reason: "On leave" },
      ],
    });
    expect([await answer(frida), await answer(mallory), await answer(bob)]).toEqual(["none", "none", "accepted"]);
    expect(await readAsk(services, ref(otto))).toMatchObject({
      end: "accepted",
      by: { principal: "bob" },
      delegatedBy: { principal: "frida", isCaller: false },
    });
    expect(await readAsk(services, ref(frida))).toMatchObject({ end: "accepted", delegatedBy: { isCaller: true } });
    const [{ audit }] = requestsOf("writeThread") as [{ readonly audit: object }];
    expect(audit).toMatchObject({ action: "delegate", principal: "frida", to: people("bob"), reason: expect.stringContaining("On leave") });
    expect(requestsOf("answer").at(-1)).toMatchObject({ audit: { principal: "bob", delegatedBy: "frida" } });
  });

  test("is recorded, and audited, with how whoever answers was identified", async () => {
    const { answer, requestsOf } = await asked();
    const login = { atMs: 5, acr: "silver", amr: ["mfa"] };
    expect(await answer({ ...frida, assurance: "login", login })).toBe("accepted");
    const identified = { assurance: "login", login };
    expect(requestsOf("answer").at(-1)).toMatchObject({ audit: identified, given: identified });
  });

  test("goes to others, or back, as its owner says, and from those who got it to whom they say", async () => {
    const { delegate, answer, isListed } = await asked();
    await delegate(frida, people("bob"));
    expect(await delegate(bob, people("carol"))).toBe("delegated");
    expect([await isListed(bob), await isListed(carol)]).toEqual([false, true]);
    expect(await delegate(frida, people("frida"))).toBe("delegated");
    expect([await isListed(carol), await answer(carol), await isListed(frida)]).toEqual([false, "none", true]);
    expect(await answer(frida)).toBe("accepted");
  });

  test("is still read by everyone who got it before, who learns to whom it went, and by nobody else", async () => {
    const { services, ref, delegate, answer, isListed } = await asked();
    await delegate(frida, { groups: ["legal"] });
    await delegate(legal[0], people("bob"));
    for (const lost of [...legal, frida])
      expect(await readAsk(services, ref(lost))).toMatchObject({
        state: "of-others",
        handedOn: { by: { principal: "lea", isCaller: lost === legal[0] }, from: { principal: "frida" }, to: people("bob") },
      });
    // It comes back, and goes again.
    await delegate(bob, { groups: ["legal"] });
    expect(await readAsk(services, ref(legal[1]))).not.toHaveProperty("handedOn");
    expect(await readAsk(services, ref(bob))).toMatchObject({ state: "of-others", handedOn: { to: { groups: ["legal"] } } });
    await delegate(frida, people("frida"));
    expect(await readAsk(services, ref(frida))).not.toHaveProperty("handedOn");
    for (const lost of [bob, ...legal]) {
      expect(await readAsk(services, ref(lost))).toMatchObject({ state: "of-others", handedOn: { by: { principal: "frida" } } });
      expect([await answer(lost), await delegate(lost, people("carol")), await isListed(lost)]).toEqual(["none", "forbidden", false]);
      expect(await claimAsk(services, ref(lost))).toEqual({ type: "forbidden" });
    }
    for (const other of [carol, mallory]) await expect(readAsk(services, ref(other))).rejects.toMatchObject({ code: "TASK_NOT_FOUND" });
    // As once it is answered.
    await answer(frida);
    expect(await readAsk(services, ref(bob))).toMatchObject({ end: "accepted", by: { principal: "frida" } });
  });

  test("ends the claim of the person whose part it is, and nobody else's", async () => {
    const { services, ref, delegate } = await asked();
    await claimAsk(services, ref(frida));
    await delegate(otto, people("bob"));
    expect(await readAsk(services, ref(otto))).toMatchObject({ claimedBy: { principal: "frida" } });
    await delegate(frida, people("bob"));
    expect(await readAsk(services, ref(otto))).not.toHaveProperty("claimedBy");
    expect(await claimAsk(services, ref(frida))).toEqual({ type: "forbidden" });
  });

  test("that only its owner was asked is answered by another person, who finds it", async () => {
    const { delegate, answer, isListed, services, ref } = await asked(null);
    await delegate(alice, { groups: ["legal"] });
    expect([await isListed(alice), await isListed(legal[0])]).toEqual([false, true]);
    expect(await readAsk(services, ref(alice))).toMatchObject({ state: "of-others" });
    expect([await answer(alice), await answer(legal[1])]).toEqual(["forbidden", "accepted"]);
    expect(await readAsk(services, ref(legal[0]))).toMatchObject({ by: { principal: "lou" }, delegatedBy: { principal: "alice" } });
  });

  test("is handed on only where its tool allows it, by those who were asked, and not once they have accepted or too often", async () => {
    const plain = await asked({}, { request: { type: "form", message: "?", schema: {} } });
    expect(await plain.delegate(frida, people("bob"))).toBe("not_allowed");
    const { services, ref, delegate, answer } = await asked({ quorum: 2 });
    await expect(delegateAsk(services, { ...ref(mallory), to: people("mallory"), reason: "?" })).rejects.toMatchObject({
      code: "TASK_NOT_FOUND",
    });
    expect(await delegate(alice, people("bob"))).toBe("forbidden");
    await answer(frida);
    expect(await delegate(frida, people("bob"))).toBe("accepted");
    for (let count = 0; count < DELEGATIONS_MAX; count += 1) expect(await delegate(otto, people(`p${count}`))).toBe("delegated");
    expect(await delegate(otto, people("otto"))).toBe("full");
  });

  test("names up to ten", () => {
    const names = Array.from({ length: 6 }, (_, at) => `n${at}`);
    expect(delegationProblems({ people: names, groups: names.slice(2) })).toEqual([]);
    for (const bad of [{}, { people: [] }, { people: [""] }, { people: names, groups: names }, { everyone: ["x"] }] as Addressees[])
      expect(delegationProblems(bad), JSON.stringify(bad)).not.toEqual([]);
  });
});

describe("an attempt to get round a rule by handing on", () => {
  test("to the caller, who may not answer, gives the caller nothing, by any name, group or client", async () => {
    const client = {
      ...alice,
      principal: "alice at a client",
      person: "alice",
      groups: ["legal"],
      names: ["sub:alice", "email:a@b.example"],
    };
    const { delegate, answer } = await asked({ not: "caller" });
    for (const to of [people("alice", "a@b.example", "sub:alice"), { groups: ["legal"] }]) {
      expect(await delegate(frida, to)).toBe("delegated");
      expect([await answer(alice), await answer(client)]).toEqual(["forbidden", "none"]);
    }
    expect(await delegate(alice, people("bob"))).toBe("forbidden");
    expect(await answer(legal[0])).toBe("accepted");
  });

  test("fills one seat of a quorum by a person's own part, whoever got it: by another client, or as two people of a group", async () => {
    const { services, ref, delegate, answer } = await asked({ quorum: 2 });
    const person = { person: "issuer frida" };
    const client = callerNamed("frida at a client", person);
    await delegate({ ...frida, ...person }, { people: ["frida at a client"], groups: ["legal"] });
    expect(await answer(legal[0])).toBe("accepted");

    expect([await answer(legal[1]), await answer(client), await answer({ ...frida, ...person })]).toEqual(["none", "none", "none"]);
    expect(await delegate({ ...frida, ...person }, people("frida"))).toBe("accepted");
    expect(await readAsk(services, ref(otto))).toMatchObject({ state: "open", accepted: 1 });
    expect(await answer(otto)).toBe("accepted");
    expect(await readAsk(services, ref(otto))).toMatchObject({
      end: "accepted",
      acceptedBy: [{ principal: "lea" }, { principal: "otto" }],
    });
  });

  test("to somebody who has accepted counts that person once", async () => {
    const { services, ref, delegate, answer } = await asked({ quorum: 2 });
    await answer(frida);
    await delegate(otto, people("frida"));
    await answer(frida, { ...accept, content: { n: 2 } });
    expect(await readAsk(services, ref(frida))).toMatchObject({ state: "accepted", accepted: 1 });
  });

  test("by one who is not asked any more, back to themselves, fails", async () => {
    const { delegate, answer } = await asked();
    await delegate(frida, people("bob"));
    const left = { ...frida, groups: [] };
    await expect(delegate(left, people("frida"))).rejects.toMatchObject({ code: "TASK_NOT_FOUND" });
    await delegate(frida, people("frida"));
    expect(await answer(left)).toBe("none");
  });

  test("to another tenant reaches nobody there", async () => {
    const { delegate, isListed, answer } = await asked();
    await delegate(frida, people("bob"));
    const other = { ...bob, tenant: "acme" };
    expect([await isListed(other), await answer(other)]).toEqual([false, "none"]);
  });

  test("at the same time as it is answered leaves one acceptance for each part, whatever comes first", async () => {
    for (let round = 0; round < 10; round += 1) {
      const { services, ref, delegate, answer } = await asked({ quorum: 3 });
      await Promise.all([answer(frida), delegate(frida, { groups: ["legal"] })]);
      await Promise.all(legal.map((each) => answer(each)));
      expect(await readAsk(services, ref(otto))).toMatchObject({ state: "open", accepted: 1 });
    }
  });

  /** Whoever does what in which order: what settles a quorum is as many people who were asked as it needs, and never the caller. */
  test.each(Array.from({ length: 60 }, (_, seed) => seed + 1))(
    "at random (seed %i) settles nothing that people who were asked did not agree to",
    async (seed) => {
      let state = seed * 2_654_435_761;
      const draw = (below: number) => {
        state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 374_761_393) >>> 0;
        return state % below;
      };
      const members = ["m1", "m2", "m3"].map((name) => callerNamed(name, { groups }));
      const all = [...members, { ...alice, groups }, bob, carol, ...legal, callerNamed("m1 elsewhere", { person: "m1" })];
      const { services, ref, delegate, answer, taskId, real } = await asked({ quorum: 2, not: "caller" });
      for (let step = 0; step < 25; step += 1) {
        const who = all[draw(all.length)]!;
        const whom = all[draw(all.length)]!;
        const to = draw(3) === 0 ? { groups: [["legal"], groups][draw(2)]! } : people(whom.principal);
        if (draw(2) === 0) await delegate(who, to).catch(() => undefined);
        else await answer(who);
        if ((await real.load(taskId))?.asks.length === 0) break;
      }
      const settled = await real.settledAsk({ taskId, key: "approve", names: [] });
      if (settled?.outcome?.type !== "answer") return;
      const { accepted = [] } = settled.outcome;
      const seats = accepted.map(({ by, delegatedBy }) => delegatedBy?.by ?? by ?? "alice");
      const persons = accepted.map(({ by, person }) => person ?? by ?? "alice");
      expect(new Set(seats).size).toBe(2);
      expect(new Set(persons).size).toBe(2);
      for (const seat of seats) expect(members.map(({ principal }) => principal)).toContain(seat);
      expect(persons).not.toContain("alice");
      expect(await readAsk(services, ref(members[0]!))).toMatchObject({ state: "settled" });
    },
  );
});
