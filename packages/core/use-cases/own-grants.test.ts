/** A person sees and withdraws the access that they granted for later tasks: here first, then at the provider. */
import { systemClock } from "@parley/node";
import { describe, expect, test } from "vitest";
import type { AuditFact } from "../callers/audit.ts";
import { callerNamed } from "../callers/caller.fixture.ts";
import { DEFAULT_TENANT } from "../callers/caller.ts";
import { ParleyError } from "../errors.ts";
import type { GrantedTokens } from "../callers/granted-tokens.ts";
import { createMemoryGrants } from "../memory/index.ts";
import type { OauthProviders } from "../ports.ts";
import { endAtProvider, ownGrants, revokeOwnGrant } from "./own-grants.ts";
import type { Services } from "./services.ts";

const ann = callerNamed("ann", { tenant: "acme" });
const nobody = callerNamed("anonymous", { authenticatedBy: "nobody" });
const about = { upstream: "crm", provider: "google", scopes: ["read"] };
const tokens: GrantedTokens = { provider: "google", accessToken: "secret", refreshToken: "again", scopes: ["read"] };

/** A deployment that keeps one grant of the caller. */
async function deployed(revoke: OauthProviders["revoke"] | undefined, { caller = ann, text = JSON.stringify(tokens) } = {}) {
  const facts: AuditFact[] = [];
  const logged: unknown[][] = [];
  const asked: unknown[] = [];
  const write = (level: string) => (fields: object, message: string) => void logged.push([level, fields, message]);
  const grants = createMemoryGrants({ clock: systemClock, ids: { uuid: () => "consent" } });
  const { principal, tenant } = caller;
  await grants.keep({ principal, tenant, id: "g" }, { text, about, ttlMs: 60_000, taskId: "0-task" });
  const services: Pick<Services, "grants" | "oauth" | "audit" | "log"> = {
    grants,
    audit: { note: async (fact: AuditFact) => void facts.push(fact) } as NonNullable<Services["audit"]>,
    log: { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") },
    ...(revoke && {
      oauth: {
        refresh: () => Promise.reject(new Error("not needed")),
        revoke: (given) => (asked.push(given), revoke(given)),
      },
    }),
  };
  const ending = (consent = "consent", by = caller) => revokeOwnGrant(services, { caller: by, door: "rest", id: "g", consent });
  return { services, facts, logged, asked, ending };
}

describe("a person's own grants", () => {
  test("are listed for that person, without their tokens", async () => {
    const { services } = await deployed(undefined);
    const listed = await ownGrants(services, ann);
    expect(listed).toMatchObject([{ id: "g", consent: "consent", about }]);
    expect(JSON.stringify(listed)).not.toContain("secret");
    expect(await ownGrants(services, callerNamed("bob", { tenant: "acme" }))).toStrictEqual([]);
  });

  test("are none for a caller without an identity, and where no grants are kept", async () => {
    const { services } = await deployed(undefined, { caller: nobody });
    expect(await ownGrants(services, nobody)).toStrictEqual([]);
    expect(await ownGrants({}, ann)).toStrictEqual([]);
  });
});

describe("a grant that its owner withdraws", () => {
  test.each(["ended", "unsupported"] as const)("is gone, and the provider is asked to end it: %s", async (told) => {
    const { services, facts, logged, asked, ending } = await deployed(async () => told);
    expect(await ending()).toStrictEqual({ about, atProvider: told });
    expect(await ownGrants(services, ann)).toStrictEqual([]);
    expect(asked).toStrictEqual([tokens]);
    expect(logged).toStrictEqual([["info", { grant: "g", upstream: "crm", provider: "google", atProvider: told }, "grant revoked"]]);
    expect(facts).toStrictEqual([
      { action: "grant", principal: "ann", tenant: "acme", door: "rest", grant: about, verdict: `provider_${told}` },
    ]);
    expect(await ending()).toBeUndefined();
  });

  test("is gone even if the provider cannot be asked, which is logged without its tokens", async () => {
    const { services, facts, logged, ending } = await deployed(() =>
      Promise.reject(new ParleyError("PROVIDER_UNAVAILABLE", "google does not answer")),
    );
    expect(await ending()).toStrictEqual({ about, atProvider: "failed" });
    expect(await ownGrants(services, ann)).toStrictEqual([]);
    expect(logged).toMatchObject([["warn", { grant: "g", atProvider: "failed", error: "ParleyError" }, "grant revoked"]]);
    expect(JSON.stringify(logged)).not.toContain("secret");
    expect(facts).toMatchObject([{ verdict: "provider_failed" }]);
  });

  test("is gone even if nothing is known of its provider, or its tokens are damaged", async () => {
    const unknown = await deployed(undefined);
    expect(await unknown.ending()).toMatchObject({ atProvider: "failed" });
    expect(unknown.logged).toMatchObject([["info", { atProvider: "failed" }, "grant revoked"]]);
    const damaged = await deployed(async () => "ended", { text: "{}" });
    expect(await damaged.ending()).toMatchObject({ atProvider: "failed" });
    expect(damaged.asked).toStrictEqual([]);
    expect(damaged.logged).toMatchObject([["warn", { detail: 'the deposit of the page "grant" is not a grant' }, "grant revoked"]]);
  });

  test("of the default tenant is audited without a tenant", async () => {
    const { facts, ending } = await deployed(async () => "ended", { caller: callerNamed("ann", { tenant: DEFAULT_TENANT }) });
    await ending();
    expect(facts).toStrictEqual([{ action: "grant", principal: "ann", door: "rest", grant: about, verdict: "provider_ended" }]);
  });

  test("that this process cannot open is not ended at the provider", async () => {
    const { services, asked, logged } = await deployed(async () => "ended");
    const { audit: _, ...unaudited } = services;
    const ref = { principal: "ann", tenant: "acme", id: "g" };
    expect(await endAtProvider(unaudited, { ref, revoked: { about, text: undefined } })).toBe("failed");
    expect(asked).toStrictEqual([]);
    expect(logged).toMatchObject([["info", { atProvider: "failed" }, "grant revoked"]]);
  });

  test("is found by nobody where no grants are kept", async () => {
    const { services } = await deployed(async () => "ended");
    const { grants: _, ...without } = services;
    expect(await revokeOwnGrant(without, { caller: ann, door: "rest", id: "g", consent: "consent" })).toBeUndefined();
  });

  test("outside of every door is audited without one", async () => {
    const { services, facts } = await deployed(async () => "ended");
    const revoked = { about, text: JSON.stringify(tokens) };
    expect(await endAtProvider(services, { ref: { principal: "ann", id: "g" }, revoked })).toBe("ended");
    expect(facts).toStrictEqual([{ action: "grant", principal: "ann", grant: about, verdict: "provider_ended" }]);
  });

  test("stays if a later consent has replaced it, and if somebody else asks", async () => {
    const { services, asked, ending } = await deployed(async () => "ended");
    expect(await ending("an earlier one")).toBeUndefined();
    expect(await ending("consent", callerNamed("bob", { tenant: "acme" }))).toBeUndefined();
    expect(await ending("consent", nobody)).toBeUndefined();
    expect(asked).toStrictEqual([]);
    expect(await ownGrants(services, ann)).toHaveLength(1);
  });
});
