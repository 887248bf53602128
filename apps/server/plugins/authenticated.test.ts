import { ParleyError } from "@parley/core";
import { createOauthProviders, type Login } from "@parley/identity";
import Fastify, { type FastifyInstance, type HTTPMethods } from "fastify";
import { createMemoryStandingApprovals } from "@parley/core/memory";
import { describe, expect, test } from "vitest";
import { callerNamed, deploy } from "../deployment.fixture.ts";
import type { Authenticate } from "../front-end/caller.ts";
import { protectedResource } from "../front-end/protected-resource.ts";
import { offered } from "../tools.fixture.ts";
import { declareCaller } from "./authenticated.ts";

/**
 * Probes of load balancers, which have no credentials and reveal nothing; metadata from which clients learn how to get credentials; pages
 * that are the same for everyone, because a browser that opens one has no credentials either.
 */
const METADATA = ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"];
/** Where people go to the provider and return from it: not logged in yet, and identified by a cookie (test/e2e/login.e2e.test.ts). */
const LOGIN = "/login";
const CALLBACK = "/login/callback";
/** Says to the playground's page whom its cookie names, and to everybody else nothing (apps/server/login.test.ts). */
const ACCOUNT = "/play/api/account";
/** Forgets the cookie of the browser that asks for it. */
const LOGOUT = "/logout";
/**
 * Other systems are identified by the token in the address (apps/server/events.test.ts). Without a valid token, the address is not found.
 */
const EVENTS = "/events/*";
/** How the API is used. It says nothing about anybody. */
const API_DESCRIBED = ["/api/v1/openapi.json", "/api/v1/reference", "/api/v1/reference.css"];
const OPEN = ["/healthz", "/readyz", LOGIN, CALLBACK, LOGOUT, ACCOUNT, EVENTS, ...METADATA, "/", "/home.css", "/play", ...API_DESCRIBED];
const isOpen = (url: string) =>
  OPEN.includes(url) || (url.startsWith("/play/") && !url.startsWith("/play/api")) || url.startsWith("/pages/");

interface Route {
  readonly method: HTTPMethods;
  readonly url: string;
}

/** Every route and method of the server, read from its printed tree of path segments with their methods. */
function routesOf(server: FastifyInstance): readonly Route[] {
  const parents: string[] = [];
  return server
    .printRoutes()
    .split("\n")
    .flatMap((line) => {
      const [, indent, path, methods] = /^([│ ]*)[├└]── (\S+)(?: \(([A-Z, -]+)\))?$/.exec(line) ?? [];
      if (indent === undefined || path === undefined) return [];
      const depth = indent.length / 4;
      const url = (depth === 0 ? "" : (parents[depth - 1] ?? "")) + path;
      parents[depth] = url;
      return (methods?.split(", ") ?? []).map((method) => ({ method: method as HTTPMethods, url }));
    });
}

const login: Login = {
  base: "https://parley.example.com",
  ttlMs: 1,
  isSecure: true,
  start: () => Promise.reject(new Error("nobody logs in")),
  finish: () => Promise.reject(new Error("nobody logs in")),
};

const REQUEST = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } },
};

async function front(authenticate: Authenticate, { playground = true } = {}) {
  const resource = protectedResource({ url: undefined, authorizationServers: ["https://id.example"], scopePrefix: "" });
  const deployment = await deploy({
    catalogue: offered,
    fronts: 1,
    authenticate,
    resource,
    visitors: { authenticate, ticket: undefined },
    login,
    standing: createMemoryStandingApprovals(),
    oauth: createOauthProviders([], Date.now),
    playground,
  });
  const { server } = deployment.fronts[0]!.app;
  const send = ({ method, url }: Route) =>
    server.inject({
      method,
      url,
      headers: { accept: "application/json, text/event-stream", "mcp-session-id": "s", origin: "http://localhost" },
      ...(method === "POST" && { payload: REQUEST }),
    });
  return { ...deployment, server, send };
}

const unauthorized = () => Object.assign(new Error("who are you?"), { statusCode: 401 });

describe("a front end", () => {
  test("authenticates every request on any route and method before it handles it", async () => {
    await authenticatesAll({ playground: true });
    await authenticatesAll({ playground: false });
  });

  async function authenticatesAll(served: { readonly playground: boolean }): Promise<void> {
    const asked: Route[] = [];
    const { server, send, services } = await front(({ method, url }) => {
      asked.push({ method: method as HTTPMethods, url });
      throw unauthorized();
    }, served);
    for (const port of [services.store, services.queue, services.wakeUps, services.grants!]) {
      for (const method of Object.keys(port))
        Object.assign(port, { [method]: () => Promise.reject(new Error(`${method} was called for nobody`)) });
    }

    const guarded = routesOf(server).filter(({ method, url }) => !isOpen(url) && method !== "OPTIONS");
    expect(guarded).toEqual(expect.arrayContaining(["POST", "GET", "HEAD", "DELETE"].map((method) => ({ method, url: "/mcp" }))));
    expect(guarded).toEqual(expect.arrayContaining(["POST", "GET", "HEAD"].map((method) => ({ method, url: "/asks/:taskId/*" }))));
    expect(guarded).toEqual(expect.arrayContaining(["POST", "GET", "HEAD"].map((method) => ({ method, url: "/accounts" }))));
    expect(guarded).toEqual(expect.arrayContaining(["POST", "GET", "HEAD"].map((method) => ({ method, url: "/approvals" }))));
    expect(guarded).toContainEqual({ method: "GET", url: "/oauth/callback/:provider" });
    expect(guarded).toContainEqual({ method: "GET", url: "/returns/:state" });
    expect(guarded).toEqual(expect.arrayContaining(["GET", "HEAD"].map((method) => ({ method, url: "/play/api/tasks/:taskId/timeline" }))));
    for (const route of guarded) {
      const refused = await send(route);
      expect({ ...route, status: refused.statusCode }).toEqual({ ...route, status: 401 });
      if (/^\/(asks|inbox|accounts|approvals|oauth|returns)/.test(route.url))
        expect(refused.headers["content-type"]).toBe("text/html; charset=utf-8");
      else if (route.url.startsWith("/api") && route.method !== "HEAD") expect(refused.json()).toMatchObject({ detail: "who are you?" });
      else if (route.method !== "HEAD") expect(refused.json()).toMatchObject({ error: { message: "who are you?" } });
    }
    expect(asked).toEqual(guarded);
  }

  test("answers probes and preflight requests without credentials, since they do nothing", async () => {
    const { server, send } = await front(() => {
      throw unauthorized();
    });
    const unguarded = routesOf(server).filter(({ method, url }) => isOpen(url) || method === "OPTIONS");
    expect(unguarded.map(({ url }) => url)).toEqual(expect.arrayContaining([...OPEN, "/mcp*"]));
    for (const route of unguarded) {
      const { statusCode, payload } = await send(route);
      // 503 if the playground is not built.
      const expected = [LOGIN, CALLBACK].includes(route.url) ? [401] : route.url === EVENTS ? [404, 405] : [200, 204, 308, 400, 404, 503];
      expect(expected).toContain(statusCode);
      if (route.method === "OPTIONS") expect(payload).not.toContain("result");
    }
  });

  test("authenticates each request once, by its headers and without its body", async () => {
    const seen: unknown[] = [];
    const { send } = await front(({ headers, body }) => {
      seen.push([headers["mcp-session-id"], body]);
      return callerNamed("ann");
    });
    expect((await send({ method: "POST", url: "/mcp" })).statusCode).toBe(200);
    expect(seen).toEqual([["s", undefined]]);
  });

  test("that cannot authenticate answers 503 if the store is unavailable, and an id if something is broken", async () => {
    const away = await front(() => Promise.reject(new ParleyError("UNAVAILABLE", "the keys could not be fetched")));
    const refused = await away.send({ method: "POST", url: "/mcp" });
    expect([refused.statusCode, refused.json()]).toMatchObject([503, { error: { message: "the keys could not be fetched" } }]);

    const broken = await front(() => Promise.reject(new TypeError("secret detail")));
    const failed = await broken.send({ method: "POST", url: "/mcp" });
    expect(failed.statusCode).toBe(500);
    expect(failed.payload).not.toContain("secret detail");
    const { defectId } = failed.json<{ error: { data: { defectId: string } } }>().error.data;
    expect(broken.logged.find(({ message }) => message === "request failed")?.fields).toMatchObject({
      defectId,
      err: expect.any(TypeError),
    });
  });
});

test("a route outside an authenticated scope has no caller", async () => {
  const server = Fastify();
  declareCaller(server);
  server.get("/forgotten", ({ caller }) => caller.principal);
  const response = await server.inject("/forgotten");
  expect([response.statusCode, response.json()]).toMatchObject([500, { message: "GET /forgotten is not authenticated" }]);
});
