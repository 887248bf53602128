/** The page of connected accounts: whose grants it shows, what removes one, and what the provider then does. The provider is oidc-provider, over HTTP. */
import { type AuditFact, type GrantedTokens, ParleyError, type RatedCounts } from "@parley/core";
import { createOauthProviders } from "@parley/identity";
import { catalogue, defineTool } from "@parley/sdk";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type OauthProvider, startOauthProvider } from "../../test/support/oauth-provider.ts";
import { logIn } from "../../test/support/person.ts";
import { callerNamed, type Deploy, deploy, type Front } from "./deployment.fixture.ts";
import { protectedResource } from "./front-end/protected-resource.ts";
import type { Visitors } from "./front-end/visitors.ts";

const SCOPES = ["contacts.read", "contacts.write"];
const CALLBACK = "http://127.0.0.1/oauth/callback/crm";
const REVOCATION = "/token/revocation";
const DAY_MS = 24 * 60 * 60_000;

let provider: OauthProvider;
beforeAll(async () => {
  provider = await startOauthProvider({ resource: "https://crm.example", scopes: SCOPES, callback: CALLBACK });
});
afterEach(() => provider.instead.clear());
afterAll(() => provider.close());

function providers(settings: object = {}) {
  return createOauthProviders([{ name: "crm", title: "C & M", ...provider.settings, ...settings }], Date.now, 10_000);
}

const crm = () => providers().find("crm")!;

/** What a real person granted. */
async function tokens(): Promise<GrantedTokens> {
  const { url, ...begun } = await crm().start(SCOPES, CALLBACK);
  const back = await logIn(new URL(url), "alice");
  return await crm().finish({ parameters: back.searchParams, begun, scopes: SCOPES, callback: CALLBACK });
}

const TOKENS: GrantedTokens = { provider: "crm", accessToken: "t0ken", refreshToken: "r3fresh", scopes: SCOPES };

/** Visitors are the person in the header, as if they had logged in. */
const named: Visitors = {
  authenticate: ({ headers }) => callerNamed(String(headers["x-principal"] ?? "ann"), { tenant: String(headers["x-tenant"] ?? "default") }),
  ticket: undefined,
};

async function opened(more: Partial<Deploy> = {}) {
  const facts: AuditFact[] = [];
  const deployment = await deploy({
    catalogue: catalogue([defineTool({ name: "idle", run: () => "idle" })]),
    fronts: 2,
    visitors: named,
    oauth: providers(),
    audit: { note: async (fact) => void facts.push(fact) },
    ...more,
  });
  const [here, there] = deployment.fronts as [Front, Front];
  const url = (front: Front) => `${new URL(front.url).origin}/accounts`;
  const keep = (upstream: string, { principal = "ann", tenant = "default", kept = TOKENS } = {}) =>
    deployment.services.grants!.keep(
      { principal, tenant, id: upstream.padEnd(22, "0") },
      { text: JSON.stringify(kept), about: { upstream, provider: "crm", scopes: SCOPES }, ttlMs: 90 * DAY_MS, taskId: "0-task" },
    );
  const left = (principal = "ann", tenant = "default") => deployment.services.grants!.list({ principal, tenant });
  return { ...deployment, here: url(here), there: url(there), keep, left, facts };
}

interface Seen {
  readonly status: number;
  readonly text: string;
  readonly accounts: readonly string[];
  readonly said: string | undefined;
  readonly headers: Headers;
  /** The form of each account. */
  readonly forms: readonly Record<string, string>[];
}

async function look(url: string, init: RequestInit = {}): Promise<Seen> {
  const response = await fetch(url, { redirect: "manual", ...init });
  const text = await response.text();
  const forms = [...text.matchAll(/<form method="post">(.*?)<\/form>/gs)].map(([, form = ""]) =>
    Object.fromEntries([...form.matchAll(/name="(\w+)" value="([^"]*)"/g)].map(([, name, value]) => [name, value])),
  );
  return {
    status: response.status,
    text,
    accounts: [...text.matchAll(/<h2>([^<]*)/g)].map(([, name = ""]) => name),
    said: /role="(?:status|alert)">([^<]*)/.exec(text)?.[1],
    headers: response.headers,
    forms,
  };
}

const as = (principal: string, tenant = "default") => ({ "x-principal": principal, "x-tenant": tenant });
const send = (url: string, fields: Record<string, string> = {}, headers: Record<string, string> = {}) =>
  look(url, { method: "POST", body: new URLSearchParams(fields), headers });

const GONE = "This access was removed before, or granted again since then. Nothing was changed.";

describe("the page of connected accounts", () => {
  test("lists only what this person granted, without tokens", async () => {
    const { keep, here } = await opened();
    await keep("crm");
    await keep("<mail>");
    await keep("theirs", { principal: "bob" });
    await keep("other-tenant", { tenant: "acme" });
    const seen = await look(here);
    expect([seen.status, seen.accounts]).toEqual([200, ["crm", "&lt;mail&gt;"]]);
    expect(seen.text).toContain(`<strong>C &amp; M</strong> (${new URL(provider.issuer).host})`);
    expect(seen.text).toContain("<li>contacts.read</li>");
    expect(seen.text).toMatch(/Granted <time datetime="[^"]+Z">\d+ \w+ \d{4}, \d\d:\d\d UTC<\/time>/);
    expect(seen.text).toContain("You are logged in as ann.");
    expect(seen.text).not.toMatch(/t0ken|r3fresh/);
    expect((await look(here, { headers: as("bob") })).accounts).toEqual(["theirs"]);
    expect((await look(here, { headers: as("ann", "acme") })).accounts).toEqual(["other-tenant"]);
    const none = await look(here, { headers: as("carol") });
    expect([none.status, none.accounts, none.text.includes("No account of yours is connected")]).toEqual([200, [], true]);
  });

  test("is the same at every front end, is not cached, framed or run, and changes nothing when it is read", async () => {
    const { keep, left, here, there } = await opened();
    await keep("crm");
    const seen = await look(here);
    expect((await look(there)).forms).toEqual(seen.forms);
    expect(seen.headers.get("cache-control")).toBe("no-store");
    expect(seen.headers.get("content-security-policy")).toMatch(/^default-src 'none'; style-src 'sha256-[^']+'; form-action 'self'/);
    expect((await fetch(here, { method: "HEAD" })).status).toBe(200);
    expect(await left()).toHaveLength(1);
  });

  test("removes one access, once, at any front end, and its provider ends it as well", async () => {
    const { keep, left, here, there, facts, logged } = await opened();
    const kept = await tokens();
    await keep("crm", { kept });
    await keep("mail");
    const { forms } = await look(here);
    const form = forms.find(({ grant }) => grant?.startsWith("crm"))!;
    const done = await send(there, form);
    expect([done.status, done.accounts]).toEqual([200, ["mail"]]);
    expect(done.said).toBe("The access of crm was removed. Its next call asks you again. C &amp; M ended it as well.");
    await expect(crm().refresh(kept)).rejects.toMatchObject({ data: { reason: "invalid_grant" } });
    const again = await send(here, form);
    expect([again.status, again.said, again.accounts]).toEqual([409, GONE, ["mail"]]);
    expect((await left()).map(({ about }) => about.upstream)).toEqual(["mail"]);
    const fact = { action: "grant", principal: "ann", door: "page", grant: { upstream: "crm", provider: "crm", scopes: SCOPES } };
    expect(facts.filter(({ door }) => door === "page")).toMatchObject([
      { ...fact, verdict: "revoked" },
      { ...fact, verdict: "provider_ended" },
    ]);
    expect(logged).toContainEqual(
      expect.objectContaining({ message: "grant revoked", fields: expect.objectContaining({ atProvider: "ended" }) }),
    );
    expect(JSON.stringify([facts, logged])).not.toMatch(new RegExp([kept.accessToken, kept.refreshToken].join("|")));
  });

  test.each([
    ["is down", 503, "", "could not be asked", "provider_failed"],
    ["refuses", 400, '{"error":"invalid_client"}', "could not be asked", "provider_failed"],
  ])("removes the access here also if the provider %s, and reports it", async (_what, status, body, sentence, verdict) => {
    provider.instead.set(
      REVOCATION,
      (_request, response) => void response.writeHead(status, { "content-type": "application/json" }).end(body),
    );
    const { keep, left, here, facts, logged } = await opened();
    await keep("crm");
    const done = await send(here, (await look(here)).forms[0]);
    expect([done.status, done.said, await left()]).toEqual([200, expect.stringContaining(`C &amp; M ${sentence}`), []]);
    expect(facts.at(-1)).toMatchObject({ verdict });
    expect(JSON.stringify([facts, logged])).not.toMatch(/t0ken|r3fresh/);
  });

  test("says if the provider offers no way to end access, or is no longer set up", async () => {
    const endpoints = { authorization: `${provider.issuer}/auth`, token: `${provider.issuer}/token` };
    const { keep, left, here } = await opened({ oauth: providers({ issuer: undefined, endpoints }) });
    await keep("crm");
    const done = await send(here, (await look(here)).forms[0]);
    expect([done.said, await left()]).toEqual([expect.stringContaining("C &amp; M cannot be asked to end it as well"), []]);

    const renamed = await opened({ oauth: providers({ name: "another" }) });
    await renamed.keep("crm");
    const seen = await look(renamed.here);
    expect(seen.text).toContain("<strong>crm</strong> for:");
    expect((await send(renamed.here, seen.forms[0])).said).toContain("crm could not be asked to end it as well");
    expect(await renamed.left()).toEqual([]);
  });
});

describe("a form of the page", () => {
  test("of another person's grant is answered like that of a grant that never existed", async () => {
    const { keep, left, here } = await opened();
    await keep("crm");
    const [form] = (await look(here)).forms;
    const never = { ...form, grant: "N".repeat(22), consent: crypto.randomUUID() };
    const answers = await Promise.all([
      send(here, form, as("bob")),
      send(here, never, as("bob")),
      send(here, form, as("ann", "acme")),
      send(here, { ...form, token: "forged" }, as("bob")),
    ]);
    const shape = ({ status, text }: Seen) => ({ status, text: text.replace(/logged in as \w+/, "") });
    expect(new Set(answers.map((seen) => JSON.stringify(shape(seen)))).size).toBe(1);
    expect(answers[0]).toMatchObject({ status: 409, said: GONE, accounts: [] });
    expect(await left()).toHaveLength(1);
  });

  test("of an earlier consent leaves a later one alone", async () => {
    const { keep, left, here } = await opened();
    await keep("crm");
    const [form] = (await look(here)).forms;
    const consent = await keep("crm");
    expect(await send(here, form)).toMatchObject({ status: 409, said: GONE, accounts: ["crm"] });
    expect(await left()).toMatchObject([{ consent }]);
  });

  test.each([
    ["from another site", {}, { "sec-fetch-site": "cross-site" }, 403],
    ["from another origin", {}, { origin: "https://evil.example" }, 403],
    ["with a token of another grant", { grant: "N".repeat(22) }, {}, 409],
    ["with a changed consent", { consent: "another" }, {}, 409],
    ["without its token", { token: undefined }, {}, 400],
    ["without a consent", { consent: undefined }, {}, 400],
    ["with another action", { action: "keep" }, {}, 400],
    ["that is not a form", "{}", { "content-type": "application/json" }, 400],
    ["that is too large", { grant: "x".repeat(4_096) }, {}, 413],
  ])("%s is refused", async (_what, change, headers, status) => {
    const { keep, left, here } = await opened();
    await keep("crm");
    const [form] = (await look(here)).forms;
    const fields = Object.entries({ ...form, ...(typeof change === "string" ? {} : change) }).filter(([, value]) => value !== undefined);
    const body = typeof change === "string" ? change : new URLSearchParams(fields as [string, string][]);
    expect((await look(here, { method: "POST", body, headers })).status).toBe(status);
    expect(await left()).toHaveLength(1);
  });
});

describe("who may open the page", () => {
  test("it needs the scope that answers need, and counts towards the caller's quota", async () => {
    const resource = protectedResource({ url: "https://parley.example/mcp", authorizationServers: [], scopePrefix: "" });
    const with_ = (scopes: readonly string[]): Visitors => ({ ...named, authenticate: () => callerNamed("ann", { scopes }) });
    const refused = await opened({ resource, visitors: with_(["tasks:read"]) });
    await refused.keep("crm");
    expect((await look(refused.here)).status).toBe(403);
    const allowed = await opened({ resource, visitors: with_(["asks:answer"]) });
    expect((await look(allowed.here)).status).toBe(200);

    const taken: RatedCounts[] = [];
    const counted = await opened({ rates: { take: async (_caller, rate) => void taken.push(rate) } });
    await counted.keep("crm");
    await send(counted.here, (await look(counted.here)).forms[0]);
    expect(taken).toEqual([{ reads: 1 }, { answers: 1 }]);
    const busy = await opened({ rates: { take: () => Promise.reject(new ParleyError("QUOTA_EXCEEDED", "too many")) } });
    expect((await look(busy.here)).status).toBe(429);
    const known = new ParleyError("QUOTA_EXCEEDED", "too many", { data: { retryAfterMs: 1_500 } });
    const soon = await opened({ rates: { take: () => Promise.reject(known) } });
    expect((await fetch(new URL("/accounts", soon.here))).headers.get("retry-after")).toBe("2");
  });

  test("a person who is not logged in is sent to the login, and a form of theirs is refused", async () => {
    const visitors: Visitors = {
      authenticate: () => {
        throw new ParleyError("CREDENTIALS_MISSING", "nobody");
      },
      ticket: undefined,
      logIn: async (request, reply) => await reply.redirect(`https://id.example/?back=${request.url}`, 303),
    };
    const { here } = await opened({ visitors });
    const response = await fetch(here, { redirect: "manual" });
    expect([response.status, response.headers.get("location")]).toEqual([303, "https://id.example/?back=/accounts"]);
    expect((await send(here)).status).toBe(401);
  });

  test("an anonymous caller has no grants to see or remove, even if some were stored", async () => {
    const { keep, left, here } = await opened({
      visitors: { ...named, authenticate: () => callerNamed("anonymous", { authenticatedBy: "nobody" }) },
    });
    await keep("crm", { principal: "anonymous" });
    expect(await look(here)).toMatchObject({ status: 200, accounts: [] });
    expect(await left("anonymous")).toHaveLength(1);
  });

  test.each<[where: string, without: object]>([
    ["everyone is the same person", { visitors: undefined }],
    ["there is no provider", { oauth: undefined }],
  ])("there is no page where %s, and the start page has no link to it", async (_what, more) => {
    const { here } = await opened(more);
    expect((await look(here)).status).toBe(404);
    const home = async (url: string) => (await look(url.replace("/accounts", "/"), { headers: { accept: "text/html" } })).text;
    expect(await home(here)).not.toContain('href="accounts"');
    expect(await home((await opened()).here)).toContain('href="accounts"');
  });
});
