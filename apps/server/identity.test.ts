/** Callers with access tokens, over real HTTP, against an issuer on loopback. */
import { request as httpRequest } from "node:http";
import { createIdentity, identityEnvironment, identitySettings } from "@parley/identity";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { catalogue, defineTool, jsonSchema } from "@parley/sdk";
import { forged, type Issuer, KEYS_PATH, startIssuer } from "../../test/support/issuer.ts";
import { until } from "../../test/support/until.ts";
import { type Options, post, rpc, stream } from "./client.fixture.ts";
import { deploy, type Deployment, type Front } from "./deployment.fixture.ts";
import { byCredentials } from "./front-end/caller.ts";
import { protectedResource } from "./front-end/protected-resource.ts";
import { openSession, type SessionClient } from "./session-client.fixture.ts";
import { held, offered } from "./tools.fixture.ts";

let issuer: Issuer;
beforeAll(async () => {
  issuer = await startIssuer();
});
afterAll(() => issuer.close());

const PUBLIC = "http://localhost:3000";
const alice = { action: "accept", content: { name: "Alice" } };

const withPayments = catalogue([
  ...offered.tools.values(),
  ...offered.prompts.values(),
  ...offered.resources.values(),
  ...offered.templates,
  defineTool({ name: "pay", input: jsonSchema({ type: "object" }), scopes: ["payments:approve"], run: () => "paid" }),
] as never);

interface Guarded extends Deployment {
  readonly here: Front;
  readonly there: Front;
}

/** Two front ends that require a token from every caller. */
async function guarded(
  environment: Readonly<Record<string, string>> = {},
  options: Partial<Parameters<typeof deploy>[0]> = {},
): Promise<Guarded> {
  const given = {
    PARLEY_AUTH: "required",
    PARLEY_PUBLIC_URL: PUBLIC,
    PARLEY_AUTH_ISSUERS: issuer.url,
    PARLEY_AUTH_PROVIDER_TIMEOUT: "3s",
  };
  const settings = identitySettings(z.object(identityEnvironment).parse({ ...given, ...environment }));
  if (!settings) throw new Error("no identity");
  const later: { services?: Deployment["services"] } = {};
  let elapsedMs = 0;
  const identity = createIdentity(settings, {
    log: {
      debug: () => {},
      info: (...line) => later.services?.log.info(...line),
      warn: (...line) => later.services?.log.warn(...line),
      error: () => {},
    },
    now: () => later.services?.clock.now() ?? Date.now(),
    elapsedMs: () => (elapsedMs += 1),
  });
  const deployment = await deploy({
    catalogue: withPayments,
    authenticate: byCredentials(identity),
    resource: protectedResource({ url: `${PUBLIC}/mcp`, authorizationServers: [issuer.url], scopePrefix: settings.scopePrefix }),
    times: { keepAliveMs: 20 },
    ...options,
  });
  later.services = deployment.services;
  return { ...deployment, here: deployment.fronts[0]!, there: deployment.fronts[1]! };
}

const bearing = (token: string, options: Options = {}): Options => ({
  ...options,
  headers: { ...options.headers, authorization: `Bearer ${token}` },
});
const METADATA = `${PUBLIC}/.well-known/oauth-protected-resource/mcp`;
const ALL = "tools:call tasks:read asks:answer";
const nowS = () => Math.floor(Date.now() / 1_000);

/** The parameters of a challenge. */
function challengeOf(response: { readonly headers: Headers }): Readonly<Record<string, string>> {
  const header = response.headers.get("www-authenticate") ?? "";
  expect(header).toMatch(/^Bearer (\w+="[\x20\x21\x23-\x5b\x5d-\x7e]*"(, |$))+$/);
  return Object.fromEntries([...header.matchAll(/(\w+)="([^"]*)"/g)].map(([, name = "", value = ""]) => [name, value]));
}

describe("a client without a token", () => {
  test("learns on every request where to get one and for which scopes", async () => {
    const { here, logged } = await guarded();
    const sent = [
      await post(here, "tools/call", { name: "echo", arguments: { text: "hi" } }),
      await post(here, "server/discover", {}),
      await fetch(here.url, { method: "POST", body: "{", headers: { "content-type": "application/json" } }),
      await fetch(here.url, { headers: { "mcp-session-id": "s" } }),
      await fetch(here.url, { method: "DELETE", headers: { "mcp-session-id": "s" } }),
    ];
    for (const response of sent) {
      expect(response.status).toBe(401);
      expect(challengeOf(response)).toEqual({ resource_metadata: METADATA, scope: ALL });
      expect(await response.json()).toMatchObject({
        jsonrpc: "2.0",
        error: { code: -32600, message: "this server requires an access token", data: { code: "CREDENTIALS_MISSING" } },
      });
    }
    expect(logged.filter(({ message }) => message === "credentials refused")).toHaveLength(sent.length);
  });

  test("finds the metadata from any page, but not for a host that is not served", async () => {
    const { here } = await guarded();
    const origin = new URL(here.url).origin;
    for (const path of ["/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource"]) {
      const response = await fetch(origin + path, { headers: { origin: "https://app.example" } });
      expect(response.status).toBe(200);
      expect(Object.fromEntries(response.headers)).toMatchObject({
        "access-control-allow-origin": "*",
        "cache-control": "public, max-age=3600",
        "content-type": "application/json; charset=utf-8",
      });
      expect(await response.json()).toEqual({
        resource: `${PUBLIC}/mcp`,
        authorization_servers: [issuer.url],
        scopes_supported: ALL.split(" "),
        bearer_methods_supported: ["header"],
        resource_name: "Parley",
      });
      const { statusCode } = await here.app.server.inject({ url: path, headers: { host: "evil.example" } });
      expect(statusCode).toBe(403);
    }
    const preflight = await fetch(here.url, {
      method: "OPTIONS",
      headers: { origin: "http://localhost", "access-control-request-method": "POST" },
    });
    expect(preflight.status).toBe(204);
  });

  test("is sent to the host that it named if there is no public address, and to its path if there is one", async () => {
    const { authorizationServers, ...rest } = { authorizationServers: [issuer.url], scopePrefix: "api://parley/" };
    const asked = await guarded({}, { resource: protectedResource({ url: undefined, authorizationServers, ...rest }) });
    const { host } = new URL(asked.here.url);
    expect(challengeOf(await post(asked.here, "ping", {}))).toEqual({
      resource_metadata: `http://${host}/.well-known/oauth-protected-resource/mcp`,
      scope: "api://parley/tools:call api://parley/tasks:read api://parley/asks:answer",
    });
    const below = await guarded(
      {},
      { resource: protectedResource({ url: "https://x.example/parley/mcp", authorizationServers, ...rest }) },
    );
    const { resource_metadata: metadata = "" } = challengeOf(await post(below.here, "ping", {}));
    expect(metadata).toBe("https://x.example/.well-known/oauth-protected-resource/parley/mcp");
    const served = await fetch(new URL(new URL(metadata).pathname, below.here.url));
    expect(await served.json()).toMatchObject({ resource: "https://x.example/parley/mcp" });
  });

  test.each(["[", "a b", "x:99999", "%zz"])("of a server that serves every Host is refused too, with %j as its Host", async (host) => {
    const resource = protectedResource({ url: undefined, authorizationServers: [issuer.url], scopePrefix: "" });
    const { here } = await guarded({}, { resource, trusted: { allowedHosts: ["*"], allowedOrigins: ["*"] } });
    const { statusCode, headers } = await here.app.server.inject({ method: "POST", url: "/mcp", headers: { host }, payload: "{}" });
    expect([statusCode, headers["www-authenticate"]]).toEqual([401, 'Bearer scope="tools:call tasks:read asks:answer"']);
  });
});

describe("a token that does not fit", () => {
  const bad: readonly {
    readonly what: string;
    readonly token: () => string | Promise<string>;
    readonly code: string;
    readonly says: string;
  }[] = [
    { what: "garbage", token: () => "garbage", code: "TOKEN_MALFORMED", says: "is not a JWT" },
    { what: "expired", token: () => issuer.token({ exp: nowS() - 90 }), code: "TOKEN_EXPIRED", says: "expired 9" },
    { what: "from the future", token: () => issuer.token({ nbf: nowS() + 90 }), code: "TOKEN_NOT_YET_VALID", says: "from now" },
    { what: "alg none", token: () => forged({ alg: "none" }, { iss: issuer.url }), code: "TOKEN_ALGORITHM_REFUSED", says: '"none"' },
    {
      what: "HS256",
      token: () => issuer.token({}, { alg: "HS256", key: new Uint8Array(32) }),
      code: "TOKEN_ALGORITHM_REFUSED",
      says: '"HS256"',
    },
    {
      what: "a wrong issuer",
      token: () => issuer.token({ iss: "https://evil.example" }),
      code: "TOKEN_ISSUER_UNKNOWN",
      says: "evil.example",
    },
    {
      what: "a wrong audience",
      token: () => issuer.token({ aud: "https://other.example" }),
      code: "TOKEN_AUDIENCE_REFUSED",
      says: `expected "${PUBLIC}/mcp"`,
    },
    {
      what: "an additional audience",
      token: () => issuer.token({ aud: [`${PUBLIC}/mcp`, "https://other.example"] }),
      code: "TOKEN_AUDIENCE_REFUSED",
      says: "nothing else",
    },
    { what: "no sub", token: () => issuer.token({ sub: undefined }), code: "TOKEN_CLAIM_INVALID", says: "no sub" },
    { what: "8,193 characters", token: () => "x".repeat(8_193), code: "TOKEN_TOO_LARGE", says: "8192" },
    { what: "an unknown key", token: () => issuer.token({}, { kid: "other" }), code: "TOKEN_KEY_UNKNOWN", says: '"other"' },
    {
      what: "a wrong signature",
      token: async () => `${(await issuer.token()).slice(0, -6)}AAAAAA`,
      code: "TOKEN_SIGNATURE_INVALID",
      says: "signature",
    },
  ];

  test.each(bad)("$what: is named in the header, the body and the log, none of which contains the token", async ({ token, code, says }) => {
    const { here, logged } = await guarded();
    const sent = await token();
    const response = await post(here, "tools/list", {}, bearing(sent));
    const body = await response.text();
    expect(response.status).toBe(401);
    expect(JSON.parse(body)).toMatchObject({ error: { message: expect.stringContaining(says), data: { code, hint: expect.any(String) } } });
    expect(challengeOf(response)).toMatchObject({
      resource_metadata: METADATA,
      scope: ALL,
      error: "invalid_token",
      error_description: expect.stringContaining(says.replaceAll('"', "'")),
    });
    const lines = logged.filter(({ message }) => message === "credentials refused");
    expect(lines).toEqual([
      { message: "credentials refused", fields: { requestId: expect.any(String), code, problem: expect.stringContaining(says) } },
    ]);
    const everything = JSON.stringify([body, [...response.headers], logged]);
    for (const part of sent.split(".").filter((each) => each.length > 8)) expect(everything).not.toContain(part);
  });

  test("of 64 kB is refused without being parsed", async () => {
    const { here, logged } = await guarded();
    const response = await post(here, "tools/list", {}, bearing("x".repeat(65_536)));
    expect(response.status).toBe(431);
    expect(logged).toEqual([]);
  });

  test("sent twice, or in the address, is refused as a request", async () => {
    const { here } = await guarded();
    const token = await issuer.token();
    const twice = await new Promise<number | undefined>((answered, failed) => {
      const headers = ["Host", new URL(here.url).host, "Authorization", `Bearer ${token}`, "Authorization", `Bearer ${token}`];
      httpRequest(here.url, { method: "POST", headers }, (response) => answered(response.resume().statusCode))
        .on("error", failed)
        .end();
    });
    expect(twice).toBe(400);
    for (const options of [{}, bearing(token)]) {
      const inAddress = await post({ ...here, url: `${here.url}?access_token=${token}` }, "tools/list", {}, options);
      expect(inAddress.status).toBe(400);
      expect(challengeOf(inAddress)).toMatchObject({ error: "invalid_request" });
      expect(await inAddress.text()).not.toContain(token);
    }
  });

  test("cannot be verified while its provider is down: HTTP 503, without a challenge that would make the client log in again", async () => {
    const own = await startIssuer();
    own.answer(KEYS_PATH, (_request, response) => void response.writeHead(500).end());
    try {
      const { here, logged } = await guarded({ PARLEY_AUTH_ISSUERS: own.url });
      const response = await post(here, "tools/list", {}, bearing(await own.token()));
      expect([response.status, response.headers.get("www-authenticate")]).toEqual([503, null]);
      expect(await response.json()).toMatchObject({ error: { code: -32603, data: { code: "PROVIDER_UNAVAILABLE" } } });
      expect(logged.map(({ message }) => message)).toEqual(["keys of a provider not fetched", "credentials refused", "request answered"]);
    } finally {
      await own.close();
    }
  });
});

describe("a caller", () => {
  test("is the same at every front end, and no other caller reads or answers its task", async () => {
    const { here, there } = await guarded();
    const [mine, other] = await Promise.all([issuer.token(), issuer.token({ sub: "mallory" })]);
    const taskId = (await rpc(here, "tools/call", { name: "greet", arguments: {} }, bearing(mine))).result!["taskId"];
    await until(async () => (await rpc(there, "tasks/get", { taskId }, bearing(mine))).result?.["status"] === "input_required");
    const answer = { taskId, inputResponses: { who: alice } };
    const [foreign, unknown] = [
      await rpc(there, "tasks/update", answer, bearing(other)),
      await rpc(there, "tasks/update", { ...answer, taskId: "0-nothing" }, bearing(other)),
    ];
    expect(foreign.error).toMatchObject({ data: { code: "TASK_NOT_FOUND" } });
    expect({ ...foreign.error, message: "" }).toEqual({ ...unknown.error, message: "" });
    await rpc(here, "tasks/update", answer, bearing(mine));
    await until(async () => (await rpc(there, "tasks/get", { taskId }, bearing(mine))).result?.["status"] === "completed");
  });

  test("keeps its task when its token is refreshed", async () => {
    const { here } = await guarded();
    const taskId = (await rpc(here, "tools/call", { name: "greet", arguments: {} }, bearing(await issuer.token()))).result!["taskId"];
    const refreshed = await issuer.token({ jti: "another", exp: nowS() + 900 });
    expect((await rpc(here, "tasks/get", { taskId }, bearing(refreshed))).result).toMatchObject({ taskId });
  });

  test("cannot use the session of another caller", async () => {
    const { here } = await guarded();
    const [mine, other] = await Promise.all([issuer.token(), issuer.token({ sub: "mallory" })]);
    const session = await sessionOf(here, mine);
    expect((await session.post(here, PING)).status).toBe(200);
    session.token = other;
    expect((await session.post(here, PING)).status).toBe(404);
    session.token = undefined;
    expect((await session.post(here, PING)).status).toBe(401);
  });
});

const PING = { jsonrpc: "2.0", id: 1, method: "ping" };

/** A session that is opened with a token, and whose requests carry the current token. */
async function sessionOf(front: Front, token: string, version = "2025-11-25"): Promise<SessionClient & { token: string | undefined }> {
  const bearer = { token: token as string | undefined };
  return Object.assign(bearer, await openSession(front, { version, token: () => bearer.token }));
}

describe("scopes", () => {
  const wanted: readonly { readonly method: string; readonly params: object; readonly needs: readonly string[] }[] = [
    { method: "server/discover", params: {}, needs: [] },
    { method: "tools/list", params: {}, needs: [] },
    { method: "prompts/list", params: {}, needs: [] },
    { method: "resources/list", params: {}, needs: [] },
    { method: "resources/templates/list", params: {}, needs: [] },
    { method: "resources/read", params: { uri: "test://text" }, needs: ["tools:call"] },
    {
      method: "completion/complete",
      params: { ref: { type: "ref/prompt", name: "letter" }, argument: { name: "to", value: "A" } },
      needs: ["tools:call"],
    },
    { method: "tools/call", params: { name: "echo", arguments: { text: "hi" } }, needs: ["tools:call"] },
    { method: "tools/call", params: { name: "pay", arguments: {} }, needs: ["tools:call", "payments:approve"] },
    {
      method: "tools/call",
      params: { name: "echo", arguments: { text: "hi" }, inputResponses: { a: alice } },
      needs: ["tools:call", "asks:answer"],
    },
    { method: "prompts/get", params: { name: "letter", arguments: { to: "Bob" } }, needs: ["tools:call"] },
    { method: "tasks/get", params: { taskId: "0-x" }, needs: ["tasks:read"] },
    { method: "tasks/update", params: { taskId: "0-x", inputResponses: {} }, needs: ["asks:answer"] },
    { method: "tasks/cancel", params: { taskId: "0-x" }, needs: ["tools:call"] },
    { method: "subscriptions/listen", params: { notifications: { taskIds: ["0-x"] } }, needs: ["tasks:read"] },
    { method: "subscriptions/listen", params: { notifications: { resourceSubscriptions: ["test://text"] } }, needs: ["tools:call"] },
  ];

  test.each(wanted)("of $method are $needs, and each of them is required", async ({ method, params, needs }) => {
    const { here, services } = await guarded({}, { worker: false });
    const used = new Set<string>();
    for (const port of [services.store, services.queue]) {
      for (const name of Object.keys(port)) Object.assign(port, { [name]: () => (used.add(name), Promise.reject(new Error("looked"))) });
    }
    for (const left of needs) {
      const held = needs.filter((scope) => scope !== left);
      const response = await post(here, method, params, bearing(await issuer.token({ scope: held.join(" ") })));
      expect(response.status).toBe(403);
      const challenge = challengeOf(response);
      expect(challenge).toMatchObject({ resource_metadata: METADATA, error: "insufficient_scope" });
      expect(challenge["scope"]?.split(" ")).toEqual(expect.arrayContaining([...needs]));
      expect(await response.json()).toMatchObject({
        id: expect.any(Number),
        error: { code: -32600, message: expect.stringContaining(left), data: { code: "SCOPE_INSUFFICIENT" } },
      });
    }
    expect([...used]).toEqual([]);
    const leave = new AbortController();
    const allowed = await post(here, method, params, { ...bearing(await issuer.token({ scope: needs.join(" ") })), signal: leave.signal });
    expect([401, 403]).not.toContain(allowed.status);
    leave.abort();
  });

  test("of a task's timeline are tasks:read, and without it nothing is looked at, and the refusal names it", async () => {
    const { here, services, logged } = await guarded();
    const used: string[] = [];
    Object.assign(services.store, { load: async (taskId: string) => void used.push(taskId) });
    const get = async (scope: string) =>
      await fetch(new URL("/play/api/tasks/0-x/timeline", here.url), {
        headers: { authorization: `Bearer ${await issuer.token({ scope })}` },
      });
    const refused = await get("tools:call");
    expect(refused.status).toBe(403);
    expect(challengeOf(refused)).toMatchObject({
      resource_metadata: METADATA,
      error: "insufficient_scope",
      scope: "tools:call tasks:read",
    });
    expect(await refused.json()).toMatchObject({ error: { code: "SCOPE_INSUFFICIENT" } });
    expect(logged.find(({ message }) => message === "request refused")?.fields).toMatchObject({ code: "SCOPE_INSUFFICIENT" });
    expect(used).toEqual([]);
    expect((await get("tasks:read")).status).toBe(404);
    expect(used).toEqual(["0-x"]);
  });

  test("apply to the messages of a session too: requests, answers, cancellations, streams, batches", async () => {
    const { here, logged } = await guarded();
    const session = await sessionOf(here, await issuer.token({ scope: "" }));
    const statusOf = async (message: object) => (await session.post(here, { jsonrpc: "2.0", ...message })).status;
    const request = (method: string, params: object = {}) => statusOf({ id: 1, method, params });
    expect(await request("ping")).toBe(200);
    expect(await request("tools/list")).toBe(200);
    expect(await request("logging/setLevel", { level: "info" })).toBe(200);
    expect(await statusOf({ method: "notifications/initialized" })).toBe(202);
    const refused = [
      await request("tools/call", { name: "echo", arguments: { text: "hi" } }),
      await request("prompts/get", { name: "letter", arguments: { to: "Bob" } }),
      await request("resources/subscribe", { uri: "test://text" }),
      await request("tasks/get", { taskId: "0-x" }),
      await request("tasks/result", { taskId: "0-x" }),
      await request("tasks/list"),
      await request("tasks/cancel", { taskId: "0-x" }),
      await request("tasks/sendInput", { taskId: "0-x", action: "accept" }),
      await statusOf({ id: "x", result: { action: "accept" } }),
      await statusOf({ method: "notifications/cancelled", params: { requestId: 7 } }),
      (await session.listen(here)).status,
    ];
    expect(refused).toEqual(refused.map(() => 403));
    const old = await sessionOf(here, await issuer.token({ scope: "tasks" }), "2025-03-26");
    const batch = [PING, { jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "echo", arguments: { text: "hi" } } }];
    const response = await old.post(here, batch);
    expect(response.status).toBe(403);
    expect(challengeOf(response)["scope"]).toBe("tasks tools:call asks:answer");
    expect(logged.map(({ message }) => message)).not.toContain("task created");
  });

  test("are paths: a whole includes its parts, and a part does not include the whole", async () => {
    const { here } = await guarded();
    const statusWith = async (scope: string) =>
      (await post(here, "tools/call", { name: "echo", arguments: { text: "hi" } }, bearing(await issuer.token({ scope })))).status;
    for (const scope of ["tools:call", "tools", "openid tools"]) expect(await statusWith(scope)).toBe(200);
    for (const scope of ["", "tool", "tools:", "tools:call:echo", "TOOLS", "toolsx", "tools:callx", "*"])
      expect(await statusWith(scope)).toBe(403);
  });

  test("to request are those that the token has, those that it lacks, and for a call those that finish it", async () => {
    const { here } = await guarded();
    const asked = async (scope: string, method: string, params: object) =>
      challengeOf(await post(here, method, params, bearing(await issuer.token({ scope }))))["scope"];
    expect(await asked("openid", "tasks/get", { taskId: "0-x" })).toBe("openid tasks:read");
    expect(await asked("openid tasks", "tools/call", { name: "echo", arguments: {} })).toBe("openid tasks tools:call asks:answer");
    expect(await asked("tools tasks asks", "tools/call", { name: "pay", arguments: {} })).toBe("tools tasks asks payments:approve");
  });

  test("to request have the provider's prefix, except those that are the provider's own; offline_access is never among them", async () => {
    const { here } = await guarded({ PARLEY_AUTH_SCOPE_PREFIX: "parley/" });
    const token = await issuer.token({ scope: "openid email offline_access parley/tasks:read" });
    const { scope } = challengeOf(await post(here, "tools/call", { name: "echo", arguments: {} }, bearing(token)));
    expect(scope).toBe("openid email parley/tasks:read parley/tools:call parley/asks:answer");
  });

  test("of a token are repeated up to the size of a header", async () => {
    const { here } = await guarded();
    const asked = async (scp: readonly string[]) =>
      challengeOf(await post(here, "tasks/get", { taskId: "0-x" }, bearing(await issuer.token({ scope: undefined, scp }))))["scope"];
    expect(await asked(["openid", 'a"b', "c\r\nd", "e f", "ü", ""])).toBe("openid tasks:read");
    const long = Array.from({ length: 10 }, (_, index) => `${index}`.padEnd(191, "x"));
    expect(await asked([...long, "y".repeat(80)])).toMatch(/^0x+ .* y+ tasks:read$/);
    expect(await asked([...long, "y".repeat(81)])).toBe("tasks:read");
  });

  test("that are granted later allow the same task to continue", async () => {
    const { here, there } = await guarded();
    const weak = bearing(await issuer.token({ scope: "tools:call tasks:read" }));
    const taskId = (await rpc(here, "tools/call", { name: "greet", arguments: {} }, weak)).result!["taskId"];
    const state = async () => (await rpc(there, "tasks/get", { taskId }, weak)).result;
    await until(async () => (await state())?.["status"] === "input_required");
    const answer = { taskId, inputResponses: { who: alice } };
    const refused = await post(there, "tasks/update", answer, weak);
    expect([refused.status, challengeOf(refused)["scope"]]).toEqual([403, "tools:call tasks:read asks:answer"]);
    expect((await state())?.["status"]).toBe("input_required");
    const strong = bearing(await issuer.token({ scope: challengeOf(refused)["scope"] }));
    expect((await rpc(there, "tasks/update", answer, strong)).error).toBeUndefined();
    await until(async () => (await state())?.["status"] === "completed");
  });
});

describe("a request that is held open past its token", () => {
  /** A token that the server accepts for another minute, and a function that moves the clock beyond it. */
  async function expiring() {
    const front = await guarded();
    const short = await issuer.token({ exp: nowS() + 30 });
    const long = await issuer.token({ exp: nowS() + 900 });
    return { ...front, short, long, expire: () => front.skip(61_000) };
  }

  test("ends when its token expires, and continues with the next one", async () => {
    const { here, there, short, long, expire } = await expiring();
    const session = await sessionOf(here, short);
    const call = await session.stream(here, "tools/call", { name: "greet", arguments: {} });
    const asked = await call.next();
    expect(asked).toMatchObject({ method: "elicitation/create" });
    const standalone = await session.listen(here);
    const listen = await stream(here, "subscriptions/listen", { notifications: { toolsListChanged: true } }, bearing(short));
    await listen.next();
    expire();
    await Promise.all([call.ended(), standalone.ended()]);
    expect((await listen.rest()).at(-1)).toMatchObject({ result: {} });
    expect((await session.post(here, PING)).status).toBe(401);

    session.token = long;
    const resumed = await session.listen(there, call.lastEventId);
    expect((await session.reply(there, asked["id" as never], alice)).status).toBe(202);
    expect(await resumed.next()).toMatchObject({ result: { content: [{ text: "Hello, Alice!" }] } });
  });

  test("is handed over if a client without sessions waits for its call", async () => {
    const { here, there, short, long, expire } = await expiring();
    const call = { name: "hold", arguments: {} };
    const before = held.release;
    const waiting = rpc(here, "tools/call", call, { ...bearing(short), tasks: false });
    await until(() => held.release !== before);
    expire();
    const { result } = await waiting;
    expect(result).toMatchObject({ resultType: "input_required", requestState: expect.any(String) });
    held.release();
    const again = await rpc(there, "tools/call", { ...call, requestState: result!["requestState"] }, { ...bearing(long), tasks: false });
    expect(again.result).toMatchObject({ content: [{ text: "released" }] });
  });
});
