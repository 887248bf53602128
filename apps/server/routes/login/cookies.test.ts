import type { Caller } from "@parley/core";
import { depositSeal } from "@parley/node";
import type { FastifyReply, FastifyRequest } from "fastify";
import { describe, expect, test } from "vitest";
import { loginCookies } from "./cookies.ts";

const NOW_MS = 1_000_000;
const SECRET = "a secret that every front end of this test knows";

function browser(isSecure = true) {
  const jar = new Map<string, string>();
  const headers: string[] = [];
  const reply = {
    header(_name: string, value: string) {
      headers.push(value);
      const [, name = "", cookie = ""] = /^([^=]+)=([^;]*)/.exec(value) ?? [];
      jar.set(name, cookie);
      return reply;
    },
  } as unknown as FastifyReply;
  const request = () => ({ headers: { cookie: [...jar].map(([name, value]) => `${name}=${value}`).join("; ") } }) as FastifyRequest;
  return { cookies: loginCookies(depositSeal([SECRET]), isSecure), reply, request, jar, headers };
}

function person(groups: number): Caller {
  const names = Array.from({ length: groups }, (_, n) => `group-${(n * 7_919).toString(36)}`);
  return {
    principal: "p".repeat(22),
    tenant: "default",
    scopes: ["asks:answer"],
    authenticatedBy: "https://id.example",
    names: ["Zoë"],
    groups: names,
    roles: [],
  };
}

describe("the cookie", () => {
  test("of a person who is logged in lasts for its lifetime and no longer", () => {
    const { cookies, reply, request, headers } = browser();
    cookies.logIn(reply, { caller: person(2), untilMs: NOW_MS + 60_000 }, NOW_MS);
    expect(headers).toEqual([expect.stringMatching(/^__Host-parley-session=[^;]+; Max-Age=60; Path=\/; HttpOnly; Secure; SameSite=Lax$/)]);
    expect(cookies.login(request(), NOW_MS + 59_999)?.caller).toEqual(person(2));
    expect(cookies.login(request(), NOW_MS + 60_000)).toBeUndefined();
  });

  test("of an open login is valid only for its state, lasts ten minutes, and is not a session", () => {
    const { cookies, reply, request, jar } = browser();
    const begun = { state: "abcdefghijklmnop", verifier: "v", back: "/asks/0-a/key", untilMs: NOW_MS + 600_000 };
    cookies.begin(request(), reply, begun, NOW_MS);
    expect(cookies.begun(request(), begun.state, NOW_MS + 599_999)).toEqual(begun);
    expect(cookies.begun(request(), begun.state, NOW_MS + 600_000)).toBeUndefined();
    expect(cookies.begun(request(), "abcdefghijklXXXX", NOW_MS)).toBeUndefined();
    expect(cookies.begun(request(), "other", NOW_MS)).toBeUndefined();
    const [[, value = ""] = []] = jar;
    jar.set("__Host-parley-session", value);
    expect(cookies.login(request(), NOW_MS)).toBeUndefined();
    cookies.end(reply, begun.state);
    expect(cookies.begun(request(), begun.state, NOW_MS)).toBeUndefined();
  });

  test("holds a person with about a hundred groups, and refuses one that does not fit", () => {
    const { cookies, reply, request } = browser();
    cookies.logIn(reply, { caller: person(200), untilMs: NOW_MS + 1 }, NOW_MS);
    expect(cookies.login(request(), NOW_MS)?.caller.groups).toHaveLength(200);
    expect(() => cookies.logIn(reply, { caller: person(2_000), untilMs: NOW_MS + 1 }, NOW_MS)).toThrow(
      "exceed a cookie of 4000 characters",
    );
  });

  test("of another deployment, or for plain http, is not accepted", () => {
    const { cookies, reply, request, headers } = browser(false);
    cookies.logIn(reply, { caller: person(1), untilMs: NOW_MS + 60_000 }, NOW_MS);
    expect(headers[0]).toMatch(/^parley-session=/);
    expect(headers[0]).not.toContain("Secure");
    expect(loginCookies(depositSeal(["another secret that nobody else knows"]), false).login(request(), NOW_MS)).toBeUndefined();
    expect(loginCookies(depositSeal([SECRET]), true).login(request(), NOW_MS)).toBeUndefined();
  });
});
