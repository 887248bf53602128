import { describe, expect, test } from "vitest";
import { problems } from "./ask-policy.fixture.ts";
import { ADDRESSEE_CHARS_MAX, ADDRESSEES_MAX, type AskSettings, FORBIDDEN_SCHEMES } from "./ask-policy.ts";
import type { ParleyError } from "../errors.ts";
import { QUORUM_MAX } from "../callers/quorum.ts";
import { accept, askKeys, subject } from "../replay.fixture.ts";
import type { AskRequest, Audience, JsonObject } from "../task.ts";

const page = (url: string, settings?: Partial<AskSettings>) => problems({ type: "url", message: "Go there", url }, settings);
const form = (properties: JsonObject, settings?: Partial<AskSettings>) =>
  problems({ type: "form", message: "?", schema: { type: "object", properties } }, settings);

describe("a page", () => {
  test.each([
    "https://example.com/pay?id=1",
    "HTTPS://EXAMPLE.COM",
    "http://localhost:3000/callback",
    "http://app.localhost/",
    "http://127.0.0.1:8080/",
    "http://127.1/",
    "http://127.255.255.254/",
    "http://[::1]:9000/",
  ])("may be requested: %s", (url) => {
    expect(page(url)).toEqual([]);
  });

  test.each([
    "http://example.com/",
    "http://localhost.example.com/",
    "http://127.0.0.1.example.com/",
    "http://128.0.0.1/",
    "http://[::2]/",
    "ftp://example.com/",
    "ftp://localhost/",
    "vscode://file/x",
    "mailto:a@example.com",
    "javascript:alert(1)",
    "JavaScript:alert(1)",
    "java\nscript:alert(1)",
    " javascript:alert(1)",
    "data:text/html,x",
    "vbscript:x",
    "file:///etc/passwd",
    "blob:https://example.com/1",
    "about:blank",
    "ms-msdt:/id x",
    "view-source:https://example.com",
  ])("is refused, with its field, its scheme and what is allowed: %s", (url) => {
    const [violation, ...more] = page(url);
    expect(violation).toEqual({
      path: "/url",
      message: expect.stringMatching(/^has the scheme [a-z-]+, and may have https, or http to this machine \(PARLEY_ASK_URL_SCHEMES\)$/),
    });
    expect(more).toEqual([]);
  });

  test("is refused without an address, and with credentials, which are not repeated", () => {
    expect(page("/relative")).toEqual([{ path: "/url", message: "is not an absolute url" }]);
    expect(page("")).toEqual([{ path: "/url", message: "is not an absolute url" }]);
    for (const url of ["https://user@example.com", "https://:hunter2@example.com"]) {
      const [violation] = page(url);
      expect(violation?.message).toMatch(/^contains credentials/);
      expect(violation?.message).not.toContain("hunter2");
    }
  });

  test("may have the schemes that the deployment names, and only those", () => {
    const askUrlSchemes = ["http", "vscode"];
    for (const url of ["http://example.com/", "vscode://file/x"]) expect(page(url, { askUrlSchemes })).toEqual([]);
    expect(page("https://example.com/", { askUrlSchemes })).toHaveLength(1);
    expect(page("http://localhost/", { askUrlSchemes: [] })).toEqual([]);
    expect(page(`${"a".repeat(41)}:x`, { askUrlSchemes })).toEqual([
      {
        path: "/url",
        message: `has the scheme ${"a".repeat(40)}, and may have http, vscode, or http to this machine (PARLEY_ASK_URL_SCHEMES)`,
      },
    ]);
  });

  test("never has a scheme that runs code, reads files or starts programs, even if the deployment allows it", () => {
    const forbidden = "javascript, vbscript, data, blob, file, filesystem, about, view-source, ms-msdt, search-ms".split(", ");
    expect(FORBIDDEN_SCHEMES).toStrictEqual(forbidden);
    for (const scheme of forbidden) expect(page(`${scheme}:x`, { askUrlSchemes: [scheme] }), scheme).toHaveLength(1);
  });
});

describe("a form", () => {
  test("is refused with each field that seems to ask for a secret, by its name, title or description", () => {
    const found = form({
      name: { type: "string" },
      "a/b~password": { type: "string" },
      field1: { type: "string", title: "Your API key" },
      field2: { type: "number", description: "The PIN code of your card" },
      field3: { type: "integer", title: "CVV" },
    });
    expect(found).toEqual([
      { path: "/a~1b~0password", message: expect.stringContaining('its name has "password"') },
      { path: "/field1", message: expect.stringContaining('its title has "api key"') },
      { path: "/field2", message: expect.stringContaining('its description has "pin code"') },
      { path: "/field3", message: expect.stringContaining('its title has "cvv"') },
    ]);
    for (const { message } of found) expect(message).toContain("use ctx.secret or url mode");
  });

  test("is refused with what to do about it, however long the words are", () => {
    const word = `${"x".repeat(33)}password`;
    const told = `"${"x".repeat(33)}passwor"), which clients must not see: use ctx.secret or url mode, or reword it if it is harmless (PARLEY_SECRET_NAMES)`;
    const text = { type: "string" };
    expect(form({ [word]: text })).toEqual([
      {
        path: `/${word}`,
        message: `seems to ask for a secret (its name has ${told}`,
      },
    ]);
    expect(form({ a: { ...text, title: word }, b: { ...text, description: word } })).toEqual([
      { path: "/a", message: `seems to ask for a secret (its title has ${told}` },
      {
        path: "/b",
        message: `seems to ask for a secret (its description has ${told}`,
      },
    ]);
  });

  test("with one field is also judged by the message above it, and a form with several is not", () => {
    const asked = (message: string, properties: JsonObject) => problems({ type: "form", message, schema: { type: "object", properties } });
    const value = { type: "string" };
    expect(asked("Please enter your password:", { value })).toEqual([
      { path: "/value", message: expect.stringContaining('its message has "password"') },
    ]);
    expect(asked("Which colour do you like? Your password stays as it is.", { value })).toHaveLength(1);
    expect(asked("Your name? Not your password.", { value })).toEqual([]);
    expect(asked("Please enter your password:", { value: { type: "boolean" } })).toEqual([]);
    expect(asked("Change of password", { name: value, city: value })).toEqual([]);
  });

  test("may ask for yes or no, or a choice, about a secret", () => {
    const fields: JsonObject = {
      rotateToken: { type: "boolean" },
      token: { type: "string", enum: ["ETH", "BTC"] },
      pin: { type: "string", oneOf: [{ const: "a", title: "A" }] },
      passwords: { type: "array", items: { type: "string", enum: ["a"] } },
    };
    expect(form(fields)).toEqual([]);
  });

  test("is judged by the deployment's own phrases as well", () => {
    const fields: JsonObject = { token: { type: "string" }, vaultWord: { type: "string" } };
    expect(form(fields).map(({ path }) => path)).toEqual(["/token"]);
    expect(form(fields, { secretNames: ["-token", "vault word"] }).map(({ path }) => path)).toEqual(["/vaultWord"]);
  });

  test("of an unknown shape is left to the client", () => {
    expect(form({ broken: "a text", none: null })).toEqual([]);
    expect(form({ a: { type: "string", title: 5, description: null }, b: { type: "string", title: ["password"] } })).toEqual([]);
    expect(problems({ type: "form", message: "?", schema: { type: "object", properties: null } })).toEqual([]);
    expect(problems({ type: "form", message: "?", schema: { type: "object" } })).toEqual([]);
    expect(problems({ type: "roots" })).toEqual([]);
    expect(problems({ type: "sampling", params: { url: "javascript:x" } })).toEqual([]);
  });
});

describe("a waiting question", () => {
  const MORE: AskRequest = { type: "form", message: "More?", schema: { type: "object" } };
  const url: AskRequest = { type: "url", message: "Go", url: "http://example.com/" };
  const secret: AskRequest = {
    type: "form",
    message: "?",
    schema: { type: "object", properties: { token: { type: "string" }, n: { type: "number" } } },
  };

  test.each([url, secret])("continues under a stricter deployment, open or answered: $type", async (request) => {
    const task = subject(
      async ({ ask }) => {
        const { action } = await ask("question", request);
        await ask("more", MORE);
        return { action };
      },
      { askUrlSchemes: ["http"], secretNames: ["-token"] },
    );
    expect(askKeys(await task.run())).toEqual(["question"]);
    task.reset({});
    expect(askKeys(await task.run())).toEqual(["question"]);
    task.answer("question", request.type === "url" ? { action: "accept" } : accept(1));
    expect(askKeys(await task.run())).toEqual(["more"]);
  });

  test("is refused before anyone sees it, so that the handler can catch it", async () => {
    const task = subject(async ({ ask }) => {
      const refused = await ask("question", secret).catch((error: unknown) => error);
      await ask("more", MORE);
      return { refused: (refused as ParleyError).code };
    });
    expect(askKeys(await task.run())).toEqual(["more"]);
    expect(askKeys(await task.run())).toEqual(["more"]);
    task.answer("more", { action: "decline" });
    expect(await task.run()).toMatchObject({ type: "returned", result: { refused: "INVALID_ASK" } });
  });
});

describe("an audience", () => {
  // Tools may be written without types.
  const audience = (to: unknown, not?: unknown) =>
    problems({ type: "roots" }, {}, { to, ...(not === undefined ? {} : { not }) } as unknown as Audience);

  test.each([
    ["the tenant", "tenant", undefined],
    ["the tenant without the caller", "tenant", "caller"],
    ["people", { people: ["ada"] }, undefined],
    ["groups beside an empty list", { people: [], groups: ["finance"] }, "caller"],
    ["as many names as there may be", { roles: Array.from({ length: ADDRESSEES_MAX }, (_, n) => `r${n}`) }, undefined],
    ["a name as long as it may be", { people: ["x".repeat(ADDRESSEE_CHARS_MAX)] }, undefined],
  ])("may be %s", (_, to, not) => {
    expect(audience(to, not)).toEqual([]);
  });

  const shape = 'must be "caller", "tenant", or an object with people, groups, roles';
  const nobody = "must name at least one of people, groups, roles: otherwise no one could answer";
  const name = "must be a string of 1 to 256 characters";

  test.each([
    ["a word", "everybody", undefined, "/to", shape],
    ["nothing", null, undefined, "/to", shape],
    ["nobody", {}, undefined, "/to", nobody],
    ["empty lists", { people: [], groups: [] }, undefined, "/to", nobody],
    ["a misspelt kind", { group: ["finance"], people: ["ada"] }, undefined, "/to/group", "is not one of people, groups, roles"],
    [
      "a kind with a long name",
      { ["g".repeat(41)]: [], people: ["ada"] },
      undefined,
      `/to/${"g".repeat(40)}`,
      "is not one of people, groups, roles",
    ],
    ["a text in place of a list", { groups: "finance" }, undefined, "/to/groups", "must be a list of names"],
    ["an empty name", { groups: ["finance", ""] }, undefined, "/to/groups/1", name],
    ["a number", { people: [7] }, undefined, "/to/people/0", name],
    ["a list in place of a name", { people: [["ada"]] }, undefined, "/to/people/0", name],
    [
      "one name too many",
      { roles: Array.from({ length: ADDRESSEES_MAX + 1 }, (_, n) => `r${n}`) },
      undefined,
      "/to/roles",
      "must have at most 100 names",
    ],
    ["a name that is too long", { people: ["x".repeat(ADDRESSEE_CHARS_MAX + 1)] }, undefined, "/to/people/0", name],
    ["somebody else's exclusion", "tenant", "ada", "/not", 'must be "caller"'],
  ])("may not be %s", (_, to, not, path, message) => {
    expect(audience(to, not)).toEqual([{ path, message }]);
  });

  test("lists at most three of its invalid parts", () => {
    const paths = (kinds: readonly string[]) => audience({ people: ["ada"], ...Object.fromEntries(kinds.map((kind) => [kind, []])) });
    expect(paths(["a", "b", "c"]).map(({ path }) => path)).toEqual(["/to/a", "/to/b", "/to/c"]);
    expect(paths(["a", "b", "c", "d"]).map(({ path }) => path)).toEqual(["/to/a", "/to/b", "/to/c"]);
  });
});

describe("a quorum", () => {
  const quorum = (count: number, to: unknown = "tenant", request: AskRequest = { type: "form", message: "?", schema: {} }) =>
    problems(request, {}, { to, quorum: count } as unknown as Audience);
  const people = (...names: readonly string[]) => ({ people: names });

  test.each<[string, number, unknown]>([
    ["one", 1, "tenant"],
    ["all that there may be", QUORUM_MAX, "tenant"],
    ["everybody named", 2, people("ada", "bob")],
    ["more than are named beside a group", 5, { ...people("ada"), groups: ["finance"] }],
    ["more than are named beside a role", 5, { ...people("ada"), roles: ["approver"] }],
    ["some of a role", 5, { roles: ["approver"] }],
  ])("may be %s", (_, count, to) => {
    expect(quorum(count, to)).toEqual([]);
  });

  const whole = `must be a whole number from 1 to ${QUORUM_MAX}`;
  test.each<[string, number, unknown, string]>([
    ["nobody", 0, "tenant", whole],
    ["half a person", 1.5, "tenant", whole],
    ["one too many", QUORUM_MAX + 1, "tenant", whole],
    ["no number", "2" as unknown as number, "tenant", whole],
    ["more than are named", 3, people("ada", "bob"), "must be at most 2: `to` names only so many people"],
    ["one person twice", 2, people("ada", "ada"), "must be at most 1: `to` names only so many people"],
    [
      "more than are named beside empty lists",
      2,
      { ...people("ada"), groups: [], roles: [] },
      "must be at most 1: `to` names only so many people",
    ],
  ])("may not be %s", (_, count, to, message) => {
    expect(quorum(count, to)).toEqual([{ path: "/quorum", message }]);
  });

  test.each<AskRequest>([{ type: "url", message: "?", url: "https://example.com/" }, { type: "roots" }])("is not for $type", (request) => {
    expect(quorum(2, "tenant", request)).toEqual([
      { path: "/quorum", message: "is for forms: a page, or a request for a model or folders, is one person's" },
    ]);
  });

  test("changes nothing about an invalid audience", () => {
    expect(quorum(2, null).map(({ path }) => path)).toEqual(["/to"]);
  });
});
