/**
 * Reminders and escalations, with workers that are killed between them and in the middle of them: none is lost, and none is sent twice. The clock of
 * the deployment is moved from one time to the next, which a new worker notices when it starts.
 */
import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { connectRedis } from "@parley/redis";
import { Webhook as Verifier } from "standardwebhooks";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Client, createClient } from "../../bench/client.ts";
import { type Deployment, startDeployment } from "../support/deployment.ts";
import type { Launched } from "../support/processes.ts";
import { until } from "../support/until.ts";

const CLOCK = pathToFileURL(join(import.meta.dirname, "../support/moved-time.mjs")).href;
const SECRET = `whsec_${randomBytes(32).toString("base64")}`;
const TASKS = 30;
const MINUTE = 60_000;
const SILENT = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

let directory: string;
let movedTime: string;
let receiver: Server;
let deployment: Deployment;
let client: Client;
let backend: Awaited<ReturnType<typeof connectRedis>>;
/** What each webhook said, by its id: one that is sent again has the same. */
const posted = new Map<string, string>();

async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  const verified = new Verifier(SECRET).verify(text, request.headers as Record<string, string>);
  const { type, data } = verified as { readonly type: string; readonly data: { readonly taskId: string } };
  posted.set(String(request.headers["webhook-id"]), `${type} ${data.taskId}`);
  response.writeHead(204).end();
}

beforeAll(async () => {
  receiver = createServer((request, response) => void take(request, response));
  await new Promise<void>((listening) => receiver.listen(0, "127.0.0.1", listening));
  directory = await mkdtemp(join(tmpdir(), "parley-prompts-"));
  movedTime = join(directory, "moved-time");
  const file = join(directory, "webhooks.yaml");
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
  await writeFile(
    file,
    `webhooks: { ops: { url: "${url}", secret: "\${OPS_SECRET}", private: true, events: [ask.reminded, ask.escalated] } }`,
  );
  deployment = await startDeployment({
    frontEnds: 1,
    workers: 1,
    tools: [join(import.meta.dirname, "tools/reminded.ts")],
    env: { PARLEY_OUTBOX: "true", NODE_OPTIONS: `--import=${CLOCK}`, MOVED_TIME: movedTime },
    workerEnv: { PARLEY_WEBHOOKS: file, OPS_SECRET: SECRET },
  });
  client = createClient(deployment.url, 4);
  backend = await connectRedis({ url: deployment.redis.url, prefix: deployment.redis.prefix }, { log: SILENT });
});

afterAll(async () => {
  client?.close();
  await backend?.close();
  await deployment?.close();
  await new Promise((closed) => receiver.close(closed));
  await rm(directory, { recursive: true, force: true });
});

test("each happens once, whichever worker dies before, during and after it, and each is posted", { timeout: 300_000 }, async () => {
  const taskIds = await Promise.all(Array.from({ length: TASKS }, async () => (await client.call("reminded", {})).taskId));
  for (const taskId of taskIds) await until(async () => (await client.get(taskId)).status === "input_required");
  const happened = async (taskId: string) =>
    (await backend.store.thread(taskId, "sure")).map(({ what }) => what).filter((what) => what !== "asked");
  const all = async () => await Promise.all(taskIds.map(happened));

  const steps = [
    [MINUTE, ["reminded"]],
    [2 * MINUTE, ["reminded", "reminded"]],
    [3 * MINUTE, ["reminded", "reminded", "escalated"]],
    [4 * MINUTE, ["reminded", "reminded", "escalated", "reminded"]],
  ] as const;
  let workers: Launched[] = [...deployment.workers];
  for (const [atMs, expected] of steps) {
    await Promise.all(workers.map((worker) => worker.kill()));
    await writeFile(movedTime, String(atMs + 1_000));
    const first = await deployment.addWorker();
    // In the middle: some have it, and others do not.
    const done = async () => (await all()).filter(({ length }) => length === expected.length).length;
    await until(async () => (await done()) > 0, { everyMs: 5 });
    await first.kill();
    workers = [await deployment.addWorker()];
    await until(async () => (await done()) === TASKS, { timeoutMs: 60_000 });
    expect(await all()).toEqual(taskIds.map(() => expected));
  }

  const count = (type: string) => [...posted.values()].filter((each) => each.startsWith(type)).length;
  // What a worker had taken to post when it died is left to another one after half a minute.
  await until(() => posted.size >= 4 * TASKS, { timeoutMs: 120_000 });
  expect([count("ask.reminded"), count("ask.escalated"), posted.size]).toEqual([3 * TASKS, TASKS, 4 * TASKS]);
  expect(new Set(posted.values()).size).toBe(2 * TASKS);
});
