import { describe, expect, test } from "vitest";
import { callerNamed } from "./caller.fixture.ts";
import { countAcceptance, hasAccepted, acceptancesSoFar, tallied } from "./quorum.ts";
import type { Acceptance, Ask, Audience, Open, Task } from "../task.ts";

const NOW_MS = 1_000;
const owner = { principal: "alice" };
const alice = callerNamed("alice");
const bob = callerNamed("bob");
/** Bob, with another client. */
const bobs = callerNamed("bob by phone", { person: "the person Bob" });

const said = (n: number, more: Partial<Acceptance> = {}): Acceptance => ({ content: { n }, atMs: 1, ...more });
const asked = (acceptances?: readonly Acceptance[], audience: Audience = { to: "tenant", quorum: 3 }) => ({
  audience,
  ...(acceptances && { accepted: { revision: 7, acceptances } }),
});
const countOf = (ask: Parameters<typeof countAcceptance>[0], caller = bob, content: Acceptance["content"] = { n: 1 }) =>
  countAcceptance(ask, {
    caller,
    owner,
    by: caller === alice ? undefined : caller.principal,
    name: caller.principal,
    content,
    nowMs: NOW_MS,
  });

describe("a person who has accepted", () => {
  test("is recognised by the person, otherwise by the principal, otherwise as the owner", () => {
    const accepted = asked([said(1), said(1, { by: "bob" }), said(1, { by: "carol", person: "the person Carol" })]);
    const carol = callerNamed("carol by phone", { person: "the person Carol" });
    expect([alice, bob, carol].map((caller) => hasAccepted(caller, owner, accepted))).toStrictEqual([true, true, true]);
    expect(hasAccepted(bobs, owner, accepted)).toBe(false);
    // One principal is one person, whatever its acceptance calls the person.
    const renamed = callerNamed("carol", { person: "Carol by another rule" });
    expect(hasAccepted(renamed, owner, accepted)).toBe(true);
    expect(hasAccepted(callerNamed("dave", { person: "the person Dave" }), owner, accepted)).toBe(false);
    // The owner may be known as a person as well.
    const byPhone = callerNamed("alice by phone", { person: "the person Alice" });
    const knownOwner = { principal: "alice", person: "the person Alice" };
    expect([alice, byPhone, bob].map((caller) => hasAccepted(caller, knownOwner, asked([said(1)])))).toStrictEqual([true, true, false]);
    expect(hasAccepted(bob, owner, asked())).toBe(false);
  });
});

describe("another acceptance", () => {
  test("is the first, or follows the others, until none is missing", () => {
    const mine = { by: "bob", name: "bob", assurance: "token", content: { n: 1 }, atMs: NOW_MS };
    expect(countOf(asked())).toStrictEqual({ type: "counted", acceptances: [mine], missing: 2 });
    const others = [said(1), said(2, { by: "carol" })];
    expect(countOf(asked(others))).toStrictEqual({ type: "counted", acceptances: [...others, mine], missing: 0 });
    const more = [...others, said(3, { by: "dave" })];
    expect(countOf(asked(more))).toStrictEqual({ type: "counted", acceptances: [...more, mine], missing: 0 });
    expect(countOf({})).toStrictEqual({ type: "counted", acceptances: [mine], missing: 0 });
  });

  test("of the owner has no name, and of an owner known as a person has both", () => {
    expect(countOf(asked(), alice)).toMatchObject({ acceptances: [{ content: { n: 1 }, atMs: NOW_MS }] });
    expect(countOf(asked(), alice)).not.toHaveProperty("acceptances.0.by");
    expect(countOf(asked(), alice)).not.toHaveProperty("acceptances.0.person");
    expect(countOf(asked(), bobs)).toStrictEqual({
      type: "counted",
      acceptances: [
        { by: "bob by phone", person: "the person Bob", name: "bob by phone", assurance: "token", content: { n: 1 }, atMs: NOW_MS },
      ],
      missing: 2,
    });
  });

  test("of the same person is a repetition if it is equal, otherwise replaces the first", () => {
    const before = [said(1), said(2, { by: "bob", person: "the person Bob" })];
    const [alices] = before;
    expect(countOf(asked(before), bobs, { n: 2 })).toStrictEqual({ type: "repeated" });
    expect(countOf(asked(before), bobs, { n: 9 })).toStrictEqual({
      type: "counted",
      acceptances: [
        alices,
        { by: "bob by phone", person: "the person Bob", name: "bob by phone", assurance: "token", content: { n: 9 }, atMs: NOW_MS },
      ],
      missing: 1,
    });
    // The order of members is irrelevant.
    expect(countOf(asked([{ content: { a: 1, b: 2 }, atMs: 1 }]), alice, { b: 2, a: 1 })).toStrictEqual({ type: "repeated" });
  });
});

describe("an answer that settles an ask in place of its last acceptance", () => {
  const open = (ask: object) => ask as Open;

  test("carries those who had accepted, and the revision that was seen", () => {
    expect(acceptancesSoFar(open(asked()))).toStrictEqual({ acceptances: [], missing: 0 });
    expect(acceptancesSoFar(open(asked([said(1)])))).toStrictEqual({ seen: 7, acceptances: [said(1)], missing: 0 });
  });

  test("carries nothing if one answer settles the ask", () => {
    expect(acceptancesSoFar(open({ request: { type: "event" } }))).toBeUndefined();
    expect(acceptancesSoFar(open({ audience: undefined }))).toBeUndefined();
    expect(acceptancesSoFar(open(asked([], { to: "tenant" })))).toBeUndefined();
  });
});

test("a caller sees how many have accepted and whether they have, and not what was said", () => {
  const task = { call: owner } as Task;
  const shown = (caller: typeof alice, ask: object) => tallied(caller, task, ask as Ask);
  const audience = { to: "tenant", quorum: 3 };
  expect(shown(alice, asked())).toStrictEqual({ audience, tally: { accepted: 0, mine: false } });
  expect(shown(bob, asked([said(1)]))).toStrictEqual({ audience, tally: { accepted: 1, mine: false } });
  expect(shown(alice, asked([said(1)]))).toStrictEqual({ audience, tally: { accepted: 1, mine: true } });
  const alone = { audience: { to: "tenant" } };
  expect(shown(alice, alone)).toBe(alone);
  const own = { key: "size" };
  expect(shown(alice, own)).toBe(own);
});
