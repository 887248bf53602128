/** An upstream asks for a secret in a form, and the person enters it on a page: it reaches the upstream, and nobody else. */
import { hash, randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Client, createClient } from "../../bench/client.ts";
import { type Deployment, startDeployment } from "../support/deployment.ts";
import type { Launched } from "../support/processes.ts";
import { reaches } from "../support/reaches.ts";
import { until } from "../support/until.ts";
import { type RunningUpstream, startUpstream, writeUpstreams } from "../support/upstream.ts";

let folder: string;
let upstream: RunningUpstream;
let deployment: Deployment;
let worker: Launched;
let client: Client;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "parley-gateway-secrets-"));
  upstream = await startUpstream("classic.ts", ["http"], { MARKS: join(folder, "marks") });
  const entry = { url: upstream.url, secrets: "page", include: ["login", "secret", "plain"], repeatable: true };
  const file = await writeUpstreams(folder, [{ name: "up", ...entry }]);
  deployment = await startDeployment({ workers: 1, env: { PARLEY_UPSTREAMS: file, PARLEY_LOG_LEVEL: "debug" } });
  [worker] = deployment.workers as [Launched];
  client = createClient(deployment.url, 1);
  await until(() => client.call("up_plain", { text: "there?" }), { everyMs: 100 });
});

afterAll(async () => {
  client?.close();
  await deployment?.close();
  await upstream?.kill();
  await rm(folder, { recursive: true, force: true });
});

async function dump(): Promise<string> {
  const { redis, keys } = deployment.redis;
  const dumped = await Promise.all((await keys()).map((key) => redis.dumpBuffer(key)));
  return dumped.map((bytes) => bytes?.toString("latin1")).join();
}

/** The page that the caller of the task is sent to. */
async function pageOf(taskId: string): Promise<URL> {
  const { inputRequests } = await reaches(deployment.url, taskId, (task) => task.inputRequests?.["question-1"] !== undefined);
  const { params } = (inputRequests as { "question-1": { params: { mode: string; message: string; url: string } } })["question-1"];
  expect(params).toMatchObject({ mode: "url", message: expect.stringContaining(" asks: Password?") });
  const { pathname, search } = new URL(params.url);
  return new URL(`${pathname}${search}`, deployment.frontEnds[0]!.url);
}

async function enter(page: URL, action: "accept" | "decline", secret: string): Promise<void> {
  const opened = await (await fetch(page)).text();
  const fields = [...opened.matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g)].map(
    ([, name = "", value = ""]) => [name, value] as [string, string],
  );
  const body = new URLSearchParams([...fields, ["action", action], ["secret", secret]]);
  expect((await fetch(page, { method: "POST", body })).status).toBe(200);
}

async function ended(taskId: string): Promise<unknown> {
  const { result } = await reaches(deployment.url, taskId, ({ status }) => status === "completed");
  return JSON.parse(result?.content?.[0]?.text ?? "") as unknown;
}

test.each([
  ["", false],
  [", in a call that was made again", true],
])("reaches the upstream, and is in no dump of Redis and no log%s", async (_, isRepeated) => {
  const secret = randomBytes(12).toString("base64url");
  const { taskId } = await client.call("up_login", {});
  const page = await pageOf(taskId);
  if (isRepeated) await worker.kill();
  await enter(page, "accept", secret);
  expect(await dump()).not.toContain(secret);
  if (isRepeated) worker = await deployment.addWorker();
  expect(await ended(taskId)).toEqual({ action: "accept", digest: hash("sha256", secret) });
  expect(await dump()).not.toContain(secret);
  const logs = JSON.stringify([...deployment.frontEnds, worker].map(({ logs: lines }) => lines));
  expect(logs).toContain(taskId);
  expect(logs).not.toContain(secret);
});

test("that the upstream puts into its result is not recorded: the task fails", async () => {
  const secret = randomBytes(12).toString("base64url");
  const { taskId } = await client.call("up_secret", {});
  await enter(await pageOf(taskId), "accept", secret);
  const task = await reaches(deployment.url, taskId, ({ status }) => status === "failed");
  expect(task).toMatchObject({ error: { data: { code: "NOT_SERIALIZABLE" } } });
  expect(JSON.stringify(task)).not.toContain(secret);
  expect(await dump()).not.toContain(secret);
  expect(JSON.stringify(worker.logs)).not.toContain(secret);
});

test("may be declined, and the upstream receives that", async () => {
  const { taskId } = await client.call("up_login", {});
  await enter(await pageOf(taskId), "decline", "");
  expect(await ended(taskId)).toMatchObject({ action: "decline" });
});
