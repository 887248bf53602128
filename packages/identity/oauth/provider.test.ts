/** The end of a grant at its provider (RFC 7009), at a real provider and at ones that are down, slow or lying. */
import type { GrantedTokens } from "@parley/core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type Answer, type OauthProvider, startOauthProvider } from "../../../test/support/oauth-provider.ts";
import { logIn } from "../../../test/support/person.ts";
import { createOauthProvider } from "./provider.ts";

const SCOPES = ["read"];
const CALLBACK = "http://127.0.0.1/oauth/callback/id";
const REVOCATION = "/token/revocation";
const METADATA = "/.well-known/oauth-authorization-server";

const JSON_TYPE = { "content-type": "application/json" };

let real: OauthProvider;
beforeAll(async () => {
  real = await startOauthProvider({ resource: "https://crm.example", scopes: SCOPES, callback: CALLBACK });
});
afterEach(() => real.instead.clear());
afterAll(() => real.close());

function providerOf(settings: object = {}, timeoutMs = 5_000) {
  return createOauthProvider({ name: "id", title: "Id", ...real.settings, ...settings }, Date.now, timeoutMs);
}

async function granted(): Promise<GrantedTokens> {
  const provider = providerOf();
  const { url, ...begun } = await provider.start(SCOPES, CALLBACK);
  const back = await logIn(new URL(url), "alice");
  return await provider.finish({ parameters: back.searchParams, begun, scopes: SCOPES, callback: CALLBACK });
}

const TOKENS: GrantedTokens = { provider: "id", accessToken: "t0ken", refreshToken: "r3fresh", scopes: SCOPES };

/** Metadata of the provider with another revocation endpoint. */
function serving(revocation: string | undefined) {
  real.instead.set(METADATA, (_request, response) => {
    const endpoints = { authorization_endpoint: `${real.issuer}/auth`, token_endpoint: `${real.issuer}/token` };
    const metadata = { issuer: real.issuer, ...endpoints, ...(revocation !== undefined && { revocation_endpoint: revocation }) };
    response.writeHead(200, JSON_TYPE).end(JSON.stringify(metadata));
  });
}

test("a token is renewed, and any ID token that comes with it is ignored", async () => {
  const renewed = { access_token: "n3w", token_type: "Bearer", id_token: "nonsense" };
  real.instead.set("/token", (_request, response) => void response.writeHead(200, JSON_TYPE).end(JSON.stringify(renewed)));
  expect(await providerOf().refresh(TOKENS)).toEqual({ ...TOKENS, accessToken: "n3w" });
});

test("a grant has ended at a provider that says so with status 200, as GitHub does", async () => {
  const refusal = { error: "bad_refresh_token", error_description: "The refresh token passed is incorrect or expired." };
  real.instead.set("/token", (_request, response) => void response.writeHead(200, JSON_TYPE).end(JSON.stringify(refusal)));
  await expect(providerOf().refresh(TOKENS)).rejects.toMatchObject({ code: "GRANT_EXPIRED", data: { reason: "bad_refresh_token" } });
});

describe("a grant that is revoked", () => {
  test("is over at the provider: its refresh token is no longer accepted", async () => {
    const tokens = await granted();
    const provider = providerOf();
    const renewed = await provider.refresh(tokens);
    expect(await provider.revoke(renewed)).toBe("ended");
    await expect(provider.refresh(renewed)).rejects.toMatchObject({ code: "GRANT_EXPIRED", data: { reason: "invalid_grant" } });
    // Revoking what is over already is no error (RFC 7009, 2.2).
    expect(await provider.revoke(renewed)).toBe("ended");
  });

  test("is named by its refresh token, or by its access token if there is none", async () => {
    const sent: string[] = [];
    real.instead.set(REVOCATION, (request, response) => {
      request.setEncoding("utf8").on("data", (body: string) => sent.push(body));
      request.on("end", () => response.writeHead(200).end());
    });
    const { refreshToken: _, ...withoutRefresh } = TOKENS;
    expect([await providerOf().revoke(TOKENS), await providerOf().revoke(withoutRefresh)]).toEqual(["ended", "ended"]);
    const fields = sent.map((text) => Object.fromEntries(new URLSearchParams(text)));
    expect(fields).toEqual([
      { client_id: real.settings.client, token: "r3fresh", token_type_hint: "refresh_token" },
      { client_id: real.settings.client, token: "t0ken", token_type_hint: "access_token" },
    ]);
  });

  test("stays at a provider without a revocation endpoint, in its metadata or in the file", async () => {
    serving(undefined);
    expect(await providerOf().revoke(TOKENS)).toBe("unsupported");
    const endpoints = { authorization: `${real.issuer}/auth`, token: `${real.issuer}/token` };
    expect(await providerOf({ endpoints }).revoke(TOKENS)).toBe("unsupported");
    expect(await providerOf({ endpoints: { ...endpoints, revocation: `${real.issuer}${REVOCATION}` } }).revoke(TOKENS)).toBe("ended");
  });

  test.each<[what: string, answer: Answer, code: string]>([
    ["is down", (_request, response) => void response.writeHead(503).end(), "PROVIDER_UNAVAILABLE"],
    ["does not answer", () => undefined, "PROVIDER_UNAVAILABLE"],
    ["redirects", (_request, response) => void response.writeHead(307, { location: "http://127.0.0.1:9/" }).end(), "PROVIDER_INVALID"],
    [
      "refuses",
      (_request, response) => void response.writeHead(400, JSON_TYPE).end('{"error":"unsupported_token_type"}'),
      "PROVIDER_INVALID",
    ],
    ["sends more than is read", (_request, response) => void response.writeHead(200).end("x".repeat(300_000)), "PROVIDER_INVALID"],
  ])("at a provider that %s is reported in time, and no token is in the error", async (what, answer, code) => {
    real.instead.set(REVOCATION, answer);
    const startedMs = performance.now();
    const timeoutMs = what === "does not answer" ? 300 : 10_000;
    const error: unknown = await providerOf({}, timeoutMs)
      .revoke(TOKENS)
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code });
    expect(String((error as Error).stack)).not.toMatch(/t0ken|r3fresh/);
    expect(performance.now() - startedMs).toBeLessThan(10_000);
  });

  test.each(["http://id.example/revoke", "https://user:pass@id.example/revoke", "file:///etc/passwd", "no address"])(
    "is not sent to %s, and people can still log in there",
    async (address) => {
      serving(address);
      const provider = providerOf();
      await expect(provider.revoke(TOKENS)).rejects.toMatchObject({
        code: "PROVIDER_INVALID",
        message: expect.stringContaining("revocation_endpoint"),
      });
      await provider.start(SCOPES, CALLBACK);
    },
  );
});

test("an endpoint over http is refused by naming the provider's own setting, which allows it", async () => {
  const address = "http://id.example/endpoint";
  const refused = { code: "PROVIDER_INVALID", message: expect.stringContaining("`allowHttp: true` in PARLEY_OAUTH allows http") };
  serving(address);
  await expect(providerOf().revoke(TOKENS)).rejects.toMatchObject(refused);
  for (const path of [METADATA, "/.well-known/openid-configuration"]) {
    real.instead.set(path, (_request, response) => {
      response
        .writeHead(200, JSON_TYPE)
        .end(JSON.stringify({ issuer: real.issuer, authorization_endpoint: address, token_endpoint: address }));
    });
  }
  await expect(providerOf().start(SCOPES, CALLBACK)).rejects.toMatchObject(refused);
  expect((await providerOf({ allowHttp: true }).start(SCOPES, CALLBACK)).url).toMatch(/^http:\/\/id\.example\/endpoint\?/);
});
