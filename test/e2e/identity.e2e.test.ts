/**
 * The official clients log in by themselves: to a real provider, through two front ends behind a proxy without affinity.
 *
 *   call ─▶ 401 ─▶ metadata ─▶ register ─▶ authorize (a person logs in and consents) ─▶ token ─▶ call, be asked, answer ─▶ refresh ─▶ step up
 */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import * as v2 from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { createProvider } from "../../deploy/provider/provider.ts";
import { ENVIRONMENT, missingPython } from "../support/python-packages.ts";
import { toldBy } from "../dialects/dialect.ts";
import { connectLoggedIn, Keeper } from "../support/keeper.ts";
import { type FrontEnd, type Launched, startFrontEnd, startWorkerProcess } from "../support/processes.ts";
import { type Proxy, startProxy } from "../support/proxy.ts";
import { openTestRedis, type TestRedis } from "../support/redis.ts";
import { until } from "../support/until.ts";

const ALL = ["tools:call", "tasks:read", "asks:answer"];

let redis: TestRedis;
let proxy: Proxy;
let processes: (FrontEnd | Launched)[];
let frontEnds: readonly FrontEnd[];
let login: Server;
let url: URL;
/** Of access tokens that are issued from now on. */
let tokenSeconds = 600;
/** Grants that the provider was asked for at its token endpoint. */
const grants: string[] = [];

beforeAll(async () => {
  // Filled in when the front ends are there, who must know its address.
  const targets = ["", ""];
  proxy = await startProxy(targets);
  url = new URL(`${proxy.url}/mcp`);

  login = createServer().listen(0, "127.0.0.1");
  await once(login, "listening");
  const issuer = `http://127.0.0.1:${(login.address() as AddressInfo).port}`;
  const scopes = [...ALL, "payments:approve"];
  const provider = createProvider({ issuer, resource: url.href, scopes, tokenSeconds: () => tokenSeconds });
  provider.on("grant.success", ({ oidc }) => void grants.push(String(oidc.params?.["grant_type"])));
  login.on("request", (request, response) => void provider.callback()(request, response));

  redis = openTestRedis();
  const tools = join(import.meta.dirname, "tools/guarded.ts");
  const env = { REDIS_URL: redis.url, PARLEY_PREFIX: redis.prefix, PARLEY_TOOLS: tools, PARLEY_RETRY: "200ms" };
  const guarded = {
    ...env,
    PARLEY_AUTH: "required",
    PARLEY_AUTH_ISSUERS: issuer,
    PARLEY_PUBLIC_URL: proxy.url,
    PARLEY_AUTH_CLOCK_SKEW: "1s",
    PARLEY_AUTH_GROUPS_CLAIM: "groups",
    PARLEY_AUTH_API_KEYS: "true",
  };
  const [here, there, worker] = await Promise.all([startFrontEnd(guarded), startFrontEnd(guarded), startWorkerProcess(env)]);
  frontEnds = [here, there];
  processes = [here, there, worker];
  targets.splice(0, 2, here.url, there.url);
});

afterAll(async () => {
  await proxy?.close();
  login?.closeAllConnections();
  login?.close();
  await Promise.all((processes ?? []).map((each) => each.kill()));
  await redis?.close();
});

afterEach(() => {
  tokenSeconds = 600;
  grants.length = 0;
});

interface Connected {
  call(tool: string): Promise<unknown>;
  /** After the person has logged in once more: exchanges the code. */
  finish(): Promise<void>;
  close(): Promise<void>;
}

interface Kind<Of extends Connected = Connected> {
  readonly name: string;
  connect(keeper: Keeper): Promise<Of>;
}

const answer = async () => ({ action: "accept" as const, content: { name: "Alice" } });
const CAPABILITIES = { capabilities: { elicitation: { form: {} } } };

const SDK_V1: Kind = {
  name: "sdk v1",
  async connect(keeper) {
    const client = new Client({ name: "identity", version: "1" }, CAPABILITIES);
    client.setRequestHandler(ElicitRequestSchema, answer);
    const transport = new StreamableHTTPClientTransport(url, { authProvider: keeper as never });
    await client.connect(transport as never);
    return {
      call: async (name) => toldBy(await client.callTool({ name, arguments: {} })),
      finish: () => transport.finishAuth(keeper.back?.get("code") ?? ""),
      close: () => client.close(),
    };
  },
};

const sdkV2 = (name: string, options: v2.ClientOptions): Kind<Connected & { readonly raw: v2.Client }> => ({
  name,
  async connect(keeper) {
    const client = new v2.Client({ name: "identity", version: "2" }, { ...CAPABILITIES, ...options });
    client.setRequestHandler("elicitation/create", answer);
    const transport = new v2.StreamableHTTPClientTransport(url, { authProvider: keeper as never });
    await client.connect(transport);
    return {
      raw: client,
      call: async (tool) => toldBy(await client.callTool({ name: tool, arguments: {} })),
      finish: () => transport.finishAuth(keeper.back ?? new URLSearchParams()),
      close: () => client.close(),
    };
  },
});

const KINDS: readonly Kind[] = [
  SDK_V1,
  sdkV2("sdk v2, 2026-07-28", { versionNegotiation: { mode: { pin: "2026-07-28" } } }),
  sdkV2("sdk v2, 2025-11-25", { supportedProtocolVersions: ["2025-11-25"] }),
];

const logInAndConnect = <Of extends Connected>(kind: Kind<Of>, keeper: Keeper): Promise<Of> =>
  connectLoggedIn(() => kind.connect(keeper), { url, keeper });

describe.each(KINDS)("$name", (kind) => {
  test("logs in by what a 401 says, calls, is asked, answers, and has its result", async () => {
    const keeper = new Keeper("alice");
    const before = [...proxy.counts];
    const client = await logInAndConnect(kind, keeper);
    try {
      expect(keeper.asked).toEqual([ALL.join(" ")]);
      expect(await client.call("greet")).toEqual(toldBy({ content: [{ type: "text", text: "Hello, Alice!" }] }));
      expect(proxy.counts.every((count, index) => count > before[index]!)).toBe(true);
    } finally {
      await client.close();
    }
  });

  test("refreshes its token when that has expired, and calls on", async () => {
    tokenSeconds = 2;
    const keeper = new Keeper("alice");
    const client = await logInAndConnect(kind, keeper);
    try {
      const first = keeper.kept?.access_token ?? "";
      tokenSeconds = 600;
      const { exp } = JSON.parse(Buffer.from(first.split(".")[1] ?? "", "base64url").toString()) as { exp: number };
      await until(() => Date.now() > exp * 1_000 + 1_500);
      expect(await client.call("greet")).toEqual(toldBy({ content: [{ type: "text", text: "Hello, Alice!" }] }));
      expect(grants).toContain("refresh_token");
      expect(keeper.asked).toHaveLength(1);
      expect(keeper.kept?.access_token).not.toBe(first);
    } finally {
      await client.close();
    }
  });

  test("steps up when a tool needs more than it has", async () => {
    const keeper = new Keeper("alice");
    const client = await logInAndConnect(kind, keeper);
    try {
      // A client that has a refresh token uses that, and is given what it had: the specification leaves forgetting it to the host.
      delete keeper.kept?.refresh_token;
      await expect(client.call("pay")).rejects.toThrow();
      expect(keeper.asked.at(-1)?.split(" ").toSorted()).toEqual([...ALL, "payments:approve"].toSorted());
      await client.finish();
      expect(await client.call("pay")).toEqual(toldBy({ content: [{ type: "text", text: "paid" }] }));
    } finally {
      await client.close();
    }
  });
});

test("FastMCP's client logs in, calls, is asked and answers", async (context) => {
  const missing = await missingPython();
  if (missing !== undefined) return context.skip(missing);
  const script = join(import.meta.dirname, "identity-client.py");
  const { stdout } = await promisify(execFile)(join(ENVIRONMENT, "bin/python"), [script, url.href, "bob"], { timeout: 100_000 });
  expect(JSON.parse(stdout)).toEqual({ asked: expect.stringContaining(ALL.join(" ")), text: "Hello, Alice!" });
});

test("the command line calls with the token that a file holds", async () => {
  const keeper = new Keeper("alice");
  const client = await logInAndConnect(SDK_V1, keeper);
  await client.close();
  const file = join(await mkdtemp(join(tmpdir(), "parley-token-")), "token");
  await writeFile(file, keeper.kept?.access_token ?? "");
  const command = ["apps/cli/main.ts", "call", "greet", "--no-wait", "--url", url.href];
  const run = async (env: object) =>
    await promisify(execFile)(process.execPath, command, { env: { PATH: process.env["PATH"], ...env }, timeout: 60_000 });
  try {
    expect((await run({ PARLEY_TOKEN_FILE: file })).stdout).toMatch(/^0-[\w-]+\n$/);
    await expect(run({})).rejects.toThrow();
  } finally {
    await rm(dirname(file), { recursive: true });
  }
});

test("what waits for an answer waits on while its person gets the scope to answer, and continues as the same task", async () => {
  const keeper = new Keeper("bob");
  keeper.agreed = "tools:call tasks:read";
  const kind = sdkV2("sdk v2", { versionNegotiation: { mode: { pin: "2026-07-28" } } });
  const client = await logInAndConnect(kind, keeper);
  try {
    const call = { name: "greet", arguments: {} };
    const asked = (await client.raw.callTool(call, { allowInputRequired: true })) as { requestState?: string };
    const answered = { ...call, requestState: asked.requestState, inputResponses: { who: await answer() } };
    keeper.agreed = undefined;
    delete keeper.kept?.refresh_token;
    await expect(client.raw.callTool(answered as never)).rejects.toThrow();
    expect(keeper.asked.at(-1)?.split(" ")).toContain("asks:answer");
    await client.finish();
    expect(toldBy(await client.raw.callTool(answered as never))).toEqual(toldBy({ content: [{ type: "text", text: "Hello, Alice!" }] }));
  } finally {
    await client.close();
  }
});

test("the front ends wrote no token into their logs, and said why they refused", () => {
  const lines = frontEnds.flatMap(({ logs }) => logs);
  expect(lines.filter(({ msg }) => msg === "credentials refused").map(({ code }) => code)).toEqual(
    expect.arrayContaining(["CREDENTIALS_MISSING", "TOKEN_EXPIRED"]),
  );
  expect(lines.filter(({ msg }) => msg === "request refused").map(({ code }) => code)).toContain("SCOPE_INSUFFICIENT");
  expect(JSON.stringify(lines)).not.toMatch(/eyJ[\w-]+\.eyJ/);
});

test("a machine calls and answers with an API key from the command line, until the key is revoked", async () => {
  const run = async (...args: string[]) => {
    const env = { PATH: process.env["PATH"], REDIS_URL: redis.url, PARLEY_PREFIX: redis.prefix };
    return await promisify(execFile)(process.execPath, ["apps/cli/main.ts", "keys", ...args], { env, timeout: 60_000 });
  };
  const { stdout, stderr } = await run("create", "nightly", "--scopes", ALL.join(","), "--expires", "90d");
  const key = stdout.trimEnd();
  const id = key.split("_")[1] ?? "";
  expect(stderr).toContain(`${id} for nightly, tenant default, ${ALL.join(" ")}, until 2`);

  const client = new Client({ name: "nightly", version: "1" }, CAPABILITIES);
  client.setRequestHandler(ElicitRequestSchema, answer);
  const requestInit = { headers: { authorization: `Bearer ${key}` } };
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit }) as never);
  expect(toldBy(await client.callTool({ name: "greet", arguments: {} }))).toEqual(
    toldBy({ content: [{ type: "text", text: "Hello, Alice!" }] }),
  );

  const listed = (await run("list")).stdout;
  expect(listed).toContain(`${id}  nightly  default  ${ALL.join(" ")}  made 2`);
  expect(listed).not.toContain(key.slice(20));
  expect((await run("revoke", id)).stdout).toContain(`${id} of nightly is revoked`);
  await expect(run("revoke", id)).rejects.toThrow("there is no API key");
  await until(() =>
    client.listTools().then(
      () => false,
      (error: Error) => error.message.includes("TOKEN_INACTIVE") || error.message.includes("revoked"),
    ),
  );
  await client.close();
  expect(JSON.stringify(frontEnds.map(({ logs }) => logs))).not.toContain(key.slice(20));
});

test.each([
  { what: "a tenant", args: ["x", "--tenant", "a b"], says: '--tenant must be 1 to 64 of A-Z a-z 0-9 . _ -, not "a b"' },
  { what: "a name", args: [" "], says: 'the name must be 1 to 128 of A-Z a-z 0-9 . _ - @ : /, not " "' },
  { what: "scopes", args: ["x", "--scopes", ","], says: "--scopes must be 1 to 64 scopes, separated by commas: tools,tasks,asks" },
  { what: "a time", args: ["x", "--expires", "soon"], says: '"soon"' },
])("$what that a key cannot have is refused by name before anything is made", async ({ args, says }) => {
  const env = { PATH: process.env["PATH"], REDIS_URL: "redis://127.0.0.1:1" };
  const made = promisify(execFile)(process.execPath, ["apps/cli/main.ts", "keys", "create", ...args], { env, timeout: 60_000 });
  await expect(made).rejects.toThrow(says);
});
