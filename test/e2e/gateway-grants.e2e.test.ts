/**
 * An upstream whose grants are kept: a person consents once, and later tasks of that person do not ask again. Two front ends and two
 * workers, a real provider whose refresh tokens can be used once, and people of two issuers.
 */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createClient, type TaskState } from "../../bench/client.ts";
import { findNothing } from "../support/axe.ts";
import { findChromium, startChromium } from "../support/chromium.ts";
import { COUNTED, grant, type GrantProvider, startGrantProvider } from "../support/grant-provider.ts";
import { type Issuer, startIssuer } from "../support/issuer.ts";
import { type FrontEnd, type Launched, startFrontEnd, startWorkerProcess } from "../support/processes.ts";
import { type Proxy, startProxy } from "../support/proxy.ts";
import { openTestRedis, type TestRedis } from "../support/redis.ts";
import { createSessionServer } from "../support/session-server.ts";
import { until } from "../support/until.ts";
import { writeUpstreams } from "../support/upstream.ts";

const SERVICE = "Bearer the-gateway's-own";
const run = promisify(execFile);

const command = findChromium();
if (command === undefined) console.log("gateway-grants.e2e.test.ts: no Chromium here, so no browser; apt-get install chromium");

let browser: Browser | undefined;
let redis: TestRedis;
let proxy: Proxy;
let fronts: readonly FrontEnd[] = [];
let workers: readonly Launched[] = [];
let upstreams: readonly Server[] = [];
let provider: GrantProvider;
let issuers: readonly Issuer[] = [];
let folder: string;
let env: Record<string, string>;
/** With whose token which upstream was called. */
let calls: { readonly upstream: string; readonly authorization: string }[];
/** Whether an upstream takes a token no more. */
let isRefused: (authorization: string) => boolean = () => false;

async function startUpstream(name: string): Promise<Server> {
  const sessions = createSessionServer(() => {
    const server = new McpServer({ name, version: "1" }, { capabilities: { tools: {} } });
    server.registerTool("read", {}, async ({ requestInfo }) => {
      calls.push({ upstream: name, authorization: String(requestInfo?.headers["authorization"]) });
      return { content: [{ type: "text", text: `read at ${name}` }] };
    });
    return server;
  });
  const server = createServer((request, response) => {
    const { authorization = "" } = request.headers;
    const isPersons = provider.issued.some((token) => authorization === `Bearer ${token}`) && !isRefused(authorization);
    if (authorization === SERVICE || isPersons) void sessions.serve(request, response);
    else response.writeHead(401, { "www-authenticate": "Bearer" }).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}

beforeAll(async () => {
  if (command !== undefined) browser = await startChromium(command);
  const targets = ["", ""];
  proxy = await startProxy(targets);
  folder = await mkdtemp(join(tmpdir(), "parley-gateway-grants-"));
  const setUp = { name: "id", title: "Id", resource: "https://crm.example", scopes: ["read"], rotates: true };
  // Each use of a token is within a minute of its end: it is renewed first.
  provider = await startGrantProvider({ ...setUp, tokenSeconds: 30, publicUrl: proxy.url, folder });
  upstreams = await Promise.all(["crm", "mail"].map(startUpstream));
  issuers = await Promise.all([0, 1].map(() => startIssuer({ audience: `${proxy.url}/mcp` })));
  const oauth = { provider: "id", scopes: ["read"], keep: "90d" };
  const file = await writeUpstreams(
    folder,
    ["crm", "mail"].map((name, index) => ({
      name,
      url: `http://127.0.0.1:${(upstreams[index]!.address() as AddressInfo).port}/mcp`,
      headers: { authorization: SERVICE },
      oauth,
    })),
  );
  redis = openTestRedis();
  env = {
    REDIS_URL: redis.url,
    PARLEY_PREFIX: redis.prefix,
    PARLEY_SECRET: "s".repeat(40),
    PARLEY_PUBLIC_URL: proxy.url,
    PARLEY_UPSTREAMS: file,
    PARLEY_AUDIT: "true",
    ...provider.env,
  };
  const guarded = { ...env, PARLEY_AUTH: "required", PARLEY_AUTH_ISSUERS: issuers.map(({ url }) => url).join() };
  const [here, there, ...backs] = await Promise.all([
    startFrontEnd(guarded),
    startFrontEnd(guarded),
    startWorkerProcess(env),
    startWorkerProcess(env),
  ]);
  fronts = [here, there];
  workers = backs;
  targets.splice(0, 2, here.url, there.url);
  const ann = await person("ann");
  // Until the lists are there, the tools are not.
  for (const tool of ["crm_read", "mail_read"])
    await until(
      async () =>
        await ann
          .call(tool, {})
          .then(
            ({ taskId }) => ann.cancel(taskId),
            () => false,
          )
          .then((done) => done !== false),
    );
});

afterAll(async () => {
  await browser?.close();
  await proxy?.close();
  for (const server of upstreams) {
    server.closeAllConnections();
    server.close();
  }
  provider?.close();
  await Promise.all([...fronts, ...workers].map((each) => each.kill()));
  await Promise.all(issuers.map((issuer) => issuer.close()));
  await redis?.close();
  await rm(folder, { recursive: true, force: true });
});

beforeEach(() => {
  calls = [];
  isRefused = () => false;
});

type Person = Awaited<ReturnType<typeof person>>;

async function person(sub: string, issuer = issuers[0]!) {
  const token = await issuer.token({ sub });
  return { ...createClient(`${proxy.url}/mcp`, 4, token), headers: { authorization: `Bearer ${token}` } };
}

async function reaches(who: Person, taskId: string, done: (task: TaskState) => boolean): Promise<TaskState> {
  let task = await who.get(taskId);
  await until(async () => done((task = await who.get(taskId))));
  return task;
}

const isSettled = ({ status }: TaskState) => status !== "working";

/** Calls, and says what comes of it without anybody who answers: a question, or the result. */
async function calling(who: Person, tool = "crm_read"): Promise<TaskState> {
  const { taskId } = await who.call(tool, {});
  return await reaches(who, taskId, isSettled);
}

async function consent(who: Person, { taskId, inputRequests }: TaskState, key = "authorize"): Promise<TaskState> {
  const { url } = (inputRequests as Record<string, { params: { url: string } }>)[key]!.params;
  expect((await grant(url, "alice", who.headers)).text).toMatch(COUNTED);
  return await reaches(who, taskId, ({ status }) => status === "completed" || status === "failed");
}

const textOf = ({ result }: TaskState) => result?.content?.[0]?.text;

test("a person consents once: later tasks ask nothing, and no other person's task gets the grant", async () => {
  const ann = await person("ann");
  const first = await calling(ann);
  const { message } = (first.inputRequests as Record<string, { params: { message: string } }>)["authorize"]!.params;
  expect(message).toContain("Your later calls use the same access, until none has used it for 90 days.");
  expect(textOf(await consent(ann, first))).toBe("read at crm");
  for (let time = 0; time < 3; time += 1) expect(textOf(await calling(ann))).toBe("read at crm");
  // Another connection of the same person, with another token for Parley.
  expect(textOf(await calling(await person("ann")))).toBe("read at crm");

  for (const other of [await person("bob"), await person("ann", issuers[1])]) {
    const { status, taskId } = await calling(other);
    expect(status).toBe("input_required");
    await other.cancel(taskId);
  }
  expect(calls).toHaveLength(5);

  // The same provider and scopes, at another upstream.
  const elsewhere = await calling(ann, "mail_read");
  expect(elsewhere.status).toBe("input_required");
  expect(textOf(await consent(ann, elsewhere))).toBe("read at mail");
  expect(textOf(await calling(ann, "mail_read"))).toBe("read at mail");
  expect(textOf(await calling(ann))).toBe("read at crm");
  const at = (upstream: string) => calls.filter((call) => call.upstream === upstream).map(({ authorization }) => authorization);
  expect(at("crm").filter((authorization) => at("mail").includes(authorization))).toEqual([]);

  const dumped = await Promise.all((await redis.keys()).map((key) => redis.redis.dumpBuffer(key)));
  const found = [
    ...dumped.map((bytes) => bytes?.toString("latin1")),
    JSON.stringify([...fronts, ...workers].map(({ logs }) => logs)),
  ].join();
  expect(found).toContain("token refreshed");
  expect(provider.issued.filter((token) => found.includes(token))).toEqual([]);
});

test("tasks that renew at once on both workers use each refresh token once", async () => {
  const ann = await person("ann");
  const before = provider.redeemed.length;
  const tasks = await Promise.all(Array.from({ length: 12 }, () => calling(ann)));
  expect(tasks.map(textOf)).toEqual(tasks.map(() => "read at crm"));
  const later = provider.redeemed.slice(before);
  expect(later.length).toBeGreaterThan(0);
  expect(new Set(later)).toEqual(new Set(["refresh_token 200"]));
  expect(textOf(await calling(ann))).toBe("read at crm");
  const ran = workers.filter(({ logs }) => JSON.stringify(logs).includes("token refreshed"));
  expect(ran).toHaveLength(2);
});

test("a grant whose tokens the upstream refuses is renewed, then removed, and the person is asked again", async () => {
  const ann = await person("ann");
  const refused = new Set<string>();
  isRefused = (authorization) => authorization !== SERVICE && !!refused.add(authorization);
  const again = await calling(ann);
  expect(again.status).toBe("input_required");
  // Requests of earlier sessions may be among them.
  expect(refused.size).toBeGreaterThanOrEqual(2);
  isRefused = () => false;
  expect(textOf(await consent(ann, again))).toBe("read at crm");
  expect(textOf(await calling(ann))).toBe("read at crm");
});

test("a grant that was revoked at the provider is asked for again, once", async () => {
  const ann = await person("ann");
  await provider.revoke();
  const again = await calling(ann);
  expect(again.status).toBe("input_required");
  expect(textOf(await consent(ann, again))).toBe("read at crm");
  expect(textOf(await calling(ann))).toBe("read at crm");
});

describe.skipIf(command === undefined)("the page of connected accounts, in a browser", () => {
  async function visit<Of>(options: BrowserContextOptions, use: (page: Page) => Promise<Of>): Promise<Of> {
    const { headers } = await person("ann");
    const context = await browser!.newContext({ ...options, extraHTTPHeaders: headers });
    try {
      const page = await context.newPage();
      const complaints: string[] = [];
      page.on("console", (message) => complaints.push(`${message.location().url} ${message.text()}`));
      const done = await use(page);
      expect(complaints.filter((text) => !text.includes("favicon"))).toEqual([]);
      return done;
    } finally {
      await context.close();
    }
  }

  test("lists what a person granted, and removes it without script, by the keyboard", async () => {
    const ann = await person("ann");
    // The provider has ended it (above).
    expect(textOf(await consent(ann, await calling(ann, "mail_read")))).toBe("read at mail");
    await visit({ javaScriptEnabled: false }, async (page) => {
      await page.goto(`${proxy.url}/`);
      await page.getByRole("link", { name: "Connected accounts" }).click();
      await page.getByRole("heading", { name: "Connected accounts" }).waitFor();
      expect((await page.getByRole("heading", { level: 2 }).allInnerTexts()).toSorted()).toEqual(["crm", "mail"]);
      const text = await page.getByRole("main").innerText();
      expect(text).toContain(`Id (${new URL(provider.issuer).host})`);
      expect(provider.issued.filter((token) => text.includes(token))).toEqual([]);
      await page.getByRole("button", { name: "Remove access of crm" }).focus();
      await page.keyboard.press("Enter");
      const said = await page.getByRole("status").innerText();
      expect(said).toBe("The access of crm was removed. Its next call asks you again. Id ended it as well.");
      expect(await page.getByRole("heading", { level: 2 }).allInnerTexts()).toEqual(["mail"]);
    });
    // What was granted to mail at the same provider is not affected.
    expect(textOf(await calling(ann, "mail_read"))).toBe("read at mail");
    const again = await calling(ann);
    expect(again.status).toBe("input_required");
    expect(textOf(await consent(ann, again))).toBe("read at crm");
  });

  test.each([
    ["light", "desktop"],
    ["dark", "phone"],
  ] as const)("axe finds nothing in %s on a %s, and nothing is wider than the screen", async (colorScheme, device) => {
    const viewport = device === "phone" ? { width: 360, height: 740 } : { width: 1_280, height: 800 };
    // The page's own policy would refuse the script of axe.
    await visit({ colorScheme, viewport, bypassCSP: true }, async (page) => {
      await page.goto(`${proxy.url}/accounts`);
      const folder = process.env["PAGES_SHOTS"];
      if (folder !== undefined) await page.screenshot({ path: join(folder, `accounts-${colorScheme}.png`), fullPage: true });
      await findNothing(page);
      expect(await page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")).toBe(true);
    });
  });
});

test("an operator lists and revokes grants, and the audit records all of it", async () => {
  // The shell of an operator knows nothing of the audit.
  const { PARLEY_AUDIT: _, ...shell } = env;
  const parley = (...args: string[]) =>
    run(process.execPath, [join(import.meta.dirname, "../../apps/cli/main.ts"), ...args], { env: { PATH: process.env["PATH"], ...shell } });
  const facts = async () => {
    const streams = (await redis.keys()).filter((key) => key.endsWith(":audit"));
    const records = (await Promise.all(streams.map((key) => redis.redis.xrange(key, "-", "+")))).flat();
    return records.map(([, fields]) => fields.join(" ")).filter((text) => text.includes('"action":"grant"'));
  };
  const before = new Set(await facts());
  const ann = await person("ann");
  const { stdout } = await parley("grants", "list", "--json");
  const listed = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { id: string; principal: string; upstream: string });
  expect(listed.map(({ upstream }) => upstream).toSorted()).toEqual(["crm", "mail"]);
  const { id, principal, ...rest } = listed.find(({ upstream }) => upstream === "crm")!;
  expect(rest).toMatchObject({ tenant: "default", provider: "id", scopes: ["read"] });
  await expect(parley("grants", "revoke", id)).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining("--principal") });
  await expect(parley("grants", "revoke", "--principal", "nobody")).rejects.toMatchObject({ code: 1 });
  expect((await parley("grants", "revoke", id, "--principal", principal)).stdout).toContain(
    "1 grant is revoked; the provider ended 1 of them",
  );
  const revoked = (await facts()).filter((fact) => !before.has(fact));
  for (const verdict of ["revoked", "provider_ended"])
    expect(revoked.filter((fact) => fact.includes(`"verdict":"${verdict}"`))).toHaveLength(1);
  expect((await parley("grants", "list")).stdout).toMatch(
    /^\S{22} {2}u_\S+ {2}default {2}mail at id \(read\) {2}granted .*, used .*, ends .*\n$/,
  );
  const again = await calling(ann);
  expect(again.status).toBe("input_required");
  await ann.answer(again.taskId, { authorize: { action: "decline" } });
  const { result } = await reaches(ann, again.taskId, ({ status }) => status === "completed");
  expect(result).toMatchObject({ isError: true });

  const verdicts = await facts();
  for (const verdict of ["kept", "used", "refused", "ended", "revoked", "provider_ended"])
    expect(verdicts.filter((text) => text.includes(`"verdict":"${verdict}"`)).length, verdict).toBeGreaterThan(0);
});
