/**
 * People log in with a browser to open pages, at a real provider. Two front ends behind a proxy without affinity, so that each step reaches
 * another front end.
 */
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Page } from "playwright-core";
import { createClient, type TaskState } from "../../bench/client.ts";
import { createProvider } from "../../deploy/provider/provider.ts";
import { findChromium, startChromium } from "../support/chromium.ts";
import { logIn } from "../support/person.ts";
import { type FrontEnd, type Launched, startFrontEnd, startWorkerProcess } from "../support/processes.ts";
import { type Proxy, startProxy } from "../support/proxy.ts";
import { reaches } from "../support/reaches.ts";
import { openTestRedis, type TestRedis } from "../support/redis.ts";

const command = findChromium();
const SCOPES = ["tools:call", "tasks:read", "asks:answer"];
const ELSEWHERE = "http://localhost:9/callback";

let redis: TestRedis;
let proxy: Proxy;
let processes: readonly (FrontEnd | Launched)[] = [];
let login: Server;
let issuer: string;

beforeAll(async () => {
  const targets = ["", ""];
  proxy = await startProxy(targets);
  login = createServer().listen(0, "127.0.0.1");
  await once(login, "listening");
  issuer = `http://127.0.0.1:${(login.address() as AddressInfo).port}`;
  const provider = createProvider({ issuer, resource: `${proxy.url}/mcp`, scopes: SCOPES, tokenSeconds: () => 600 });
  login.on("request", (request, response) => void provider.callback()(request, response));

  redis = openTestRedis();
  const tools = ["connect", "transfer"].map((name) => join(import.meta.dirname, `tools/${name}.ts`)).join(",");
  const env = { REDIS_URL: redis.url, PARLEY_PREFIX: redis.prefix, PARLEY_TOOLS: tools };
  const guarded = {
    ...env,
    PARLEY_AUTH: "required",
    PARLEY_AUTH_ISSUERS: issuer,
    PARLEY_PUBLIC_URL: proxy.url,
    PARLEY_LOGIN_SCOPES: "openid",
    PARLEY_LOGIN_CLIENT: await register(`${proxy.url}/login/callback`),
  };
  const [here, there, worker] = await Promise.all([startFrontEnd(guarded), startFrontEnd(guarded), startWorkerProcess(env)]);
  processes = [here, there, worker];
  targets.splice(0, 2, here.url, there.url);
});

afterAll(async () => {
  await proxy?.close();
  login?.closeAllConnections();
  login?.close();
  await Promise.all(processes.map((each) => each.kill()));
  await redis?.close();
});

/** A client of the provider, by its id. */
async function register(redirect: string): Promise<string> {
  const response = await fetch(`${issuer}/reg`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ redirect_uris: [redirect], token_endpoint_auth_method: "none" }),
  });
  return ((await response.json()) as { client_id: string }).client_id;
}

/** An access token, as an MCP client gets it. */
async function tokenOf(name: string): Promise<string> {
  const client = await register(ELSEWHERE);
  const verifier = randomBytes(32).toString("base64url");
  const authorization = new URL(`${issuer}/auth`);
  authorization.search = new URLSearchParams({
    client_id: client,
    redirect_uri: ELSEWHERE,
    response_type: "code",
    scope: SCOPES.join(" "),
    resource: `${proxy.url}/mcp`,
    code_challenge: createHash("sha256").update(verifier).digest("base64url"),
    code_challenge_method: "S256",
  }).toString();
  const back = await logIn(authorization, name);
  const response = await fetch(`${issuer}/token`, {
    method: "POST",
    body: new URLSearchParams({
      grant_type: "authorization_code",
      code: back.searchParams.get("code") ?? "",
      redirect_uri: ELSEWHERE,
      client_id: client,
      code_verifier: verifier,
    }),
  });
  return ((await response.json()) as { access_token: string }).access_token;
}

interface Asked {
  readonly page: string;
  reaches(isWanted: (task: TaskState) => boolean): Promise<TaskState>;
}

/** A task of that person's that asks for a secret. */
async function asked(name: string): Promise<Asked> {
  const token = await tokenOf(name);
  const client = createClient(`${proxy.url}/mcp`, 1, token);
  const { taskId } = await client.call("connect", {});
  client.close();
  const reached = (isWanted: (task: TaskState) => boolean) => reaches(`${proxy.url}/mcp`, taskId, isWanted, token);
  const task = await reached(({ inputRequests }) => inputRequests?.["key"] !== undefined);
  return { page: (task.inputRequests as { key: { params: { url: string } } }).key.params.url, reaches: reached };
}

interface Fetched {
  readonly status: number;
  readonly text: string;
  readonly location: string;
  readonly cookies: readonly string[];
}

async function look(url: string, cookie = ""): Promise<Fetched> {
  const response = await fetch(url, { redirect: "manual", headers: { cookie } });
  return {
    status: response.status,
    text: await response.text(),
    location: response.headers.get("location") ?? "",
    cookies: response.headers.getSetCookie(),
  };
}

const pairOf = (setCookie = "") => setCookie.split(";")[0] ?? "";
const titleOf = ({ text }: Fetched) => /<h1>([^<]*)/.exec(text)?.[1];

/** Opens a page without a login and logs in. Returns the callback's address and the browser's cookies. */
async function begun(page: string, name: string): Promise<{ callback: string; cookie: string }> {
  const away = await look(page);
  const callback = await logIn(new URL(away.location), name);
  return { callback: callback.href, cookie: pairOf(away.cookies[0]) };
}

async function sessionOf(page: string, name: string): Promise<string> {
  const { callback, cookie } = await begun(page, name);
  const back = await look(callback, cookie);
  return pairOf(back.cookies.find((each) => each.startsWith("parley-session=")));
}

describe("who opens a page", () => {
  test("is sent to the provider and back, and is known then by a cookie that scripts and other sites do not get", async () => {
    const { page } = await asked("alice");
    expect(page).not.toContain("?");
    const away = await look(page);
    expect(away.status).toBe(303);
    expect(Object.fromEntries(new URL(away.location).searchParams)).toMatchObject({
      response_type: "code",
      code_challenge_method: "S256",
      scope: "asks:answer openid",
      resource: `${proxy.url}/mcp`,
      redirect_uri: `${proxy.url}/login/callback`,
    });
    expect(away.cookies).toEqual([expect.stringMatching(/^parley-login-[\w-]{12}=[^;]+; Max-Age=600; Path=\/; HttpOnly; SameSite=Lax$/)]);

    const callback = await logIn(new URL(away.location), "alice");
    const back = await look(callback.href, pairOf(away.cookies[0]));
    expect([back.status, back.location]).toEqual([303, page]);
    expect(back.cookies).toEqual([
      expect.stringMatching(/^parley-login-[\w-]{12}=; Max-Age=0;/),
      expect.stringMatching(/^parley-session=[^;]+; Max-Age=3600; Path=\/; HttpOnly; SameSite=Lax$/),
    ]);
    const shown = await look(page, pairOf(back.cookies[1]));
    expect([shown.status, shown.text]).toEqual([200, expect.stringContaining("You are logged in as ")]);
  });

  test("sees nothing that another person is asked, not even whether there is such a task", async () => {
    const { page } = await asked("alice");
    const session = await sessionOf(page, "bob");
    const foreign = await look(page, session);
    const id = /0-[\w-]+/;
    const none = `0-${"A".repeat(22)}`;
    const unknown = await look(page.replace(id, none), session);
    expect({ ...foreign, text: foreign.text.replace(id, none) }).toEqual(unknown);
    expect([foreign.status, titleOf(foreign)]).toEqual([404, "Not found"]);
  });

  test("with the wrong account logs in with another one, and out again", async () => {
    const { page } = await asked("alice");
    const { text } = await look(page, await sessionOf(page, "bob"));
    expect(text).toContain("You are logged in as ");
    const other = /<a href="([^"]*)">Use another account</.exec(text)?.[1] ?? "";
    const away = await look(new URL(other, page).href);
    expect(new URL(away.location).searchParams.get("prompt")).toBe("login");
    const callback = await logIn(new URL(away.location), "alice");
    const back = await look(callback.href, pairOf(away.cookies[0]));
    expect(back.location).toBe(page);
    const session = pairOf(back.cookies.find((each) => each.startsWith("parley-session=")));
    const shown = await look(page, session);
    expect([shown.status, titleOf(shown)]).toEqual([200, "A secret is required"]);
    const out = /action="([^"]*logout)"/.exec(shown.text)?.[1] ?? "";
    const left = await fetch(new URL(out, page), { method: "POST", headers: { cookie: session, origin: new URL(page).origin } });
    expect([left.status, left.headers.getSetCookie()]).toEqual([200, [expect.stringMatching(/^parley-session=; Max-Age=0;/)]]);
  });

  test.each([
    ["a state that was made up", (callback: URL) => callback.searchParams.set("state", "A".repeat(43)), "Not logged in"],
    ["no state", (callback: URL) => callback.searchParams.delete("state"), "Not logged in"],
    ["a code that was made up", (callback: URL) => callback.searchParams.set("code", "A".repeat(43)), "Not logged in"],
    ["another provider's name", (callback: URL) => callback.searchParams.set("iss", "https://evil.example"), "Not logged in"],
    ["no provider's name", (callback: URL) => callback.searchParams.delete("iss"), "Not logged in"],
    [
      "a refusal",
      (callback: URL) => (callback.searchParams.delete("code"), callback.searchParams.set("error", "access_denied")),
      "Not logged in",
    ],
  ])("is not logged in by %s", async (_what, change, title) => {
    const { page } = await asked("alice");
    const { callback, cookie } = await begun(page, "alice");
    const changed = new URL(callback);
    change(changed);
    const refused = await look(changed.href, cookie);
    expect([refused.status, titleOf(refused), refused.cookies]).toEqual([401, title, []]);
  });

  test("is not logged in by what another browser was sent back with, nor twice by the same", async () => {
    const { page } = await asked("alice");
    const [mine, theirs] = [await begun(page, "alice"), await begun(page, "bob")];
    expect(titleOf(await look(theirs.callback, mine.cookie))).toBe("Not logged in");
    expect(titleOf(await look(mine.callback))).toBe("Not logged in");
    expect((await look(mine.callback, mine.cookie)).status).toBe(303);
    expect(titleOf(await look(mine.callback, mine.cookie))).toBe("Not logged in");
  });

  test("is anonymous with a cookie that was changed or belongs to another login", async () => {
    const { page } = await asked("alice");
    const session = await sessionOf(page, "alice");
    const { cookie } = await begun(page, "alice");
    const changed = [
      `${session}A`,
      `parley-session=${cookie.split("=")[1]}`,
      "parley-session=",
      "parley-session=%00",
      `${session.slice(0, -8)}AAAAAAAA`,
    ];
    for (const each of changed) expect((await look(page, each)).status, each).toBe(303);
    expect((await look(page, session)).status).toBe(200);
  });

  test("learns that nothing was recorded if the login expired in the meantime", async () => {
    const { page } = await asked("alice");
    const response = await fetch(page, {
      method: "POST",
      redirect: "manual",
      body: new URLSearchParams({ action: "accept", secret: "hunter2" }),
    });
    expect([response.status, await response.text()]).toEqual([401, expect.stringContaining("nothing was sent")]);
  });
});

test("a person whose answer needs a recent login is asked for one by the provider, and what it states of that lets the answer count", async () => {
  const token = await tokenOf("alice");
  const client = createClient(`${proxy.url}/mcp`, 1, token);
  const { taskId } = await client.call("transfer", {});
  client.close();
  const page = `${proxy.url}/asks/${taskId}/sure`;
  const told = await reaches(`${proxy.url}/mcp`, taskId, ({ statusMessage }) => statusMessage?.includes(page) === true, token);
  // The client is asked nothing.
  expect([told.status, told.statusMessage]).toEqual(["working", expect.stringContaining(`answer on the page ${page}`)]);

  const session = await sessionOf(page, "alice");
  const { text } = await look(page, session);
  expect(text).not.toContain('value="yes"');
  const again = /<a class="button main" href="([^"]*)" data-key="a">Log in again</.exec(text)?.[1]?.replaceAll("&amp;", "&") ?? "";
  const away = await look(new URL(again, page).href, session);
  expect(Object.fromEntries(new URL(away.location).searchParams)).toMatchObject({ prompt: "login", max_age: "900" });
  const callback = await logIn(new URL(away.location), "alice");
  const back = await look(callback.href, `${session}; ${pairOf(away.cookies[0])}`);
  expect([back.status, back.location]).toEqual([303, page]);

  const fresh = pairOf(back.cookies.find((each) => each.startsWith("parley-session=")));
  const shown = await look(page, fresh);
  const fields = [...shown.text.matchAll(/type="hidden" name="(shown|token)" value="([^"]*)"/g)].slice(0, 2);
  const form = fields.map(([, name = "", value = ""]): [string, string] => [name, value]);
  const send = async (cookie: string) =>
    await fetch(page, { method: "POST", redirect: "manual", headers: { cookie }, body: new URLSearchParams([...form, ["action", "yes"]]) });
  expect((await send(session)).status).toBe(403);
  expect((await send(fresh)).status).toBe(200);
  const done = await reaches(`${proxy.url}/mcp`, taskId, ({ status }) => status === "completed", token);
  expect(JSON.stringify(done.result)).toContain("true login");
});

test.skipIf(command === undefined)(
  "the playground leads to the login and back to the tool, calls as the person, and shows nothing of theirs to the next",
  async () => {
    const browser = await startChromium(command ?? "");
    const typeIn = async (page: Page, name: string) => {
      await page.getByPlaceholder("Enter any login").fill(name);
      await page.getByPlaceholder("and password").fill("any");
      await page.keyboard.press("Enter");
      await page.getByRole("button", { name: "Continue" }).click();
    };
    try {
      const page = await (await browser.newContext()).newPage();
      const sent: (string | undefined)[] = [];
      page.on("request", (request) => void (request.url().endsWith("/mcp") && sent.push(request.headers()["authorization"])));
      await page.goto(`${proxy.url}/play/#tool=transfer`);
      await page.getByRole("button", { name: "Log in", exact: true }).click();
      await typeIn(page, "alice");
      await page.getByText(/^Logged in as /).waitFor();
      expect(new URL(page.url()).pathname).toBe("/play/");
      await page.getByRole("button", { name: "Call transfer", exact: true }).click();
      await page.waitForURL(/task=0-/);
      await page
        .getByText(/answer on the page/)
        .first()
        .waitFor();
      const taskId = new URLSearchParams(new URL(page.url()).hash.slice(1)).get("task") ?? "";
      expect((await reaches(`${proxy.url}/mcp`, taskId, () => true, await tokenOf("alice"))).status).toBe("working");
      // Reloaded, it is still hers, also its timeline.
      await page.reload();
      await page.getByText(/^Logged in as /).waitFor();
      await page
        .getByText(/answer on the page/)
        .first()
        .waitFor();

      await page.getByText("Your calls").click();
      await page.locator("details.own li").first().waitFor();

      await page.getByRole("button", { name: "Log out" }).click();
      const again = page.getByRole("button", { name: "Log in", exact: true });
      await again.waitFor();
      expect(await page.getByText(/answer on the page/).count()).toBe(0);
      expect(sent.length).toBeGreaterThan(2);
      expect(new Set(sent)).toEqual(new Set([undefined]));
    } finally {
      await browser.close();
    }
  },
);

describe.skipIf(command === undefined)("an answer that is not sent yet counts although the person logs out", () => {
  test.each([
    ["in the inbox", "inbox"],
    ["on the page of the question", "page"],
  ])("%s", async (_where, where) => {
    const token = await tokenOf("alice");
    const client = createClient(`${proxy.url}/mcp`, 1, token);
    const { taskId } = await client.call("transfer", {});
    client.close();
    const address = `${proxy.url}/asks/${taskId}/sure`;
    await reaches(`${proxy.url}/mcp`, taskId, ({ statusMessage }) => statusMessage?.includes(address) === true, token);
    const browser = await startChromium(command ?? "");
    try {
      const page = await (await browser.newContext()).newPage();
      const typeIn = async () => {
        await page.getByPlaceholder("Enter any login").fill("alice");
        await page.getByPlaceholder("and password").fill("any");
        await page.keyboard.press("Enter");
      };
      await page.goto(where === "inbox" ? `${proxy.url}/inbox` : address);
      await typeIn();
      await page.getByRole("button", { name: "Continue" }).click();
      if (where === "inbox") await page.locator(`#asks a[href*="${taskId}"]`).click();
      await page.locator("#ask").getByRole("link", { name: "Log in again" }).click();
      await typeIn();
      await page.locator("#ask").getByRole("button", { name: "Yes" }).waitFor();
      if (where === "inbox") await page.getByText("Menu").click();
      // As fast as nobody is: the answer is judged, or waits.
      await page.evaluate(
        "document.querySelector('#ask button[value=yes]').click(); document.querySelector('form.account button').click()",
      );
      await page.getByRole("heading", { name: "Logged out" }).waitFor();
    } finally {
      await browser.close();
    }
    const done = await reaches(`${proxy.url}/mcp`, taskId, ({ status }) => status === "completed", token);
    expect(JSON.stringify(done.result)).toContain("true login");
  });
});

test.skipIf(command === undefined)("a person in a browser without script logs in, enters the secret, and the tool continues", async () => {
  const { page: address, reaches } = await asked("alice");
  const browser = await startChromium(command ?? "");
  try {
    const page = await (await browser.newContext({ javaScriptEnabled: false })).newPage();
    await page.goto(address);
    await page.getByPlaceholder("Enter any login").fill("alice");
    await page.getByPlaceholder("and password").fill("any");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByRole("button", { name: "Log out" }).click();
    await page.getByRole("heading", { name: "Logged out" }).waitFor();
    // The provider still knows who it is.
    await page.goto(address);
    await page.getByRole("link", { name: "Use another account" }).click();
    await page.getByPlaceholder("Enter any login").fill("alice");
    await page.getByPlaceholder("and password").fill("any");
    await page.keyboard.press("Enter");
    await page.getByLabel("Secret").fill("hunter2");
    await page.keyboard.press("Enter");
    // On the page of the next question or, if the tool asks that too late, on the receipt.
    await page
      .getByText(/Your answer has arrived|Thank you/)
      .first()
      .waitFor();
  } finally {
    await browser.close();
  }
  await reaches(({ inputRequests }) => inputRequests?.["sure"] !== undefined);
  // No cookie, code or token is in a log.
  const logs = JSON.stringify(processes.map(({ logs: lines }) => lines));
  expect(logs).toContain("person logged in");
  expect(logs).not.toMatch(/hunter2|code=|eyJ[\w-]{20}/);
});
