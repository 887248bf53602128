/**
 * A person lets a tool act in their name at a real provider. Two front ends behind a proxy without affinity, so that different front ends
 * serve the page, send the person to the provider and receive them back; a worker that dies with the grant; and what a thief of Redis, logs
 * or exports would find.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { execFile } from "node:child_process";
import { hash } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createClient } from "../../bench/client.ts";
import { findChromium, startChromium } from "../support/chromium.ts";
import { COUNTED, grant, type GrantProvider, startGrantProvider } from "../support/grant-provider.ts";
import { type FrontEnd, type Launched, startFrontEnd, startWorkerProcess } from "../support/processes.ts";
import { type Proxy, startProxy } from "../support/proxy.ts";
import { reaches } from "../support/reaches.ts";
import { openTestRedis, type TestRedis } from "../support/redis.ts";
import { until } from "../support/until.ts";

const command = findChromium();
const run = promisify(execFile);

let redis: TestRedis;
let proxy: Proxy;
let fronts: readonly FrontEnd[] = [];
let worker: Launched;
let provider: GrantProvider;
let folder: string;
let env: Record<string, string>;

beforeAll(async () => {
  const targets = ["", ""];
  proxy = await startProxy(targets);
  folder = await mkdtemp(join(tmpdir(), "parley-grants-"));
  provider = await startGrantProvider({
    name: "calendar",
    title: "Calendar",
    resource: "https://calendar.example",
    scopes: ["calendar:read"],
    // Shorter than the margin: each step renews.
    tokenSeconds: 30,
    publicUrl: proxy.url,
    folder,
  });

  redis = openTestRedis();
  env = {
    REDIS_URL: redis.url,
    PARLEY_PREFIX: redis.prefix,
    PARLEY_TOOLS: join(import.meta.dirname, "tools/calendar.ts"),
    PARLEY_SECRET: "s".repeat(40),
    PARLEY_PUBLIC_URL: proxy.url,
    ...provider.env,
    PARLEY_LOG_LEVEL: "debug",
  };
  const [here, there, back] = await Promise.all([startFrontEnd(env), startFrontEnd(env), startWorkerProcess(env)]);
  fronts = [here, there];
  worker = back;
  targets.splice(0, 2, here.url, there.url);
});

afterAll(async () => {
  await proxy?.close();
  provider?.close();
  await Promise.all([...fronts, worker].map((each) => each?.kill()));
  await redis?.close();
  await rm(folder, { recursive: true, force: true });
});

async function asked(): Promise<{ taskId: string; page: string }> {
  const client = createClient(`${proxy.url}/mcp`, 1);
  const { taskId } = await client.call("calendar", {});
  client.close();
  const { inputRequests } = await reaches(`${proxy.url}/mcp`, taskId, (task) => task.inputRequests?.["calendar"] !== undefined);
  return { taskId, page: (inputRequests as { calendar: { params: { url: string } } }).calendar.params.url };
}

async function dump(): Promise<string> {
  const dumped = await Promise.all((await redis.keys()).map((key) => redis.redis.dumpBuffer(key)));
  return dumped.map((bytes) => bytes?.toString("latin1")).join();
}

test("what a person grants is used by one worker and the next, and no token is in Redis, logs, exports or answers", async () => {
  const { taskId, page } = await asked();
  const { callback, status, text } = await grant(page, "alice");
  expect([status, text]).toEqual([200, expect.stringMatching(COUNTED)]);
  const waiting = await reaches(`${proxy.url}/mcp`, taskId, ({ inputRequests }) => inputRequests?.["again"] !== undefined);

  expect((await redis.keys()).filter((key) => key.endsWith(":deposits"))).toHaveLength(1);
  const dumped = await dump();
  const cli = [join(import.meta.dirname, "../../apps/cli/main.ts"), "export", "--with-content", taskId];
  const exported = (await run(process.execPath, cli, { env: { ...process.env, ...env } })).stdout;
  expect(exported).toContain("ask:calendar");

  await worker.kill();
  worker = await startWorkerProcess(env);
  const client = createClient(`${proxy.url}/mcp`, 1);
  await client.answer(taskId, { again: { action: "accept", content: { value: true } } });
  client.close();
  const done = await reaches(`${proxy.url}/mcp`, taskId, ({ status }) => status === "completed");
  const [shown, before, after] = done.result?.content?.[0]?.text?.split(" ") ?? [];
  expect(shown).toBe("[grant]");
  // A refresh token is good for one use there: the second worker had what the first one left.
  const { issued } = provider;
  expect(issued.length).toBeGreaterThanOrEqual(6);
  expect(issued.map((token) => hash("sha256", token))).toEqual(expect.arrayContaining([before, after]));
  expect(before).not.toBe(after);

  await until(() => worker.logs.some(({ msg }) => msg === "token refreshed"));
  const found = [
    dumped,
    await dump(),
    exported,
    JSON.stringify([waiting, done]),
    JSON.stringify([...fronts, worker].map(({ logs }) => logs)),
  ];
  expect(found[0]).toContain(before);
  const secrets = [...issued, callback.searchParams.get("code") ?? "", callback.searchParams.get("state") ?? "", env["GRANT_SECRET"] ?? ""];
  for (const secret of secrets) {
    expect(secret.length).toBeGreaterThan(20);
    for (const text of found) expect(text.includes(secret)).toBe(false);
  }
  expect((await redis.keys()).filter((key) => key.endsWith(":deposits"))).toEqual([]);
});

test.skipIf(command === undefined)(
  "a person in a browser without script grants it, and closing the window before that grants nothing",
  async () => {
    const { taskId, page: address } = await asked();
    const browser = await startChromium(command ?? "");
    try {
      const context = await browser.newContext({ javaScriptEnabled: false });
      const closed = await context.newPage();
      await closed.goto(address);
      await closed.getByRole("button", { name: "Continue to Calendar" }).click();
      await closed.getByPlaceholder("Enter any login").waitFor();
      await closed.close();
      expect((await reaches(`${proxy.url}/mcp`, taskId, () => true)).status).toBe("input_required");

      const page = await context.newPage();
      const complaints: string[] = [];
      page.on("console", (message) => complaints.push(message.text()));
      await page.goto(address);
      await page.getByRole("button", { name: "Continue to Calendar" }).click();
      await page.getByPlaceholder("Enter any login").fill("alice");
      await page.getByPlaceholder("and password").fill("any");
      await page.keyboard.press("Enter");
      await page.getByRole("button", { name: "Continue" }).click();
      await page.getByText(COUNTED).waitFor();
      await page.goto(address);
      await page.getByRole("heading", { name: "Answered" }).waitFor();
      // The provider's pages complain about themselves.
      expect(complaints.join("\n")).not.toContain("Content Security Policy");
    } finally {
      await browser.close();
    }
    await reaches(`${proxy.url}/mcp`, taskId, ({ inputRequests }) => inputRequests?.["again"] !== undefined);
  },
);

test("a process is not started without what would seal the tokens", async () => {
  const { PARLEY_SECRET: _secret, ...without } = env;
  for (const kind of ["server", "worker"]) {
    const main = join(import.meta.dirname, `../../apps/${kind}/main.ts`);
    const ended = run(process.execPath, [main], { env: { PATH: process.env["PATH"], ...without } });
    await expect(ended).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining("PARLEY_OAUTH: set PARLEY_SECRET") });
  }
});
