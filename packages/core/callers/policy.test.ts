import { describe, expect, test } from "vitest";
import type { Caller } from "./caller.ts";
import { callerNamed } from "./caller.fixture.ts";
import { type Action, grantOwnerOf, may, maySeeEnd, seenByAsked, viewOf } from "./policy.ts";
import type { Ask, Audience, Task } from "../task.ts";
import type { EntryOutcome } from "../journal.ts";
import type { SettledAsk } from "./open-asks.ts";

const TENANTS = [undefined, "acme", "umbrella"] as const;

/** Each has exactly one property that the audiences below ask for. */
const PEOPLE = {
  owner: callerNamed("ada"),
  "owner in finance": callerNamed("ada", { groups: ["finance"], roles: ["approver"] }),
  named: callerNamed("bob"),
  "in the group": callerNamed("eve", { groups: ["staff", "finance"] }),
  "in the role": callerNamed("joe", { roles: ["approver"] }),
  "in a group of the role's name": callerNamed("kim", { groups: ["approver", "bob"], roles: ["finance", "bob"] }),
  "of the same tenant": callerNamed("sam"),
} satisfies Record<string, Caller>;
type Person = keyof typeof PEOPLE;

const AUDIENCES: Record<string, { readonly audience?: Audience; readonly mayAnswer: readonly Person[] }> = {
  "the owner": { mayAnswer: ["owner", "owner in finance"] },
  tenant: { audience: { to: "tenant" }, mayAnswer: Object.keys(PEOPLE) as Person[] },
  "a person": { audience: { to: { people: ["bob"] } }, mayAnswer: ["named"] },
  "a group": { audience: { to: { groups: ["finance"] } }, mayAnswer: ["owner in finance", "in the group"] },
  "a role": { audience: { to: { roles: ["approver"] } }, mayAnswer: ["owner in finance", "in the role"] },
  "a person or a group": {
    audience: { to: { people: ["bob"], groups: ["finance"] } },
    mayAnswer: ["owner in finance", "named", "in the group"],
  },
  "a group, without the owner": { audience: { to: { groups: ["finance"] }, not: "caller" }, mayAnswer: ["in the group"] },
  "the tenant, without the owner": {
    audience: { to: "tenant", not: "caller" },
    mayAnswer: ["named", "in the group", "in the role", "in a group of the role's name", "of the same tenant"],
  },
  "three of a group": { audience: { to: { groups: ["finance"] }, quorum: 3 }, mayAnswer: ["owner in finance", "in the group"] },
  "three of the tenant, without the owner": {
    audience: { to: "tenant", not: "caller", quorum: 3 },
    mayAnswer: ["named", "in the group", "in the role", "in a group of the role's name", "of the same tenant"],
  },
  nobody: { audience: { to: { people: [] } }, mayAnswer: [] },
};

function ask(key: string, audience?: Audience): Ask {
  return {
    key,
    digest: "d",
    calledAt: "0",
    request: { type: "form", message: `${key}?`, schema: {} },
    askedAtMs: 0,
    deadlineMs: 1,
    onTimeout: "cancel",
    ...(audience && { audience }),
  };
}

function task(asks: readonly Ask[], tenant?: string): Task {
  const call = { kind: "tool", name: "pay", principal: "ada", capabilities: {}, createdAtMs: 0, retentionMs: 1, hidden: false } as const;
  return {
    id: "0-x",
    call: { ...call, ...(tenant !== undefined && { tenant }) },
    status: asks.length > 0 ? "input_required" : "working",
    revision: 1,
    run: 1,
    generation: 0,
    updatedAtMs: 0,
    asks,
    message: "paying 4,000",
    immediateResponse: "please wait",
  };
}

describe.each(Object.entries(AUDIENCES))("an ask with the audience %s", (_, { audience, mayAnswer }) => {
  const put = ask("sure", audience);
  const cells = Object.keys(PEOPLE).flatMap((person) =>
    TENANTS.flatMap((theirs) => TENANTS.map((ours) => ({ person: person as Person, theirs, ours }))),
  );
  test.each(cells)("$person of tenant $theirs, a task of tenant $ours", ({ person, theirs, ours }) => {
    const caller = { ...PEOPLE[person], tenant: theirs ?? "default" };
    const isOwner = caller.principal === "ada";
    const sameTenant = theirs === ours;
    const answers = sameTenant && mayAnswer.includes(person);
    const asking = task([put], ours);
    const decided: Record<Action, boolean> = {
      answer: may(caller, "answer", asking, put),
      read: may(caller, "read", asking),
      cancel: may(caller, "cancel", asking),
      follow: may(caller, "follow", asking),
    };
    const owns = sameTenant && isOwner;
    expect(decided).toEqual({ answer: answers, read: owns || answers, cancel: owns, follow: owns });
    expect(may(caller, "read", task([], ours))).toBe(owns);
  });
});

test("if callers are not told apart, everyone is the caller: an audience neither excludes nor admits anyone", () => {
  const anonymous: Caller = { ...callerNamed("anonymous"), authenticatedBy: "nobody" };
  const mine = { ...task([]), call: { ...task([]).call, principal: "anonymous" } };
  for (const { audience } of Object.values(AUDIENCES)) {
    expect(may(anonymous, "answer", mine, ask("sure", audience))).toBe(true);
    expect(may(anonymous, "answer", task([]), ask("sure", audience))).toBe(false);
  }
});

describe("the view of a caller", () => {
  const [own, finance, bobs] = [ask("own"), ask("finance", { to: { groups: ["finance"] } }), ask("bobs", { to: { people: ["bob"] } })];
  const asking = { ...task([own, finance, bobs]), outcome: { type: "result", result: { content: [] } } } as Task;

  test("shows the owner everything, with asks of other audiences apart", () => {
    expect(viewOf(PEOPLE.owner, asking)).toEqual({ ...asking, asks: [own], asksOfOthers: [finance, bobs] });
    expect(viewOf(PEOPLE["owner in finance"], asking)).toEqual({ ...asking, asks: [own, finance], asksOfOthers: [bobs] });
    const plain = task([own]);
    expect(viewOf(PEOPLE.owner, plain)).toBe(plain);
  });

  test("shows members of an audience their asks, and nothing that the task says to its owner", () => {
    const { message: _, immediateResponse: __, outcome: ___, ...rest } = asking;
    expect(viewOf(PEOPLE["in the group"], asking)).toEqual({ ...rest, asks: [finance] });
    expect(viewOf(PEOPLE.named, asking)).toEqual({ ...rest, asks: [bobs] });
  });

  test("shows members of an audience no version of the tool, which a test does not have", () => {
    const versioned = { ...asking, call: { ...asking.call, version: "2" } };
    expect(viewOf(PEOPLE.owner, versioned)?.call.version).toBe("2");
    expect(viewOf(PEOPLE["in the group"], versioned)?.call).toEqual(asking.call);
  });

  test("shows members of an audience nothing of how long a test of theirs has waited before it asked", () => {
    const late = { ...finance, askedAtMs: 600_000 };
    const seen = (name: string) => viewOf(PEOPLE["in the group"], { ...asking, asks: [late], call: { ...asking.call, name } })?.call;
    expect(seen("pay")?.createdAtMs).toBe(0);
    expect(late.askedAtMs - seen("pay#test")!.createdAtMs).toBeLessThan(50);
  });

  test("dates a test of theirs shortly before its first question, as a call", () => {
    const [first, second] = [
      { ...finance, askedAtMs: 600_017 },
      { ...finance, key: "second", askedAtMs: 700_000 },
    ];
    const testing = { ...asking, call: { ...asking.call, name: "pay#test" } };
    const seen = (asks: readonly Ask[]) => seenByAsked({ ...testing, asks }, []).call.createdAtMs;
    expect([seen([second, first]), seen([])]).toEqual([599_995, 0]);
  });

  test("does not ask those again who have agreed to visit a page", () => {
    const visiting = [{ ...own, agreed: true }, finance] as const;
    expect(viewOf(PEOPLE.owner, task(visiting))).toEqual({ ...task(visiting), asks: [], asksOfOthers: visiting });
    const agreed = [{ ...finance, agreed: true }, bobs] as const;
    expect(viewOf(PEOPLE["in the group"], task(agreed))).toMatchObject({ asks: [] });
    expect(viewOf(PEOPLE["in the group"], task(agreed))).not.toHaveProperty("asksOfOthers");
  });

  test("shows apart what needs an answer through another door", () => {
    const request = { type: "form", message: "?", schema: {}, about: { assurance: { by: "login" } } } as const;
    const guarded = { ...finance, request };
    const member = PEOPLE["in the group"];
    expect(viewOf(member, task([guarded]))).toMatchObject({ asks: [], asksOfOthers: [{ ...guarded, elsewhere: true }] });
    const onPage: Caller = { ...member, assurance: "login" };
    expect(viewOf(onPage, task([guarded]))?.asks).toEqual([guarded]);
    // To those who need not answer it the door says nothing.
    expect(viewOf(PEOPLE.owner, task([guarded]))).toMatchObject({ asks: [], asksOfOthers: [guarded] });
    expect(viewOf(PEOPLE.owner, task([guarded]))?.asksOfOthers?.[0]).not.toHaveProperty("elsewhere");
  });

  test("counts acceptances beside questions to one person alone", () => {
    const several = { ...finance, audience: { to: { groups: ["finance"] }, quorum: 2 }, accepted: { revision: 1, acceptances: [] } } as Ask;
    const shown = viewOf(PEOPLE["owner in finance"], task([own, several]))?.asks;
    expect(shown).toMatchObject([own, { tally: { accepted: 0, mine: false } }]);
  });

  test("shows how many have accepted and not what they said, and does not ask those again who have accepted", () => {
    const accepted = { revision: 7, acceptances: [{ by: "eve", content: { note: "secret of eve" }, atMs: 1 }] };
    const audience: Audience = { to: { groups: ["finance"] }, quorum: 3 };
    const several = { ...task([{ ...ask("several", audience), accepted }]) };
    const shown = (mine: boolean) => [{ ...ask("several", audience), tally: { accepted: 1, mine } }];
    expect(viewOf(PEOPLE.owner, several)).toEqual({ ...several, asks: [], asksOfOthers: shown(false) });
    expect(viewOf(PEOPLE["owner in finance"], several)).toEqual({ ...several, asks: shown(false) });
    expect(viewOf(PEOPLE["in the group"], several)).toMatchObject({ asks: [], asksOfOthers: shown(true) });
    // With another client it is the same person, and so is the caller.
    const byAnother = { ...callerNamed("eve-by-cli", { groups: ["finance"] }), person: "eve" };
    expect(viewOf(byAnother, several)).toMatchObject({ asks: [], asksOfOthers: shown(true) });
    const own = { ...several, call: { ...several.call, person: "ada herself" } };
    const notCaller = ask("sure", { to: { groups: ["finance"] }, not: "caller" });
    const ada = { ...callerNamed("ada-by-cli", { groups: ["finance"] }), person: "ada herself" };
    expect(may(ada, "answer", own, notCaller)).toBe(false);
    expect(may({ ...ada, person: "somebody else" }, "answer", own, notCaller)).toBe(true);
  });

  test("shows everyone else nothing", () => {
    expect(viewOf(PEOPLE["of the same tenant"], asking)).toBeUndefined();
    expect(viewOf({ ...PEOPLE.owner, tenant: "acme" }, asking)).toBeUndefined();
  });
});

test.each([
  ["of a person", callerNamed("ada", { tenant: "acme" }), { principal: "ada", tenant: "acme" }],
  ["of everyone", callerNamed("anonymous"), undefined],
  ["of those who are not told apart", { ...callerNamed("ada"), authenticatedBy: "nobody" } as Caller, undefined],
])("kept grants are those %s", (_, caller, owner) => {
  expect(grantOwnerOf(caller)).toEqual(owner);
});

const ANSWERED_BY_BOB: EntryOutcome = { type: "answer", answer: { action: "accept", content: {} }, by: "bob" };
const ACCEPTED_BY_TWO: EntryOutcome = {
  type: "answer",
  answer: { action: "accept", content: {} },
  accepted: [
    { by: "eve", atMs: 1, content: {} },
    { by: "bob", atMs: 2, content: {} },
  ],
};

test.each<[who: string, caller: Caller, settled: Partial<SettledAsk>, may: boolean]>([
  ["its task's owner", PEOPLE.owner, {}, true],
  ["its task's owner in another tenant", { ...PEOPLE.owner, tenant: "acme" }, { outcome: ANSWERED_BY_BOB, wasAsked: true }, false],
  ["who was asked", PEOPLE.named, { wasAsked: true }, true],
  ["who was asked, in another tenant", { ...PEOPLE.named, tenant: "acme" }, { wasAsked: true }, false],
  ["who answered, and would be asked no more", PEOPLE.named, { outcome: ANSWERED_BY_BOB }, true],
  ["who answered, in another tenant", { ...PEOPLE.named, tenant: "acme" }, { outcome: ANSWERED_BY_BOB }, false],
  ["who was not asked, where another answered", PEOPLE["in the group"], { outcome: ANSWERED_BY_BOB }, false],
  ["the last of two who accepted", PEOPLE.named, { outcome: ACCEPTED_BY_TWO }, true],
  ["the first of two who accepted", PEOPLE["in the group"], { outcome: ACCEPTED_BY_TWO }, true],
  ["who was not asked, where two accepted", PEOPLE["of the same tenant"], { outcome: ACCEPTED_BY_TWO }, false],
  ["who was not asked, where nobody answered in time", PEOPLE.named, { outcome: { type: "closed" } }, false],
  ["who was not asked, where nobody knows the end any more", PEOPLE.named, {}, false],
  [
    "who is not told apart, and was asked by the name of all",
    { ...PEOPLE.named, authenticatedBy: "nobody" },
    { outcome: ANSWERED_BY_BOB, wasAsked: true },
    false,
  ],
])("how an ask was settled may learn %s: %o", (_who, caller, settled, allowed) => {
  expect(maySeeEnd(caller, task([]), { digest: "d", wasAsked: false, ...settled })).toBe(allowed);
});
