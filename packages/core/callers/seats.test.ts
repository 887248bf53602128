/** Random people, groups, audiences, escalations and delegations: who may answer and read an ask, said in other words than the policy's. */
import { expect, test } from "vitest";
import { callerNamed } from "./caller.fixture.ts";
import type { Caller } from "./caller.ts";
import { namesOfAsk, namesOfAudience, namesOfCaller } from "./open-asks.ts";
import { may, mayHandOn, mayReadAsk } from "./policy.ts";
import { handedAway } from "./seats.ts";
import { delegated, prompted } from "./threads.ts";
import type { Addressees, Ask, Audience, ThreadEntry } from "../task.ts";

const ROWS = 20;
const COURSES = 20;
const STEPS = 8;
const NAMES = ["ada", "bob", "eve", "joe", "kim", "sam"] as const;
const GROUPS = ["finance", "legal", "board"] as const;

/** The same numbers for the same seed (Park and Miller). */
function dice(seed: number) {
  let state = seed + 1;
  const below = (count: number) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % count;
  };
  return {
    below,
    oneOf: <T>(all: readonly T[]): T => all[below(all.length)] as T,
    some: <T>(all: readonly T[]) => all.filter(() => below(3) === 0),
  };
}

const call = { kind: "tool", name: "pay", principal: "ada", capabilities: {}, createdAtMs: 0, retentionMs: 1, hidden: false } as const;
const isNamed = ({ principal, groups }: Caller, to: Audience["to"]) =>
  to === "tenant" || to.people?.includes(principal) === true || to.groups?.some((group) => groups.includes(group)) === true;

test.each(Array.from({ length: ROWS }, (_, row) => row))(
  "who may answer and read an ask that is escalated and handed on at random, row %i",
  (row) => {
    for (let course = 0; course < COURSES; course += 1) follow(row * COURSES + course);
  },
);

function follow(seed: number): void {
  const { below, oneOf, some } = dice(seed);
  const people = NAMES.map((name) => callerNamed(name, { groups: some(GROUPS) }));
  const anybody = (): Addressees => (below(2) === 0 ? { people: [oneOf(NAMES)] } : { groups: [oneOf(GROUPS)] });
  const audience: Audience | undefined =
    below(5) === 0 ? undefined : { to: below(8) === 0 ? "tenant" : anybody(), ...(below(3) === 0 && { not: "caller" as const }) };
  let ask: Ask = {
    key: "pay",
    digest: "d",
    calledAt: "0",
    request: { type: "form", message: "Pay?", schema: {}, about: { allow: ["delegate"] } },
    askedAtMs: 0,
    deadlineMs: 1_000,
    onTimeout: "cancel",
    ...(audience && { audience }),
  };
  let history: readonly ThreadEntry[] = [];
  /** Everyone whom anything has named until now, and who could answer at some time. */
  const named: Audience["to"][] = audience ? [audience.to] : [{ people: [call.principal] }];
  const index = new Set(namesOfAsk(ask));
  const could = new Set<string>();
  const answering = () => people.filter((caller) => may(caller, "answer", { call, asks: [ask] }, ask));

  for (let nowMs = 1; nowMs <= STEPS; nowMs += 1) {
    const isExcluded = ({ principal }: Caller) => audience?.not === "caller" && principal === call.principal;
    const before = answering();
    for (const { principal } of before) could.add(principal);
    const by = oneOf(people);
    const from = mayHandOn(by, { call }, ask);
    const to = anybody();
    if (below(3) === 0) {
      const written = prompted(ask, history, {
        nowMs,
        reminded: below(2) === 0 ? nowMs : undefined,
        escalations: [{ afterMs: nowMs, to }],
      });
      ask = { ...ask, thread: { revision: nowMs, ...written.thread } };
      ({ history } = written);
      named.push(to);
      for (const name of namesOfAudience({ to })) index.add(name);
      // It takes the ask from nobody, and gives it to everyone it names, unless they handed their part on.
      for (const caller of before) expect(answering(), `${caller.principal} before ${JSON.stringify(to)}`).toContain(caller);
      const gave = ({ principal }: Caller) => ask.thread?.delegations?.some((each) => each.from.by === principal) === true;
      for (const caller of people.filter((each) => isNamed(each, to) && !isExcluded(each) && !gave(each)))
        expect(answering(), `${caller.principal} of ${JSON.stringify(to)}`).toContain(caller);
    } else if (from) {
      const written = delegated(ask, history, { caller: by, nowMs, from, to, reason: "Away" });
      if (!written) throw new Error("it was handed on too often");
      ask = { ...ask, thread: { revision: nowMs, ...written.thread } };
      ({ history } = written);
      named.push(to);
      for (const name of namesOfAudience({ to })) index.add(name);
      for (const caller of people.filter((each) => isNamed(each, to) && !isExcluded(each)))
        expect(answering(), `${caller.principal} got ${JSON.stringify(to)}`).toContain(caller);
    } else expect(before.includes(by), `${by.principal} may answer and has no part`).toBe(false);

    const now = answering();
    for (const caller of people) {
      const isAnswering = now.includes(caller);
      const reads = mayReadAsk(caller, { call, asks: [ask] }, ask);
      const isOwner = caller.principal === call.principal;
      if (isAnswering) {
        expect([isExcluded(caller), reads], caller.principal).toEqual([false, true]);
        // The index leads everyone to it who may answer, and the settled ask to everyone who could.
        if (audience || ask.thread)
          if (!isOwner || audience)
            expect(
              namesOfCaller(caller).some((name) => index.has(name)),
              `the index and ${caller.principal}`,
            ).toBe(true);
      }
      if (could.has(caller.principal)) expect(reads, `${caller.principal} could answer before`).toBe(true);
      if (!isOwner && !named.some((each) => isNamed(caller, each))) expect([isAnswering, reads], caller.principal).toEqual([false, false]);
      // Whoever lost it learns to whom it went.
      if (!isAnswering && could.has(caller.principal))
        expect(handedAway(caller, history), caller.principal).toMatchObject({ what: "delegated" });
    }
  }
}
