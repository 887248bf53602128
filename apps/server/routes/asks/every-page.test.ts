/** What keeps the pages of two people, of two tenants and of two questions apart, and the forms of other servers out. */
import type { FastifyRequest } from "fastify";
import { describe, expect, test } from "vitest";
import { callerNamed } from "../../deployment.fixture.ts";
import type { PageAddresses } from "../../front-end/page-addresses.ts";
import { signatures } from "../../seals/signatures.ts";
import { stateKeys } from "../../seals/state-keys.ts";
import { formText, isFromScript, isOwnForm, scriptedFor } from "./every-page.ts";

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
