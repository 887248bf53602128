import { describe, expect, test } from "vitest";
import { CLIENT_SCOPES, lackedScopes, SCOPES } from "./scopes.ts";

describe("a scope", () => {
  test.each<[readonly string[], readonly string[], readonly string[]]>([
    [["tools:call"], ["tools:call"], []],
    [["tools"], ["tools:call", "tools:call:charge"], []],
    [["tools:call"], ["tools:call:charge"], []],
    [["tools:call"], ["tools"], ["tools"]],
    [["tools:ca"], ["tools:call"], ["tools:call"]],
    [["tool"], ["tools:call"], ["tools:call"]],
    [["call"], ["tools:call"], ["tools:call"]],
    [[""], ["tools:call"], ["tools:call"]],
    [["*"], ["tools:call"], ["tools:call"]],
    [[], ["tools:call", "tasks:read"], ["tools:call", "tasks:read"]],
    [["tools:call"], [], []],
    [
      ["asks:answer", "tasks"],
      ["tools:call", "tasks:read", "asks:answer", "admin:read"],
      ["tools:call", "admin:read"],
    ],
  ])("%j covers of %j all but %j", (held, needed, lacked) => {
    expect(lackedScopes(held, needed)).toStrictEqual(lacked);
  });

  test("of a client covers a complete call, and shows no other caller's tasks", () => {
    expect(CLIENT_SCOPES).toStrictEqual(["tools:call", "tasks:read", "asks:answer"]);
    expect(lackedScopes(CLIENT_SCOPES, Object.values(SCOPES))).toStrictEqual(["admin:read"]);
  });
});
