/** Providers that are down, slow, verbose or lying: their keys, their metadata, and what they say about opaque tokens. */
import { generateKeyPairSync, type JsonWebKey } from "node:crypto";
import type { ServerResponse } from "node:http";
import { ParleyError } from "@parley/core";
import { beforeEach, describe, expect, test } from "vitest";
import {
  type Answer,
  INTROSPECTION_CLIENT,
  INTROSPECTION_PATH,
  type Issuer,
  KEYS_PATH,
  METADATA_PATH,
  OPENID_PATH,
  sendJson,
  startIssuer,
} from "../../test/support/issuer.ts";
import { until } from "../../test/support/until.ts";
import { AUDIENCE, identityOf } from "./identity.fixture.ts";

let issuer: Issuer;
beforeEach(async () => {
  issuer = await startIssuer();
  return () => issuer.close();
});

const trusting = (environment = {}) => identityOf({ PARLEY_AUTH_ISSUERS: issuer.url, PARLEY_AUTH_PROVIDER_TIMEOUT: "10s", ...environment });
const fetches = () => issuer.asked.filter((path) => path === KEYS_PATH).length;

async function refusalOf(work: () => unknown): Promise<{ code: string; message: string }> {
  try {
    await work();
  } catch (error) {
    if (error instanceof ParleyError) return { code: error.code, message: error.message };
    throw error;
  }
  throw new Error("it was accepted");
}

const down: Answer = (_request, response) => void response.writeHead(500).end();
const silent: Answer = () => undefined;
const says =
  (text: string | Buffer): Answer =>
  (_request, response) =>
    void response.writeHead(200, { "content-type": "application/json" }).end(text);

/** Part of an RSA key pair. */
function rsa(bits: number, part: "publicKey" | "privateKey"): JsonWebKey {
  return generateKeyPairSync("rsa", { modulusLength: bits })[part].export({ format: "jwk" });
}

function trickle(response: ServerResponse): void {
  response.writeHead(200, { "content-type": "application/json" }).write("{");
  const timer = setInterval(() => response.write(" "), 20);
  response.on("close", () => clearInterval(timer));
}

interface Broken {
  readonly what: string;
  readonly answer: Answer;
  readonly code: string;
  readonly message: RegExp;
  /** Value of PARLEY_AUTH_PROVIDER_TIMEOUT if the test waits for it. */
  readonly timeout?: string;
}

/** Faults of a response that can occur with any request. */
const BROKEN: readonly Broken[] = [
  { what: "is down", answer: down, code: "PROVIDER_UNAVAILABLE", message: /the answer was HTTP 500$/ },
  {
    what: "closes the connection",
    answer: (request) => void request.socket.destroy(),
    code: "PROVIDER_UNAVAILABLE",
    message: /no connection$/,
  },
  { what: "does not answer", timeout: "200ms", answer: silent, code: "PROVIDER_UNAVAILABLE", message: /no answer within 200 ms$/ },
  {
    what: "never finishes its answer",
    timeout: "200ms",
    answer: (_, response) => trickle(response),
    code: "PROVIDER_UNAVAILABLE",
    message: /no answer within 200 ms$/,
  },
  {
    what: "answers too much",
    answer: says(`{"keys":"${"x".repeat(262_144)}"}`),
    code: "PROVIDER_INVALID",
    message: /larger than 262144 bytes$/,
  },
  { what: "does not answer JSON", answer: says("<html>log in</html>"), code: "PROVIDER_INVALID", message: /is not JSON$/ },
  { what: "answers a list", answer: says("[]"), code: "PROVIDER_INVALID", message: /is not an object$/ },
  { what: "refuses", answer: (_, response) => void response.writeHead(403).end("no"), code: "PROVIDER_INVALID", message: /HTTP 403$/ },
  {
    what: "redirects",
    answer: (_, response) => void response.writeHead(302, { location: "http://127.0.0.1:1/" }).end(),
    code: "PROVIDER_INVALID",
    message: /HTTP 302$/,
  },
];

describe("a provider of keys", () => {
  test.each([
    ...BROKEN,
    { what: "answers something else", answer: says('{"error":"x"}'), code: "PROVIDER_INVALID", message: /there are none$/ },
    { what: "has no keys", answer: says('{"keys":[]}'), code: "PROVIDER_INVALID", message: /there are none$/ },
    { what: "has invalid keys", answer: says('{"keys":[1]}'), code: "PROVIDER_INVALID", message: /not a JSON Web Key Set$/ },
  ])("that $what is reported and logged", async ({ answer, code, message, timeout = "10s" }: Broken) => {
    issuer.answer(KEYS_PATH, answer);
    const { bearer, logged } = trusting({ PARLEY_AUTH_PROVIDER_TIMEOUT: timeout });
    const token = await issuer.token();
    expect(await refusalOf(() => bearer(token))).toEqual({ code, message: expect.stringMatching(message) });
    expect(logged).toEqual([
      { message: "keys of a provider not fetched", fields: { issuer: issuer.url, problem: expect.stringMatching(message) } },
    ]);
  });

  test.each([
    {
      what: "is short",
      key: rsa(1_024, "publicKey"),
      times: 1,
      message: /^the key "key-1" of the issuer has 1024 bits, .* at least 2048$/,
    },
    { what: "is private", key: rsa(2_048, "privateKey"), times: 1, message: /^the key "key-1" of the issuer cannot be used for RS256$/ },
    { what: "has the name of another", key: {}, times: 2, message: /^the token names the key "key-1", and several .* match$/ },
    { what: "has no name", key: { kid: undefined }, times: 2, message: /^the token names no key \(kid\), and several .* match$/ },
  ])("one of which $what is refused by name", async ({ key, times, message }) => {
    const [published] = issuer.keys;
    const keys = Array.from({ length: times }, () => ({ ...published, ...key }));
    issuer.answer(KEYS_PATH, says(JSON.stringify({ keys })));
    const token = await issuer.token({}, "kid" in key ? { header: { kid: undefined } } : {});
    expect(await refusalOf(() => trusting().bearer(token))).toEqual({ code: "TOKEN_KEY_UNKNOWN", message: expect.stringMatching(message) });
  });

  test("may have at most a hundred keys, in a response of at most 262,144 bytes", async () => {
    const [key] = issuer.keys;
    const many = (count: number) => JSON.stringify({ keys: [...Array<object>(count - 1).fill({ kty: "RSA", kid: "x" }), key] });
    issuer.answer(KEYS_PATH, says(many(101)));
    const token = await issuer.token();
    expect(await refusalOf(() => trusting().bearer(token))).toMatchObject({
      message: expect.stringContaining("there are 101, but at most 100"),
    });
    const hundred = many(100);
    issuer.answer(KEYS_PATH, says(hundred + " ".repeat(262_144 - hundred.length)));
    expect(await trusting().bearer(token)).toMatchObject({ names: ["sub:alice"] });
    issuer.answer(KEYS_PATH, says(hundred + " ".repeat(262_145 - hundred.length)));
    expect(await refusalOf(() => trusting().bearer(token))).toMatchObject({ message: expect.stringContaining("larger than 262144") });
  });

  test.each([
    {
      what: "names another issuer",
      body: { issuer: "https://evil.example", jwks_uri: "https://evil.example/keys" },
      message: /the document names the issuer "https:\/\/evil.example"$/,
    },
    { what: "does not say where the keys are", body: {}, message: /its jwks_uri is missing$/ },
    {
      what: "has keys on another machine without TLS",
      body: { jwks_uri: "http://keys.example/keys" },
      message: /its jwks_uri must be https/,
    },
  ])("whose metadata $what is not trusted", async ({ body, message }) => {
    for (const path of [METADATA_PATH, "/.well-known/openid-configuration"]) {
      issuer.answer(path, (_request, response) => sendJson(response, { issuer: issuer.url, ...body }));
    }
    const { bearer } = trusting();
    const token = await issuer.token();
    expect(await refusalOf(() => bearer(token))).toEqual({ code: "PROVIDER_INVALID", message: expect.stringMatching(message) });
    expect(fetches()).toBe(0);
  });

  test("is found through OAuth metadata, OpenID Connect metadata, or the configured address", async () => {
    const token = await issuer.token();
    expect(await trusting().bearer(token)).toMatchObject({ names: ["sub:alice"] });
    issuer.answer(METADATA_PATH, (_request, response) => void response.writeHead(404).end());
    expect(await trusting().bearer(token)).toMatchObject({ names: ["sub:alice"] });
    issuer.answer("/.well-known/openid-configuration", down);
    expect(await trusting({ PARLEY_AUTH_ISSUERS: `${issuer.url} ${issuer.url}${KEYS_PATH}` }).bearer(token)).toMatchObject({
      names: ["sub:alice"],
    });
    expect(await refusalOf(() => trusting().bearer(token))).toMatchObject({ code: "PROVIDER_UNAVAILABLE" });
  });

  test("is asked once for concurrent requests", async () => {
    const { bearer } = trusting();
    const tokens = await Promise.all(Array.from({ length: 20 }, (_, index) => issuer.token({ sub: `${index}` })));
    await Promise.all(tokens.map(async (token) => await bearer(token)));
    expect(fetches()).toBe(1);
  });

  test("that has rotated its keys is asked for the new one, and the old one is accepted as long as it is published", async () => {
    const { bearer, skip } = trusting();
    const old = await issuer.token();
    await bearer(old);
    skip(30_000);
    await issuer.rotate();
    expect(await bearer(await issuer.token({ sub: "bob" }))).toMatchObject({ names: ["sub:bob"] });
    expect(await bearer(await issuer.token({ sub: "carol" }, { kid: "key-2" }))).toMatchObject({ names: ["sub:carol"] });
    expect(fetches()).toBe(2);
    // Once the key is no longer published, its tokens are refused as soon as the keys were fetched again and cached tokens have expired.
    await issuer.rotate(true);
    skip(11 * 60_000);
    expect(await refusalOf(() => bearer(old))).toMatchObject({ code: "TOKEN_KEY_UNKNOWN" });
  });

  test("that publishes its new key at another address is asked there", async () => {
    const { bearer, skip } = trusting();
    await bearer(await issuer.token());
    const before = issuer.keys;
    issuer.answer(KEYS_PATH, (_request, response) => sendJson(response, { keys: before }));
    issuer.answer("/new-keys", (_request, response) => sendJson(response, { keys: issuer.keys }));
    issuer.answer(METADATA_PATH, (_request, response) => sendJson(response, { issuer: issuer.url, jwks_uri: `${issuer.url}/new-keys` }));
    await issuer.rotate();
    skip(30_000);
    expect(await bearer(await issuer.token({ sub: "bob" }))).toMatchObject({ names: ["sub:bob"] });
  });

  test("is asked once per cooldown, however many tokens name unknown keys", async () => {
    const { bearer, skip } = trusting();
    await bearer(await issuer.token());
    skip(30_000);
    const unknown = await Promise.all(
      Array.from({ length: 100 }, (_, index) => issuer.token({ sub: `${index}` }, { kid: `made-up-${index}` })),
    );
    const before = fetches();
    // Ten thousand tokens that differ only in the signature, which is not checked without a key.
    for (let round = 0; round < 100; round += 1) {
      const refused = await Promise.all(unknown.map((token) => refusalOf(() => bearer(`${token}${round}`))));
      expect(new Set(refused.map(({ code }) => code))).toEqual(new Set(["TOKEN_KEY_UNKNOWN"]));
    }
    expect(fetches() - before).toBe(1);
    // Other callers are served in the meantime, and a new key is found after the cooldown.
    expect(await bearer(await issuer.token({ sub: "bob" }))).toMatchObject({ names: ["sub:bob"] });
    await issuer.rotate();
    const rotated = await issuer.token({ sub: "carol" });
    expect(await refusalOf(() => bearer(rotated))).toMatchObject({ code: "TOKEN_KEY_UNKNOWN" });
    skip(30_000);
    expect(await bearer(rotated)).toMatchObject({ names: ["sub:carol"] });
    expect(fetches() - before).toBe(2);
  });

  test("that was down is forgiven by the next good answer: unknown keys are then refused as unknown", async () => {
    const { bearer, identity, skip } = trusting();
    await bearer(await issuer.token());
    issuer.answer(KEYS_PATH, down);
    skip(30_000);
    const unknown = await issuer.token({}, { kid: "key-9" });
    expect(await refusalOf(() => bearer(unknown))).toMatchObject({ code: "PROVIDER_UNAVAILABLE" });
    issuer.answer(KEYS_PATH, undefined);
    skip(30_000);
    // Fetched again, and within the cooldown after that.
    for (const token of [unknown, unknown]) expect(await refusalOf(() => bearer(token))).toMatchObject({ code: "TOKEN_KEY_UNKNOWN" });
    expect(await identity.fetchKeys(issuer.url)).toBe(1);
  });

  test("that is down while a token names a new key leaves the token undecided, since it may be good", async () => {
    const { bearer, skip } = trusting();
    const old = await issuer.token();
    await bearer(old);
    await issuer.rotate();
    const rotated = await issuer.token({ sub: "bob" });
    issuer.answer(KEYS_PATH, down);
    skip(30_000);
    // The same within the cooldown of the failed fetch.
    for (const token of [rotated, rotated]) expect(await refusalOf(() => bearer(token))).toMatchObject({ code: "PROVIDER_UNAVAILABLE" });
    expect(await bearer(old)).toMatchObject({ names: ["sub:alice"] });
    issuer.answer(KEYS_PATH, undefined);
    skip(30_000);
    expect(await bearer(rotated)).toMatchObject({ names: ["sub:bob"] });
  });

  test("that is slow at each of its addresses costs one timeout", async () => {
    const { bearer } = trusting({ PARLEY_AUTH_PROVIDER_TIMEOUT: "600ms" });
    const slowly: Answer = (_request, response) => void setTimeout(() => response.writeHead(404).end(), 400);
    for (const path of [METADATA_PATH, OPENID_PATH]) issuer.answer(path, slowly);
    const token = await issuer.token();
    const beganMs = performance.now();
    expect(await refusalOf(() => bearer(token))).toMatchObject({ code: "PROVIDER_UNAVAILABLE", message: expect.stringMatching(/600 ms$/) });
    expect(issuer.asked.filter((path) => path === METADATA_PATH || path === OPENID_PATH)).toHaveLength(2);
    expect(performance.now() - beganMs).toBeLessThan(1_200);
  });

  test("may be down for up to a day without effect on callers", async () => {
    const { bearer, skip, logged } = trusting();
    const forever = { exp: Math.floor(Date.now() / 1_000) + 1e6 };
    await bearer(await issuer.token(forever));
    issuer.answer(KEYS_PATH, down);
    skip(10 * 60_000 + 1);
    expect(await bearer(await issuer.token(forever))).toMatchObject({ names: ["sub:alice"] });
    expect(logged.at(-1)).toEqual({
      message: "keys of a provider not fetched",
      fields: { issuer: issuer.url, problem: expect.stringContaining("HTTP 500"), usableFor: "24 h" },
    });
    // Not every request asks it again.
    const tried = fetches();
    await Promise.all(["a", "b", "c"].map(async (sub) => await bearer(await issuer.token({ ...forever, sub }))));
    expect(fetches()).toBe(tried);
    skip(24 * 3_600_000 - 1);
    expect(await bearer(await issuer.token({ ...forever, sub: "bob" }))).toMatchObject({ names: ["sub:bob"] });
    await until(() => fetches() === tried + 1);
    skip(1);
    const late = await issuer.token({ ...forever, sub: "carol" });
    expect(await refusalOf(() => bearer(late))).toMatchObject({ code: "PROVIDER_UNAVAILABLE" });
    // When it is back, it is asked within a second, since there are no keys.
    issuer.answer(KEYS_PATH, undefined);
    skip(1_000);
    expect(await bearer(late)).toMatchObject({ names: ["sub:carol"] });
  });

  test("is asked in the background while its keys are older than half their lifetime", async () => {
    const { bearer, skip } = trusting();
    await bearer(await issuer.token());
    skip(5 * 60_000);
    await bearer(await issuer.token({ sub: "a" }));
    expect(fetches()).toBe(1);
    // No request waits for it.
    const held = Promise.withResolvers<void>();
    const { keys } = issuer;
    issuer.answer(KEYS_PATH, (_request, response) => void held.promise.then(() => sendJson(response, { keys })));
    skip(1);
    await bearer(await issuer.token({ sub: "b" }));
    await until(() => fetches() === 2);
    held.resolve();
  });
});

describe("an opaque token", () => {
  const { client, secret } = INTROSPECTION_CLIENT;
  const asking = (environment = {}) =>
    trusting({
      PARLEY_AUTH_INTROSPECTION_URL: issuer.introspectionUrl,
      PARLEY_AUTH_INTROSPECTION_CLIENT: client,
      PARLEY_AUTH_INTROSPECTION_SECRET: secret,
      ...environment,
    });
  const active = (claims: object = {}) => ({ active: true, sub: "alice", aud: AUDIENCE, scope: "tools", client_id: "cli", ...claims });
  const nowS = () => Math.floor(Date.now() / 1_000);
  const asks = () => issuer.asked.filter((path) => path === INTROSPECTION_PATH).length;

  test("is introspected, and the result is cached for a moment", async () => {
    const { bearer, skip } = asking();
    issuer.introspected.set("opaque", active({ exp: nowS() + 60, iss: issuer.url }));
    const caller = await bearer("opaque");
    expect(caller).toMatchObject({ names: ["sub:alice"], scopes: ["tools"], client: "cli", authenticatedBy: issuer.url });
    expect(await bearer("opaque")).toBe(caller);
    expect(asks()).toBe(1);
    issuer.introspected.set("opaque", { active: false });
    skip(9_999);
    await bearer("opaque");
    skip(1);
    expect(await refusalOf(() => bearer("opaque"))).toMatchObject({ code: "TOKEN_INACTIVE" });
    expect(asks()).toBe(2);
  });

  test("that is refused is introspected once in a moment, and displaces no token that is good", async () => {
    const { bearer, skip } = asking({ PARLEY_AUTH_TOKENS_MAX: "2" });
    issuer.introspected.set("good", active());
    await bearer("good");
    for (const token of ["a", "b", "a", "b", "a"]) expect(await refusalOf(() => bearer(token))).toMatchObject({ code: "TOKEN_INACTIVE" });
    await bearer("good");
    expect(asks()).toBe(3);
    // No more of them are remembered than of good ones.
    for (const token of ["c", "b"]) await refusalOf(() => bearer(token));
    expect(asks()).toBe(5);
    skip(10_000);
    issuer.introspected.set("a", active());
    expect(await bearer("a")).toMatchObject({ names: ["sub:alice"] });
  });

  test.each([
    ["is not valid yet", active({ nbf: nowS() + 300 }), "TOKEN_NOT_YET_VALID"],
    ["has a provider that answers nonsense", {}, "PROVIDER_INVALID"],
  ])("that %s is introspected again at its next use", async (_what, answer, code) => {
    const { bearer } = asking();
    issuer.introspected.set("opaque", answer);
    expect(await refusalOf(() => bearer("opaque"))).toMatchObject({ code });
    issuer.introspected.set("opaque", active());
    expect(await bearer("opaque")).toMatchObject({ names: ["sub:alice"] });
  });

  test("identifies the same person as that person's JWT", async () => {
    issuer.introspected.set("opaque", active());
    const { bearer } = asking();
    expect((await bearer("opaque")).principal).toBe((await bearer(await issuer.token())).principal);
  });

  test("without an expiry is accepted for an hour at a time", async () => {
    issuer.introspected.set("opaque", active());
    const { bearer, nowS: now } = asking();
    expect((await bearer("opaque")).expiresAtMs).toBe((now + 3_630) * 1_000);
  });

  test.each([
    { what: "is unknown", answer: { active: false }, code: "TOKEN_INACTIVE", message: /is not active$/ },
    {
      what: "is for another server",
      answer: active({ aud: "https://other.example" }),
      code: "TOKEN_AUDIENCE_REFUSED",
      message: /is for "https/,
    },
    { what: "has no audience", answer: active({ aud: undefined }), code: "TOKEN_AUDIENCE_REFUSED", message: /names no audience/ },
    { what: "has expired, says the provider that calls it active", answer: active({ exp: 1 }), code: "TOKEN_EXPIRED", message: /expired/ },
    { what: "comes from another issuer", answer: active({ iss: "https://evil.example" }), code: "TOKEN_ISSUER_UNKNOWN", message: /evil/ },
    { what: "names no person", answer: active({ sub: undefined }), code: "TOKEN_CLAIM_INVALID", message: /no sub/ },
    { what: "is a refresh token", answer: active({ token_type: "Refresh" }), code: "TOKEN_MALFORMED", message: /"Refresh"/ },
    { what: "is active as a string", answer: active({ active: "true" }), code: "PROVIDER_INVALID", message: /does not say whether/ },
    { what: "is not mentioned in the response", answer: {}, code: "PROVIDER_INVALID", message: /does not say whether/ },
  ])("that $what is refused", async ({ answer, code, message }) => {
    issuer.introspected.set("opaque", answer);
    expect(await refusalOf(() => asking().bearer("opaque"))).toEqual({ code, message: expect.stringMatching(message) });
  });

  test.each(BROKEN)("whose provider $what is refused and logged", async ({ answer, code, message, timeout = "10s" }) => {
    issuer.answer(INTROSPECTION_PATH, answer);
    const { bearer, logged } = asking({ PARLEY_AUTH_PROVIDER_TIMEOUT: timeout });
    expect(await refusalOf(() => bearer("opaque"))).toEqual({ code, message: expect.stringMatching(message) });
    expect(logged).toEqual([
      { message: "introspection failed", fields: { provider: new URL(issuer.url).host, problem: expect.stringMatching(message) } },
    ]);
    expect(JSON.stringify(logged)).not.toContain(secret);
  });

  test("is refused if too many are being introspected", async () => {
    issuer.answer(INTROSPECTION_PATH, silent);
    const { bearer } = asking({ PARLEY_AUTH_INTROSPECTIONS_MAX: "2", PARLEY_AUTH_PROVIDER_TIMEOUT: "2s" });
    const refused = await Promise.all(["a", "b", "c", "a"].map((token) => refusalOf(() => bearer(token))));
    expect(refused.map(({ code }) => code)).toEqual(["PROVIDER_UNAVAILABLE", "PROVIDER_UNAVAILABLE", "OVERLOADED", "PROVIDER_UNAVAILABLE"]);
    expect(asks()).toBe(2);
    expect(refused[2]?.message).toContain("PARLEY_AUTH_INTROSPECTIONS_MAX");
  });

  test.each([
    ["answers", (issuer: Issuer) => issuer.introspected.set("opaque", active()), undefined],
    ["refuses the token", (issuer: Issuer) => issuer.introspected.set("opaque", { active: false }), "TOKEN_INACTIVE"],
    ["is down", (issuer: Issuer) => issuer.answer(INTROSPECTION_PATH, down), "PROVIDER_UNAVAILABLE"],
  ] as const)("gives its place back when its provider %s, however many have come before", async (_how, prepare, code) => {
    prepare(issuer);
    const { bearer, skip } = asking({ PARLEY_AUTH_INTROSPECTIONS_MAX: "2" });
    for (let turn = 0; turn < 7; turn += 1) {
      skip(60_000);
      if (code === undefined) expect(await bearer("opaque")).toMatchObject({ names: ["sub:alice"] });
      else expect(await refusalOf(() => bearer("opaque"))).toMatchObject({ code });
    }
    expect(asks()).toBe(7);
  });
});
