/** People of two tenants and two issuers, of whom any two differ in one thing only, and memberships that claims name in several ways. */
import { personOf } from "@parley/core";
import { describe, expect, test } from "vitest";
import { callerOf, type Claims, principalOf, type Vouched } from "./claims.ts";
import { environmentOf } from "./identity.fixture.ts";
import { identitySettings } from "./settings.ts";

const ISSUERS = ["https://one.example", "https://two.example"] as const;
const TWO = {
  PARLEY_AUTH_ISSUERS: ISSUERS.join(),
  PARLEY_AUTH_TENANT_CLAIM: "t",
  PARLEY_AUTH_ISSUER_TENANTS: ISSUERS.map((issuer) => `${issuer} *`).join(),
};

function callersUnder(environment: Readonly<Record<string, string>>) {
  const settings = identitySettings(environmentOf(environment))!;
  return (claims: Claims, issuer: string = ISSUERS[0], expiresAtMs = 1) =>
    callerOf({ issuer, claims, expiresAtMs } satisfies Vouched, settings);
}

interface Someone {
  readonly issuer: string;
  readonly claims: Claims;
}

/** All combinations; some subjects and tenants end where others begin. */
function everybody(): readonly Someone[] {
  return ISSUERS.flatMap((issuer) =>
    ["a", "a.b"].flatMap((t) =>
      ["x", ".bx", "b.x", "email"].flatMap((sub) => ["cli", "web"].map((client_id) => ({ issuer, claims: { t, sub, client_id } }))),
    ),
  );
}

describe("the name under which somebody owns tasks", () => {
  test("is that of one person at one issuer in one tenant, through any client", () => {
    const of = callersUnder(TWO);
    const owned = Map.groupBy(everybody(), ({ issuer, claims }) => of(claims, issuer).principal);
    expect(owned.size).toBe(16);
    for (const [principal, [one, other, ...more]] of owned) {
      expect(principal).toMatch(/^u_[\w-]{22}$/);
      expect([one?.claims["client_id"], other?.claims["client_id"], more]).toEqual(["cli", "web", []]);
    }
  });

  test("is also that of one client, if tasks belong to a person through one", () => {
    const of = callersUnder({ ...TWO, PARLEY_AUTH_PRINCIPAL: "user+client" });
    expect(new Set(everybody().map(({ issuer, claims }) => of(claims, issuer).principal)).size).toBe(32);
    expect(() => of({ t: "a", sub: "x" })).toThrow(expect.objectContaining({ code: "TOKEN_CLAIM_INVALID" }));
    // However the provider names the client.
    const names = ["client_id", "azp", "cid", "appid"].map((name) => of({ t: "a", sub: "x", [name]: "cli" }));
    expect(new Set(names.map(({ principal, client }) => `${principal} ${client}`)).size).toBe(1);
    // And it is the same person through each.
    const people = ["cli", "web"].map((client_id) => of({ t: "a", sub: "x", client_id }));
    expect(new Set(people.map(({ principal }) => principal)).size).toBe(2);
    expect(new Set(people.map(personOf)).size).toBe(1);
  });

  test("has no parts that run into each other", () => {
    const parts = [["a", "b"], ["ab"], ["a,b"], ['a","b'], ["a", "", "b"], ["", "a", "b"], ["a", "b", ""], ["b", "a"]];
    expect(new Set(parts.map(principalOf)).size).toBe(parts.length);
    expect(principalOf(["a", "b"])).toBe(principalOf(["a", "b"]));
  });
});

describe("a person who is counted", () => {
  test("is one at both issuers, and never one in both tenants", () => {
    const of = callersUnder(TWO);
    const people = Map.groupBy(everybody(), ({ issuer, claims }) => personOf(of(claims, issuer)));
    expect(people.size).toBe(8);
    for (const same of people.values()) {
      expect(new Set(same.map(({ claims }) => `${String(claims["t"])} ${String(claims["sub"])}`)).size).toBe(1);
      expect(new Set(same.map(({ issuer }) => issuer)).size).toBe(2);
    }
  });

  test("is by address nobody whose subject is an address, and nobody of another tenant", () => {
    const of = callersUnder({ ...TWO, PARLEY_AUTH_PERSON: "email" });
    const person = (claims: Claims, issuer?: string) => personOf(of(claims, issuer));
    const bob = { sub: "1", email: "Bob@x.example", email_verified: true };
    const people = [
      person({ ...bob, t: "a" }),
      person({ ...bob, t: "b" }),
      person({ t: "a", sub: "bob@x.example" }),
      person({ t: "a", sub: "2", email: "bob@x.example" }),
      person({ t: "a", sub: "3", email: "bob@x.example", email_verified: "true" }),
    ];
    expect(new Set(people).size).toBe(5);
    expect(person({ ...bob, t: "a", sub: "9", email: "bob@X.example" }, ISSUERS[1])).toBe(people[0]);
  });
});

describe("one token after another", () => {
  test("leaves nothing of the one before", () => {
    const environment = { PARLEY_AUTH_GROUPS_CLAIM: "groups", PARLEY_AUTH_ROLES_CLAIM: "realm.roles", PARLEY_AUTH_USERNAMES: "unique" };
    const of = callersUnder({ PARLEY_AUTH_ISSUERS: ISSUERS[0], ...environment });
    const full = {
      sub: "ann",
      name: "Ann",
      email: "ann@x.example",
      email_verified: true,
      preferred_username: "ann",
      groups: ["finance", "finance"],
      realm: { roles: "admin" },
      scope: "tasks",
      client_id: "cli",
    };
    const first = of(full, ISSUERS[0], 7);
    expect(first).toMatchObject({
      tenant: "default",
      names: ["sub:ann", "email:ann@x.example", "username:ann"],
      displayName: "Ann",
      groups: ["finance"],
      roles: ["admin"],
      scopes: ["tasks"],
      client: "cli",
      expiresAtMs: 7,
    });
    const { principal, ...bare } = of({ sub: "bob" });
    expect(principal).not.toBe(first.principal);
    expect(bare).toEqual({
      tenant: "default",
      names: ["sub:bob"],
      groups: [],
      roles: [],
      scopes: [],
      authenticatedBy: ISSUERS[0],
      expiresAtMs: 1,
    });
    expect(of(full, ISSUERS[0], 7)).toEqual(first);
    // Callers are shared by all that happens for them.
    for (const list of [first, first.names, first.groups, first.roles, first.scopes]) expect(Object.isFrozen(list)).toBe(true);
  });
});

describe("a claim that the operator names", () => {
  const groupsOf = (path: string, claims: Claims) =>
    callersUnder({ PARLEY_AUTH_ISSUERS: ISSUERS[0], PARLEY_AUTH_GROUPS_CLAIM: path })({ sub: "ann", ...claims }).groups;

  test("is the one of that whole name, else the one that its dots lead to", () => {
    const nested = { resource: { crm: { roles: ["nested"] } } };
    expect(groupsOf("resource.crm.roles", nested)).toEqual(["nested"]);
    expect(groupsOf("resource.crm.roles", { ...nested, "resource.crm.roles": ["whole"] })).toEqual(["whole"]);
    expect(groupsOf("https://x.example/groups", { "https://x.example/groups": "one" })).toEqual(["one"]);
    expect(groupsOf("resource.other.roles", nested)).toEqual([]);
    expect(groupsOf("resource.crm.roles.length", { resource: { crm: "roles" } })).toEqual([]);
  });

  test.each(["constructor", "__proto__", "toString", "groups.constructor.name", "groups.length"])(
    "is never one that every object has: %s",
    (path) => {
      expect(groupsOf(path, { groups: {} })).toEqual([]);
    },
  );

  test("names at most 256, each once, each of at most 256 whole characters", () => {
    const many = (count: number) => Array.from({ length: count }, (_, index) => `g${index}`);
    expect(groupsOf("groups", { groups: [...many(255), "x".repeat(256)] })).toHaveLength(256);
    for (const groups of [many(257), ["x".repeat(257)], ["ok", 7], { 0: "g" }, 7, null, ["\ud800"]]) {
      expect(() => groupsOf("groups", { groups })).toThrow(
        expect.objectContaining({ code: "TOKEN_CLAIM_INVALID", message: expect.stringContaining("groups") }),
      );
    }
  });
});
