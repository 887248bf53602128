import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { credentialsFor } from "./credentials.ts";
import { changeCredentials, readCredentials } from "./store.ts";

test("a token that several requests find refused at once is renewed once", async () => {
  const home = await mkdtemp(join(tmpdir(), "parley-credentials-"));
  onTestFinished(() => rm(home, { recursive: true }));
  vi.stubEnv("XDG_CONFIG_HOME", home);
  let renewals = 0;
  const server = createServer((request, response) => {
    const base = `http://${request.headers.host}`;
    const send = (body: object) => response.setHeader("content-type", "application/json").end(JSON.stringify(body));
    if (request.url?.startsWith("/.well-known/oauth-protected-resource")) send({ resource: `${base}/mcp`, authorization_servers: [base] });
    else if (request.url?.startsWith("/.well-known/")) {
      const endpoints = { authorization_endpoint: `${base}/authorize`, token_endpoint: `${base}/token` };
      send({ issuer: base, ...endpoints, response_types_supported: ["code"], code_challenge_methods_supported: ["S256"] });
    } else {
      const number = (renewals += 1);
      setTimeout(() => send({ access_token: `new-${number}`, refresh_token: `refresh-${number}`, token_type: "bearer" }), 100);
    }
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  await changeCredentials(url, () => ({ client: { client_id: "c" }, tokens: { access_token: "old", refresh_token: "refresh-0" } }));

  const token = credentialsFor(url);
  expect(await token()).toBe("old");
  const renewed = await Promise.all(Array.from({ length: 10 }, () => token("old")));

  expect([renewals, new Set(renewed)]).toEqual([1, new Set(["new-1"])]);
  expect((await readCredentials(url))?.tokens).toMatchObject({ access_token: "new-1", refresh_token: "refresh-1" });
});
