import { describe, expect, test } from "vitest";
import { problems } from "./ask-policy.fixture.ts";
import type { AskSettings } from "./ask-policy.ts";
import { FILES_MAX } from "../ports/files.ts";
import type { Page } from "../task.ts";

// Tools may be written without types.
const asked = (page: unknown, settings?: Partial<AskSettings>) =>
  problems({ type: "url", message: "Go there", url: "", page: page as Page }, settings);

test("a page for a secret may be requested before it has an address", () => {
  expect(asked({ kind: "secret" })).toStrictEqual([]);
});

describe("a page for files", () => {
  const wanted = { accept: [], bytesMax: 1, countMax: 1 };
  const files = (given: Record<string, unknown>) => asked({ kind: "files", ...wanted, ...given });

  test.each([
    [".pdf"],
    [`.${"x".repeat(16)}`],
    ["image/png"],
    ["image/*"],
    ["application/vnd.ms-excel.sheet.binary.macro-enabled.12"],
    ["application/atom+xml"],
    [`${"a".repeat(100)}/${"b".repeat(100)}`],
  ])("may accept %s", (type) => {
    expect(files({ accept: [type] })).toStrictEqual([]);
    expect(files({ accept: [".csv", type] })).toStrictEqual([]);
  });

  const accept = { path: "/accept", message: "must be a list of at most 50 types such as image/png, image/* or .pdf" };
  test.each<[unknown]>([
    ["pdf"],
    ["x.pdf"],
    ["."],
    [".tar.gz"],
    [`.${"x".repeat(17)}`],
    ["image/"],
    ["/png"],
    ["*/*"],
    ["*"],
    ["image/**"],
    ["image/png, image/gif"],
    ["image/png;q=1"],
    ["a image/png"],
    ["im age/png"],
    ["image/png/x"],
    [`${"a".repeat(101)}/png`],
    [`image/${"a".repeat(101)}`],
    [""],
    [5],
    [[".pdf"]],
    [null],
  ])("may not accept %j, alone or with others", (type) => {
    expect(files({ accept: [type] })).toStrictEqual([accept]);
    expect(files({ accept: [".csv", type] })).toStrictEqual([accept]);
  });

  test("accepts a bounded list of types", () => {
    expect(files({ accept: Array(50).fill(".pdf") })).toStrictEqual([]);
    for (const given of [Array(51).fill(".pdf"), ".pdf", undefined, { length: 0 }])
      expect(files({ accept: given })).toStrictEqual([accept]);
  });

  test.each<[string, string, string, number]>([
    ["maxBytes", "bytesMax", "must be a whole number from 1", Number.MAX_SAFE_INTEGER],
    ["count", "countMax", "must be a whole number from 1 to 20", FILES_MAX],
  ])("takes %s that is an integer within its limits", (path, member, message, most) => {
    for (const given of [1, 2, most]) expect(files({ [member]: given })).toStrictEqual([]);
    for (const given of [0, -1, 1.5, most + 1, Number.NaN, Number.POSITIVE_INFINITY, "1", null, undefined])
      expect(files({ [member]: given }), String(given)).toStrictEqual([{ path: `/${path}`, message }]);
  });

  test("has all of its problems reported", () => {
    expect(files({ accept: "", bytesMax: 0, countMax: 0 }).map(({ path }) => path)).toStrictEqual(["/accept", "/maxBytes", "/count"]);
  });
});

describe("permission at a provider", () => {
  const oauthScopes = { github: ["repo", "read:user"], google: ["calendar"] };
  const oauth = (provider: unknown, scopes: unknown, settings: Partial<AskSettings> = { oauthScopes }) =>
    asked({ kind: "oauth", provider, scopes }, settings);
  const known = (names: string) => [{ path: "/provider", message: `must be one of those that are set up here: ${names} (PARLEY_OAUTH)` }];

  test("may be what the operator configured for it, or a part of that", () => {
    expect(oauth("github", ["repo"])).toStrictEqual([]);
    expect(oauth("github", ["read:user", "repo"])).toStrictEqual([]);
    expect(oauth("anywhere", ["all"], { oauthScopes: "any" })).toStrictEqual([]);
  });

  test.each<[unknown]>([["gitlab"], ["constructor"], ["__proto__"], [""], [5], [undefined], [null]])("is nothing at %j", (provider) => {
    expect(oauth(provider, ["repo"])).toStrictEqual(known("github, google"));
  });

  test("cannot be requested without a provider", () => {
    expect(oauth("github", ["repo"], {})).toStrictEqual(known("none"));
    expect(oauth("github", ["repo"], { oauthScopes: {} })).toStrictEqual(known("none"));
  });

  test.each<[unknown]>([[[]], ["repo"], [undefined], [null], [{ length: 1 }]])("is named by a list of scopes, not by %j", (scopes) => {
    expect(oauth("github", scopes)).toStrictEqual([{ path: "/scopes", message: "must be a list of at least one scope" }]);
  });

  test("is refused with the first scope that is not allowed", () => {
    expect(oauth("github", ["repo", "calendar", "admin"])).toStrictEqual([
      { path: "/scopes/1", message: "is not among the scopes that github is set up for here: repo, read:user (PARLEY_OAUTH)" },
    ]);
    expect(oauth("google", ["repo"])).toStrictEqual([
      { path: "/scopes/0", message: "is not among the scopes that google is set up for here: calendar (PARLEY_OAUTH)" },
    ]);
  });
});

describe("a visit to a page elsewhere", () => {
  const visit = (url: string, returnTo: string, settings?: Partial<AskSettings>) => asked({ kind: "visit", url, returnTo }, settings);
  const parameter = { path: "/returnTo", message: "must be the name of a parameter: 1 to 64 of A-Z a-z 0-9 _ - . [ ]" };

  test.each(["r", "redirect_uri", "return-to", "a.b[0]", "x".repeat(64)])("returns by the parameter %s", (returnTo) => {
    expect(visit("https://example.com/", returnTo)).toStrictEqual([]);
  });

  test.each(["", "a b", "a&b", "a=b", "?a", "a#", "\u00e4", "a\n", "x".repeat(65)])("does not return by %j", (returnTo) => {
    expect(visit("https://example.com/", returnTo)).toStrictEqual([parameter]);
  });

  test("may go only where any question may send a person", () => {
    expect(visit("http://example.com/", "r", { askUrlSchemes: ["http"] })).toStrictEqual([]);
    expect(visit("/relative", "")).toStrictEqual([{ path: "/url", message: "is not an absolute url" }, parameter]);
    expect(visit("javascript:x", "r").map(({ path }) => path)).toStrictEqual(["/url"]);
  });
});
