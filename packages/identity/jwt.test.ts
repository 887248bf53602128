/** JWTs against a real issuer on loopback. */
import { generateKeyPairSync, createPublicKey, type JsonWebKey } from "node:crypto";
import { ParleyError, personOf } from "@parley/core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { forged, type Issuer, type Signing, startIssuer } from "../../test/support/issuer.ts";
import { AUDIENCE, identityOf } from "./identity.fixture.ts";

let issuer: Issuer;
let other: Issuer;
beforeAll(async () => {
  [issuer, other] = await Promise.all([startIssuer(), startIssuer()]);
});
afterAll(async () => {
  await Promise.all([issuer.close(), other.close()]);
});

const nowS = () => Math.floor(Date.now() / 1_000);
const trusting = (environment = {}) => identityOf({ PARLEY_AUTH_ISSUERS: issuer.url, ...environment });

async function refusalOf(work: () => unknown): Promise<ParleyError> {
  try {
    await work();
  } catch (error) {
    if (error instanceof ParleyError) return error;
    throw error;
  }
  throw new Error("it was accepted");
}

describe("an access token", () => {
  test("identifies the caller, the tenant and the scopes", async () => {
    const { bearer } = trusting({
      PARLEY_AUTH_TENANT_CLAIM: "org.id",
      PARLEY_AUTH_GROUPS_CLAIM: "groups",
      PARLEY_AUTH_ROLES_CLAIM: "realm_access.roles",
    });
    const exp = nowS() + 300;
    const token = await issuer.token({
      sub: "7",
      exp,
      org: { id: "acme" },
      scope: "tools:call tasks:read",
      email: "alice@example.com",
      email_verified: true,
      preferred_username: "alice",
      name: "Alice Liddell",
      groups: ["finance", "finance"],
      realm_access: { roles: ["approver"] },
      azp: "claude",
    });
    expect(await bearer(token)).toEqual({
      principal: expect.stringMatching(/^u_[\w-]{22}$/),
      tenant: "acme",
      scopes: ["tools:call", "tasks:read"],
      authenticatedBy: issuer.url,
      names: ["sub:7", "email:alice@example.com"],
      displayName: "Alice Liddell",
      groups: ["finance"],
      roles: ["approver"],
      client: "claude",
      expiresAtMs: exp * 1_000 + 30_000,
    });
  });

  test("identifies the same person through any client, or a different principal per client if tasks belong to both", async () => {
    const principals = async (environment: object, claims: readonly object[]) => {
      const { bearer } = trusting(environment);
      return await Promise.all(claims.map(async (each) => (await bearer(await issuer.token({ ...each }))).principal));
    };
    const [one, two, bob] = await principals({}, [{ client_id: "a" }, { client_id: "b" }, { sub: "bob", client_id: "a" }]);
    expect(two).toBe(one);
    expect(bob).not.toBe(one);
    const perClient = await principals({ PARLEY_AUTH_PRINCIPAL: "user+client" }, [{ client_id: "a" }, { client_id: "b" }]);
    expect(new Set([...perClient, one]).size).toBe(3);
    const perTenant = await principals({ PARLEY_AUTH_TENANT_CLAIM: "t" }, [{ t: "a" }, { t: "b" }]);
    expect(new Set([...perTenant, one]).size).toBe(3);
  });

  test("of one issuer is never that of another, even with the same subject", async () => {
    const { bearer } = identityOf({ PARLEY_AUTH_ISSUERS: `${issuer.url}, ${other.url}` });
    const [one, two] = await Promise.all([bearer(await issuer.token()), bearer(await other.token())]);
    expect(one.principal).not.toBe(two.principal);
    expect([one.authenticatedBy, two.authenticatedBy]).toEqual([issuer.url, other.url]);
    // Signed by one trusted provider in the name of another.
    const stolen = await other.token({ iss: issuer.url }, { kid: "key-1" });
    expect(await refusalOf(() => bearer(stolen))).toMatchObject({ code: "TOKEN_SIGNATURE_INVALID" });
  });

  test("may have any type of an access token, or none", async () => {
    const { bearer } = trusting();
    for (const typ of ["at+jwt", "AT+JWT", "application/at+jwt", "JWT", undefined]) {
      expect((await bearer(await issuer.token({}, { header: { typ } }))).names).toEqual(["sub:alice"]);
    }
  });

  test("whose type says that it is one may have a claim that ID tokens have", async () => {
    const token = await issuer.token({ nonce: "n", typ: "Bearer" }, { header: { typ: "at+jwt" } });
    expect((await trusting().bearer(token)).names).toEqual(["sub:alice"]);
  });

  test("has its scopes in scope or scp, as a string or a list, with or without the provider's prefix", async () => {
    const scopesOf = async (claims: object) => {
      const { bearer } = trusting({ PARLEY_AUTH_SCOPE_PREFIX: "api://parley/" });
      return (await bearer(await issuer.token({ scope: undefined, ...claims }))).scopes;
    };
    expect(await scopesOf({ scope: "tools:call  openid" })).toEqual(["tools:call", "openid"]);
    expect(await scopesOf({ scp: "tools:call openid" })).toEqual(["tools:call", "openid"]);
    expect(await scopesOf({ scp: ["tools:call", "openid"] })).toEqual(["tools:call", "openid"]);
    expect(await scopesOf({ scope: "api://parley/tools:call" })).toEqual(["tools:call"]);
    expect(await scopesOf({})).toEqual([]);
  });

  test("gives a person the names that are certain, each with its type", async () => {
    const namesOf = async (claims: object, environment = {}) =>
      (await trusting(environment).bearer(await issuer.token({ ...claims }))).names;
    expect(await namesOf({ email: "bob@example.com" })).toEqual(["sub:alice"]);
    expect(await namesOf({ email: "bob@example.com", email_verified: "true" })).toEqual(["sub:alice"]);
    expect(await namesOf({ email: "a@example.com", email_verified: true })).toEqual(["sub:alice", "email:a@example.com"]);
    // A person may have chosen any of these.
    for (const username of ["bob", "bob@example.com", "sub:bob", "api-key:nightly"])
      expect(await namesOf({ preferred_username: username })).toEqual(["sub:alice"]);
    const unique = { PARLEY_AUTH_USERNAMES: "unique" };
    expect(await namesOf({ preferred_username: "al" }, unique)).toEqual(["sub:alice", "username:al"]);
    expect(await namesOf({ preferred_username: "sub:bob" }, unique)).toEqual(["sub:alice", "username:sub:bob"]);
    const plain = { PARLEY_AUTH_USERNAMES: "plain" };
    expect(await namesOf({ preferred_username: "al" }, plain)).toEqual(["sub:alice", "username:al", "al"]);
    for (const username of ["bob@example.com", "sub:bob", "api-key:nightly"])
      expect(await namesOf({ preferred_username: username }, plain)).toEqual(["sub:alice", `username:${username}`]);
  });

  test.each([
    ["  Ada\n\u202eLovelace ", "Ada Lovelace"],
    ["x".repeat(200), "x".repeat(100)],
    [`${"x".repeat(99)}😀`, "x".repeat(99)],
    // Readers would take these for verified.
    ["boss@example.com", undefined],
    ["sub:7", undefined],
    ["Eve (boss\uff20example.com)", undefined],
    ["Eve (boss\ufe6bexample.com)", undefined],
    ["Eve (sub\uff1a7)", undefined],
    ["\u200b ", undefined],
    ["x".repeat(300), undefined],
    [7, undefined],
  ])("calls a person %j, for others to read, %j, and refuses nobody for their name", async (name, displayName) => {
    expect((await trusting({}).bearer(await issuer.token({ name }))).displayName).toBe(displayName);
  });

  test("is one person at any issuer, by subject or by verified email, where people are counted", async () => {
    const both = { PARLEY_AUTH_ISSUERS: `${issuer.url}, ${other.url}` };
    const personAt = async (at: Issuer, claims: object, environment: object) =>
      personOf(await identityOf({ ...both, ...environment }).bearer(await at.token({ ...claims })));
    const alice = await personAt(issuer, {}, {});
    expect(await personAt(other, {}, {})).toBe(alice);
    expect(await personAt(other, { sub: "bob" }, {})).not.toBe(alice);
    // As tasks of the versions before know the callers of the first issuer, and of a single one.
    expect(alice).toBe((await trusting().bearer(await issuer.token())).principal);
    const byEmail = { PARLEY_AUTH_PERSON: "email" };
    const verified = { email: "Alice@Example.com", email_verified: true };
    const one = await personAt(issuer, verified, byEmail);
    expect(await personAt(other, { sub: "77", email: "alice@example.com", email_verified: true }, byEmail)).toBe(one);
    expect(await personAt(other, { sub: "77", email: "alice@example.com" }, byEmail)).not.toBe(one);
    expect(await personAt(other, { sub: "77", email: "bob@example.com", email_verified: true }, byEmail)).not.toBe(one);
    const tenants = { PARLEY_AUTH_TENANT_CLAIM: "t", PARLEY_AUTH_ISSUER_TENANTS: `${issuer.url} *, ${other.url} *` };
    expect(await personAt(issuer, { t: "a" }, tenants)).not.toBe(await personAt(other, { t: "b" }, tenants));
  });

  test("names a tenant that its issuer speaks for", async () => {
    const { bearer } = identityOf({
      PARLEY_AUTH_ISSUERS: `${issuer.url}, ${other.url}`,
      PARLEY_AUTH_TENANT_CLAIM: "t",
      PARLEY_AUTH_ISSUER_TENANTS: `${issuer.url} acme globex, ${other.url} initech`,
    });
    expect((await bearer(await issuer.token({ t: "acme" }))).tenant).toBe("acme");
    expect((await bearer(await issuer.token({ t: "globex" }))).tenant).toBe("globex");
    expect((await bearer(await other.token({ t: "initech" }))).tenant).toBe("initech");
    for (const [at, t] of [
      [other, "acme"],
      [issuer, "initech"],
      [issuer, "acme globex"],
      [issuer, "acme2"],
      [issuer, "acm"],
      [issuer, "Acme"],
    ] as const) {
      expect(await refusalOf(async () => bearer(await at.token({ t, groups: ["finance"] })))).toMatchObject({
        code: "TOKEN_CLAIM_INVALID",
      });
    }
    expect((await refusalOf(async () => bearer(await other.token({ t: "acme" })))).message).toContain(
      `the issuer ${other.url} does not speak for the tenant "acme" (PARLEY_AUTH_ISSUER_TENANTS)`,
    );
  });
});

interface Bad {
  readonly what: string;
  readonly token: () => string | Promise<string>;
  readonly code: string;
  readonly says: RegExp;
  readonly environment?: Readonly<Record<string, string>>;
}

const signed = (claims: Readonly<Record<string, unknown>>, signing?: Signing) => () => issuer.token(claims, signing);

/** Signs with the issuer's public key as a shared secret, as an attacker does who hopes that the server accepts any algorithm. */
function publicPem(): Uint8Array {
  const key = createPublicKey({ key: issuer.keys[0] as JsonWebKey, format: "jwk" });
  return Buffer.from(key.export({ type: "spki", format: "pem" }));
}

const ATTACKER = generateKeyPairSync("rsa", { modulusLength: 2_048 }).privateKey;
const claims = () => ({ iss: issuer.url, aud: AUDIENCE, sub: "alice", exp: nowS() + 600, scope: "tools" });

const BAD: readonly Bad[] = [
  { what: "garbage", token: () => "garbage", code: "TOKEN_MALFORMED", says: /is not a JWT.*PARLEY_AUTH_INTROSPECTION_URL/ },
  { what: "garbage in three parts", token: () => "a.b.c", code: "TOKEN_MALFORMED", says: /cannot be decoded/ },
  { what: "an encrypted token", token: () => "a.b.c.d.e", code: "TOKEN_MALFORMED", says: /is not a JWT/ },
  {
    what: "a body that is not an object",
    token: () => `${btoa('{"alg":"RS256"}')}.${btoa("[1]")}.x`,
    code: "TOKEN_MALFORMED",
    says: /cannot be decoded/,
  },
  { what: "alg none", token: () => forged({ alg: "none" }, claims()), code: "TOKEN_ALGORITHM_REFUSED", says: /algorithm is "none"/ },
  { what: "alg None", token: () => forged({ alg: "None" }, claims()), code: "TOKEN_ALGORITHM_REFUSED", says: /algorithm is "None"/ },
  { what: "no alg", token: () => forged({}, claims()), code: "TOKEN_ALGORITHM_REFUSED", says: /algorithm is missing/ },
  {
    what: "HS256 with the public key",
    token: () => issuer.token({}, { alg: "HS256", key: publicPem() }),
    code: "TOKEN_ALGORITHM_REFUSED",
    says: /algorithm is "HS256"; accepted: RS256/,
  },
  {
    what: "an algorithm that the operator left out",
    token: signed({}),
    code: "TOKEN_ALGORITHM_REFUSED",
    says: /accepted: ES256$/,
    environment: { PARLEY_AUTH_ALGORITHMS: "ES256" },
  },
  { what: "a logout token", token: signed({}, { header: { typ: "logout+jwt" } }), code: "TOKEN_MALFORMED", says: /typ is "logout\+jwt"/ },
  {
    what: "an ID token with a nonce",
    token: signed({ nonce: "n" }, { header: { typ: undefined } }),
    code: "TOKEN_MALFORMED",
    says: /ID token.*the claim nonce/,
  },
  {
    what: "an ID token with the hash of an access token",
    token: signed({ at_hash: "h" }, { header: { typ: "JWT" } }),
    code: "TOKEN_MALFORMED",
    says: /ID token.*the claim at_hash/,
  },
  {
    what: "an ID token with the hash of a code",
    token: signed({ c_hash: "h" }, { header: { typ: "JWT" } }),
    code: "TOKEN_MALFORMED",
    says: /ID token.*the claim c_hash/,
  },
  {
    what: "an ID token of Keycloak",
    token: signed({ typ: "ID" }, { header: { typ: "JWT" } }),
    code: "TOKEN_MALFORMED",
    says: /is an ID token.*typ is ID/,
  },
  { what: "another issuer", token: () => other.token(), code: "TOKEN_ISSUER_UNKNOWN", says: /issuer is "http:.*trusted: "http:/ },
  { what: "no issuer", token: signed({ iss: undefined }), code: "TOKEN_ISSUER_UNKNOWN", says: /issuer is missing/ },
  { what: "an issuer that is not a string", token: signed({ iss: [1] as never }), code: "TOKEN_ISSUER_UNKNOWN", says: /issuer is \[1\]/ },
  { what: "an unknown key", token: signed({}, { kid: "key-9" }), code: "TOKEN_KEY_UNKNOWN", says: /no key "key-9" for RS256/ },
  {
    what: "another's signature",
    token: () => issuer.token({}, { key: ATTACKER as never }),
    code: "TOKEN_SIGNATURE_INVALID",
    says: /signature/,
  },
  {
    what: "no signature",
    token: () => forged({ alg: "RS256", kid: "key-1" }, claims()),
    code: "TOKEN_SIGNATURE_INVALID",
    says: /signature/,
  },
  {
    what: "changed claims",
    async token() {
      const [header, , signature] = (await issuer.token()).split(".");
      return `${header}.${Buffer.from(JSON.stringify({ ...claims(), sub: "admin" })).toString("base64url")}.${signature}`;
    },
    code: "TOKEN_SIGNATURE_INVALID",
    says: /signature/,
  },
  {
    what: "an unknown critical header",
    token: () => forged({ alg: "RS256", kid: "key-1", crit: ["x"], x: 1 }, claims(), "eA"),
    code: "TOKEN_MALFORMED",
    says: /verified/,
  },
  {
    what: "content that is not encoded",
    token: () => forged({ alg: "RS256", kid: "key-1", crit: ["b64"], b64: false }, claims(), "eA"),
    code: "TOKEN_MALFORMED",
    says: /b64/,
  },
  {
    what: "a token expired by a minute",
    token: () => issuer.token({ exp: nowS() - 60 }),
    code: "TOKEN_EXPIRED",
    says: /expired (59|60|61|62) s ago/,
  },
  { what: "no exp", token: signed({ exp: undefined }), code: "TOKEN_CLAIM_INVALID", says: /no exp/ },
  {
    what: "an exp that is not a time",
    token: signed({ exp: "soon" as never }),
    code: "TOKEN_CLAIM_INVALID",
    says: /exp must be a time in seconds, not "soon"/,
  },
  {
    what: "an exp in milliseconds",
    token: () => issuer.token({ exp: Date.now() }),
    code: "TOKEN_CLAIM_INVALID",
    says: /exp must be a time in seconds/,
  },
  {
    what: "a token that is not valid yet",
    token: () => issuer.token({ nbf: nowS() + 300 }),
    code: "TOKEN_NOT_YET_VALID",
    says: /is valid 5 min from now \(nbf\)/,
  },
  {
    what: "a token from the future",
    token: () => issuer.token({ iat: nowS() + 300 }),
    code: "TOKEN_NOT_YET_VALID",
    says: /was issued 5 min from now \(iat\)/,
  },
  {
    what: "another audience",
    token: signed({ aud: "https://other.example" }),
    code: "TOKEN_AUDIENCE_REFUSED",
    says: /is for "https:\/\/other.example"; expected "http:\/\/localhost:3000\/mcp"/,
  },
  { what: "no audience", token: signed({ aud: undefined }), code: "TOKEN_AUDIENCE_REFUSED", says: /names no audience/ },
  {
    what: "an audience in addition to this one",
    token: signed({ aud: [AUDIENCE, "https://other.example"] }),
    code: "TOKEN_AUDIENCE_REFUSED",
    says: /and nothing else/,
  },
  { what: "an empty list of audiences", token: signed({ aud: [] }), code: "TOKEN_AUDIENCE_REFUSED", says: /names no audience/ },
  { what: "no subject", token: signed({ sub: undefined }), code: "TOKEN_CLAIM_INVALID", says: /no sub/ },
  { what: "an empty subject", token: signed({ sub: "" }), code: "TOKEN_CLAIM_INVALID", says: /no sub/ },
  {
    what: "a subject that is not a string",
    token: signed({ sub: 7 as never }),
    code: "TOKEN_CLAIM_INVALID",
    says: /sub must be a string, not 7/,
  },
  {
    what: "a subject that is too long",
    token: signed({ sub: "x".repeat(257) }),
    code: "TOKEN_CLAIM_INVALID",
    says: /sub is longer than 256/,
  },
  {
    what: "a subject with half of a surrogate pair",
    token: signed({ sub: "ann\ud83d" }),
    code: "TOKEN_CLAIM_INVALID",
    says: /sub contains half of a surrogate pair/,
  },
  {
    what: "a group with half of a surrogate pair",
    token: signed({ groups: ["finance", "\udca9"] }),
    code: "TOKEN_CLAIM_INVALID",
    says: /groups contains half of a surrogate pair/,
    environment: { PARLEY_AUTH_GROUPS_CLAIM: "groups" },
  },
  {
    what: "scopes that are not strings",
    token: signed({ scope: 7 }),
    code: "TOKEN_CLAIM_INVALID",
    says: /scope must be a list of strings/,
  },
  {
    what: "no tenant",
    token: signed({}),
    code: "TOKEN_CLAIM_INVALID",
    says: /no claim org.id, which should name the tenant/,
    environment: { PARLEY_AUTH_TENANT_CLAIM: "org.id" },
  },
  {
    what: "a tenant that could be a path",
    token: signed({ org: "../other" }),
    code: "TOKEN_CLAIM_INVALID",
    says: /org must name a tenant .*, not "\.\.\/other"/,
    environment: { PARLEY_AUTH_TENANT_CLAIM: "org" },
  },
  {
    what: "no client",
    token: signed({}),
    code: "TOKEN_CLAIM_INVALID",
    says: /names no client/,
    environment: { PARLEY_AUTH_PRINCIPAL: "user+client" },
  },
  {
    what: "too many groups",
    token: signed({ groups: Array.from({ length: 257 }, (_, index) => `g${index}`) }),
    code: "TOKEN_CLAIM_INVALID",
    says: /groups has 257 entries; at most 256/,
    environment: { PARLEY_AUTH_GROUPS_CLAIM: "groups" },
  },
];

describe("is refused", () => {
  test.each(BAD)("$what", async ({ token, code, says, environment }) => {
    const { bearer } = trusting(environment);
    const sent = await token();
    const refused = await refusalOf(() => bearer(sent));
    expect({ code: refused.code, message: refused.message }).toEqual({ code, message: expect.stringMatching(says) });
    // A response or a log must not contain anything that could be replayed.
    for (const part of sent.split(".").filter((each) => each.length > 8)) {
      expect(JSON.stringify([refused.message, refused.hint, refused.data])).not.toContain(part);
    }
  });

  test("not if it is at the limits", async () => {
    const { bearer } = trusting({ PARLEY_AUTH_GROUPS_CLAIM: "groups", PARLEY_AUTH_TENANT_CLAIM: "org" });
    const groups = Array.from({ length: 256 }, (_, index) => `g${index}`);
    const caller = await bearer(await issuer.token({ sub: `${"x".repeat(254)}💩`, groups, org: `a${"b".repeat(63)}`, aud: [AUDIENCE] }));
    expect([caller.names[0]?.length, caller.groups.length, caller.tenant.length]).toEqual(["sub:".length + 256, 256, 64]);
  });

  test("from one second beyond the clock skew on", async () => {
    const { bearer, nowS: now } = trusting();
    await bearer(await issuer.token({ exp: now - 29 }));
    await bearer(await issuer.token({ nbf: now + 30 }));
    await bearer(await issuer.token({ iat: now + 30 }));
    expect(await refusalOf(async () => bearer(await issuer.token({ exp: now - 30 })))).toMatchObject({ code: "TOKEN_EXPIRED" });
    expect(await refusalOf(async () => bearer(await issuer.token({ nbf: now + 31 })))).toMatchObject({ code: "TOKEN_NOT_YET_VALID" });
    expect(await refusalOf(async () => bearer(await issuer.token({ iat: now + 31 })))).toMatchObject({ code: "TOKEN_NOT_YET_VALID" });
    const strict = trusting({ PARLEY_AUTH_CLOCK_SKEW: "1s" });
    expect(await refusalOf(async () => strict.bearer(await issuer.token({ exp: strict.nowS - 3 })))).toMatchObject({
      message: "the token expired 3 s ago",
    });
  });

  test("when it expires, even if it is cached", async () => {
    const { bearer, skip, nowS: now } = trusting({ PARLEY_AUTH_TOKENS_TTL: "1h", PARLEY_AUTH_KEYS_TTL: "1h" });
    const token = await issuer.token({ exp: now + 600 });
    await bearer(token);
    skip(629_999);
    await bearer(token);
    skip(1);
    expect(await refusalOf(() => bearer(token))).toMatchObject({ code: "TOKEN_EXPIRED" });
  });
});

describe("a verified token", () => {
  test("is cached for a moment, then verified again", async () => {
    const { bearer, skip } = trusting();
    const token = await issuer.token();
    const first = await bearer(token);
    expect(bearer(token)).toBe(first);
    skip(59_999);
    expect(bearer(token)).toBe(first);
    skip(1);
    const again = bearer(token);
    expect(again).toBeInstanceOf(Promise);
    expect(await again).toEqual(first);
  });

  test("is verified once for concurrent requests", async () => {
    const { bearer } = trusting();
    const token = await issuer.token();
    const callers = await Promise.all(Array.from({ length: 10 }, async () => await bearer(token)));
    expect(new Set(callers).size).toBe(1);
  });

  test("is cached along with a limited number of others", async () => {
    const { bearer } = trusting({ PARLEY_AUTH_TOKENS_MAX: "2" });
    const [a, b, c] = (await Promise.all(["a", "b", "c"].map((sub) => issuer.token({ sub })))) as [string, string, string];
    await bearer(a);
    await bearer(b);
    // Used again, so the other one is now the least recently used.
    expect(bearer(a)).not.toBeInstanceOf(Promise);
    await bearer(c);
    expect(bearer(a)).not.toBeInstanceOf(Promise);
    const forgotten = bearer(b);
    expect(forgotten).toBeInstanceOf(Promise);
    await forgotten;
  });
});
