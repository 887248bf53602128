import { afterAll, beforeAll, expect, test } from "vitest";
import { type Issuer, startIssuer } from "../../../test/support/issuer.ts";
import { boundedFetch, LOGIN_BYTES_MAX } from "./bounded-fetch.ts";
import { logInByDevice } from "../login/device.ts";

let issuer: Issuer;
beforeAll(async () => {
  issuer = await startIssuer();
});
afterAll(() => issuer.close());

/** JSON of exactly that many bytes, at every path that a login reads. */
function padded(path: string, body: object, bytes: number): void {
  const text = JSON.stringify({ ...body, padding: "" });
  const whole = `${text.slice(0, -2)}${"x".repeat(bytes - text.length)}"}`;
  issuer.answer(path, (_request, response) => void response.writeHead(200, { "content-type": "application/json" }).end(whole));
}

test("a response at the limit is read, and one that is a byte longer is not", async () => {
  padded("/x", {}, LOGIN_BYTES_MAX);
  expect(await (await boundedFetch(`${issuer.url}/x`)).json()).toHaveProperty("padding");
  padded("/x", {}, LOGIN_BYTES_MAX + 1);
  await expect(boundedFetch(new URL(`${issuer.url}/x`))).rejects.toThrow(`${issuer.url} sent more than ${LOGIN_BYTES_MAX} bytes`);
});

test("a response without a body, and a refusal, keep their status and headers", async () => {
  issuer.answer("/x", (_request, response) => void response.writeHead(204, { "x-one": "1" }).end());
  const empty = await boundedFetch(`${issuer.url}/x`);
  expect([empty.status, empty.headers.get("x-one"), empty.ok]).toEqual([204, "1", true]);
  expect(await boundedFetch(`${issuer.url}/none`)).toMatchObject({ status: 404, ok: false });
});

test("a login by device code reads no more of any of a provider's responses", async () => {
  const resource = { resource: `${issuer.url}/mcp`, authorization_servers: [issuer.url] };
  const metadata = {
    issuer: issuer.url,
    authorization_endpoint: `${issuer.url}/authorize`,
    token_endpoint: `${issuer.url}/token`,
    device_authorization_endpoint: `${issuer.url}/device`,
    registration_endpoint: `${issuer.url}/reg`,
    response_types_supported: ["code"],
  };
  const client = { client_id: "c", redirect_uris: [] };
  const device = { device_code: "d", user_code: "u", verification_uri: `${issuer.url}/v`, expires_in: 60, interval: 0.01 };
  const token = { access_token: "t", token_type: "bearer" };
  const responses = [
    ["/.well-known/oauth-protected-resource/mcp", resource],
    ["/.well-known/oauth-authorization-server", metadata],
    ["/reg", client],
    ["/device", device],
    ["/token", token],
  ] as const;
  const signal = new AbortController().signal;
  const logIn = () =>
    logInByDevice({
      url: `${issuer.url}/mcp`,
      resourceMetadataUrl: undefined,
      scope: undefined,
      clientId: undefined,
      show: () => undefined,
      signal,
    });

  for (const [path, body] of responses) padded(path, body, LOGIN_BYTES_MAX);
  expect((await logIn()).tokens).toMatchObject({ access_token: "t" });
  for (const [path, body] of responses) {
    padded(path, body, LOGIN_BYTES_MAX + 1);
    await expect(logIn(), path).rejects.toThrow(`sent more than ${LOGIN_BYTES_MAX} bytes`);
    padded(path, body, LOGIN_BYTES_MAX);
  }
});
