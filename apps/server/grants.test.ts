/**
 * A tool acts in a person's name at a provider: what grants it, what does not, and what the person then reads. The provider is
 * oidc-provider, over real HTTP.
 */
import { hash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { ANONYMOUS, type Effects } from "@parley/core";
import { createOauthProviders } from "@parley/identity";
import { catalogue, defineTool } from "@parley/sdk";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type OauthProvider, startOauthProvider } from "../../test/support/oauth-provider.ts";
import { logIn } from "../../test/support/person.ts";
import { until } from "../../test/support/until.ts";
import { rpc } from "./client.fixture.ts";
import { callerNamed, type Deploy, deploy, type Front } from "./deployment.fixture.ts";
import { anonymous } from "./front-end/caller.ts";
import type { Visitors } from "./front-end/visitors.ts";
import { OWN_REDEMPTIONS_MAX, REDEMPTIONS_MAX } from "./routes/asks/grants.ts";
import { JOURNEYS_MAX } from "./routes/asks/journeys.ts";

const SCOPES = ["calendar:read", "calendar:write"];

let provider: OauthProvider;
let tokenSeconds = 600;

beforeAll(async () => {
  provider = await startOauthProvider({
    resource: "https://calendar.example",
    scopes: SCOPES,
    callback: "http://127.0.0.1/oauth/callback/calendar",
    tokenSeconds: () => tokenSeconds,
  });
});

afterEach(() => {
  provider.instead.clear();
  tokenSeconds = 600;
});

afterAll(() => provider.close());

const KEEP = { id: "k".repeat(22), upstream: "crm", ttlMs: 3_600_000 };

const hashed = (token: string) => hash("sha256", token);

const tools = catalogue([
  defineTool({
    name: "plan",
    async run(_args, ctx) {
      const grant = await ctx.oauth("calendar", { provider: "calendar", scopes: ["calendar:read"], message: "To find a <free> evening" });
      const first = await ctx.step("first", () => grant.use(hashed));
      await ctx.confirm("again", { message: "Again?" });
      const both = await ctx.step("both", () => Promise.all([grant.accessToken(), grant.accessToken()]).then((all) => all.map(hashed)));
      return JSON.stringify({ shown: [String(grant), { grant }], scopes: grant.scopes, first, both });
    },
  }),
  defineTool({
    name: "greedy",
    run: (_args, ctx) =>
      ctx.oauth("mail", { provider: "calendar", scopes: ["calendar:read", "mail:send"], message: "All of it" }).then(() => "yes"),
  }),
  // As the gateway asks for access that later calls use.
  Object.assign(defineTool({ name: "kept", run: () => "" }), {
    async run(_args: object, effects: Effects) {
      const page = { kind: "oauth", provider: "calendar", scopes: ["calendar:read"], keep: KEEP } as const;
      const answer = await effects.ask("calendar", { type: "url", message: "For later", url: "", page }, { timeoutMs: KEEP.ttlMs });
      return { content: [{ type: "text", text: JSON.stringify(answer) }] };
    },
  }),
  Object.assign(defineTool({ name: "kept_on", run: () => "" }), {
    async run(_args: object, effects: Effects) {
      const page = { kind: "oauth", provider: "calendar", scopes: ["calendar:read"], keep: KEEP } as const;
      await effects.ask("calendar", { type: "url", message: "For later", url: "", page }, { timeoutMs: KEEP.ttlMs });
      const schema = { type: "object", properties: { day: { type: "string" } } } as const;
      await effects.ask("day", { type: "form", message: "Which day?", schema }, { timeoutMs: KEEP.ttlMs });
      return { content: [] };
    },
  }),
  defineTool({
    name: "elsewhere",
    run: (_args, ctx) => ctx.oauth("mail", { provider: "mail", scopes: ["mail:send"], message: "Mail" }).then(() => "yes"),
  }),
]);

/** Also under a second name. */
function providers(settings: object = {}, timeoutMs = 60_000) {
  const calendar = { title: "Cal & Co", ...provider.settings, ...settings };
  return createOauthProviders(
    [
      { name: "calendar", ...calendar },
      { name: "twin", ...calendar },
    ],
    Date.now,
    timeoutMs,
  );
}

/** Visitors are the person in the header, as if they had logged in. */
const named: Visitors = { authenticate: ({ headers }) => callerNamed(String(headers["x-principal"] ?? "ann")), ticket: undefined };
const ofTenant = (tenant: string): Partial<Deploy> => {
  const authenticate = () => callerNamed("ann", { tenant });
  return { authenticate, visitors: { ...named, authenticate } };
};

async function planning(more: Partial<Deploy> = {}, tool = "plan") {
  const deployment = await deploy({
    catalogue: tools,
    fronts: 1,
    visitors: named,
    oauth: providers(),
    ...more,
    settings: { oauthScopes: { calendar: SCOPES }, showErrors: true },
  });
  const [front] = deployment.fronts as [Front];
  const options = { principal: "ann" };
  const created = await rpc(front, "tools/call", { name: tool, arguments: {} }, options);
  const taskId = String(created.result!["taskId"]);
  const get = async () => (await rpc(front, "tasks/get", { taskId }, options)).result!;
  await until(async () => (await get())["status"] !== "working");
  const inputs = (await get())["inputRequests"] as Record<string, { params: { url: string } }> | undefined;
  const page = inputs?.["calendar"]?.params.url ?? "";
  const answer = (key: string, reply: object) => rpc(front, "tasks/update", { taskId, inputResponses: { [key]: reply } }, options);
  return { ...deployment, front, taskId, get, page, answer, asks: async () => Object.keys((await get())["inputRequests"] ?? {}) };
}

type Planning = Awaited<ReturnType<typeof planning>>;

interface Seen {
  readonly status: number;
  readonly title: string | undefined;
  readonly text: string;
  readonly cookie: string;
  /** Where it leads. */
  readonly location: string;
}

async function look(url: string, init: RequestInit = {}): Promise<Seen> {
  const response = await fetch(url, { redirect: "manual", ...init });
  const text = await response.text();
  const [cookie = ""] = response.headers.getSetCookie();
  return {
    status: response.status,
    title: /<h1>([^<]*)/.exec(text)?.[1],
    text,
    cookie: cookie.split(";")[0] ?? "",
    location: response.headers.get("location") ?? "",
  };
}

const problemOf = ({ text }: Seen) => /<p class="alert" role="alert">([^<]*)/.exec(text)?.[1];
/** The tool asks on, so the person comes to its next question. */
const isLedOn = ({ status, location }: Seen) => status === 303 && /^\/asks\/[^/]+\/again\?(k=[^&]+&)?after=/.test(location);
const sentenceOf = ({ text }: Seen) => /<p>([^<]*)<\/p>/.exec(text)?.[1];

function fieldsOf({ text }: Seen): Record<string, string> {
  return Object.fromEntries([...text.matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g)].map(([, name, value]) => [name, value]));
}

const send = (url: string, fields: Record<string, string>, headers: Record<string, string> = {}) =>
  look(url, { method: "POST", body: new URLSearchParams(fields), headers });

/** Goes to the provider and back, up to the callback. */
async function away({ page }: Pick<Planning, "page">, person = "alice") {
  const off = await send(page, { ...fieldsOf(await look(page)), action: "accept" });
  const url = new URL((/http-equiv="refresh" content="0; url=([^"]+)"/.exec(off.text)?.[1] ?? "").replaceAll("&amp;", "&"));
  const callback = await logIn(url, person);
  const come = (to: URL | string = callback, headers: Record<string, string> = {}) =>
    look(String(to), { headers: { cookie: off.cookie, ...headers } });
  return { off, url, callback, cookie: off.cookie, come };
}

describe("access that a person grants", () => {
  test("reaches steps through the callback, and never appears in plain storage, logs or messages", async () => {
    const planned = await planning();
    const shown = await look(planned.page);
    expect([shown.status, shown.title]).toEqual([200, "Access to Cal &amp; Co"]);
    expect(shown.text).toContain("To find a &lt;free&gt; evening");
    expect(shown.text).toContain("<li>calendar:read</li>");
    const { url, off, come } = await away(planned);
    expect(off.cookie).toMatch(/^parley-away-[\w-]{12}=/);
    expect(Object.fromEntries(url.searchParams)).toMatchObject({
      response_type: "code",
      code_challenge_method: "S256",
      scope: "calendar:read",
      redirect_uri: `${new URL(planned.front.url).origin}/oauth/callback/calendar`,
    });
    expect(url.searchParams.get("state")).not.toContain(planned.taskId);

    const deposits: string[] = [];
    const { answer } = planned.services.store;
    Object.assign(planned.services.store, {
      answer: (request: Parameters<typeof answer>[0]) => (deposits.push(request.page?.deposit ?? ""), answer(request)),
    });
    const back = await come();
    expect(isLedOn(back)).toBe(true);
    expect(deposits.join("")).toMatch(/^[\w-]{8}\.[\w-]{200,}$/);
    await until(async () => (await planned.asks()).includes("again"));
    await planned.answer("again", { action: "accept", content: { value: true } });
    await until(async () => (await planned.get())["status"] === "completed");
    const task = await planned.get();
    const result = JSON.parse(task["result"]!["content"]![0]!["text"] as string) as { first: string; both: string[] };
    expect(result).toMatchObject({ shown: ["[grant]", { grant: "[grant]" }], scopes: ["calendar:read"] });
    // The token is valid for ten minutes, so it was not renewed.
    expect(result.both).toEqual([result.first, result.first]);
    expect(JSON.stringify([task, planned.logged])).not.toMatch(/eyJ[\w-]{20}/);
    expect(await planned.services.store.deposit(planned.taskId, "calendar")).toBeUndefined();
  });

  test("is renewed before its token expires, once for concurrent steps", async () => {
    tokenSeconds = 30;
    const planned = await planning();
    let refreshed = 0;
    provider.server.prependListener("request", ({ url }: IncomingMessage) => void (url === "/token" && (refreshed += 1)));
    await (await away(planned)).come();
    await until(async () => (await planned.asks()).includes("again"));
    // One request for the code, and one for the token that the first step found too old.
    expect(refreshed).toBe(2);
    tokenSeconds = 600;
    await planned.answer("again", { action: "accept", content: { value: true } });
    await until(async () => (await planned.get())["status"] === "completed");
    const result = JSON.parse((await planned.get())["result"]!["content"]![0]!["text"] as string) as {
      first: string;
      both: [string, string];
    };
    expect(refreshed).toBe(3);
    expect(result.both[0]).toBe(result.both[1]);
    expect(result.both[0]).not.toBe(result.first);
  });

  test("is requested only if the deployment is set up for it", async () => {
    const text = async (tool: string, more: Partial<Deploy> = {}) => JSON.stringify(await (await planning(more, tool)).get());
    expect(await text("greedy")).toContain(
      "/scopes/1 is not among the scopes that calendar is set up for here: calendar:read, calendar:write",
    );
    expect(await text("elsewhere")).toContain("/provider must be one of those that are set up here: calendar (PARLEY_OAUTH)");
  });
});

describe("without a return from the provider", () => {
  test("the tool waits: a client's accept, a closed window and a GET change nothing", async () => {
    const planned = await planning();
    await planned.answer("calendar", { action: "accept" });
    await away(planned);
    for (const method of ["GET", "HEAD"]) await fetch(planned.page, { method });
    // The person has agreed to go there, and nothing more is asked of the client.
    expect(await planned.get()).toMatchObject({ status: "working", statusMessage: expect.stringContaining("Waiting for a page") });
    const { come } = await away(planned);
    expect(isLedOn(await come())).toBe(true);
    await until(async () => (await planned.asks()).includes("again"));
  });
});

describe("a person who returns", () => {
  test.each([
    ["with an invented state", (url: URL) => url.searchParams.set("state", "A".repeat(43)), 400, "Not started here"],
    ["without a state", (url: URL) => url.searchParams.delete("state"), 400, "Not started here"],
    ["to the callback of an unknown provider", (url: URL) => (url.pathname = "/oauth/callback/mail"), 400, "Not started here"],
  ])("%s is refused, and the right person may still return", async (_what, change, status, title) => {
    const planned = await planning();
    const { callback, come } = await away(planned);
    const forged = new URL(callback);
    change(forged);
    const seen = await come(forged);
    expect([seen.status, seen.title, sentenceOf(seen)]).toEqual([status, title, expect.stringContaining("nothing was sent")]);
    expect(await planned.asks()).toEqual(["calendar"]);
    if (forged.pathname === callback.pathname) expect(isLedOn(await come())).toBe(true);
  });

  test.each([
    ["an invented code", (url: URL) => url.searchParams.set("code", "A".repeat(43)), "did not allow it"],
    ["another issuer", (url: URL) => url.searchParams.set("iss", "https://evil.example"), "cannot be trusted"],
    ["no issuer", (url: URL) => url.searchParams.delete("iss"), "cannot be trusted"],
    [
      "a refusal",
      (url: URL) => (url.searchParams.delete("code"), url.searchParams.set("error", "access_denied")),
      "Cal &amp; Co reports that you did not allow it.",
    ],
    [
      "an error with markup",
      (url: URL) => (url.searchParams.delete("code"), url.searchParams.set("error", "<script>alert(1)</script>")),
      "Cal &amp; Co did not allow it.",
    ],
  ])("with %s sees the page again, and may continue", async (_what, change, sentence) => {
    const planned = await planning();
    const { callback, come } = await away(planned);
    const changed = new URL(callback);
    change(changed);
    const seen = await come(changed);
    expect([seen.status, seen.title, problemOf(seen)]).toEqual([422, "Access to Cal &amp; Co", expect.stringContaining(sentence)]);
    expect(problemOf(seen)).toContain("Nothing was sent");
    expect(seen.text).not.toContain("<script>");
    // Only the state is used up.
    expect(problemOf(await come())).toContain("has already answered this request");
    const action = /<form method="post" action="([^"]+)"/.exec(seen.text)?.[1] ?? "";
    const off = await send(action, { ...fieldsOf(seen), action: "decline" });
    expect(off.title).toBe("Declined");
  });

  test("twice, even concurrently, reads that it is already done", async () => {
    const planned = await planning();
    const { come } = await away(planned);
    const seen = await Promise.all([come(), come(), come()]);
    expect(seen.filter(isLedOn)).toHaveLength(1);
    const others = seen.filter((each) => !isLedOn(each)).map(({ title }) => title);
    expect(others.every((title) => ["Already done", "Access to Cal &amp; Co"].includes(title ?? ""))).toBe(true);
    expect((await come()).title).toBe("Already done");
    await until(async () => (await planned.asks()).includes("again"));
  });

  test("in another browser, or as another person, is refused", async () => {
    const planned = await planning();
    const { callback, come } = await away(planned);
    expect((await look(callback.href)).title).toBe("Not started here");
    const bobs = await come(callback, { "x-principal": "bob" });
    expect([bobs.status, bobs.title, sentenceOf(bobs)]).toEqual([403, "Not yours", expect.stringContaining("started by another person")]);
    expect(isLedOn(await come())).toBe(true);
  });

  test("with the cookie of another question is refused", async () => {
    const [mine, other] = [await planning(), await planning()];
    const [{ callback }, { cookie }] = [await away(mine), await away(other)];
    expect((await look(callback.href, { headers: { cookie } })).title).toBe("Not started here");
  });

  test("after ten minutes, or after the question has closed, is refused, and no code is redeemed", async () => {
    const planned = await planning();
    const { come } = await away(planned);
    let redeemed = 0;
    provider.instead.set("/token", (_request, response) => ((redeemed += 1), response.writeHead(500).end()));
    await planned.answer("calendar", { action: "decline" });
    await until(async () => (await planned.get())["status"] !== "working");
    const closed = await come();
    expect([closed.status, closed.title]).toEqual([410, "No longer open"]);

    const late = await planning();
    const away2 = await away(late);
    late.skip(10 * 60_000 + 1);
    expect((await away2.come()).title).toBe("Not started here");
    expect(redeemed).toBe(0);
    expect(await late.asks()).toEqual(["calendar"]);
  });

  test("is, without identity, anyone who has the address, but only in the browser that opened the page", async () => {
    const { front: _front, visitors: _named, ...local } = { front: 0, visitors: named };
    const planned = await planning({ ...local, visitors: undefined as never, authenticate: anonymous });
    expect(planned.page).toContain("?k=");
    const { callback, come } = await away(planned);
    expect((await look(callback.href)).title).toBe("Not started here");
    expect(isLedOn(await come())).toBe(true);
  });
});

describe("access that is kept for later", () => {
  const grantsOf = async ({ services }: Planning, owner: { principal: string; tenant: string }) =>
    (await services.grants!.list(owner)).map(({ id, about }) => ({ id, upstream: about.upstream }));
  const result = async ({ get }: Planning) => {
    await until(async () => (await get())["status"] === "completed");
    return JSON.parse((await get())["result"]!["content"]![0]!["text"] as string) as { content: Record<string, unknown> };
  };

  test.each(["default", "umbrella"])("is kept for the person in the tenant of the task, and for no other: %s", async (tenant) => {
    const planned = await planning(ofTenant(tenant), "kept");
    const { come } = await away(planned);
    expect((await come()).text).toContain('href="http://127.0.0.1');
    const { content } = await result(planned);
    expect(content).toEqual({ consent: expect.any(String), provider: "calendar", scopes: ["calendar:read"] });
    for (const [principal, at] of [
      ["ann", "default"],
      ["ann", "umbrella"],
      ["bob", tenant],
    ] as const)
      expect(await grantsOf(planned, { principal, tenant: at }), `${principal} ${at}`).toEqual(
        principal === "ann" && at === tenant ? [{ id: KEEP.id, upstream: "crm" }] : [],
      );
    expect(await planned.services.store.deposit(planned.taskId, "calendar")).toBeUndefined();
  });

  test("leads on to the next question, whose page says where the access is listed and ended", async () => {
    const planned = await planning({}, "kept_on");
    const { come } = await away(planned);
    const { location, text } = await come();
    // On a busy machine the tool asks too late to be waited for, and the notice says it.
    const shown = location === "" ? text : (await look(new URL(location, planned.page).href)).text;
    expect(shown).toMatch(/Your later calls use the same access\. <a href="[^"]*\/accounts">/);
    if (location === "") return;
    expect(shown).toContain("Which day?");
    // Only a page that an answer led to says so.
    expect((await look(new URL(location.replace("after=0", "after=1"), planned.page).href)).text).not.toContain("Your later calls");
  });

  test("is left with the task if nobody is known: everybody is the same caller there", async () => {
    const planned = await planning({ visitors: undefined as never, authenticate: anonymous }, "kept");
    const { come } = await away(planned);
    expect((await come()).title).toBe("Thank you");
    expect((await result(planned)).content).toEqual({ deposit: "calendar", provider: "calendar", scopes: ["calendar:read"] });
    expect(await grantsOf(planned, { principal: ANONYMOUS, tenant: "default" })).toEqual([]);
  });

  test("is not kept if the question is over when the person comes back", async () => {
    const planned = await planning({}, "kept");
    const { come } = await away(planned);
    const keep = planned.services.grants!.keep.bind(planned.services.grants);
    // Between the two: the tokens are there, and the answer is not.
    Object.assign(planned.services.grants!, {
      async keep(...given: Parameters<typeof keep>) {
        const consent = await keep(...given);
        expect(await grantsOf(planned, { principal: "ann", tenant: "default" })).toHaveLength(1);
        await planned.answer("calendar", { action: "decline" });
        return consent;
      },
    });
    expect((await come()).title).toBe("No longer open");
    expect(await result(planned)).toEqual({ action: "decline" });
    expect(await grantsOf(planned, { principal: "ann", tenant: "default" })).toEqual([]);
  });

  test("is not what a callback of another provider brings", async () => {
    const planned = await planning({}, "kept");
    const { callback, come } = await away(planned);
    const twin = callback.href.replace("/calendar?", "/twin?");
    expect((await come(twin)).title).toBe("Not started here");
    expect(await grantsOf(planned, { principal: "ann", tenant: "default" })).toEqual([]);
    expect(await planned.asks()).toEqual(["calendar"]);
  });
});

test("one browser has at most eight journeys open: one more replaces the oldest", async () => {
  const planned = await planning();
  const fields = { ...fieldsOf(await look(planned.page)), action: "accept" };
  const jar = new Map<string, string>();
  const leave = async () => {
    const cookie = [...jar].map((pair) => pair.join("=")).join("; ");
    const response = await fetch(planned.page, { method: "POST", body: new URLSearchParams(fields), headers: { cookie } });
    for (const given of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(given) ?? [];
      if (value === "") jar.delete(name);
      else jar.set(name, value);
    }
  };
  for (let count = 0; count < JOURNEYS_MAX; count += 1) await leave();
  const [oldest, second] = jar.keys();
  expect(jar.size).toBe(JOURNEYS_MAX);
  await leave();
  expect([jar.size, jar.has(oldest ?? ""), jar.has(second ?? "")]).toEqual([JOURNEYS_MAX, false, true]);
});

describe("a provider that", () => {
  const never = () => undefined;
  test.each([
    [
      "is down",
      "/token",
      (_request: IncomingMessage, response: ServerResponse) => void response.writeHead(503).end("<html>"),
      "cannot be reached",
    ],
    ["closes the connection", "/token", ({ socket }: IncomingMessage) => void socket.destroy(), "cannot be reached"],
    ["never answers", "/token", never, "cannot be reached"],
    [
      "redirects elsewhere",
      "/token",
      (_request: IncomingMessage, response: ServerResponse) => void response.writeHead(307, { location: "https://evil.example" }).end(),
      "cannot be trusted",
    ],
    ["does not return JSON", "/token", answering("no json"), "cannot be trusted"],
    ["answers without a token", "/token", answering({ token_type: "Bearer" }), "cannot be trusted"],
    ["gives a token of another type", "/token", answering({ access_token: "a", token_type: "mac" }), "cannot be trusted"],
    ["gives an endless token", "/token", answering({ access_token: "a".repeat(20_000), token_type: "Bearer" }), "cannot be trusted"],
    [
      "gives an endless answer",
      "/token",
      answering({ access_token: "a", token_type: "Bearer", more: "a".repeat(300_000) }),
      "cannot be trusted",
    ],
    ["refuses the client", "/token", answering({ error: "invalid_client" }, 401), "did not allow it"],
  ])("%s leaves the question open, and the page reports it", async (_what, path, answer, sentence) => {
    const planned = await planning(answer === never ? { oauth: providers({}, 5_000) } : {});
    const { come } = await away(planned);
    provider.instead.set(path, answer);
    const seen = await come();
    expect([seen.status, problemOf(seen)]).toEqual([422, expect.stringContaining(sentence)]);
    expect(await planned.asks()).toEqual(["calendar"]);
    expect(await planned.services.store.deposit(planned.taskId, "calendar")).toBeUndefined();
    expect(planned.logged.filter(({ message }) => message === "grant failed")).toHaveLength(1);
    provider.instead.clear();
    expect(isLedOn(await (await away(planned)).come())).toBe(true);
  });

  test("is down before the person leaves, or names another issuer, is reported on the page", async () => {
    const down = await planning({ oauth: providers({ issuer: "http://127.0.0.1:9" }) });
    const seen = await send(down.page, { ...fieldsOf(await look(down.page)), action: "accept" });
    expect([seen.status, problemOf(seen)]).toEqual([422, expect.stringContaining("Cal &amp; Co cannot be reached")]);
    const lying = await planning({ oauth: providers({ issuer: `${provider.issuer}/other` }) });
    const answer = await send(lying.page, { ...fieldsOf(await look(lying.page)), action: "accept" });
    expect([answer.status, problemOf(answer)]).toEqual([422, expect.stringContaining("cannot be trusted")]);
  });

  /** A provider at which every code waits, and people who return to it. */
  async function slowly(planned: Planning) {
    const waiting: ServerResponse[] = [];
    provider.instead.set("/token", (_request, response) => void waiting.push(response));
    const fields = { ...fieldsOf(await look(planned.page)), action: "accept" };
    async function come() {
      const off = await send(planned.page, fields);
      const state = /state=([\w-]+)/.exec(off.text)?.[1] ?? "";
      const query = new URLSearchParams({ state, code: "c", iss: provider.issuer });
      const address = `${new URL(planned.page).origin}/oauth/callback/calendar?${query.toString()}`;
      return { seen: look(address, { headers: { cookie: off.cookie } }) };
    }
    async function fill(count: number) {
      const held: Promise<Seen>[] = [];
      while (held.length < count) held.push((await come()).seen);
      await until(() => waiting.length === count);
      return held;
    }
    return { come, fill, waiting };
  }

  const TOO_MANY = [422, expect.stringContaining("Too many people are returning at the same time")];

  test("is slow: codes are redeemed up to the limit, and the person beyond it reads to try again", async () => {
    const { come, fill, waiting } = await slowly(await planning({ visitors: undefined as never, authenticate: anonymous }));
    const held = await fill(REDEMPTIONS_MAX);
    const seen = await (await come()).seen;
    expect([seen.status, problemOf(seen)]).toEqual(TOO_MANY);
    for (const response of waiting) response.writeHead(503).end();
    expect((await Promise.all(held)).every((each) => problemOf(each)?.includes("cannot be reached"))).toBe(true);
  });

  test("is slow: one person has at most ten codes redeemed at once", async () => {
    const planned = await planning();
    const { come, fill, waiting } = await slowly(planned);
    const held = await fill(OWN_REDEMPTIONS_MAX);
    const seen = await (await come()).seen;
    expect([seen.status, problemOf(seen)]).toEqual(TOO_MANY);
    for (const response of waiting) response.writeHead(503).end();
    await Promise.all(held);
    // Each of them has given its place back.
    held.push((await come()).seen);
    await until(() => waiting.length === OWN_REDEMPTIONS_MAX + 1);
    waiting.at(-1)?.writeHead(503).end();
    expect((await Promise.all(held)).every((each) => problemOf(each)?.includes("cannot be reached"))).toBe(true);
  });

  test("is slow for one person: another one's code is redeemed meanwhile", async () => {
    let who = "ann";
    const authenticate = () => callerNamed(who);
    const planned = await planning({ authenticate, visitors: { ...named, authenticate } });
    const { fill, waiting } = await slowly(planned);
    const held = await fill(OWN_REDEMPTIONS_MAX);
    who = "bob";
    const created = await rpc(planned.front, "tools/call", { name: "plan", arguments: {} }, { principal: "bob" });
    const taskId = String(created.result!["taskId"]);
    const asked = () => rpc(planned.front, "tasks/get", { taskId }, { principal: "bob" });
    await until(async () => (await asked()).result!["status"] === "input_required");
    const inputs = (await asked()).result!["inputRequests"] as Record<string, { params: { url: string } }>;
    const bobs = await slowly({ ...planned, page: inputs["calendar"]!.params.url });
    const seen = (await bobs.come()).seen;
    await until(() => bobs.waiting.length === 1);
    for (const response of [...waiting, ...bobs.waiting]) response.writeHead(503).end();
    for (const each of await Promise.all([...held, seen])) expect(problemOf(each)).toContain("cannot be reached");
  });

  test("the front end does not know has no page", async () => {
    const planned = await planning({ oauth: createOauthProviders([], Date.now) });
    const seen = await look(planned.page);
    expect([seen.status, seen.title]).toEqual([503, "Not available"]);
  });

  test("ends the access fails the step with GRANT_EXPIRED, and the tool may ask again", async () => {
    tokenSeconds = 30;
    const planned = await planning();
    const { come } = await away(planned);
    let codes = 0;
    provider.server.prependListener("request", ({ url }: IncomingMessage) => {
      if (url === "/token" && (codes += 1) === 2) provider.instead.set("/token", answering({ error: "invalid_grant" }, 400));
    });
    expect((await come()).title).toBe("Thank you");
    await until(async () => (await planned.get())["status"] !== "working" && !(await planned.asks()).includes("calendar"));
    expect(JSON.stringify(await planned.get())).toContain("the provider calendar refused: invalid_grant");
  });
});

function answering(body: object | string, status = 200) {
  return (_request: IncomingMessage, response: ServerResponse) =>
    void response.writeHead(status, { "content-type": "application/json" }).end(typeof body === "string" ? body : JSON.stringify(body));
}
