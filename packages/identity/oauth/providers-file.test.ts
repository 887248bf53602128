import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { OauthFileError, PROVIDERS_MAX, readOauthFile, SCOPES_MAX } from "./providers-file.ts";
import { oauthProblems } from "./settings.ts";

const folder = mkdtempSync(join(tmpdir(), "parley-oauth-"));
const CALENDAR = { name: "calendar", issuer: "https://id.example.com", client: "parley", scopes: ["read"] };

function file(content: unknown): string {
  const path = join(folder, `${crypto.randomUUID()}.json`);
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
  return path;
}

function problemsOf(content: unknown, environment = {}): readonly string[] {
  try {
    readOauthFile(file(content), environment);
    return [];
  } catch (error) {
    if (error instanceof OauthFileError) return error.problems;
    throw error;
  }
}

const withOne = (more: object) => ({ providers: [{ ...CALENDAR, ...more }] });

describe("the file of OAuth providers", () => {
  test("is read, with secrets from the environment and from files", () => {
    const endpoints = { authorization: "https://hub.example/authorize", token: "https://hub.example/token" };
    const secret = file("from a file\n");
    const read = readOauthFile(
      file({
        providers: [
          {
            ...CALENDAR,
            secret: { environment: "CALENDAR_SECRET" },
            parameters: { access_type: "offline" },
            resource: "https://api.example",
          },
          { name: "hub", title: "Hub", endpoints, client: "c", secret: { file: secret }, secretIn: "body", scopes: ["repo", "user"] },
          { name: "local", issuer: "http://localhost:4000", client: "c", scopes: ["a"] },
        ],
      }),
      { CALENDAR_SECRET: "from the environment" },
    );
    expect(read).toMatchObject([
      { name: "calendar", title: "calendar", secret: "from the environment", secretIn: "header", endpoints: undefined },
      { name: "hub", title: "Hub", secret: "from a file", secretIn: "body", issuer: undefined, endpoints },
      { name: "local", secret: undefined },
    ]);
  });

  test.each([
    ["no JSON", "{", ["is not JSON"]],
    ["no providers", {}, ["providers: Invalid input: expected array, received undefined"]],
    ["a misspelt key", withOne({ scope: ["a"] }), ['providers.0: Unrecognized key: "scope"']],
    [
      "a name that cannot be part of a URL",
      withOne({ name: "My Calendar" }),
      ["providers.0.name: must be 1 to 32 of a-z 0-9 -, not starting with a hyphen"],
    ],
    [
      "neither issuer nor endpoints",
      { providers: [{ name: "a", client: "c", scopes: ["s"] }] },
      ["providers.0.issuer (a): set `issuer`, whose metadata names the endpoints, or `endpoints`, or both"],
    ],
    [
      "plain http",
      withOne({ issuer: "http://id.example.com" }),
      ["providers.0.issuer (calendar): must be https (for development, `allowHttp: true` allows http)"],
    ],
    [
      "a password in an address",
      withOne({ issuer: "https://a:b@id.example.com" }),
      ["providers.0.issuer (calendar): must not contain a password"],
    ],
    [
      "a secret in the file",
      withOne({ secret: "hunter2" }),
      [expect.stringContaining('providers.0.secret: must be { "environment": "NAME" } or { "file": "/path" }')],
    ],
    [
      "a variable that is not set",
      withOne({ secret: { environment: "NOBODY_SET_IT" } }),
      ["providers.0.secret.environment (calendar): NOBODY_SET_IT is not set"],
    ],
    [
      "a file that does not exist",
      withOne({ secret: { file: "/nowhere" } }),
      ["providers.0.secret.file (calendar): /nowhere cannot be read (ENOENT)"],
    ],
    [
      "a parameter of the flow",
      withOne({ parameters: { state: "mine" } }),
      ["providers.0.parameters.state (calendar): is set by Parley itself"],
    ],
    ["two of one name", { providers: [CALENDAR, CALENDAR] }, ["providers.1.name (calendar): another provider has the same name"]],
    ["no scopes", withOne({ scopes: [] }), [expect.stringContaining("providers.0.scopes: Too small")]],
    [
      "a scope with a space",
      withOne({ scopes: ["a b"] }),
      [expect.stringContaining("providers.0.scopes.0: must be 1 to 256 printable characters")],
    ],
  ])("with %s is refused with a description of the problem", (_what, content, problems) => {
    expect(problemsOf(content)).toEqual(problems);
    expect(problemsOf(content).join()).not.toContain("hunter2");
  });

  test("lists at most fifty providers of a hundred scopes each", () => {
    const providers = (count: number) => ({ providers: Array.from({ length: count }, (_, n) => ({ ...CALENDAR, name: `p${n}` })) });
    expect(problemsOf(providers(PROVIDERS_MAX))).toEqual([]);
    expect(problemsOf(providers(PROVIDERS_MAX + 1))).toEqual([expect.stringContaining("providers: Too big")]);
    const scopes = (count: number) => withOne({ scopes: Array.from({ length: count }, (_, n) => `s${n}`) });
    expect(problemsOf(scopes(SCOPES_MAX))).toEqual([]);
    expect(problemsOf(scopes(SCOPES_MAX + 1))).toEqual([expect.stringContaining("providers.0.scopes: Too big")]);
  });

  test("is refused at startup without PARLEY_SECRET or PARLEY_PUBLIC_URL", () => {
    const PARLEY_SECRET = ["s".repeat(32)];
    expect(oauthProblems({ PARLEY_SECRET: [] })).toEqual([]);
    expect(oauthProblems({ PARLEY_OAUTH: "a.json", PARLEY_SECRET, PARLEY_PUBLIC_URL: "https://parley.example.com" })).toEqual([]);
    expect(oauthProblems({ PARLEY_OAUTH: "a.json", PARLEY_SECRET, PARLEY_PUBLIC_URL: "http://localhost:3000" })).toEqual([]);
    expect(oauthProblems({ PARLEY_OAUTH: "a.json", PARLEY_SECRET: [] })).toEqual([
      expect.stringContaining("PARLEY_OAUTH: set PARLEY_SECRET"),
      expect.stringContaining("PARLEY_OAUTH: set PARLEY_PUBLIC_URL"),
    ]);
    expect(oauthProblems({ PARLEY_OAUTH: "a.json", PARLEY_SECRET, PARLEY_PUBLIC_URL: "http://parley.example.com" })).toEqual([
      expect.stringContaining("must be https"),
    ]);
  });
});
