/** Metadata of two issuers on one host, as providers have them that keep an issuer for each of their customers. */
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { discoverAddresses, discoverKeys } from "./discover.ts";

const OAUTH = "/.well-known/oauth-authorization-server";
const OPENID = "/.well-known/openid-configuration";
const LIMITS = { timeoutMs: 30_000, allowHttp: false };

async function host() {
  const asked: string[] = [];
  const served = new Map<string, object | number | RequestListener>();
  const server = createServer((request, response) => {
    asked.push(request.url ?? "");
    const answer = served.get(request.url ?? "") ?? 404;
    if (typeof answer === "function") answer(request, response);
    else if (typeof answer === "number") response.writeHead(answer).end();
    else response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => (server.closeAllConnections(), void server.close()));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const documentOf = (name: string) => ({ issuer: `${url}${name}`, jwks_uri: `${url}${name}/keys` });
  return { url, asked, served, documentOf, keysOf: (name: string) => discoverKeys({ issuer: `${url}${name}`, ...LIMITS }) };
}

describe("an issuer's metadata", () => {
  test("is its own, also where another issuer has its own on the same host", async () => {
    const { url, served, documentOf, keysOf } = await host();
    for (const name of ["/a", "/b", ""]) served.set(`${OAUTH}${name}`, documentOf(name));
    expect(await Promise.all([keysOf("/a"), keysOf("/b"), keysOf(""), keysOf("/a")])).toEqual(
      ["/a", "/b", "", "/a"].map((name) => `${url}${name}/keys`),
    );
  });

  test("is not that of another issuer, wherever on the host it is served", async () => {
    const { url, asked, served, documentOf, keysOf } = await host();
    for (const at of [`${OAUTH}/a`, `${OPENID}/a`, `/a${OPENID}`]) served.set(at, documentOf("/b"));
    await expect(keysOf("/a")).rejects.toMatchObject({
      code: "PROVIDER_INVALID",
      message: `the metadata of ${url}/a: the document names the issuer "${url}/b"`,
    });
    expect(asked).toEqual([`${OAUTH}/a`, `${OPENID}/a`, `/a${OPENID}`]);
    // At a later address is the issuer's own.
    served.set(`/a${OPENID}`, documentOf("/a"));
    expect(await keysOf("/a")).toBe(`${url}/a/keys`);
  });

  test.each([
    ["an error", 404] as const,
    ["another answer than JSON", ((_request, response) => response.end("<html>")) as RequestListener] as const,
  ])("is looked for at its next address after %s, and an earlier failure is over then", async (_what, answer) => {
    const { url, asked, served, documentOf, keysOf } = await host();
    served.set(`${OAUTH}/a`, answer).set(`${OPENID}/a`, documentOf("/a"));
    expect([await keysOf("/a"), await keysOf("/a")]).toEqual([`${url}/a/keys`, `${url}/a/keys`]);
    expect(asked).toEqual([`${OAUTH}/a`, `${OPENID}/a`, `${OAUTH}/a`, `${OPENID}/a`]);
  });

  test("of a provider that is down is asked for once, and while it is down another issuer's is found", async () => {
    const { url, asked, served, documentOf, keysOf } = await host();
    served.set(`${OAUTH}/a`, 503).set(`${OPENID}/a`, documentOf("/a")).set(`${OAUTH}/b`, documentOf("/b"));
    await expect(keysOf("/a")).rejects.toMatchObject({ code: "PROVIDER_UNAVAILABLE" });
    expect(asked).toEqual([`${OAUTH}/a`]);
    expect(await keysOf("/b")).toBe(`${url}/b/keys`);
    served.set(`${OAUTH}/a`, documentOf("/a"));
    expect(await keysOf("/a")).toBe(`${url}/a/keys`);
  });

  test("has each address that is asked for, and each has to be safe", async () => {
    const { url, served, documentOf } = await host();
    const find = (more: object, allowHttp = false) => {
      served.set(OAUTH, { ...documentOf(""), ...more });
      return discoverAddresses({ issuer: url, ...LIMITS, allowHttp, httpPermit: "THE_SETTING" }, ["jwks_uri", "token_endpoint"]);
    };
    const token_endpoint = "https://id.example/token";
    expect(await find({ token_endpoint, more: 1 })).toEqual({
      jwks_uri: `${url}/keys`,
      token_endpoint,
      metadata: { ...documentOf(""), token_endpoint, more: 1 },
    });
    for (const [given, says] of [
      [undefined, "is missing"],
      [7, "is missing"],
      ["no address", "is not an address"],
      ["https://me:pass@id.example/", "must not contain a password"],
      ["http://id.example/token", "must be https (for development, THE_SETTING allows http)"],
    ] as const) {
      // oxlint-disable-next-line no-await-in-loop -- one document after another at one address
      const error = await find({ token_endpoint: given }).catch((thrown: unknown) => thrown);
      // There is nothing at the other addresses, which nobody needs to know.
      expect(error).toMatchObject({ code: "PROVIDER_INVALID", message: `the metadata of ${url}: its token_endpoint ${says}` });
    }
    expect(await find({ token_endpoint: "http://id.example/token" }, true)).toMatchObject({ token_endpoint: "http://id.example/token" });
  });

  test("is waited for no longer than the time that is left of a time that several share", async () => {
    const { url, asked, served } = await host();
    const none: RequestListener = () => undefined;
    served.set(`${OAUTH}/a`, none);
    const shared = new AbortController();
    const found = discoverKeys({ issuer: `${url}/a`, ...LIMITS, signal: shared.signal }).catch((error: unknown) => error);
    await expect.poll(() => asked.length).toBe(1);
    shared.abort();
    expect(await found).toMatchObject({ code: "PROVIDER_UNAVAILABLE" });
    expect(await discoverKeys({ issuer: `${url}/b`, ...LIMITS, signal: shared.signal }).catch((error: unknown) => error)).toMatchObject({
      code: "PROVIDER_UNAVAILABLE",
    });
  });
});
