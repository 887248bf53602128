/** Codes, verifiers and refresh tokens reach only the provider at which the person logged in, whatever the server names meanwhile. */
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { login } from "../login/run.ts";
import { logInByDevice } from "../login/device.ts";
import { credentialsFor } from "./credentials.ts";
import { changeCredentials, readCredentials } from "./store.ts";

let url: string;
let first: Provider;
let other: Provider;
/** The one that the server names. */
let named: Provider;
const warned = vi.spyOn(console, "warn");

interface Provider {
  readonly issuer: string;
  /** What its token endpoint was sent. */
  readonly sent: URLSearchParams[];
  /** What it answers there. */
  answer: (form: URLSearchParams) => { readonly status?: number; readonly body: object };
}

async function listen(serve: (request: IncomingMessage & { text: string }, response: ServerResponse) => void): Promise<string> {
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (chunk) => (text += String(chunk))).on("end", () => serve(Object.assign(request, { text }), response));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => (server.closeAllConnections(), void server.close()));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const json = (response: ServerResponse, body: object, status = 200) =>
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));

async function openProvider(): Promise<Provider> {
  const tokens = { access_token: "new", refresh_token: "refresh-1", token_type: "bearer" };
  const sent: URLSearchParams[] = [];
  const provider = { issuer: "", sent, answer: () => ({ body: tokens }) } as { -readonly [K in keyof Provider]: Provider[K] };
  provider.issuer = await listen((request, response) => {
    const at = provider.issuer;
    if (request.url?.startsWith("/.well-known/")) {
      return json(response, {
        issuer: at,
        authorization_endpoint: `${at}/authorize`,
        token_endpoint: `${at}/token`,
        registration_endpoint: `${at}/register`,
        device_authorization_endpoint: `${at}/device`,
        response_types_supported: ["code"],
        code_challenge_methods_supported: ["S256"],
        token_endpoint_auth_methods_supported: ["none"],
      });
    }
    if (request.url === "/register") return json(response, { ...(JSON.parse(request.text) as object), client_id: "registered" }, 201);
    if (request.url === "/device") {
      return json(response, { device_code: "d", user_code: "u", verification_uri: `${at}/here`, expires_in: 60, interval: 0.01 });
    }
    sent.push(new URLSearchParams(request.text));
    const { status, body } = provider.answer(new URLSearchParams(request.text));
    return json(response, body, status);
  });
  return provider;
}

beforeEach(async () => {
  const home = await mkdtemp(join(tmpdir(), "parley-issuer-"));
  onTestFinished(() => rm(home, { recursive: true }));
  vi.stubEnv("XDG_CONFIG_HOME", home);
  warned.mockReset();
  [first, other] = await Promise.all([openProvider(), openProvider()]);
  named = first;
  const base = await listen((request, response) => {
    const at = `http://${request.headers.host}`;
    if (request.url?.startsWith("/.well-known/oauth-protected-resource"))
      return json(response, { resource: `${at}/mcp`, authorization_servers: [named.issuer] });
    return response
      .writeHead(401, { "www-authenticate": `Bearer resource_metadata="${at}/.well-known/oauth-protected-resource/mcp"` })
      .end();
  });
  url = `${base}/mcp`;
});

/** Logs in as with a browser; `back` changes the address at which the provider sends the browser back. */
async function logIn(back: (address: URL) => void = () => undefined): Promise<string> {
  let printed = "";
  const stderr = vi.spyOn(process.stderr, "write").mockImplementation((text) => ((printed += String(text)), true));
  const stdout = vi.spyOn(process.stdout, "write").mockImplementation((text) => ((printed += String(text)), true));
  try {
    const done = login({ url, browser: false, clientId: "cli" });
    done.catch(() => undefined);
    await expect.poll(() => printed).toContain("Log in at ");
    const [page = ""] = /http:\S+/.exec(printed) ?? [];
    const asked = new URL(page).searchParams;
    const address = new URL(asked.get("redirect_uri") ?? "");
    address.search = new URLSearchParams({ code: "the code", state: asked.get("state") ?? "" }).toString();
    back(address);
    await fetch(address);
    await done;
    return printed;
  } finally {
    stderr.mockRestore();
    stdout.mockRestore();
  }
}

test("a code is exchanged where the person logged in, also if the server names another provider by then", async () => {
  const printed = await logIn(() => (named = other));
  expect(first.sent.map((form) => form.get("code"))).toEqual(["the code"]);
  expect(other.sent).toEqual([]);
  expect((await readCredentials(url))?.tokens).toMatchObject({ access_token: "new", issuer: first.issuer });
  expect(warned).not.toHaveBeenCalled();
  expect(printed).not.toMatch(/sdk|SEP-/i);
});

test("a response that names another issuer is refused in words, and the code is sent nowhere", async () => {
  await expect(logIn((address) => address.searchParams.set("iss", other.issuer))).rejects.toThrow(/^another provider answered/);
  expect([first.sent, other.sent]).toEqual([[], []]);
  expect(await readCredentials(url)).toBeUndefined();
});

test.each(["browser", "device"])(
  "tokens of a login by %s are renewed at their provider, and sent to no other that the server names",
  async (how) => {
    if (how === "browser") await logIn();
    else {
      const signal = new AbortController().signal;
      const asked = { url, resourceMetadataUrl: undefined, scope: undefined, clientId: undefined, show: () => undefined, signal };
      const credentials = await logInByDevice(asked);
      await changeCredentials(url, () => credentials);
    }
    const token = credentialsFor(url);
    first.sent.length = 0;
    named = other;
    expect(await token("new")).toBeUndefined();
    expect([first.sent, other.sent]).toEqual([[], []]);
    named = first;
    first.answer = () => ({ body: { access_token: "newer", token_type: "bearer" } });
    expect(await token("new")).toBe("newer");
    expect(first.sent.map((form) => form.get("refresh_token"))).toEqual(["refresh-1"]);
  },
);

test("a provider that refuses to renew leads to a login, and nothing of the client's is printed", async () => {
  await logIn();
  first.answer = () => ({ status: 400, body: { error: "invalid_grant" } });
  expect(await credentialsFor(url)("new")).toBeUndefined();
  expect(warned).not.toHaveBeenCalled();
});
