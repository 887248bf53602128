/** How requests carry credentials, before they are verified, and the settings for them. */
import { describe, expect, test } from "vitest";
import { addressRanges, isLoopback, unsafeAddress } from "./address.ts";
import { bearerToken } from "./credentials.ts";
import { metadataUrls } from "./discover.ts";
import { environmentOf, identityOf } from "./identity.fixture.ts";
import { identityProblems } from "./problems.ts";
import { identityEnvironment, identitySettings, resourceUrl } from "./settings.ts";

const ISSUER = { PARLEY_AUTH_ISSUERS: "https://id.example" };

describe("a token", () => {
  const read = (rawHeaders: readonly string[], url = "/mcp") => bearerToken({ rawHeaders, url });

  test("is read from one Authorization header", () => {
    expect(read(["host", "x", "authorization", "Bearer abc.def-_~+/=="])).toBe("abc.def-_~+/==");
    expect(read(["AUTHORIZATION", "bearer  abc "])).toBe("abc");
    expect(read(["host", "x"])).toBeUndefined();
  });

  test("has at most 8,192 characters", () => {
    expect(read(["authorization", `Bearer ${"x".repeat(8_192)}`])).toHaveLength(8_192);
    for (const length of [8_193, 65_536]) {
      expect(() => read(["authorization", `Bearer ${"x".repeat(length)}`])).toThrow(expect.objectContaining({ code: "TOKEN_TOO_LARGE" }));
    }
  });

  test.each(["", "Bearer", "Bearer ", "Basic YTpi", "Bearer a b", "Bearer a,Bearer b", "Bearer ü", "Token abc", "Bearer =", "DPoP abc"])(
    "is nothing like %j",
    (header) => {
      expect(() => read(["authorization", header])).toThrow(expect.objectContaining({ code: "TOKEN_MALFORMED" }));
    },
  );

  test("is refused if it is sent twice, or in the URL", () => {
    const misplaced = expect.objectContaining({ code: "CREDENTIALS_MISPLACED" }) as Error;
    expect(() => read(["Authorization", "Bearer a", "authorization", "Bearer a"])).toThrow(misplaced);
    expect(() => read([], "/mcp?access_token=a")).toThrow(misplaced);
    expect(() => read(["authorization", "Bearer a"], "/mcp?x=1&access_token=a")).toThrow(misplaced);
    expect(() => read([], "/mcp?access%5Ftoken=a")).toThrow(misplaced);
    expect(read([], "/mcp?token=a")).toBeUndefined();
  });

  test("is required", () => {
    const { identity } = identityOf(ISSUER);
    expect(() => identity.identify({ rawHeaders: [], url: "/mcp", address: "127.0.0.1" })).toThrow(
      expect.objectContaining({ code: "CREDENTIALS_MISSING" }),
    );
  });
});

describe("a trusted proxy", () => {
  const PROXY = { ...ISSUER, PARLEY_AUTH_PROXY_HEADER: "X-Client-DN", PARLEY_AUTH_PROXY_ADDRESSES: "10.0.0.0/8, ::1" };
  const ask = (rawHeaders: readonly string[], address = "10.1.2.3", settings = {}) =>
    identityOf({ ...PROXY, ...settings }).identity.identify({ rawHeaders, url: "/mcp", address });

  test("names callers, who get the configured scopes", () => {
    expect(ask(["x-client-dn", "CN=robot"])).toMatchObject({
      principal: expect.stringMatching(/^u_[\w-]{22}$/),
      names: ["sub:CN=robot"],
      scopes: ["tools", "tasks", "asks"],
      authenticatedBy: "proxy:x-client-dn",
    });
    expect(ask(["X-Client-DN", "CN=robot"], "::1", { PARLEY_AUTH_PROXY_SCOPES: "tasks:read" })).toMatchObject({ scopes: ["tasks:read"] });
    expect(ask(["x-client-dn", "CN=robot"], "::ffff:10.9.9.9")).toMatchObject({ names: ["sub:CN=robot"] });
  });

  test("gives no caller the name of an API key", () => {
    expect(ask(["x-client-dn", "api-key:nightly"])).toMatchObject({ names: ["sub:api-key:nightly"] });
  });

  test("is recognized by its address, not by the header", () => {
    for (const address of ["11.0.0.1", "127.0.0.1", "::2"]) {
      expect(() => ask(["x-client-dn", "CN=robot"], address)).toThrow(expect.objectContaining({ code: "PROXY_NOT_TRUSTED" }));
    }
  });

  test.each([
    ["twice", ["x-client-dn", "a", "X-Client-Dn", "b"], "CREDENTIALS_MISPLACED"],
    ["nobody", ["x-client-dn", ""], "TOKEN_CLAIM_INVALID"],
    ["somebody with a long name", ["x-client-dn", "x".repeat(257)], "TOKEN_CLAIM_INVALID"],
  ])("that names %s is refused", (_what, headers, code) => {
    expect(() => ask(headers)).toThrow(expect.objectContaining({ code }));
  });

  test("does not override a token, and names no caller if it is not configured", () => {
    expect(() => ask(["x-client-dn", "CN=robot", "authorization", "garbage"])).toThrow(
      expect.objectContaining({ code: "TOKEN_MALFORMED" }),
    );
    const { identity } = identityOf(ISSUER);
    expect(() => identity.identify({ rawHeaders: ["x-client-dn", "CN=robot"], url: "/mcp", address: "10.1.2.3" })).toThrow(
      expect.objectContaining({ code: "CREDENTIALS_MISSING" }),
    );
  });
});

describe("settings", () => {
  const problems = (settings: Readonly<Record<string, string>>, host = "127.0.0.1") => identityProblems(environmentOf(settings), host);

  test("without identity work only on a loopback address, unless the operator allows more", () => {
    for (const host of ["127.0.0.1", "127.1.2.3", "localhost", "::1"]) expect(problems({ PARLEY_AUTH: "none" }, host)).toEqual([]);
    for (const host of ["0.0.0.0", "::", "10.0.0.1", "parley.example.com", "127.example.com", "localhost.example.com"]) {
      expect(problems({ PARLEY_AUTH: "none" }, host)).toEqual([
        expect.stringMatching(/^PARLEY_AUTH: .*PARLEY_AUTH=required.*PARLEY_AUTH_NONE_ANYWHERE=true$/),
      ]);
      expect(problems({ PARLEY_AUTH: "none", PARLEY_AUTH_NONE_ANYWHERE: "true" }, host)).toEqual([]);
    }
  });

  test("that are valid have no problems, wherever the server listens", () => {
    expect(problems(ISSUER, "0.0.0.0")).toEqual([]);
    expect(problems({ PARLEY_AUTH_API_KEYS: "true" }, "0.0.0.0")).toEqual([]);
    expect(problems({ PARLEY_AUTH_ISSUERS: "http://localhost:1/realms/x, https://id.example https://id.example/keys" })).toEqual([]);
    expect(problems({ PARLEY_AUTH_ISSUERS: "http://keycloak:8080/realms/x", PARLEY_AUTH_ALLOW_HTTP: "true" })).toEqual([]);
  });

  test.each([
    [{}, /^PARLEY_AUTH_ISSUERS: .*needs a provider/],
    [
      {
        PARLEY_AUTH_API_KEYS: "true",
        PARLEY_AUTH_INTROSPECTION_URL: "https://id.example/i",
        PARLEY_AUTH_INTROSPECTION_CLIENT: "c",
        PARLEY_AUTH_INTROSPECTION_SECRET: "s",
      },
      /^PARLEY_AUTH_ISSUERS: PARLEY_AUTH_INTROSPECTION_URL needs/,
    ],
    [{ PARLEY_AUTH_ISSUERS: "http://id.example" }, /"http:\/\/id.example" must be https/],
    [{ PARLEY_AUTH_ISSUERS: "id.example" }, /"id.example" is not an address/],
    [{ PARLEY_AUTH_ISSUERS: "https://me:secret@id.example" }, /"https:\/\/…@id.example" must not contain a password/],
    [{ PARLEY_AUTH_ISSUERS: "https://id.example ftp://id.example/keys" }, /"ftp:\/\/id.example\/keys" must be https/],
    [{ PARLEY_AUTH_ISSUERS: "https://id.example,https://id.example" }, /listed twice/],
    [{ ...ISSUER, PARLEY_AUTH_INTROSPECTION_URL: "https://id.example/i" }, /^PARLEY_AUTH_INTROSPECTION_CLIENT/],
    [
      { ...ISSUER, PARLEY_AUTH_INTROSPECTION_URL: "https://id.example/i", PARLEY_AUTH_INTROSPECTION_CLIENT: "c" },
      /^PARLEY_AUTH_INTROSPECTION_SECRET/,
    ],
    [{ ...ISSUER, PARLEY_AUTH_INTROSPECTION_URL: "http://id.example/i" }, /^PARLEY_AUTH_INTROSPECTION_URL: must be https/],
    [{ ...ISSUER, PARLEY_AUTH_PROXY_HEADER: "x-dn" }, /^PARLEY_AUTH_PROXY_ADDRESSES/],
    [{ ...ISSUER, PARLEY_AUTH_PROXY_HEADER: "x-dn", PARLEY_AUTH_PROXY_ADDRESSES: "10.0.0.0/33" }, /^PARLEY_AUTH_PROXY_ADDRESSES/],
    [{ ...ISSUER, PARLEY_AUTH_PROXY_HEADER: "Authorization", PARLEY_AUTH_PROXY_ADDRESSES: "::1" }, /^PARLEY_AUTH_PROXY_HEADER/],
  ])("%j are refused", (settings, problem) => {
    expect(problems(settings as Record<string, string>)).toContainEqual(expect.stringMatching(problem));
  });

  test("say which tenants each of several issuers may name", () => {
    const several = { PARLEY_AUTH: "required", PARLEY_AUTH_ISSUERS: "https://a.example, https://b.example", PARLEY_AUTH_TENANT_CLAIM: "t" };
    const name = "PARLEY_AUTH_ISSUER_TENANTS";
    const withTenants = (tenants: string) => problems({ ...several, [name]: tenants });
    const unsaid = (issuer: string) => `${name}: say which tenants "${issuer}" may name, or * for any`;
    expect(problems(several)).toEqual([unsaid("https://a.example"), unsaid("https://b.example")]);
    expect(withTenants("https://a.example t1 t2")).toEqual([unsaid("https://b.example")]);
    expect(withTenants("https://a.example t1 t2, https://b.example *")).toEqual([]);
    const which = `${name}: after "https://b.example", name its tenants separated by spaces, or only * for any`;
    expect(withTenants("https://a.example *, https://b.example")).toEqual([which]);
    expect(withTenants("https://a.example *, https://b.example t3 *")).toEqual([which]);
    expect(withTenants("https://a.example *, https://b.example *, https://c.example *")).toEqual([
      `${name}: "https://c.example" is not in PARLEY_AUTH_ISSUERS`,
    ]);
    expect(withTenants("https://a.example t1, https://b.example *, https://a.example t2")).toEqual([`${name}: a provider is listed twice`]);
    // A single issuer is asked for all tenants, and may be bound as well.
    const one = { PARLEY_AUTH: "required", PARLEY_AUTH_ISSUERS: "https://a.example", PARLEY_AUTH_TENANT_CLAIM: "t" };
    expect(problems(one)).toEqual([]);
    expect(problems({ ...one, [name]: "https://a.example t1" })).toEqual([]);
    expect(problems({ PARLEY_AUTH: "required", PARLEY_AUTH_ISSUERS: "https://a.example", [name]: "https://a.example t1" })).toEqual([
      `${name}: requires PARLEY_AUTH_TENANT_CLAIM`,
    ]);
  });

  test("need an audience, since a Host header cannot decide whom a token is for", () => {
    const environment = { ...environmentOf(ISSUER), PARLEY_PUBLIC_URL: undefined };
    expect(identityProblems(environment, "127.0.0.1")).toEqual([expect.stringMatching(/^PARLEY_AUTH_AUDIENCES/)]);
    const settings = identitySettings(environmentOf({ ...ISSUER, PARLEY_PUBLIC_URL: "HTTPS://X.example:443/parley/" }));
    expect(settings?.audiences).toEqual(["https://x.example/parley/mcp"]);
    expect(resourceUrl({ PARLEY_PUBLIC_URL: undefined })).toBeUndefined();
  });

  test("say where people log in, as which client, for which scopes and resource, and where they come back to", () => {
    const page = { ...ISSUER, PARLEY_PUBLIC_URL: "https://x.example/", PARLEY_LOGIN_CLIENT: "pages" };
    expect(problems(page)).toEqual([]);
    expect(identitySettings(environmentOf(page))?.login).toEqual({
      issuer: "https://id.example",
      client: "pages",
      secret: undefined,
      endpoints: undefined,
      scopes: ["asks:answer"],
      callScopes: ["tools:call", "tasks:read", "asks:answer"],
      resource: "https://x.example/mcp",
      parameters: {},
      callback: "https://x.example/login/callback",
      ttlMs: 3_600_000,
    });
    const named = {
      ...page,
      PARLEY_AUTH_AUDIENCES: "api",
      PARLEY_AUTH_SCOPE_PREFIX: "api://parley/",
      PARLEY_LOGIN_SCOPES: "openid, profile",
      PARLEY_LOGIN_PARAMETERS: "audience=api&prompt=login",
      PARLEY_LOGIN_ENDPOINTS: "https://id.example/a https://id.example/t",
    };
    expect(problems(named)).toEqual([]);
    expect(identitySettings(environmentOf(named))?.login).toMatchObject({
      // A provider that knows this server by another name is not sent this one.
      resource: undefined,
      scopes: ["api://parley/asks:answer", "openid", "profile"],
      parameters: { audience: "api", prompt: "login" },
      endpoints: { authorization: "https://id.example/a", token: "https://id.example/t" },
    });
    expect(identitySettings(environmentOf(ISSUER))?.login).toBeUndefined();
    const nowhere = { ...environmentOf({ ...page, PARLEY_AUTH_AUDIENCES: "api" }), PARLEY_PUBLIC_URL: undefined };
    expect(identityProblems(nowhere, "127.0.0.1")).toEqual([expect.stringMatching(/^PARLEY_LOGIN_CLIENT: set PARLEY_PUBLIC_URL/)]);
  });

  test.each([
    [{ PARLEY_LOGIN_CLIENT: "pages", PARLEY_PUBLIC_URL: "http://x.example" }, /^PARLEY_LOGIN_CLIENT: PARLEY_PUBLIC_URL must be https/],
    [
      { PARLEY_LOGIN_CLIENT: "pages", PARLEY_PUBLIC_URL: "https://x.example", PARLEY_AUTH_PRINCIPAL: "user+client" },
      /^PARLEY_LOGIN_CLIENT: does not work with PARLEY_AUTH_PRINCIPAL=user\+client/,
    ],
    [
      {
        PARLEY_LOGIN_CLIENT: "pages",
        PARLEY_PUBLIC_URL: "https://x.example",
        PARLEY_LOGIN_ENDPOINTS: "https://a.example http://b.example",
      },
      /^PARLEY_LOGIN_ENDPOINTS: "http:\/\/b.example" must be https/,
    ],
    [{ PARLEY_LOGIN_SECRET: "s", PARLEY_PUBLIC_URL: "https://x.example" }, /^PARLEY_LOGIN_SECRET: requires PARLEY_LOGIN_CLIENT/],
  ])("that do not let people log in are refused with a remedy: %j", (settings, problem) => {
    expect(problems({ ...ISSUER, ...(settings as Readonly<Record<string, string>>) })).toEqual([expect.stringMatching(problem)]);
  });

  test("accept no signature with a shared secret", () => {
    expect(() => identityEnvironment.PARLEY_AUTH_ALGORITHMS.parse("RS256,HS256")).toThrow("shared secrets");
    expect(() => identityEnvironment.PARLEY_AUTH_ALGORITHMS.parse("none")).toThrow("shared secrets");
    expect(identityEnvironment.PARLEY_AUTH_ALGORITHMS.parse(undefined)).not.toContainEqual(expect.stringMatching(/^(HS|none)/));
  });
});

test("metadata is fetched from the addresses that OAuth and OpenID Connect define", () => {
  expect(metadataUrls("https://id.example")).toEqual([
    "https://id.example/.well-known/oauth-authorization-server",
    "https://id.example/.well-known/openid-configuration",
  ]);
  expect(metadataUrls("https://id.example/realms/x/")).toEqual([
    "https://id.example/.well-known/oauth-authorization-server/realms/x",
    "https://id.example/.well-known/openid-configuration/realms/x",
    "https://id.example/realms/x/.well-known/openid-configuration",
  ]);
});

test("addresses are compared by value, not by spelling", () => {
  expect(["[::1]", "LOCALHOST", "a.localhost", "127.0.0.2"].every(isLoopback)).toBe(true);
  expect(["0.0.0.0", "::", "10.0.0.1", "127.0.0.1.example.com"].some(isLoopback)).toBe(false);
  expect(unsafeAddress("https://id.example", false)).toBeUndefined();
  expect(unsafeAddress("http://127.0.0.1:1", false)).toBeUndefined();
  expect(unsafeAddress("file:///etc/passwd", true)).toContain("https");
  expect(addressRanges(["10.0.0.0/x"])).toBeUndefined();
  expect(addressRanges(["2001:db8::/32"])?.has("2001:db8::1")).toBe(true);
  expect(addressRanges(["10.0.0.1"])?.has("10.0.0.2")).toBe(false);
});
