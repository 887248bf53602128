import type { Ask, Audience, Caller, Task } from "@parley/core";
import { expect, test } from "vitest";
import { answerer, answererOf, caller } from "./people.ts";

const TESTER: Caller = {
  principal: "tester",
  tenant: "default",
  scopes: [],
  authenticatedBy: "test",
  names: [],
  groups: [],
  roles: [],
};

test("a caller is the tester, or whom the test names; others have only what the test gives them", () => {
  expect(caller()).toStrictEqual(TESTER);
  expect(caller({ principal: "alice" })).toStrictEqual({ ...TESTER, principal: "alice" });
  expect(answerer({})).toStrictEqual({ ...TESTER, principal: "somebody else" });
  const bob = { principal: "bob", names: ["bob@example.com"], groups: ["ops"], roles: ["lead"] };
  expect(answerer(bob)).toStrictEqual({ ...TESTER, ...bob });
});

test.each<[string, Audience | undefined, number, Partial<Caller>]>([
  ["the caller", undefined, 0, { principal: "alice" }],
  ["anyone of the tenant", { to: "tenant" }, 0, { principal: "somebody else" }],
  ["another one of the tenant", { to: "tenant" }, 1, { principal: "somebody else 2" }],
  ["the first of the people", { to: { people: ["bob", "carol"] } }, 0, { principal: "somebody else", names: ["bob"] }],
  ["the next of the people", { to: { people: ["bob", "carol"] } }, 1, { principal: "somebody else 2", names: ["carol"] }],
  ["someone of the first group", { to: { groups: ["ops", "it"] } }, 0, { principal: "somebody else", groups: ["ops"] }],
  ["someone with the first role", { to: { roles: ["lead", "boss"] } }, 2, { principal: "somebody else 3", roles: ["lead"] }],
])("a question is answered by %s", (_, audience, before, who) => {
  const task = { call: { principal: "alice" } } as Task;
  const acceptances = Array.from({ length: before }, () => ({ by: "someone", atMs: 0 }));
  const accepted = { needed: 3, acceptances } as unknown as NonNullable<Ask["accepted"]>;
  const request = { type: "form", message: "?", schema: {} } as const;
  const ask = { request, ...(audience && { audience }), ...(before > 0 && { accepted }) };
  expect(answererOf(task, ask, 0)).toStrictEqual({ ...TESTER, ...who });
  const needed = {
    ...ask,
    request: { ...request, about: { assurance: { by: "login", withinMs: 60_000, acr: ["gold", "red"], amr: ["mfa"] } } },
  } as const;
  expect(answererOf(task, needed, 7)).toStrictEqual({
    ...TESTER,
    ...who,
    assurance: "login",
    login: { atMs: 7, acr: "gold", amr: ["mfa"] },
  });
});
