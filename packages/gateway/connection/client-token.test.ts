/** The gateway's own tokens, at a real OAuth provider (oidc-provider), for a real server that verifies each of them. */
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { inspect } from "node:util";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { CallToolRequestSchema, ElicitResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { createRemoteJWKSet, decodeJwt, jwtVerify } from "jose";
import Provider, { type Configuration, errors } from "oidc-provider";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { createSessionServer } from "../../../test/support/session-server.ts";
import { until } from "../../../test/support/until.ts";
import { startCall } from "../call/upstream-call.ts";
import { parseUpstreams, type Upstream } from "../config/upstreams.ts";
import { aRequest, FORM, leading, someDeps } from "../upstream.fixture.ts";
import { describeFailure } from "../wire/describe-failure.ts";
import { createClientTokens, TOKEN_CHARS_MAX, type WithCredentials } from "./client-token.ts";
import { createUpstreamFetch } from "./upstream-fetch.ts";
import { createConnector } from "./upstream-session.ts";

type Answers = (request: IncomingMessage, response: ServerResponse) => unknown;

const SECRET = "the-secret-of-the-gateway";
const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const PEM = privateKey.export({ format: "pem", type: "sec1" }) as string;
const OTHER_PEM = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ format: "pem", type: "pkcs8" }) as string;
const closers: (() => unknown)[] = [];
const closeAll = async (each: (() => unknown)[]) => {
  for (const close of each.splice(0).toReversed()) await close();
};
const closersOfAll: (() => unknown)[] = [];
afterEach(async () => {
  vi.restoreAllMocks();
  await closeAll(closers);
});
afterAll(async () => await closeAll(closersOfAll));

async function serve(answers: Answers, after: (() => unknown)[]): Promise<string> {
  const http = createServer((request, response) => void answers(request, response)).listen(0, "127.0.0.1");
  await once(http, "listening");
  after.push(() => {
    http.closeAllConnections();
    http.close();
  });
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
}

/** In place of the provider's and the upstream's own answers, by path. */
const instead = new Map<string, Answers>();
let issuer: string;
let provider: Provider;
/** Client metadata documents, by their addresses, for the provider to read. */
const documents = new Map<string, object>();
/** Bodies of the requests for tokens. */
let asked: URLSearchParams[];
let secret: string;
let tokenSeconds: number;

beforeAll(async () => {
  const { privateKey: key } = generateKeyPairSync("rsa", { modulusLength: 2_048 });
  issuer = await serve(async (request, response) => {
    const path = new URL(request.url ?? "/", issuer).pathname;
    if (path === "/token") {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const body = Buffer.concat(chunks).toString();
      asked.push(new URLSearchParams(body));
      Object.assign(request, { body: Object.fromEntries(new URLSearchParams(body)) });
    }
    await (instead.get(path) ?? provider.callback())?.(request, response);
  }, closersOfAll);
  const client = { grant_types: ["client_credentials"], redirect_uris: [], response_types: [] };
  const publicKeys = { jwks: { keys: [{ ...publicKey.export({ format: "jwk" }), use: "sig", alg: "ES256" }] } };
  provider = new Provider(issuer, {
    jwks: { keys: [{ ...key.export({ format: "jwk" }), use: "sig", alg: "RS256" }] },
    clients: [
      { ...client, client_id: "gateway", client_secret: SECRET },
      {
        ...client,
        ...publicKeys,
        client_id: "signing",
        token_endpoint_auth_method: "private_key_jwt",
        token_endpoint_auth_signing_alg: "ES256",
      },
    ],
    scopes: ["read", "write"],
    fetch: async (url: string) => {
      const document = documents.get(url);
      return document ? Response.json(document) : new Response(null, { status: 404 });
    },
    features: {
      clientIdMetadataDocument: { enabled: true, ack: "draft-02" },
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo(_context: unknown, resource: string) {
          if (!resource.startsWith("http://127.0.0.1")) throw new errors.InvalidTarget();
          const jwt = { sign: { alg: "RS256" } };
          return { scope: "read write", audience: resource, accessTokenFormat: "jwt", accessTokenTTL: tokenSeconds, jwt };
        },
      },
    },
  } as unknown as Configuration);
});

beforeEach(() => {
  instead.clear();
  asked = [];
  secret = SECRET;
  tokenSeconds = 600;
});

interface Served {
  readonly url: string;
  /** Tokens that came, in turn, whether they were taken or not. */
  readonly came: string[];
  refuses: (token: string) => boolean;
  /** Metadata (RFC 9728); undefined: none. */
  metadata: object | undefined;
  challenge: string;
  readonly paths: string[];
}

/** A server of 2025-11-25 with one tool, which asks. */
async function upstreamServer(): Promise<Served> {
  const keys = createRemoteJWKSet(new URL(`${issuer}/jwks`));
  const sessions = createSessionServer(() => {
    const server = new Server({ name: "crm", version: "1" }, { capabilities: { tools: {} } });
    server.setRequestHandler(CallToolRequestSchema, async (_request, { sendRequest }) => {
      const params = { mode: "form", message: "Sure?", requestedSchema: FORM } as const;
      const { action } = await sendRequest({ method: "elicitation/create", params }, ElicitResultSchema);
      return { content: [{ type: "text", text: action }] };
    });
    return server;
  });
  const origin = await serve(async (request, response) => {
    const path = new URL(request.url ?? "/", origin).pathname;
    served.paths.push(path);
    const answers = instead.get(path);
    if (answers) return answers(request, response);
    if (path === "/.well-known/oauth-protected-resource/mcp" && served.metadata)
      return response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(served.metadata));
    if (path !== "/mcp") return response.writeHead(404).end();
    const [, token = ""] = /^Bearer (.+)$/.exec(request.headers.authorization ?? "") ?? [];
    served.came.push(token);
    const isGood = await jwtVerify(token, keys, { issuer, audience: served.url }).then(
      () => !served.refuses(token),
      () => false,
    );
    if (!isGood) return response.writeHead(401, { "www-authenticate": served.challenge }).end();
    await sessions.serve(request, response);
  }, closers);
  const url = `${origin}/mcp`;
  const served: Served = {
    url,
    came: [],
    refuses: () => false,
    metadata: { resource: url, authorization_servers: [issuer], scopes_supported: ["read"] },
    challenge: "Bearer",
    paths: [],
  };
  return served;
}

interface Entry extends Record<string, unknown> {
  readonly name?: string;
}

function upstreamAt(url: string, credentials: object = {}, entry: Entry = {}): Upstream {
  const given = { issuer: "ISSUER", clientId: "gateway", clientSecret: "${SECRET}", ...credentials };
  const clientCredentials = { ...given, issuer: given.issuer.replace("ISSUER", issuer) };
  const file = { upstreams: [{ name: "crm", url, revisions: "sessions", callTimeout: "20s", clientCredentials, ...entry }] };
  return parseUpstreams("up.json", JSON.stringify(file), { environment: { SECRET: secret, PEM, OTHER_PEM } })[0]!;
}

function connecting() {
  const { fetch, close } = createUpstreamFetch();
  closers.push(close);
  return createConnector({ fetch, version: "1", deployment: "d" });
}

function tokensAt(nowMs: () => number = () => performance.now()) {
  const { fetch, close } = createUpstreamFetch();
  closers.push(close);
  return createClientTokens({ fetch, nowMs });
}

const reachedBy = ({ reached }: Upstream) => reached as WithCredentials;

test("each request has a token for its upstream, with the scopes that it asks for, and all of them share one", async () => {
  const [here, there] = await Promise.all([upstreamServer(), upstreamServer()]);
  const connector = connecting();
  const [crm, erp] = [upstreamAt(here.url), upstreamAt(there.url, { scopes: ["write"] }, { name: "erp" })];
  const sessions = await Promise.all([crm, crm, crm, erp].map(async (upstream) => await connector.open(upstream, { capabilities: {} })));
  await Promise.all(sessions.map(async (session) => await session.close()));
  expect(asked.map((form) => Object.fromEntries(form))).toEqual(
    expect.arrayContaining([
      { grant_type: "client_credentials", resource: here.url, scope: "read" },
      { grant_type: "client_credentials", resource: there.url, scope: "write" },
    ]),
  );
  expect(asked).toHaveLength(2);
  expect([new Set(here.came).size, new Set(there.came).size]).toEqual([1, 1]);
  expect(here.came[0]).not.toBe(there.came[0]);
  expect(here.came.length).toBeGreaterThan(3);
});

test("the same server in two entries, and the same entry with another client, get tokens of their own", async () => {
  const { url } = await upstreamServer();
  const tokens = tokensAt();
  const all = [
    upstreamAt(url),
    upstreamAt(url, {}, { name: "again" }),
    upstreamAt(url, { clientId: "signing", clientSecret: undefined, privateKey: "${PEM}" }),
  ];
  const got = await Promise.all(all.map(async (upstream) => await tokens.token(upstream, reachedBy(upstream))));
  expect(new Set(got).size).toBe(3);
  expect(got.map((token) => decodeJwt(token)["client_id"])).toEqual(["gateway", "gateway", "signing"]);
});

test.each([
  ["whose key is in it gets a token", {}, "${PEM}", undefined],
  ["whose key is not in it gets none", {}, "${OTHER_PEM}", "does not accept the client"],
  ["that names another client gets none", { client_id: "https://other.example/client.json" }, "${PEM}", "has failed|does not|refused"],
  ["that may not use the grant type gets none", { grant_types: ["authorization_code"] }, "${PEM}", "has failed|does not|refused"],
] as const)("a client that is the address of a metadata document (CIMD) and %s", async (_what, document, key, says) => {
  const id = `https://parley-${crypto.randomUUID()}.example/client.json`;
  documents.set(id, {
    client_id: id,
    client_name: "Parley",
    grant_types: ["client_credentials"],
    redirect_uris: [],
    response_types: [],
    token_endpoint_auth_method: "private_key_jwt",
    token_endpoint_auth_signing_alg: "ES256",
    jwks: { keys: [{ ...publicKey.export({ format: "jwk" }), use: "sig", alg: "ES256" }] },
    ...document,
  });
  const upstream = upstreamAt((await upstreamServer()).url, { clientId: id, clientSecret: undefined, privateKey: key });
  const got = tokensAt().token(upstream, reachedBy(upstream));
  if (says === undefined) expect(decodeJwt(await got)).toMatchObject({ client_id: id, scope: "read" });
  else await expect(got).rejects.toThrow(new RegExp(says));
});

test("a question is answered with the next token, where the first one has expired while a person thought", async () => {
  const server = await upstreamServer();
  const connector = connecting();
  const call = startCall("1", aRequest({ upstream: upstreamAt(server.url), questionTimeoutMs: 20_000 }), someDeps(connector));
  closers.push(() => call.close());
  const question = await call.next([], leading());
  if (question.type !== "asked") throw new Error(`${question.type} came in place of a question`);
  const [first] = server.came;
  server.refuses = (token) => token === first;
  // Older than a token may be that is refused at once.
  const later = performance.now() + 11_000;
  const now = performance.now.bind(performance);
  vi.spyOn(performance, "now").mockImplementation(() => Math.max(now(), later));
  const given = [{ question: question.questions[0]!, answer: { action: "accept", content: { ok: true } } as const }];
  expect(await call.next(given, leading())).toMatchObject({ type: "result", result: { content: [{ text: "accept" }] } });
  expect(new Set(server.came).size).toBe(2);
  expect(asked).toHaveLength(2);
});

test("polls of a task in a session have a token, and a caller's own is sent in its place", async () => {
  const server = await upstreamServer();
  const upstream = upstreamAt(server.url);
  const connector = connecting();
  const poll = async (accessToken?: () => string) =>
    await connector
      .sessionTasks(upstream, accessToken)
      .get(JSON.stringify(["session", "task"]), AbortSignal.timeout(5_000))
      .catch(() => undefined);
  await poll();
  expect(decodeJwt(server.came.at(-1)!)).toMatchObject({ client_id: "gateway" });
  await poll(() => "of-the-caller");
  await connector.open(upstream, { capabilities: {}, accessToken: () => "of-the-caller" }).catch(() => undefined);
  expect(server.came.slice(1)).toEqual(["of-the-caller", "of-the-caller"]);
  expect(asked).toHaveLength(1);
});

test("a secret that is replaced in the file is used from the next request on, in sessions that are open too", async () => {
  const server = await upstreamServer();
  const connector = connecting();
  const session = await connector.open(upstreamAt(server.url), { capabilities: {} });
  closers.push(() => session.close());
  secret = "another-secret";
  connector.update([upstreamAt(server.url)]);
  await expect(session.client.ping()).rejects.toThrow(/invalid_client/);
  secret = SECRET;
  connector.update([upstreamAt(server.url, { scopes: ["write"] })]);
  await session.client.ping();
  expect(decodeJwt(server.came.at(-1)!)).toMatchObject({ scope: "write", client_id: "gateway" });
});

test("a token is renewed before it expires, and used until then if the next one cannot be had", async () => {
  const { url } = await upstreamServer();
  const upstream = upstreamAt(url);
  let nowMs = 0;
  const tokens = tokensAt(() => nowMs);
  const next = async () => await tokens.token(upstream, reachedBy(upstream));
  const first = await next();
  nowMs = 539_000;
  expect(await next()).toBe(first);
  nowMs = 541_000;
  instead.set("/token", (_request, response) => response.writeHead(503).end());
  expect(await next()).toBe(first);
  nowMs = 543_000;
  instead.clear();
  const second = await next();
  expect(second).not.toBe(first);
  nowMs += 601_000;
  instead.set("/token", (_request, response) => response.writeHead(503).end());
  await expect(next()).rejects.toThrow("refused a token, or failed to issue one");
  // Others are told the same for a second, without a request of theirs.
  const before = asked.length;
  await expect(next()).rejects.toThrow("refused a token, or failed to issue one");
  expect(asked).toHaveLength(before);
});

test("an upstream that refuses every token has each request twice at most, and the provider is asked once in ten seconds", async () => {
  const server = await upstreamServer();
  server.refuses = () => true;
  const connector = connecting();
  const open = async () => await connector.open(upstreamAt(server.url), { capabilities: {} }).catch(describeFailure);
  for (let times = 0; times < 5; times += 1) expect(await open()).toBe("it does not accept the credentials (HTTP 401)");
  expect(asked).toHaveLength(1);
  expect(server.came).toHaveLength(5);
});

test("an upstream that asks for other scopes with each refusal has the provider asked once more, and no more", async () => {
  const server = await upstreamServer();
  let times = 0;
  server.refuses = () => {
    times += 1;
    server.challenge = `Bearer scope="${times % 2 === 0 ? "read" : "write"}"`;
    return true;
  };
  const connector = connecting();
  const open = async () => await connector.open(upstreamAt(server.url), { capabilities: {} }).catch(describeFailure);
  for (let each = 0; each < 5; each += 1) expect(await open()).toBe("it does not accept the credentials (HTTP 401)");
  expect(asked).toHaveLength(2);
});

test("a request that was given up before it began asks for no token, and fails nowhere else", async () => {
  const { url } = await upstreamServer();
  const upstream = upstreamAt(url);
  instead.set("/token", (_request, response) => response.writeHead(503).end());
  const unhandled: unknown[] = [];
  const note = (error: unknown) => void unhandled.push(error);
  process.on("unhandledRejection", note);
  closers.push(() => process.off("unhandledRejection", note));
  const tokens = tokensAt();
  const gone = AbortSignal.abort(new Error("given up"));
  await expect(tokens.token(upstream, reachedBy(upstream), gone)).rejects.toThrow("given up");
  await expect(tokens.token(upstream, reachedBy(upstream))).rejects.toThrow("refused a token, or failed to issue one");
  await sleep(50);
  expect(unhandled).toEqual([]);
  expect(asked).toHaveLength(1);
});

test("what an upstream says where it refuses a token counts: where its metadata are, and which scopes it needs", async () => {
  const server = await upstreamServer();
  const metadata = { resource: server.url, authorization_servers: [issuer] };
  server.metadata = undefined;
  instead.set("/elsewhere", (_request, response) => response.end(JSON.stringify(metadata)));
  server.refuses = (token) => decodeJwt(token)["scope"] !== "write";
  server.challenge = `Bearer resource_metadata="${new URL("/elsewhere", server.url).href}", scope="write"`;
  const session = await connecting().open(upstreamAt(server.url), { capabilities: {} });
  await session.close();
  expect(server.paths).toContain("/elsewhere");
});

test("metadata at another origin are not read: it could be anywhere in the network", async () => {
  const read: string[] = [];
  const other = await serve((request, response) => {
    read.push(request.url ?? "");
    response.writeHead(404).end();
  }, closers);
  const server = await upstreamServer();
  server.refuses = () => true;
  server.challenge = `Bearer resource_metadata="${other}/.well-known/oauth-protected-resource"`;
  await expect(connecting().open(upstreamAt(server.url), { capabilities: {} })).rejects.toThrow();
  expect(read).toEqual([]);
});

const json =
  (body: unknown, status = 200) =>
  (_request: IncomingMessage, response: ServerResponse) =>
    response.writeHead(status, { "content-type": "application/json" }).end(typeof body === "string" ? body : JSON.stringify(body));
/** What a server may say, and no error may repeat. */
const WORDS = "words-of-the-server";
const METADATA = "/.well-known/oauth-protected-resource/mcp";
const SERVER = "/.well-known/oauth-authorization-server";
const host = () => new URL(issuer).host;

describe("what is wrong is said in one sentence, without the secret and without what the servers said", () => {
  const failing: [string, { answers?: [string, Answers]; credentials?: object; says: string; isAsked?: boolean }][] = [
    [
      "a secret that is not the client's",
      {
        credentials: { clientSecret: "wrong-secret" },
        says: "AUTH does not accept the client: check `clientId`, and `clientSecret` or `privateKey` (invalid_client)",
      },
    ],
    [
      "a key that is not the client's",
      {
        credentials: { clientId: "signing", clientSecret: undefined, privateKey: "${OTHER_PEM}" },
        says: "AUTH does not accept the client: check `clientId`, and `clientSecret` or `privateKey` (invalid_client)",
      },
    ],
    [
      "a client that may not do this",
      {
        answers: ["/token", json({ error: "unauthorized_client", error_description: WORDS }, 400)],
        says: "AUTH does not allow this client the grant type client_credentials (unauthorized_client)",
      },
    ],
    [
      "scopes that are not granted",
      {
        answers: ["/token", json({ error: "invalid_scope", error_description: WORDS }, 400)],
        says: "AUTH does not grant these `scopes` (invalid_scope)",
      },
    ],
    [
      "a resource that the provider does not know",
      { credentials: { resource: "https://other.example" }, says: "AUTH issues no token for this `resource` (invalid_target)" },
    ],
    [
      "an error that is none of OAuth's",
      { answers: ["/token", json({ error: WORDS }, 400)], says: "AUTH refused a token, or failed to issue one" },
    ],
    ["a provider that fails", { answers: ["/token", json(WORDS, 500)], says: "AUTH refused a token, or failed to issue one" }],
    [
      "a page in place of a token",
      { answers: ["/token", (_q, s) => s.end(`<html>${WORDS}`)], says: "AUTH sent a response that is not one of OAuth" },
    ],
    [
      "no token in the response",
      { answers: ["/token", json({ token_type: "Bearer", words: WORDS })], says: "AUTH sent a response that is not one of OAuth" },
    ],
    ["a list in place of a token", { answers: ["/token", json([WORDS])], says: "AUTH sent a response that is not one of OAuth" }],
    [
      "a token of another type",
      { answers: ["/token", json({ access_token: WORDS, token_type: "DPoP" })], says: "AUTH issued a token that is no bearer token" },
    ],
    [
      "a token with a line break",
      {
        answers: ["/token", json({ access_token: `${WORDS}\nx: y`, token_type: "Bearer" })],
        says: "AUTH issued a token that cannot be sent in a header",
      },
    ],
    [
      "a token that is too long",
      {
        answers: ["/token", json({ access_token: "t".repeat(TOKEN_CHARS_MAX + 1), token_type: "Bearer" })],
        says: "AUTH issued a token that cannot be sent in a header",
      },
    ],
    [
      "a provider that sends words without end",
      { answers: ["/token", (_q, s) => void endless(s)], says: "AUTH did not answer within the `connectTimeout` of the upstream" },
    ],
    [
      "a provider that does not answer",
      { answers: ["/token", () => undefined], says: "AUTH did not answer within the `connectTimeout` of the upstream" },
    ],
    [
      "a provider that closes the connection",
      { answers: ["/token", (q) => q.socket.destroy()], says: "AUTH cannot be reached: it closed the connection (UND_ERR_SOCKET)" },
    ],
    [
      "a provider that sends the secret elsewhere",
      {
        answers: ["/token", (_q, s) => s.writeHead(307, { location: "http://localhost:1/" }).end()],
        says: "AUTH refused a token, or failed to issue one",
      },
    ],
    [
      "no provider at that address",
      {
        credentials: { issuer: "http://127.0.0.1:1" },
        says: "its metadata name another authorization server than `issuer` in the file of upstreams",
        isAsked: false,
      },
    ],
    [
      "a provider without metadata",
      {
        credentials: { issuer: "ISSUER/nowhere" },
        answers: [METADATA, json("", 404)],
        says: "AUTH has no metadata at the address of `issuer`",
        isAsked: false,
      },
    ],
    [
      "a provider that says that it is another",
      {
        answers: [SERVER, (q, s) => json({ ...server(), issuer: "https://evil.example" })(q, s)],
        says: "AUTH says that it is another issuer",
        isAsked: false,
      },
    ],
    [
      "a token endpoint without https",
      {
        answers: [SERVER, (q, s) => json({ ...server(), token_endpoint: "http://auth.example.com/token" })(q, s)],
        says: "AUTH has a token endpoint without https",
        isAsked: false,
      },
    ],
    [
      "an upstream that names another provider",
      {
        answers: [
          METADATA,
          (q, s) => json({ resource: `http://${q.headers.host}/mcp`, authorization_servers: ["https://evil.example"] })(q, s),
        ],
        says: "its metadata name another authorization server than `issuer` in the file of upstreams",
        isAsked: false,
      },
    ],
    [
      "an upstream with the metadata of another",
      {
        answers: [METADATA, json({ resource: "https://other.example/mcp", authorization_servers: [] })],
        says: "its metadata are those of another resource",
        isAsked: false,
      },
    ],
    [
      "an upstream whose metadata are a page",
      {
        answers: [METADATA, (_q, s) => s.end(WORDS)],
        says: "its metadata cannot be read: they are not those of OAuth (RFC 9728)",
        isAsked: false,
      },
    ],
    [
      "an upstream whose metadata fail",
      { answers: [METADATA, json(WORDS, 500)], says: "its metadata cannot be read: HTTP 500", isAsked: false },
    ],
    [
      "an upstream whose metadata do not come",
      { answers: [METADATA, () => undefined], says: "its metadata did not come within its `connectTimeout`", isAsked: false },
    ],
  ];
  const server = () => ({
    issuer,
    authorization_endpoint: `${issuer}/auth`,
    token_endpoint: `${issuer}/token`,
    response_types_supported: ["code"],
  });
  const endless = async (response: ServerResponse) => {
    response.writeHead(200, { "content-type": "application/json" });
    while (!response.destroyed) {
      response.write(WORDS);
      await sleep(20);
    }
  };

  test.each(failing)("%s", async (_what, { answers, credentials, says, isAsked = true }) => {
    const upstream = await upstreamServer();
    if (answers) instead.set(...answers);
    const entry = upstreamAt(upstream.url, credentials, { connectTimeout: "500ms" });
    const error: unknown = await connecting()
      .open(entry, { capabilities: {} })
      .catch((thrown: unknown) => thrown);
    expect(describeFailure(error)).toBe(says.replace("AUTH", `its authorization server ${host()}`));
    expect(`${describeFailure(error)} ${inspect(error)}`).not.toMatch(new RegExp(`${WORDS}|${SECRET}`));
    expect(asked.length > 0).toBe(isAsked);
    expect(upstream.came).toEqual([]);
  });

  test("a provider that is down", async () => {
    const upstream = await upstreamServer();
    upstream.metadata = undefined;
    const entry = upstreamAt(upstream.url, { issuer: "http://127.0.0.1:1" });
    const error: unknown = await connecting()
      .open(entry, { capabilities: {} })
      .catch((thrown: unknown) => thrown);
    expect(describeFailure(error)).toBe("its authorization server 127.0.0.1:1 cannot be reached: it refuses connections (ECONNREFUSED)");
  });

  test("a call that has no token for it is not made, and its caller reads why", async () => {
    const upstream = await upstreamServer();
    const connector = connecting();
    secret = "wrong";
    const call = startCall("1", aRequest({ upstream: upstreamAt(upstream.url) }), someDeps(connector));
    closers.push(() => call.close());
    expect(await call.next([], leading())).toEqual({
      type: "unavailable",
      message: `cannot be reached: its authorization server ${host()} does not accept the client: check \`clientId\`, and \`clientSecret\` or \`privateKey\` (invalid_client)`,
    });
  });
});

test("many requests at once share one request for a token, and one that is given up ends none of the others", async () => {
  const { url } = await upstreamServer();
  const upstream = upstreamAt(url);
  let go: (() => void) | undefined;
  instead.set("/token", async (_request, response) => {
    await new Promise<void>((resolve) => (go = resolve));
    json({ access_token: "t", token_type: "bearer", expires_in: 0 })(_request, response);
  });
  const tokens = tokensAt();
  const givenUp = new AbortController();
  const left = tokens.token(upstream, reachedBy(upstream), givenUp.signal);
  const others = Array.from({ length: 50 }, async () => await tokens.token(upstream, reachedBy(upstream)));
  await until(() => go !== undefined);
  givenUp.abort(new Error("given up"));
  await expect(left).rejects.toThrow("given up");
  go?.();
  expect(new Set(await Promise.all(others))).toEqual(new Set(["t"]));
  expect(asked).toHaveLength(1);
});

test("a process keeps as many tokens as the limit, and asks again for the one that was not used for longest", async () => {
  const { url } = await upstreamServer();
  let issued = 0;
  instead.set("/token", (request, response) =>
    json({ access_token: `t${(issued += 1)}`, token_type: "bearer", expires_in: 600 })(request, response),
  );
  const tokens = tokensAt();
  const of = async (name: number) => {
    const upstream = upstreamAt(url, {}, { name: `u${name}` });
    return await tokens.token(upstream, reachedBy(upstream));
  };
  for (let name = 1; name <= 200; name += 1) await of(name);
  expect([await of(1), await of(201), await of(1), await of(2)]).toEqual(["t1", "t201", "t1", "t202"]);
});

test("what the token is for is what the file says, or not said at all", async () => {
  const { url } = await upstreamServer();
  instead.set("/token", json({ access_token: "t", token_type: "bearer" }));
  const tokens = tokensAt();
  for (const resource of ["https://crm.example/api", false]) {
    const upstream = upstreamAt(url, { resource });
    await tokens.token(upstream, reachedBy(upstream));
  }
  expect(asked.map((form) => form.get("resource"))).toEqual(["https://crm.example/api", null]);
});
