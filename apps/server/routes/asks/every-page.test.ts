/** What keeps the pages of two people, of two tenants and of two questions apart, and the forms of other servers out. */
import { ParleyError } from "@parley/core";
import { fastify, type FastifyRequest } from "fastify";
import { describe, expect, onTestFinished, test } from "vitest";
import { callerNamed } from "../../deployment.fixture.ts";
import type { FrontEnd } from "../../front-end/front-end.ts";
import type { PageAddresses } from "../../front-end/page-addresses.ts";
import type { Visitors } from "../../front-end/visitors.ts";
import { signatures } from "../../seals/signatures.ts";
import { stateKeys } from "../../seals/state-keys.ts";
import { formText, isFromScript, isOwnForm, scriptedFor, showErrors } from "./every-page.ts";

const SIGNATURES = signatures(stateKeys(["a secret that every front end of this test knows"]));
const PEOPLE = ["default", "umbrella"].flatMap((tenant) => ["ann", "bob"].map((name) => callerNamed(name, { tenant })));

describe("the token of a form", () => {
  test("is for one person of one tenant, one task, one question, and that question as it was shown", () => {
    const texts = PEOPLE.flatMap((caller) =>
      ["0-a", "0-b"].flatMap((taskId) =>
        ["pay", "pay#2"].flatMap((key) => ["d1", "d2"].map((digest) => formText({ taskId, key, caller }, digest))),
      ),
    );
    expect(texts).toHaveLength(32);
    expect(new Set(texts).size).toBe(32);
  });
});

describe("the name of a person's drafts in their browser", () => {
  const drafts = (who: (typeof PEOPLE)[number]) => scriptedFor({ clock: { now: () => 7 } as never }, SIGNATURES, who);

  test("is one person's, of one tenant, and always the same", () => {
    const names = PEOPLE.map((who) => drafts(who).person);
    expect(new Set(names).size).toBe(4);
    expect(PEOPLE.map((who) => drafts(who).person)).toEqual(names);
    expect(drafts(PEOPLE[0]!).nowMs).toBe(7);
  });

  test("does not say who it is, and is no token of a form", () => {
    for (const who of PEOPLE) {
      expect(drafts(who).person).not.toContain(who.principal);
      expect(SIGNATURES.verify(formText({ taskId: "", key: "", caller: who }, ""), drafts(who).person)).toBe(false);
    }
  });
});

describe("a form", () => {
  const addresses = { origins: () => ["https://parley.example", "https://other.example"] } as unknown as PageAddresses;
  const isOwn = (headers: Record<string, string>) =>
    isOwnForm({ headers: { host: "front:3000", ...headers } } as unknown as FastifyRequest, addresses);

  test.each<[what: string, headers: Record<string, string>, expected: boolean]>([
    ["of a client that is no browser", {}, true],
    ["of this host", { origin: "http://front:3000" }, true],
    ["of an address at which it is published", { origin: "https://parley.example" }, true],
    ["of the other address at which it is published", { origin: "https://other.example", "sec-fetch-site": "same-origin" }, true],
    ["of another server", { origin: "https://evil.example" }, false],
    ["of another port", { origin: "http://front:3001" }, false],
    ["of a page that hides where it is from", { origin: "null" }, false],
    ["of another server, whatever else it says", { origin: "https://parley.example", "sec-fetch-site": "cross-site" }, false],
    ["of a neighbour", { "sec-fetch-site": "same-site" }, false],
    ["that a person sends again from the address bar", { "sec-fetch-site": "none" }, true],
  ])("%s: %j, %s", (_what, headers, expected) => expect(isOwn(headers)).toBe(expected));
});

test.each([
  [{ "x-requested-with": "parley" }, true],
  [{ accept: "text/event-stream" }, true],
  [{ accept: "text/html" }, false],
  [{ "x-requested-with": "XMLHttpRequest" }, false],
])("a request with %j is of the page's script: %s", (headers, expected) => expect(isFromScript({ headers } as never)).toBe(expected));

describe("an error on a page", () => {
  /** A server whose one page throws `error`, and which knows a login, or fails to reach it. */
  async function server(error: Error, logIn: "works" | "fails" | "is away" = "works") {
    const app = fastify();
    onTestFinished(() => app.close());
    const logged: string[] = [];
    const note = (_fields: object, message: string) => void logged.push(message);
    const frontEnd = { services: { ids: { uuid: () => "an-id" } }, log: { debug: note, info: note, warn: note, error: note } };
    const visitors: Pick<Visitors, "logIn"> = {
      async logIn(_request, reply) {
        if (logIn === "fails") throw new ParleyError("OVERLOADED", "too many logins", { data: { retryAfterMs: 1_001 } });
        return await reply.redirect("/login");
      },
    };
    showErrors(app, frontEnd as unknown as FrontEnd, logIn === "is away" ? {} : visitors);
    app.all("/page", () => Promise.reject(error));
    const ask = async (method: "GET" | "POST", headers: Record<string, string> = {}) => {
      const { statusCode, headers: received, body } = await app.inject({ method, url: "/page", headers });
      return { status: statusCode, to: received["location"], retryAfter: received["retry-after"], body };
    };
    return { ask, logged };
  }
  const loggedOut = new ParleyError("CREDENTIALS_MISSING", "no login");

  test("sends a person who is not logged in to the login, but neither a form nor a script, each time", async () => {
    const { ask } = await server(loggedOut);
    for (let times = 0; times < 3; times += 1) {
      expect(await ask("GET")).toMatchObject({ status: 302, to: "/login" });
      expect(await ask("POST")).toMatchObject({ status: 401, to: undefined });
      expect(await ask("GET", { "x-requested-with": "parley" })).toMatchObject({ status: 401, to: undefined });
    }
    expect(await (await server(loggedOut, "is away")).ask("GET")).toMatchObject({ status: 401, to: undefined });
  });

  test("of the login itself is a page that says when to come back", async () => {
    const { ask, logged } = await server(loggedOut, "fails");
    expect(await ask("GET")).toMatchObject({ status: 503, retryAfter: "2" });
    expect(logged).toEqual(["page refused"]);
  });

  test("that nobody expected shows an id to look up, and nothing else of it", async () => {
    const { ask, logged } = await server(new Error("secret-in-a-stack"));
    const { status, body } = await ask("GET");
    expect([status, body.includes("an-id"), body.includes("secret-in-a-stack")]).toEqual([500, true, false]);
    expect(logged).toEqual(["request failed"]);
  });
});
