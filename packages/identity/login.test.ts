import type { Caller, RequiredAssurance } from "@parley/core";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { forged, type Issuer, METADATA_PATH, startIssuer } from "../../test/support/issuer.ts";
import { METADATA_TTL_MS } from "./code-flow.ts";
import { createLogin, LOGINS_AT_ONCE_MAX, LOGINS_OF_CLIENT_MAX } from "./login.ts";
import type { LoginSettings } from "./settings.ts";

let issuer: Issuer;
beforeAll(async () => {
  issuer = await startIssuer();
});
afterEach(() => {
  vi.restoreAllMocks();
  issuer.answer(METADATA_PATH, undefined);
});
afterAll(() => issuer.close());

const CALLER = { principal: "ann" } as Caller;
const SILENT = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

function loginAt(more: Partial<LoginSettings> = {}, identify: () => Promise<Caller> = async () => CALLER) {
  const settings: LoginSettings = {
    issuer: issuer.url,
    client: "pages",
    secret: undefined,
    endpoints: { authorization: `${issuer.url}/authorize`, token: `${issuer.url}/token` },
    scopes: ["asks:answer", "openid"],
    callScopes: ["tools:call", "tasks:read", "asks:answer", "openid"],
    resource: "https://x.example/mcp",
    parameters: { audience: "api" },
    callback: "http://localhost:3000/login/callback",
    ttlMs: 1_000,
    ...more,
  };
  return createLogin(settings, { providerTimeoutMs: 5_000, allowHttp: false, clockSkewMs: 0 }, { identify, log: SILENT, now: Date.now });
}

function answering(
  body: object | string,
  status = 200,
): { readonly sent: URLSearchParams[]; readonly authorization: (string | undefined)[] } {
  const seen = { sent: [] as URLSearchParams[], authorization: [] as (string | undefined)[] };
  issuer.answer("/token", (request, response) => {
    let text = "";
    request.on("data", (chunk) => (text += String(chunk)));
    request.on("end", () => {
      seen.sent.push(new URLSearchParams(text));
      seen.authorization.push(request.headers.authorization);
      response.writeHead(status, { "content-type": "application/json" }).end(typeof body === "string" ? body : JSON.stringify(body));
    });
  });
  return seen;
}

const TOKEN = { access_token: "token", token_type: "Bearer" };

describe("a login", () => {
  test("requests a code that only the browser that began it can redeem, and identifies the token's person", async () => {
    const login = loginAt();
    const { url, state, verifier } = await login.start();
    const asked = Object.fromEntries(new URL(url).searchParams);
    expect(asked).toMatchObject({ audience: "api", client_id: "pages", scope: "asks:answer openid", code_challenge_method: "S256", state });
    expect(asked["code_challenge"]).not.toBe(verifier);
    const { sent, authorization } = answering(TOKEN);
    expect(await login.finish(new URLSearchParams({ code: "c", state }), { state, verifier })).toBe(CALLER);
    expect(Object.fromEntries(sent[0] ?? [])).toMatchObject({
      code: "c",
      code_verifier: verifier,
      client_id: "pages",
      resource: "https://x.example/mcp",
    });
    expect(authorization).toEqual([undefined]);
  });

  test("of a client with a secret sends it in the Authorization header", async () => {
    const login = loginAt({ secret: "s3cret" });
    const { state, verifier } = await login.start();
    const { sent, authorization } = answering(TOKEN);
    await login.finish(new URLSearchParams({ code: "c", state }), { state, verifier });
    expect(authorization).toEqual([expect.stringMatching(/^Basic /)]);
    expect(sent[0]?.toString()).not.toContain("s3cret");
  });

  test.each([
    [
      "of another algorithm than RS256",
      forged({ alg: "ES256" }, { iss: "https://id.example", sub: "ann", aud: "pages", iat: 1, exp: 2 }, "eA"),
    ],
    ["that is not a JWT", "nonsense"],
    ["that is not even a text", 7],
  ])("ignores an ID token %s, which it does not need", async (_what, id_token) => {
    const login = loginAt();
    const { state, verifier } = await login.start();
    answering({ ...TOKEN, id_token });
    expect(await login.finish(new URLSearchParams({ code: "c", state }), { state, verifier })).toBe(CALLER);
  });

  test.each<[string, RequiredAssurance, object]>([
    ["a recent one", { by: "login", withinMs: 90_500 }, { prompt: "login", max_age: "90" }],
    ["one of a class", { by: "login", acr: ["gold", "platinum"] }, { acr_values: "gold platinum" }],
    ["one by methods", { by: "login", amr: ["mfa"] }, { prompt: "login" }],
    ["any", { by: "login" }, {}],
  ])("that must be %s is requested so, whatever else is configured", async (_what, required, wanted) => {
    const { url } = await loginAt({ parameters: { prompt: "none", max_age: "1", acr_values: "tin", audience: "api" } }).start({ required });
    const { prompt, max_age, acr_values } = Object.fromEntries(new URL(url).searchParams);
    expect({ prompt, max_age, acr_values }).toEqual({ prompt: "none", max_age: "1", acr_values: "tin", ...wanted });
  });

  const ANN = { principal: "ann", names: ["sub:ann"], login: { atMs: 1_000, acr: "tin" } } as unknown as Caller;
  const idToken = (claims: object) =>
    forged({ alg: "ES256" }, { iss: issuer.url, sub: "ann", aud: "pages", exp: Date.now() / 1_000 + 60, ...claims }, "eA");
  test.each<[string, object, object]>([
    ["of this login is taken", { auth_time: 2, amr: ["mfa"] }, { atMs: 2_000, acr: "tin", amr: ["mfa"] }],
    ["for this client among others is taken", { aud: ["x", "pages"], azp: "pages", acr: "gold" }, { atMs: 1_000, acr: "gold" }],
    ["of another person is not", { sub: "bob", acr: "gold" }, ANN.login!],
    ["of another issuer is not", { iss: "https://evil.example", acr: "gold" }, ANN.login!],
    ["for another client is not", { aud: "other", acr: "gold" }, ANN.login!],
    ["for another client among others is not", { aud: ["other", "pages"], azp: "other", acr: "gold" }, ANN.login!],
    ["that has expired is not", { exp: Date.now() / 1_000 - 1, acr: "gold" }, ANN.login!],
    ["in another form is not", { auth_time: "2", acr: ["gold"], amr: "mfa" }, ANN.login!],
    ["without bounds is not", { auth_time: 1e12, acr: "x".repeat(257), amr: Array.from({ length: 17 }, () => "m") }, ANN.login!],
  ])("takes what the provider states of it: what an ID token %s", async (_what, claims, login) => {
    const begun = loginAt({}, async () => ANN);
    const { state, verifier } = await begun.start();
    answering({ ...TOKEN, id_token: idToken(claims) });
    expect(await begun.finish(new URLSearchParams({ code: "c", state }), { state, verifier })).toEqual({ ...ANN, login });
  });

  test.each([
    ["refuses the code", { error: "invalid_grant", error_description: "SECRET words" }, 400, "LOGIN_REFUSED"],
    ["returns no token", { token_type: "Bearer" }, 200, "LOGIN_REFUSED"],
    ["does not return JSON", "<html>", 200, "LOGIN_REFUSED"],
    ["is broken", { error: "server_error" }, 500, "PROVIDER_UNAVAILABLE"],
    ["returns too much", JSON.stringify({ ...TOKEN, more: "x".repeat(262_144) }), 200, "PROVIDER_INVALID"],
  ])("whose provider %s fails without repeating the response", async (_what, body, status, code) => {
    const login = loginAt();
    const { state, verifier } = await login.start();
    answering(body, status);
    const failed = login.finish(new URLSearchParams({ code: "c", state }), { state, verifier });
    await expect(failed).rejects.toMatchObject({ code });
    await expect(failed).rejects.not.toThrow("SECRET");
  });

  test("whose provider is unavailable can be retried", async () => {
    const login = loginAt({ issuer: "http://127.0.0.1:9", endpoints: undefined });
    await expect(login.start()).rejects.toMatchObject({ code: "PROVIDER_UNAVAILABLE" });
    await expect(login.start()).rejects.toMatchObject({ code: "PROVIDER_UNAVAILABLE" });
  });

  test.each([
    ["does not say what it supports", undefined, "login"],
    ["supports both", ["none", "login", "consent", "select_account"], "select_account"],
    ["supports one", ["none", "login"], "login"],
    ["supports neither", ["none"], null],
  ])("with another account asks a provider for it in a way that it supports: one that %s", async (_what, prompts, prompt) => {
    const metadata = { issuer: issuer.url, authorization_endpoint: `${issuer.url}/a`, token_endpoint: `${issuer.url}/t` };
    issuer.answer(METADATA_PATH, (_request, response) => {
      response
        .writeHead(200, { "content-type": "application/json" })
        .end(JSON.stringify({ ...metadata, prompt_values_supported: prompts }));
    });
    const login = loginAt({ endpoints: undefined });
    expect(new URL((await login.start({ asAnother: true })).url).searchParams.get("prompt")).toBe(prompt);
    expect(new URL((await login.start()).url).searchParams.get("prompt")).toBe(null);
  });

  test("with another account can be configured for a provider that refuses the usual way", async () => {
    const { url } = await loginAt({ parameters: { prompt: "select_account" } }).start({ asAnother: true });
    expect(new URL(url).searchParams.getAll("prompt")).toEqual(["select_account"]);
  });

  test("follows a provider that moves its endpoints, and stays where the provider was while its metadata cannot be read", async () => {
    let nowMs = 0;
    vi.spyOn(performance, "now").mockImplementation(() => nowMs);
    let reads = 0;
    const serve = (path: string, status = 200) =>
      issuer.answer(METADATA_PATH, (_request, response) => {
        reads += 1;
        const metadata = { issuer: issuer.url, authorization_endpoint: `${issuer.url}${path}`, token_endpoint: `${issuer.url}/token` };
        response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(metadata));
      });
    const login = loginAt({ endpoints: undefined });
    const places = async () => (await Promise.all([login.start(), login.start()])).map(({ url }) => new URL(url).pathname);
    serve("/old");
    expect(await places()).toEqual(["/old", "/old"]);
    serve("/new");
    nowMs += METADATA_TTL_MS - 1;
    expect(await places()).toEqual(["/old", "/old"]);
    expect(reads).toBe(1);
    nowMs += 1;
    expect(await places()).toEqual(["/new", "/new"]);
    serve("/newest", 503);
    nowMs += METADATA_TTL_MS;
    expect(await places()).toEqual(["/new", "/new"]);
    expect(await places()).toEqual(["/new", "/new"]);
    expect(reads).toBe(3);
    serve("/newest");
    nowMs += METADATA_TTL_MS;
    expect(await places()).toEqual(["/newest", "/newest"]);
  });

  test("finds endpoints in the provider's metadata, and refuses unsafe ones", async () => {
    issuer.answer(METADATA_PATH, (_request, response) => {
      const metadata = { issuer: issuer.url, authorization_endpoint: `${issuer.url}/a`, token_endpoint: "http://evil.example/t" };
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(metadata));
    });
    await expect(loginAt({ endpoints: undefined }).start()).rejects.toMatchObject({ code: "PROVIDER_INVALID" });
  });
});

describe("logins that are completed at once", () => {
  /** Logins at a provider whose people are known once `release` is called. */
  async function holding() {
    const held = Promise.withResolvers<Caller>();
    const login = loginAt({}, () => held.promise);
    const { sent } = answering(TOKEN);
    const begin = async () => {
      const { state, verifier } = await login.start();
      return (code = "c", client?: string) => login.finish(new URLSearchParams({ code, state }), { state, verifier }, client);
    };
    return { begin, sent, release: () => held.resolve(CALLER) };
  }

  test("are a hundred, and one more is refused with a retry", async () => {
    const { begin, release } = await holding();
    const logins = await Promise.all(Array.from({ length: LOGINS_AT_ONCE_MAX }, begin));
    const running = logins.map((finish) => finish());
    const late = await begin();
    await expect(late()).rejects.toMatchObject({ code: "OVERLOADED" });
    release();
    expect(await Promise.all(running)).toHaveLength(LOGINS_AT_ONCE_MAX);
    expect(await late()).toBe(CALLER);
  });

  test("are ten of one client, and one more is refused while others still log in", async () => {
    const { begin, release } = await holding();
    const logins = await Promise.all(Array.from({ length: LOGINS_OF_CLIENT_MAX }, begin));
    const running = logins.map((finish) => finish("c", "198.51.100.1"));
    const late = await begin();
    await expect(late("c", "198.51.100.1")).rejects.toMatchObject({ code: "OVERLOADED" });
    running.push((await begin())("c", "198.51.100.2"), (await begin())("c"));
    release();
    expect(await Promise.all(running)).toHaveLength(LOGINS_OF_CLIENT_MAX + 2);
    expect(await late("c", "198.51.100.1")).toBe(CALLER);
  });

  test("of one browser that repeats its callback are one, and take one place", async () => {
    const { begin, sent, release } = await holding();
    const finish = await begin();
    const running = Array.from({ length: LOGINS_AT_ONCE_MAX }, () => finish());
    await expect(finish("another code")).rejects.toMatchObject({ code: "LOGIN_REFUSED" });
    const other = await begin();
    running.push(other());
    release();
    expect(new Set(await Promise.all(running))).toEqual(new Set([CALLER]));
    expect(sent).toHaveLength(2);
    // Over: the provider decides what a code is worth a second time.
    expect(await finish()).toBe(CALLER);
    expect(sent).toHaveLength(3);
  });

  test("that fail give their place back", async () => {
    const { begin, release } = await holding();
    answering({ error: "invalid_grant" }, 400);
    const finish = await begin();
    for (let n = 0; n < 2; n += 1) await expect(finish(`bad ${n}`)).rejects.toMatchObject({ code: "LOGIN_REFUSED" });
    answering(TOKEN);
    release();
    expect(await finish()).toBe(CALLER);
  });
});
