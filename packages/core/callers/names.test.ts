import { describe, expect, test } from "vitest";
import { addressOf, callerNames, isNamed, namesOfPerson, nameToRead, shownName, whoIs } from "./names.ts";

describe("a person", () => {
  const ada = ["sub:7", "email:ada@acme.io", "username:ada"];

  test.each(["7", "sub:7", "ada@acme.io", "email:ada@acme.io", "username:ada"])("with these names is asked by %s", (name) => {
    expect(isNamed([name], ada)).toBe(true);
  });

  test.each(["ada", "sub:ada", "email:ada", "email:7", "sub:ada@acme.io", "username:7", "username:ada@acme.io", "api-key:ada", ""])(
    "with these names is not asked by %j",
    (name) => {
      expect(isNamed([name], ada)).toBe(false);
    },
  );

  test("whose subject, address or username looks like a name of another type is not taken for its owner", () => {
    const thieves = [
      ["sub:email:bob@acme.io"],
      ["email:sub:8"],
      ["username:sub:8", "username:8"],
      ["sub:username:bob"],
      ["sub:api-key:nightly"],
    ];
    for (const own of thieves) expect(isNamed(["email:bob@acme.io", "sub:8", "8", "username:bob", "api-key:nightly"], own)).toBe(false);
  });

  test("is found under exactly the names by which they are asked", () => {
    const wanted = [
      "7",
      "sub:7",
      "ada@acme.io",
      "email:ada@acme.io",
      "username:ada",
      "ada",
      "email:7",
      "email:bob@acme.io",
      "sub:8",
      "8",
      "username:bob",
    ];
    for (const own of [ada, ["sub:email:bob@acme.io"], ["email:sub:8"], ["username:8"], ["sub:username:bob"], []])
      for (const name of wanted) expect([name, namesOfPerson(own).includes(name)]).toEqual([name, isNamed([name], own)]);
  });

  test("is one of several", () => {
    expect(isNamed(["bob", "7"], ada)).toBe(true);
    expect(isNamed([], ada)).toBe(false);
    expect(isNamed(["7"], [])).toBe(false);
  });
});

test.each([
  ["email:ada@acme.io", "ada@acme.io"],
  ["sub:7", "7"],
  ["username:ada", "ada"],
  ["ada", "ada"],
  ["urn:ada", "urn:ada"],
  // Otherwise a machine would look like a person.
  ["api-key:nightly", "api-key:nightly"],
])("%s is shown as %s", (name, shown) => {
  expect(shownName(name)).toBe(shown);
});

test.each([
  [["sub:7", "email:ada@acme.io", "username:ada"], "ada@acme.io"],
  [["sub:7", "username:ada"], "ada"],
  [["sub:7"], "7"],
  [[], undefined],
])("a person with the names %j is addressed as %s", (names, address) => {
  expect(addressOf(names)).toBe(address);
});

test.each([
  [{ displayName: "Ada Lovelace", names: ["sub:7", "email:ada@acme.io"] }, "Ada Lovelace"],
  [{ names: ["sub:7", "username:ada", "email:ada@acme.io"] }, "ada@acme.io"],
  [{ names: ["sub:7", "username:ada"] }, "ada"],
  // A subject could look like somebody's address.
  [{ names: ["sub:eve@acme.io"] }, "sub:eve@acme.io"],
  [{ names: ["api-key:nightly"] }, "api-key:nightly"],
  [{ names: [] }, undefined],
  // Nothing keeps control characters and marks of direction out of these.
  [{ names: ["sub:7", "email:ada\u202e\n@acme.io"] }, "ada @acme.io"],
  [{ names: ["sub:7\u2066\t8"] }, "sub:7 8"],
  [{ displayName: "Ada", names: ["sub:7"], authenticatedBy: "nobody" }, undefined],
])("others read of %j the name %s", (caller, name) => {
  expect(nameToRead({ authenticatedBy: "https://login.example", ...caller })).toBe(name);
});

test.each([
  [
    { displayName: "Ada Lovelace", names: ["sub:7", "email:ada@acme.io", "username:ada"] },
    { name: "Ada Lovelace", email: "ada@acme.io", subject: "7" },
  ],
  [{ names: ["sub:7", "username:ada"] }, { name: "ada", subject: "7" }],
  [{ names: ["api-key:nightly"] }, { name: "api-key:nightly" }],
  // For tools, which compare it, the address is as the provider spells it.
  [{ names: ["sub:7", "email:ada\u200b@acme.io"] }, { name: "ada @acme.io", email: "ada\u200b@acme.io", subject: "7" }],
  [{ names: [] }, undefined],
  [{ displayName: "Ada", names: ["sub:7"], authenticatedBy: "nobody" }, undefined],
])("of the caller %j, a call keeps %j", (caller, kept) => {
  expect(callerNames({ authenticatedBy: "https://login.example", ...caller })).toStrictEqual(kept);
});

test.each([
  [{ name: "Ada Lovelace", email: "ada@acme.io", subject: "7" }, "Ada Lovelace (ada@acme.io)"],
  [{ name: "Ada Lovelace", subject: "7" }, "Ada Lovelace (sub:7)"],
  [{ name: "ada@acme.io", email: "ada@acme.io", subject: "7" }, "ada@acme.io"],
  [{ name: "ada @acme.io", email: "ada\u202e@acme.io" }, "ada @acme.io"],
  [{ name: "Ada", email: "ada\n@acme.io\u2066" }, "Ada (ada @acme.io)"],
  [{ name: "sub:7", subject: "7" }, "sub:7"],
  [{ name: "api-key:nightly" }, "api-key:nightly"],
  [{ email: "ada@acme.io" }, "ada@acme.io"],
  [{ subject: "7" }, "sub:7"],
  [{}, undefined],
])("%j is shown as %j, so that two people of one name can be told apart", (names, shown) => {
  expect(whoIs(names)).toBe(shown);
});
