import type { Effects } from "@parley/core";
import { expect, test } from "vitest";
import { createAccess } from "./access.ts";

test("a token that was refused is renewed once, and the one after it is kept until it is refused itself", async () => {
  const refused: (string | undefined)[] = [];
  const effects = {
    ask: async () => ({ action: "accept", content: { deposit: "authorize" } }),
    accessToken: async (_key: string, given?: string) => `token ${refused.push(given)}`,
  } as unknown as Effects;
  const access = createAccess(effects, { oauth: { provider: "crm", scopes: ["read"] }, what: "tool", timeoutMs: 1_000 });
  await access.ask();
  await access.token();
  await access.refused();
  await access.token();
  await access.token();
  expect(refused).toEqual([undefined, "token 1", undefined]);
});
