import type { ApiKey } from "@parley/core";
import { ParleyError } from "@parley/core";
import { describe, expect, test } from "vitest";
import { API_KEY_TTL_MS, newApiKey } from "./api-key.ts";
import { identityOf } from "./identity.fixture.ts";

/** API keys as an operator's Redis stores them. Counts lookups. */
function keyRing() {
  const records = new Map<string, ApiKey>();
  const asked: string[] = [];
  return {
    asked,
    make(changes: Partial<ApiKey> = {}) {
      const { id, key, digest } = newApiKey();
      records.set(id, { id, digest, name: "nightly", tenant: "default", scopes: ["tools", "tasks"], createdAtMs: 0, ...changes });
      return { id, key };
    },
    revoke: (id: string) => records.delete(id),
    find: async (id: string) => {
      asked.push(id);
      return records.get(id);
    },
  };
}

const accepting = (keys: ReturnType<typeof keyRing>, environment = {}) =>
  identityOf({ PARLEY_AUTH_API_KEYS: "true", ...environment }, { apiKeys: keys });

async function refusalOf(work: () => unknown): Promise<{ readonly code: string; readonly message: string }> {
  try {
    await work();
  } catch (error) {
    if (error instanceof ParleyError) return { code: error.code, message: error.message };
    throw error;
  }
  throw new Error("it was accepted");
}

describe("an API key", () => {
  test("is a caller of its tenant, with its scopes, under a name that no person can have", async () => {
    const keys = keyRing();
    const { id, key } = keys.make({ name: "ada@example.com", tenant: "acme" });
    expect(await accepting(keys).bearer(key)).toMatchObject({
      principal: expect.stringMatching(/^u_/),
      tenant: "acme",
      scopes: ["tools", "tasks"],
      authenticatedBy: `api-key:${id}`,
      names: ["api-key:ada@example.com"],
      groups: [],
      roles: [],
    });
  });

  test("is the same caller as the key that replaces it, but not as a key of another name or tenant", async () => {
    const keys = keyRing();
    const { bearer } = accepting(keys);
    const principal = async (changes: Partial<ApiKey>) => (await bearer(keys.make(changes).key)).principal;
    const one = await principal({});
    expect(await principal({ scopes: ["tools"] })).toBe(one);
    expect(await principal({ name: "hourly" })).not.toBe(one);
    expect(await principal({ tenant: "acme" })).not.toBe(one);
  });

  test("is looked up once in five seconds, and works no longer than that after it is revoked", async () => {
    const keys = keyRing();
    const { id, key } = keys.make();
    const { bearer, skip } = accepting(keys);
    await Promise.all([bearer(key), bearer(key), bearer(key)]);
    skip(API_KEY_TTL_MS - 1);
    keys.revoke(id);
    await bearer(key);
    expect(keys.asked).toEqual([id]);
    skip(1);
    expect(await refusalOf(() => bearer(key))).toMatchObject({ code: "TOKEN_INACTIVE" });
  });

  test("expires at its time, even if it is cached", async () => {
    const keys = keyRing();
    const { nowS, bearer, skip } = accepting(keys);
    const { id, key } = keys.make({ expiresAtMs: nowS * 1_000 + 3_000 });
    expect(await bearer(key)).toMatchObject({ expiresAtMs: nowS * 1_000 + 3_000 });
    skip(2_999);
    await bearer(key);
    skip(1);
    expect(await refusalOf(() => bearer(key))).toEqual({ code: "TOKEN_EXPIRED", message: `the API key ${id} expired 0 ms ago` });
  });

  test("without an expiry has its streams ended after an hour, so that a revoked key loses them", async () => {
    const keys = keyRing();
    const { nowS, bearer } = accepting(keys);
    expect(await bearer(keys.make().key)).toMatchObject({ expiresAtMs: nowS * 1_000 + 3_600_000 });
  });

  test.each([
    { what: "with another secret", of: (key: string) => `${key.slice(0, -1)}${key.endsWith("A") ? "B" : "A"}`, code: "TOKEN_INACTIVE" },
    {
      what: "with another id",
      of: (key: string) => key.replace(/^parley_./, (start) => `parley_${start.endsWith("A") ? "B" : "A"}`),
      code: "TOKEN_INACTIVE",
    },
    { what: "that is truncated", of: (key: string) => key.slice(0, -1), code: "TOKEN_MALFORMED" },
    { what: "with an additional character", of: (key: string) => `${key}A`, code: "TOKEN_MALFORMED" },
    { what: "that is only the prefix", of: () => "parley_", code: "TOKEN_MALFORMED" },
  ])("$what is refused, and not repeated", async ({ of, code }) => {
    const keys = keyRing();
    const { key } = keys.make();
    const { bearer, logged } = accepting(keys);
    const refused = await refusalOf(() => bearer(of(key)));
    expect(refused.code).toBe(code);
    expect(JSON.stringify([refused, logged])).not.toContain(key.slice(20, 40));
  });

  test("is refused without a lookup if keys are not accepted", async () => {
    const keys = keyRing();
    const { key } = keys.make();
    const { bearer } = identityOf({ PARLEY_AUTH_ISSUERS: "https://login.example.com" }, { apiKeys: keys });
    expect(await refusalOf(() => bearer(key))).toEqual({
      code: "TOKEN_MALFORMED",
      message: "API keys are not accepted here (PARLEY_AUTH_API_KEYS)",
    });
    expect(keys.asked).toEqual([]);
  });
});
