/** `parley login` at a real provider, with a browser and with a code, and how every command uses the tokens. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createProvider } from "../../deploy/provider/provider.ts";
import { parley as run } from "../support/parley.ts";
import { confirmDevice, logIn } from "../support/person.ts";
import { MAIN, openPipe } from "../support/pipe.ts";
import { type FrontEnd, type Launched, startFrontEnd, startWorkerProcess } from "../support/processes.ts";
import { type Proxy, startProxy } from "../support/proxy.ts";
import { openTestRedis, type TestRedis } from "../support/redis.ts";
import { until } from "../support/until.ts";

let redis: TestRedis;
let proxy: Proxy;
let provider: Server;
let processes: readonly (FrontEnd | Launched)[] = [];
let url: string;
let config: string;
let issuer: string;
/** Grants that the provider was asked for. */
const grants: string[] = [];

beforeAll(async () => {
  const targets = [""];
  proxy = await startProxy(targets);
  url = `${proxy.url}/mcp`;
  provider = createServer().listen(0, "127.0.0.1");
  await once(provider, "listening");
  issuer = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
  const oidc = createProvider({ issuer, resource: url, scopes: ["tools:call", "tasks:read", "asks:answer"], tokenSeconds: () => 600 });
  oidc.on("grant.success", (context) => void grants.push(String(context.oidc.params?.["grant_type"])));
  provider.on("request", (request, response) => void oidc.callback()(request, response));

  redis = openTestRedis();
  const env = { REDIS_URL: redis.url, PARLEY_PREFIX: redis.prefix, PARLEY_TOOLS: join(import.meta.dirname, "../dialects/tools.ts") };
  const guarded = { ...env, PARLEY_AUTH: "required", PARLEY_AUTH_ISSUERS: issuer, PARLEY_PUBLIC_URL: proxy.url };
  const [frontEnd, worker] = await Promise.all([startFrontEnd(guarded), startWorkerProcess(env)]);
  processes = [frontEnd, worker];
  targets[0] = frontEnd.url;
  config = await mkdtemp(join(tmpdir(), "parley-login-"));
});

afterAll(async () => {
  await proxy?.close();
  provider?.closeAllConnections();
  provider?.close();
  await Promise.all(processes.map((each) => each.kill()));
  await redis?.close();
  await rm(config, { recursive: true, force: true });
});

const parley = (...args: string[]) => run(args, { env: { PARLEY_URL: url, XDG_CONFIG_HOME: config } });
const file = () => join(config, "parley/credentials.json");
type Stored = Record<string, { tokens: { access_token: string; refresh_token?: string } }>;
const stored = async () => JSON.parse(await readFile(file(), "utf8")) as Stored;

/** Logs in; `visit` does what a person does with what is shown. */
async function login(args: readonly string[], visit: (shown: string) => Promise<unknown>): Promise<{ code: number; stdout: string }> {
  const child = spawn(process.execPath, [MAIN, "login", "--json", ...args], {
    env: { ...process.env, PARLEY_URL: url, XDG_CONFIG_HOME: config },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  const closed = once(child, "close");
  const shown = await until(() => /(http:\S+)\n/.exec(stderr)?.[1]);
  await visit(shown);
  const [code] = (await closed) as [number];
  if (code !== 0) throw new Error(stderr);
  return { code, stdout };
}

test("without a login a command says how to log in", async () => {
  expect(await parley("tasks")).toMatchObject({ code: 1, stderr: expect.stringContaining(`parley login --url ${url}`) });
});

test("a login in the browser is used by every command, renewed when it is refused, and forgotten by logout", async () => {
  const { stdout } = await login(["--no-browser"], async (page) => {
    const back = await logIn(new URL(page), "alice");
    // Another page cannot end this login with a code of its own.
    expect((await fetch(new URL(back.pathname, back))).status).toBe(404);
    expect((await fetch(back)).status).toBe(200);
  });
  expect(JSON.parse(stdout)).toMatchObject({ url, needed: true });
  expect(stdout).not.toContain("token");
  expect((await stat(file())).mode & 0o777).toBe(0o600);

  const called = await parley("call", "greet", "-a", "marker=login", "--no-wait", "--json");
  const { taskId } = JSON.parse(called.stdout) as { taskId: string };
  expect(await parley("answer", taskId, "--set", "name=Ann", "--wait")).toMatchObject({ code: 0, stdout: "Hello, Ann!\n" });

  // As if it had expired.
  const before = await stored();
  const spoilt = Object.fromEntries(
    Object.entries(before).map(([key, each]) => [key, { ...each, tokens: { ...each.tokens, access_token: "old" } }]),
  );
  await writeFile(file(), JSON.stringify(spoilt));
  grants.length = 0;
  const [first, second] = await Promise.all([parley("tasks", "--json"), parley("task", taskId)]);
  expect([first.code, second.code]).toEqual([0, 0]);
  expect(grants).toEqual(["refresh_token"]);
  expect((await stored())[url]?.tokens.access_token).not.toBe("old");

  const pipe = openPipe(["--url", url], { XDG_CONFIG_HOME: config });
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "pipe", version: "1" } };
  expect(await pipe.request("initialize", params)).toMatchObject({ result: { protocolVersion: "2025-11-25" } });
  await pipe.close();

  expect(JSON.parse((await parley("logout", "--json")).stdout)).toEqual({ forgotten: [url] });
  expect((await parley("tasks")).code).toBe(1);
});

test("a login by a code that is typed in elsewhere", async () => {
  await login(["--device"], (page) => confirmDevice(new URL(page), "bob"));
  expect((await parley("tasks", "--json")).stdout).toBe('{"tasks":[]}\n');
});

test.each([["--device"], ["--no-browser"]])("a server that names another one's tokens as its own is given none (%s)", async (how) => {
  const asked: string[] = [];
  const stranger = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    const at = `http://${request.headers.host}`;
    if (request.url?.startsWith("/.well-known/oauth-protected-resource")) {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ resource: url, authorization_servers: [issuer], scopes_supported: ["tools:call"] }));
    } else {
      response.writeHead(401, { "www-authenticate": `Bearer resource_metadata="${at}/.well-known/oauth-protected-resource/mcp"` });
      response.end();
    }
  }).listen(0, "127.0.0.1");
  await once(stranger, "listening");
  const own = `http://127.0.0.1:${(stranger.address() as AddressInfo).port}/mcp`;
  const before = grants.length;
  const child = spawn(process.execPath, [MAIN, "login", how, "--url", own], { env: { ...process.env, XDG_CONFIG_HOME: config } });
  let said = "";
  child.stderr.on("data", (chunk: Buffer) => (said += chunk.toString()));
  const closed = once(child, "close");
  const shown = until(() => /Open (http:\S+)|Log in at (http:\S+)/.exec(said)?.[0]).then(() => "asked the person to log in");
  try {
    expect(await Promise.race([closed.then(([code]) => code as number), shown])).toBe(1);
    expect(said).toContain(url);
    expect(grants.length).toBe(before);
  } finally {
    child.kill();
    shown.catch(() => undefined);
    stranger.close();
    stranger.closeAllConnections();
  }
});
