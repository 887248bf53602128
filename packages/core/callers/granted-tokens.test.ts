import { expect, test } from "vitest";
import { readTokens } from "./granted-tokens.ts";

test("a provider's tokens are read as they were deposited", () => {
  const tokens = { provider: "calendar", accessToken: "a", scopes: ["read"] };
  expect(readTokens("key", JSON.stringify(tokens))).toStrictEqual(tokens);
});

test.each(["hunter2", "null", "{}", '{"provider":"calendar"}', '{"accessToken":"a"}', '{"provider":1,"accessToken":"a"}'])(
  "%s is not a grant, and is not quoted",
  (text) => {
    expect(() => readTokens("key", text)).toThrow(
      expect.objectContaining({ code: "DEPOSIT_UNREADABLE", message: 'the deposit of the page "key" is not a grant' }),
    );
  },
);
