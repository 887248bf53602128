/** People who are not logged in are sent to the provider and back. test/e2e/login.e2e.test.ts uses a real provider and a browser. */
import { randomBytes } from "node:crypto";
import { type Caller, ParleyError } from "@parley/core";
import type { Login } from "@parley/identity";
import { catalogue, defineTool } from "@parley/sdk";
import type { DepositSeal } from "@parley/node";
import { describe, expect, test } from "vitest";
import { post as request, rpc } from "./client.fixture.ts";
import { callerNamed, type Deploy, deploy } from "./deployment.fixture.ts";
import { LOGINS_MAX } from "./routes/login/cookies.ts";
import { loggedIn } from "./routes/login/route.ts";
import { until } from "../../test/support/until.ts";
import { offered } from "./tools.fixture.ts";

const PUBLIC = "http://localhost:3000/below";

/** A provider that accepts every login. */
function provider(finish: Login["finish"] = async () => callerNamed("ann")): Login {
  let count = 0;
  return {
    ttlMs: 60_000,
    base: PUBLIC,
    isSecure: false,
    async start(as) {
      const state = `${(count += 1)}`.padStart(12, "0").padEnd(43, "s");
      const other = as?.asAnother === true ? "&prompt=login" : "";
      const calls = as?.isToCall === true ? "&scope=calls" : "";
      const required = as?.required ? `&required=${encodeURIComponent(JSON.stringify(as.required))}` : "";
      return { url: `https://id.example.com/auth?state=${state}${other}${calls}${required}`, state, verifier: "v".repeat(43) };
    },
    finish,
  };
}

/** A browser that keeps cookies, behind which a proxy serves Parley below a path. */
async function browser(login = provider(), frontCount = 1, tools = offered, settings: Partial<Deploy> = {}) {
  const nobody = () => Promise.reject(new ParleyError("CREDENTIALS_MISSING", "this server needs an access token"));
  const { fronts, logged, services } = await deploy({
    catalogue: tools,
    fronts: frontCount,
    login,
    publicUrl: PUBLIC,
    times: { keepAliveMs: 50 },
    ...settings,
    visitors: (seal, claims) =>
      loggedIn({ authenticate: nobody, login, seal: { ...seal, open: noting(seal.open) }, claims, now: Date.now }),
  });
  const opened: string[] = [];
  function noting(open: DepositSeal["open"]): DepositSeal["open"] {
    return (taskId, key, sealed) => {
      opened.push(key);
      return open(taskId, key, sealed);
    };
  }
  const jar = new Map<string, string>();
  async function visit(
    path: string,
    headers: Record<string, string>,
    { body, front = 0 }: { body?: string; front?: number },
  ): Promise<Response> {
    const cookie = [...jar].map((pair) => pair.join("=")).join("; ");
    const response = await fetch(new URL(path, fronts[front]!.url), {
      ...(body !== undefined && { method: "POST", body }),
      headers: { cookie, ...headers },
      redirect: "manual",
    });
    for (const given of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(given) ?? [];
      if (value === "") jar.delete(name);
      else jar.set(name, value);
    }
    return response;
  }
  const get = (path: string, headers: Record<string, string> = {}, front = 0) => visit(path, headers, { front });
  const post = (path: string, headers: Record<string, string> = {}, body = "") =>
    visit(path, { "content-type": "application/x-www-form-urlencoded", ...headers }, { body });
  const logIn = async () => await get(`/login/callback?code=c&state=${stateOf(await get(PAGE))}`);
  return { jar, get, post, logIn, logged, opened, fronts, services };
}

const PAGE = `/asks/0-${"a".repeat(22)}/branch/key?x=1`;
const stateOf = (response: Response) => new URL(response.headers.get("location") ?? "").searchParams.get("state") ?? "";

test("a browser that opens many pages before it is logged in has at most eight logins open, and finishes one of them", async () => {
  const { jar, get } = await browser();
  let state = "";
  for (let count = 0; count < 60; count += 1) {
    const away = await get(PAGE);
    expect(away.status).toBe(303);
    state = stateOf(away);
    expect(jar.size).toBe(Math.min(count + 1, LOGINS_MAX));
  }
  expect((await get(`/login/callback?code=c&state=${state}`)).status).toBe(303);
  expect([...jar.keys()].filter((name) => name === "parley-session")).toHaveLength(1);
});

test("an answer on a page tells the tool that the person was logged in with their browser", async () => {
  const who = defineTool({
    name: "who",
    async run(_args, ctx) {
      await ctx.confirm("sure", { message: "Sure?" });
      return String(ctx.answeredBy("sure")?.assurance);
    },
  });
  const { get, post, logIn, fronts, services } = await browser(provider(), 1, catalogue([who]));
  const { result } = await rpc(fronts[0]!, "tools/call", { name: "who", arguments: {} }, { principal: "ann" });
  const taskId = String(result!["taskId"]);
  await until(async () => (await services.store.load(taskId))?.status === "input_required");
  await logIn();
  const page = await (await get(`/asks/${taskId}/sure`)).text();
  const hidden = [...page.matchAll(/type="hidden" name="(shown|token)" value="([^"]*)"/g)]
    .slice(0, 2)
    .map(([, name = "", value = ""]): [string, string] => [name, value]);
  const body = new URLSearchParams([...hidden, ["action", "yes"]]).toString();
  expect((await post(`/asks/${taskId}/sure`, {}, body)).status).toBe(200);
  await until(async () => (await services.store.load(taskId))?.status === "completed");
  expect(JSON.stringify((await services.store.load(taskId))?.outcome)).toContain('"login"');
});

test("a page opens the cookie of the person who is logged in once, though it also says who that is", async () => {
  const { get, logIn, opened } = await browser();
  await logIn();
  opened.length = 0;
  expect(await (await get(PAGE)).text()).toContain("Use another account");
  expect(opened).toEqual(["parley-session"]);
});

test("a person who returns from the provider is sent to the page, also if it is below a path", async () => {
  const { get } = await browser();
  const back = await get(`/login/callback?code=c&state=${stateOf(await get(PAGE))}`);
  expect(back.headers.get("location")).toBe(`${PUBLIC}${PAGE}`);
});

test("a login is completed for the address that the proxy names", async () => {
  const from: (string | undefined)[] = [];
  const { get, jar } = await browser(
    provider(async (_parameters, _begun, client) => {
      from.push(client);
      return callerNamed("ann");
    }),
  );
  for (const headers of [{}, { "x-forwarded-for": "203.0.113.9, 198.51.100.1" }]) {
    jar.clear();
    await get(`/login/callback?code=c&state=${stateOf(await get(PAGE))}`, headers);
  }
  expect(from).toEqual([undefined, "198.51.100.1"]);
});

test("a login that fails through a defect shows an id, under which the log has the error", async () => {
  const { get, logged } = await browser(provider(() => Promise.reject(new TypeError("hunter2 is undefined"))));
  const state = stateOf(await get(PAGE));
  const failed = await get(`/login/callback?code=c&state=${state}`);
  const text = await failed.text();
  expect(failed.status).toBe(500);
  expect(text).not.toContain("hunter2");
  const lines = logged.filter(({ message }) => message === "request failed");
  expect(lines).toMatchObject([{ fields: { err: expect.any(TypeError), defectId: expect.any(String) } }]);
  expect(text).toContain(String(lines[0]?.fields["defectId"]));
});

const OTHER = /<a href="([^"]*)">Use another account</;
const addressIn = (text: string, pattern: RegExp) => (pattern.exec(text)?.[1] ?? "").replaceAll("&amp;", "&");

describe("a person who is logged in with the wrong account", () => {
  test("learns with which, and logs in with another one, which the provider asks for", async () => {
    const { get, logIn } = await browser();
    await logIn();
    const unknown = await get(PAGE);
    const text = await unknown.text();
    expect(unknown.status).toBe(404);
    expect(text).toContain("You are logged in as ann.");
    const other = addressIn(text, OTHER);
    expect(other).toBe(`/below/login?back=${encodeURIComponent(PAGE)}`);
    const away = await get(other.slice("/below".length));
    expect(away.status).toBe(303);
    expect(away.headers.get("location")).toContain("prompt=login");
    const back = await get(`/login/callback?code=c&state=${stateOf(away)}`);
    expect(back.headers.get("location")).toBe(`${PUBLIC}${PAGE}`);
  });

  test("logs out with this browser", async () => {
    const { jar, get, post, logIn } = await browser();
    await logIn();
    expect(await (await get(PAGE)).text()).toContain('action="/below/logout"');
    const out = await post("/logout", { origin: new URL(PUBLIC).origin });
    expect([out.status, await out.text()]).toEqual([200, expect.stringContaining("<h1>Logged out</h1>")]);
    expect(jar.size).toBe(0);
    expect((await get(PAGE)).status).toBe(303);
  });

  test("is logged out everywhere: a copy of the cookie opens nothing any more, and another login of the same person still does", async () => {
    const { jar, get, post, logIn } = await browser(provider(), 2);
    await logIn();
    const other = new Map(jar);
    jar.clear();
    const before = Date.now();
    await until(() => Date.now() > before);
    await logIn();
    const copy = new Map(jar);
    await post("/logout", { origin: new URL(PUBLIC).origin });
    const restore = (kept: ReadonlyMap<string, string>) => {
      jar.clear();
      for (const [name, value] of kept) jar.set(name, value);
    };
    for (const front of [0, 1]) {
      restore(copy);
      expect((await get(PAGE, {}, front)).headers.get("location")).toContain("https://id.example.com/");
      restore(other);
      expect(await (await get(PAGE, {}, front)).text()).toContain("You are logged in as ann.");
    }
  });

  test("has no stream of changes any more, at any front end, and keeps those of another login", async () => {
    const { jar, get, post, logIn } = await browser(provider(), 2);
    const follow = async (front: number) => {
      const { status, body } = await get("/inbox/changes", { accept: "text/event-stream" }, front);
      expect(status).toBe(200);
      const followed = { isOver: false };
      void (async () => {
        for await (const _ of body ?? []);
        followed.isOver = true;
      })().catch(() => undefined);
      return followed;
    };
    await logIn();
    const kept = await follow(1);
    jar.clear();
    const before = Date.now();
    await until(() => Date.now() > before);
    await logIn();
    const ended = [await follow(0), await follow(1)];
    await post("/logout", { origin: new URL(PUBLIC).origin });
    await until(() => ended.every(({ isOver }) => isOver));
    expect(kept.isOver).toBe(false);
  });

  test("is not logged out by another site", async () => {
    const { jar, post, logIn } = await browser();
    await logIn();
    for (const headers of [{ origin: "https://evil.example" }, { "sec-fetch-site": "cross-site" }])
      expect((await post("/logout", headers)).status).toBe(403);
    expect(jar.size).toBe(1);
  });

  test("gets another chance if the provider's account may not answer here", async () => {
    const refusing = provider(() => Promise.reject(new ParleyError("TOKEN_CLAIM_INVALID", "no such claim")));
    const { logIn } = await browser(refusing);
    const refused = await logIn();
    const text = await refused.text();
    expect(refused.status).toBe(403);
    expect(addressIn(text, OTHER)).toBe(`/below/login?back=${encodeURIComponent(PAGE)}`);
    expect(text).not.toContain("You are logged in");
  });
});

describe("a question that needs another login", () => {
  const pay = defineTool({
    name: "pay",
    run: async (_args, ctx) =>
      String(await ctx.confirm("sure", { message: "Pay?", assurance: { within: "15 minutes", acr: ["gold"], amr: ["mfa"] } })),
  });
  const NOT_YET = "Log in again";

  /** `stated`: by the provider, login by login. */
  async function asked(...stated: (Caller["login"] | undefined)[]) {
    const login = provider(async () => {
      const facts = stated.shift();
      return callerNamed("ann", facts && { login: facts });
    });
    const opened = await browser(login, 1, catalogue([pay]));
    const { result } = await rpc(opened.fronts[0]!, "tools/call", { name: "pay", arguments: {} }, { principal: "ann" });
    const taskId = String(result!["taskId"]);
    await until(async () => (await opened.services.store.load(taskId))?.status === "input_required");
    await opened.logIn();
    const path = `/asks/${taskId}/sure`;
    const page = async () => await (await opened.get(path)).text();
    const again = async () => {
      const address = addressIn(await page(), /<a class="button main" href="([^"]*)" data-key="a">Log in again</);
      const away = await opened.get(address.slice("/below".length));
      return {
        away: new URL(away.headers.get("location")!).searchParams,
        back: await opened.get(`/login/callback?code=c&state=${stateOf(away)}`),
      };
    };
    return { ...opened, path, page, again };
  }
  const fits = { atMs: Date.now(), acr: "gold", amr: ["mfa"] };

  test("leads to it, asks the provider for it, and back to the form", async () => {
    const { page, again, path } = await asked(undefined, fits);
    expect(await page()).toContain(NOT_YET);
    const { away, back } = await again();
    expect(JSON.parse(away.get("required")!)).toEqual({ by: "login", withinMs: 900_000, acr: ["gold"], amr: ["mfa"] });
    expect([back.status, back.headers.get("location")]).toEqual([303, `${PUBLIC}${path}`]);
    expect(await page()).toContain('value="yes"');
  });

  test.each<[string, Caller["login"] | undefined]>([
    ["nothing of the login", undefined],
    ["an older login", { ...fits, atMs: Date.now() - 16 * 60_000 }],
    ["another class", { ...fits, acr: "tin" }],
    ["another method", { ...fits, amr: ["pwd"] }],
  ])("says so if the provider states %s all the same, and leads nobody in a circle", async (_what, stated) => {
    const { page, again, path, logged } = await asked(undefined, stated);
    const { back } = await again();
    const text = await back.text();
    expect([back.status, text.includes(`<a href="${PUBLIC}${path}">Back to the question</a>`)]).toEqual([403, true]);
    expect(logged.filter(({ message }) => message === "login states less than an answer requires")).toHaveLength(1);
    expect(await page()).toContain(NOT_YET);
  });

  test("comes of no address that somebody made up", async () => {
    const { get, path } = await asked(undefined);
    const back = encodeURIComponent(path);
    for (const query of ["within=1", "within=1e10", "within=soon", `acr=${"x".repeat(300)}`, "amr=%0d%0aa"])
      expect([query, (await get(`/login?again=yes&back=${back}&${query}`)).status]).toEqual([query, 401]);
    expect((await get(`/login?again=yes&back=https%3A%2F%2Fevil.example%2F`)).status).toBe(401);
  });
});

test("a login of another account returns to pages of this server only", async () => {
  const { get, jar, logged } = await browser();
  const elsewhere = ["/mcp", "/asks/../mcp", "/asksy", "@evil.example/asks/", "javascript:alert(1)", "http://[", "", "/play"];
  for (const back of elsewhere)
    expect([back, (await get(`/login?${new URLSearchParams({ back }).toString()}`)).status]).toEqual([back, 401]);
  expect((await get("/login")).status).toBe(401);
  expect(jar.size).toBe(0);
  for (const back of ["/accounts", "/approvals", "//evil.example/asks/x", "https://evil.example/asks/x", "/asks/x\r\nset-cookie: a=b"]) {
    const away = await get(`/login?${new URLSearchParams({ back }).toString()}`);
    const returned = await get(`/login/callback?code=c&state=${stateOf(away)}`);
    expect(returned.headers.get("location")).toMatch(/^http:\/\/localhost:3000\/below\/(accounts$|approvals$|asks\/x)/);
    expect(returned.headers.get("set-cookie")).not.toContain("a=b");
  }
  expect(logged.filter(({ message }) => message === "request failed")).toEqual([]);
});

test("what a stranger sends to a logout is no defect", async () => {
  const { post, logged } = await browser();
  expect((await post("/logout", { "content-type": "application/json" }, "{")).status).toBe(400);
  expect((await post("/logout", {}, "x".repeat(2_000))).status).toBe(413);
  expect(logged.filter(({ message }) => message === "request failed")).toEqual([]);
});

test("a page whose login cannot begin says so, and shows nothing of the error", async () => {
  const start = () => Promise.reject(new ParleyError("PROVIDER_UNAVAILABLE", "the login at https://id.example.com: no answer"));
  const { get, logged } = await browser({ ...provider(), start });
  for (const path of [PAGE, `/login?back=${PAGE}`]) {
    const away = await get(path);
    expect([away.status, away.headers.get("content-type")]).toEqual([503, "text/html; charset=utf-8"]);
    expect(await away.text()).not.toContain("id.example.com");
  }
  expect(logged.filter(({ message }) => message === "page refused")).toHaveLength(2);
});

test("a page whose address does not fit into a cookie is refused before the person logs in", async () => {
  const { get, jar } = await browser();
  const address = (chars: number) => `/asks/x/${randomBytes(chars).toString("hex").slice(0, chars)}`;
  expect((await get(address(1_000))).status).toBe(303);
  jar.clear();
  for (const path of [address(8_000), `/login?back=${address(8_000)}`]) {
    expect((await get(path)).status).toBe(401);
    expect(jar.size).toBe(0);
  }
});

describe("the playground", () => {
  const PAGE_HEADERS = { "x-requested-with": "parley", "sec-fetch-site": "same-origin" };
  const open = () =>
    browser({ ...provider(), ttlMs: 3_600_000 }, 2, offered, {
      playground: true,
      authenticate: () => Promise.reject(new ParleyError("CREDENTIALS_MISSING", "this server needs an access token")),
    });

  test("leads to a login with the scopes to call tools, and back, and then calls as the person, at every front end, until they log out", async () => {
    const { get, post, mcp } = await opened();
    expect(await account(get)).toEqual({ hasLogin: true });
    const away = await get("/play/login");
    expect(new URL(away.headers.get("location")!).searchParams.get("scope")).toBe("calls");
    const back = await get(`/login/callback?code=c&state=${stateOf(away)}`);
    expect([back.status, back.headers.get("location")]).toEqual([303, `${PUBLIC}/play/`]);

    expect(await account(get)).toEqual({ hasLogin: true, name: "ann", person: "ann" });
    expect(await mcp(PAGE_HEADERS)).toBe(200);
    expect(await mcp(PAGE_HEADERS, 1)).toBe(200);
    expect((await get(`/play/api/tasks/0-${"a".repeat(22)}/timeline`, PAGE_HEADERS)).status).toBe(404);
    await post("/logout", { origin: new URL(PUBLIC).origin, "sec-fetch-site": "same-origin" });
    expect(await account(get)).toEqual({ hasLogin: true });
  });

  test("is the only one for which the cookie of a login is enough", async () => {
    const { get, post, jar, mcp, logIn } = await opened();
    await logIn();
    for (const headers of [
      {},
      { "sec-fetch-site": "same-origin" },
      { "x-requested-with": "parley" },
      { ...PAGE_HEADERS, "sec-fetch-site": "same-site" },
      { ...PAGE_HEADERS, "sec-fetch-site": "cross-site" },
      { ...PAGE_HEADERS, "sec-fetch-site": "none" },
      { ...PAGE_HEADERS, "x-requested-with": "XMLHttpRequest" },
      { ...PAGE_HEADERS, authorization: "Bearer of-another" },
    ]) {
      expect(await mcp(headers), JSON.stringify(headers)).toBe(401);
      expect(await account(get, headers), JSON.stringify(headers)).toEqual({ hasLogin: true });
    }
    expect((await get("/api/v1/tasks")).status).toBe(401);
    expect((await get("/api/v1/tasks", PAGE_HEADERS)).status).toBe(200);
    expect(await mcp(PAGE_HEADERS)).toBe(200);
    // A copy of the cookie of a login that has ended.
    const copy = new Map(jar);
    await post("/logout", { origin: new URL(PUBLIC).origin, "sec-fetch-site": "same-origin" });
    for (const [name, value] of copy) jar.set(name, value);
    expect(await mcp(PAGE_HEADERS)).toBe(401);
  });

  test("holds no stream of a login that has ended, at any front end", async () => {
    const { get, post, jar, logIn, fronts } = await opened();
    await logIn();
    const cookie = [...jar].map((pair) => pair.join("=")).join("; ");
    const streams = await Promise.all(
      fronts.flatMap((front) => [
        request(front, "subscriptions/listen", { notifications: { toolsListChanged: true } }, { headers: { cookie, ...PAGE_HEADERS } }),
        get("/api/v1/asks/changes", { accept: "text/event-stream", ...PAGE_HEADERS }),
      ]),
    );
    expect(streams.map(({ headers }) => headers.get("content-type"))).toEqual(streams.map(() => "text/event-stream"));
    await post("/logout", { origin: new URL(PUBLIC).origin, "sec-fetch-site": "same-origin" });
    await Promise.all(streams.map(async (stream) => await stream.text()));
  });

  test("is not served a login where it is not served, and knows of none where there is none", async () => {
    const { get } = await browser();
    expect((await get("/play/login")).status).toBe(404);
    const { fronts } = await deploy({ catalogue: offered, fronts: 1, playground: true });
    expect(await (await fetch(new URL("/play/api/account", fronts[0]!.url))).json()).toEqual({ hasLogin: false });
    expect((await fetch(new URL("/play/login", fronts[0]!.url))).status).toBe(404);
  });

  const account = async (get: Awaited<ReturnType<typeof open>>["get"], headers: Record<string, string> = PAGE_HEADERS) =>
    await (await get("/play/api/account", headers)).json();

  async function opened() {
    const all = await open();
    const mcp = async (headers: Record<string, string>, front = 0) => {
      const cookie = [...all.jar].map((pair) => pair.join("=")).join("; ");
      return (await request(all.fronts[front]!, "tools/list", {}, { headers: { cookie, ...headers } })).status;
    };
    return { ...all, mcp };
  }
});
