/**
 * Tests docs/security.md with a Keycloak. An official client logs in by following a 401, calls, is asked, and answers. Tokens of a client
 * with fewer scopes, and of another audience, are refused. A role and a group of Keycloak let someone else answer. A person logs in to a
 * page.
 *
 *   npm run test:keycloak -- [--url http://127.0.0.1:8180]
 *
 * The Keycloak must be running, with the realm of parley-realm.json beside this file (see README.md). Not part of CI, which has no
 * Keycloak.
 */
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { parseArgs } from "node:util";
import { join } from "node:path";
import * as v2 from "@modelcontextprotocol/client";
import { createClient } from "../../bench/client.ts";
import { toldBy } from "../dialects/dialect.ts";
import { logIn } from "../support/person.ts";
import { startFrontEnd, startWorkerProcess } from "../support/processes.ts";
import { startProxy } from "../support/proxy.ts";
import { reaches } from "../support/reaches.ts";
import { type SharedRedis, startOwnRedis } from "../support/shared-redis.ts";

const { values } = parseArgs({ options: { url: { type: "string", default: "http://127.0.0.1:8180" } } });

const REDIRECT = "http://localhost:9/callback";
const ALL = "tools:call tasks:read asks:answer";
const issuer = `${values.url}/realms/parley`;
/** What the realm's mapper puts into `aud`. */
const AUDIENCE = "http://localhost:3000/mcp";

const targets = [""];
const proxy = await startProxy(targets);
const redis: SharedRedis = await startOwnRedis();
const TOOLS = [join(import.meta.dirname, "tools.ts"), join(import.meta.dirname, "../e2e/tools/guarded.ts")];
const env = { REDIS_URL: redis.url, PARLEY_TOOLS: TOOLS.join(","), PARLEY_SETTLE_GRACE: "2s" };
const guarded = {
  ...env,
  PARLEY_AUTH: "required",
  PARLEY_AUTH_ISSUERS: issuer,
  PARLEY_AUTH_AUDIENCES: AUDIENCE,
  PARLEY_AUTH_GROUPS_CLAIM: "groups",
  PARLEY_AUTH_ROLES_CLAIM: "realm_access.roles",
  PARLEY_PUBLIC_URL: proxy.url,
  PARLEY_LOGIN_CLIENT: "parley-pages",
};
const [frontEnd, worker] = await Promise.all([startFrontEnd(guarded), startWorkerProcess(env)]);
targets[0] = frontEnd.url;

const checks: readonly (readonly [name: string, check: () => Promise<void>])[] = [
  ["an official client logs in by what a 401 says, calls, is asked and answers", anOfficialClient],
  ["a token without the scopes is refused, and the refusal names them", scopesAreNeeded],
  ["a token for another resource is refused, and the refusal says whose it is", anotherAudience],
  ["a role of the realm and a group decide who may answer", rolesAndGroups],
  ["a person logs in to a page", aPage],
];
let failed = 0;
try {
  for (const [name, check] of checks) {
    try {
      await check();
      console.log(`✓ ${name}`);
    } catch (error) {
      failed += 1;
      console.log(`✗ ${name}\n`, error);
    }
  }
} finally {
  await Promise.all([frontEnd.kill(), worker.kill()]);
  await proxy.close();
  await redis.close();
}
console.log(`${checks.length - failed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);

async function tokenOf(name: string, scope = ALL, client = "mcp-clients"): Promise<string> {
  const verifier = randomBytes(32).toString("base64url");
  const authorization = new URL(`${issuer}/protocol/openid-connect/auth`);
  authorization.search = new URLSearchParams({
    client_id: client,
    redirect_uri: REDIRECT,
    response_type: "code",
    scope,
    code_challenge: createHash("sha256").update(verifier).digest("base64url"),
    code_challenge_method: "S256",
  }).toString();
  const back = await logIn(authorization, name, name);
  const response = await fetch(`${issuer}/protocol/openid-connect/token`, {
    method: "POST",
    body: new URLSearchParams({
      grant_type: "authorization_code",
      code: back.searchParams.get("code") ?? "",
      redirect_uri: REDIRECT,
      client_id: client,
      code_verifier: verifier,
    }),
  });
  const { access_token: token, ...rest } = (await response.json()) as { access_token?: string };
  if (token === undefined) throw new Error(`no token: ${back.href} ${JSON.stringify(rest)}`);
  return token;
}

async function anOfficialClient(): Promise<void> {
  let back: URL | undefined;
  let tokens: v2.OAuthTokens | undefined;
  let verifier = "";
  const authProvider: v2.OAuthClientProvider = {
    redirectUrl: REDIRECT,
    clientMetadata: { client_name: "keycloak", redirect_uris: [REDIRECT], token_endpoint_auth_method: "none" },
    clientInformation: () => ({ client_id: "mcp-clients" }),
    tokens: () => tokens,
    saveTokens: (given) => void (tokens = given),
    saveCodeVerifier: (given) => void (verifier = given),
    codeVerifier: () => verifier,
    redirectToAuthorization: async (authorization) => void (back = await logIn(authorization, "alice", "alice")),
  };
  const connect = async () => {
    const client = new v2.Client(
      { name: "keycloak", version: "1" },
      { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: { pin: "2026-07-28" } } },
    );
    client.setRequestHandler("elicitation/create", () => Promise.resolve({ action: "accept" as const, content: { name: "Alice" } }));
    const transport = new v2.StreamableHTTPClientTransport(new URL(`${proxy.url}/mcp`), { authProvider });
    await client.connect(transport);
    return { client, transport };
  };
  await connect().catch(() => undefined);
  assert(back, "the client sent nobody to Keycloak");
  await new v2.StreamableHTTPClientTransport(new URL(`${proxy.url}/mcp`), { authProvider }).finishAuth(back.searchParams);
  const { client } = await connect();
  assert.deepEqual(
    toldBy(await client.callTool({ name: "greet", arguments: {} })),
    toldBy({ content: [{ type: "text", text: "Hello, Alice!" }] }),
  );
  await client.close();
}

async function tried(token: string): Promise<{ readonly status: number; readonly challenge: string; readonly text: string }> {
  const response = await fetch(`${proxy.url}/mcp`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": "greet",
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: {
        name: "greet",
        arguments: {},
        _meta: {
          "io.modelcontextprotocol/protocolVersion": "2026-07-28",
          "io.modelcontextprotocol/clientCapabilities": { elicitation: {}, extensions: { "io.modelcontextprotocol/tasks": {} } },
          "io.modelcontextprotocol/clientInfo": { name: "keycloak", version: "1" },
        },
      },
    }),
  });
  return { status: response.status, challenge: response.headers.get("www-authenticate") ?? "", text: await response.text() };
}

async function scopesAreNeeded(): Promise<void> {
  const { status, challenge } = await tried(await tokenOf("alice", "openid"));
  assert.equal(status, 403);
  assert.match(challenge, /insufficient_scope/);
  assert.match(challenge, /tools:call/);
}

async function anotherAudience(): Promise<void> {
  const { status, challenge, text } = await tried(await tokenOf("alice", ALL, "others"));
  assert.equal(status, 401);
  assert.match(challenge, /invalid_token/);
  assert.match(text + challenge, /audience/);
}

async function rolesAndGroups(): Promise<void> {
  const [alice, bob] = [await tokenOf("alice"), await tokenOf("bob")];
  const client = createClient(`${proxy.url}/mcp`, 1, bob);
  const { taskId } = await client.call("spend", {});
  // Bob called, and neither of the questions is his.
  await reaches(`${proxy.url}/mcp`, taskId, ({ statusMessage }) => statusMessage?.startsWith("Waiting for an answer") === true, bob);
  await assert.rejects(client.answer(taskId, { role: { action: "accept", content: { ok: true } } }));
  client.close();
  const approver = createClient(`${proxy.url}/mcp`, 1, alice);
  await approver.answer(taskId, { role: { action: "accept", content: { ok: true } }, group: { action: "accept", content: { ok: true } } });
  approver.close();
  const { result } = await reaches(`${proxy.url}/mcp`, taskId, ({ status }) => status === "completed", bob);
  assert.equal(result?.content?.[0]?.text, "spent");
}

async function aPage(): Promise<void> {
  const token = await tokenOf("alice");
  const client = createClient(`${proxy.url}/mcp`, 1, token);
  const { taskId } = await client.call("connect", {});
  client.close();
  const { inputRequests } = await reaches(`${proxy.url}/mcp`, taskId, (task) => task.inputRequests?.["key"] !== undefined, token);
  const page = new URL((inputRequests as { key: { params: { url: string } } }).key.params.url);
  const first = await fetch(page, { redirect: "manual" });
  assert.equal(first.status, 303);
  const authorization = new URL(first.headers.get("location") ?? "");
  assert.equal(authorization.origin, new URL(issuer).origin);
  assert.equal(authorization.searchParams.get("client_id"), "parley-pages");
  const back = await logIn(authorization, "alice", "alice");
  const cookie = (response: Response) =>
    response.headers
      .getSetCookie()
      .map((each) => each.split(";")[0])
      .join("; ");
  const landed = await fetch(back, { redirect: "manual", headers: { cookie: cookie(first) } });
  const text = await (await fetch(new URL(landed.headers.get("location") ?? "", back), { headers: { cookie: cookie(landed) } })).text();
  assert.match(text, /You are logged in as/);
  assert.match(text, /Your key\?/);
}
