/** Posts by a real thread, to a real receiver, while this one is busy. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { aLife, anAsk } from "../../test/contract/builders.ts";
import { type OpenRedis, openRedis } from "../../test/contract/open-redis.ts";
import type { Caller, Subscription } from "@parley/core";
import { agreedSecrets, depositSeal, subscriptionSeal } from "@parley/node";
import { postInThread } from "./post-in-thread.ts";

const OUTBOX = { lengthMax: 1_000, ageMs: 86_400_000 };
const SECRET = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;

const quiet = () => undefined;
const SILENT = { warn: quiet, error: quiet };
const PLAIN = {
  secrets: ["a secret of at least thirty-two characters"],
  logLevel: "silent",
  file: undefined,
  upstreams: undefined,
  isPrivate: true,
  publicUrl: undefined,
};

let redis: OpenRedis;

beforeEach(async () => {
  redis = await openRedis({ outbox: OUTBOX });
});
afterEach(() => redis.close());

function fileOf(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), "parley-thread-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "webhooks.yaml"), text);
  return join(folder, "webhooks.yaml");
}

/** In a thread as well, since this one is busy. Counts what it gets. */
async function startReceiver(): Promise<{ readonly port: number; readonly received: Int32Array }> {
  const received = new Int32Array(new SharedArrayBuffer(4));
  const code = `
    const { parentPort, workerData } = require("node:worker_threads");
    const server = require("node:http").createServer((request, response) =>
      request.resume().on("end", () => { Atomics.add(workerData, 0, 1); response.end(); }));
    server.listen(0, "127.0.0.1", () => parentPort.postMessage(server.address().port));`;
  const thread = new Worker(code, { eval: true, workerData: received });
  onTestFinished(async () => void (await thread.terminate()));
  const [port] = (await once(thread, "message")) as [number];
  return { port, received };
}

async function start(text: string) {
  const told: string[] = [];
  const { url, prefix } = redis;
  const stop = await postInThread(
    {
      ...PLAIN,
      redis: { url, prefix, outbox: OUTBOX, startTimeoutMs: 2_000 },
      file: { file: fileOf(text), variables: { SECRET } },
    },
    {
      log: SILENT,
      count: (webhook, result) => told.push(`${webhook} ${result}`),
      show: (webhook, state) => told.push(`${webhook} is ${state === undefined ? "unknown" : "shown"}`),
      broke: () => told.push("broke"),
    },
  );
  return { told, stop };
}

async function ended(): Promise<void> {
  const life = aLife(redis.store, () => redis.newTaskId());
  const taskId = await life.parked([anAsk("size")]);
  await life.finish(taskId, await life.begin({ taskId, run: 2 }));
}

test("webhooks are posted to while this thread does nothing but work, and nothing is heard of them after the end", async () => {
  const { port, received } = await startReceiver();
  const { told, stop } = await start(
    `webhooks: { ops: { url: "http://127.0.0.1:${port}/", secret: "\${SECRET}", private: true, events: [task.ended] } }`,
  );
  await expect.poll(() => told).toContain("ops is shown");
  await expect.poll(async () => ((await redis.webhooks.load("ops")) as { place?: string }).place).toBeDefined();
  await ended();
  // The thread yields to everything else on the machine.
  const busyUntil = performance.now() + 30_000;
  while (Atomics.load(received, 0) === 0 && performance.now() < busyUntil);
  expect(Atomics.load(received, 0)).toBe(1);
  await expect.poll(() => told).toContain("ops delivered");
  await stop();
  expect(told.at(-1)).toBe("ops is unknown");
  expect(told).not.toContain("broke");
  await ended();
  await new Promise((resolve) => setTimeout(resolve, 700));
  expect(Atomics.load(received, 0)).toBe(1);
});

test("a subscription that is not renewed in time is recorded for auditors where calls are", async () => {
  const { url, prefix } = redis;
  const given = { ...PLAIN, redis: { url, prefix, outbox: OUTBOX, audit: true, auditLengthMax: 10 } };
  const stop = await postInThread(given, { log: SILENT, count: quiet, show: quiet, broke: quiet });
  onTestFinished(stop);
  const seal = depositSeal(await agreedSecrets(PLAIN.secrets, redis.secret));
  const about = { type: "ask.opened", arguments: {}, url: "http://127.0.0.1:1/hook", from: "0.0-0" };
  const caller = { principal: "ada", tenant: "acme", authenticatedBy: "token" } as unknown as Caller;
  const [madeAtMs, expiresAtMs] = [redis.now(), redis.now() + 4_000];
  const made: Subscription = { id: "sub_a", caller, ...about, madeAtMs, expiresAtMs, secrets: [] };
  await redis.subscriptions.sealedBy(subscriptionSeal(seal)).put(made, { own: 9, all: 9 }, madeAtMs);
  await expect
    .poll(async () => (await redis.audit.read(0, 0, 10)).map(({ fact }) => fact), { timeout: 20_000 })
    .toMatchObject([{ action: "unsubscribe", verdict: "expired", tenant: "acme" }]);
});

test("a file that is wrong is told as it is where it is read", async () => {
  await expect(start(`webhooks: { ops: { url: "http://127.0.0.1:1/", secret: short } }`)).rejects.toThrow(/ops\.secret.*must be whsec_/s);
});

test("a thread that cannot reach Redis says so where it is started, and none is left", async () => {
  const exits = vi.spyOn(Worker.prototype, "terminate");
  onTestFinished(() => exits.mockRestore());
  const given = { ...PLAIN, redis: { url: "redis://127.0.0.1:1", prefix: "p", outbox: OUTBOX, startTimeoutMs: 200 } };
  await expect(postInThread(given, { log: SILENT, count: quiet, show: quiet, broke: quiet })).rejects.toThrow();
  expect(exits).toHaveBeenCalledTimes(1);
});

/** As they do half a minute after the thread that holds them has ended. */
async function claimsRunOut(): Promise<void> {
  await redis.redis.del(...(await redis.redis.keys(`${redis.prefix}:claim:*`)));
}

/** The thread that runs now. */
function watchThreads(): { readonly newest: () => Worker; readonly count: () => number } {
  const listening = vi.spyOn(Worker.prototype, "on");
  onTestFinished(() => listening.mockRestore());
  const all = () => [...new Set(listening.mock.contexts as Worker[])];
  return { newest: () => all().at(-1) as Worker, count: () => all().length };
}

test("a thread that ends by a defect, again and again, is followed by another one, which posts; the worker can stop at any time", async () => {
  const { port, received } = await startReceiver();
  const threads = watchThreads();
  const { told, stop } = await start(
    `webhooks: { ops: { url: "http://127.0.0.1:${port}/", secret: "\${SECRET}", private: true, events: [task.ended] } }`,
  );
  await expect.poll(async () => ((await redis.webhooks.load("ops")) as { place?: string }).place, { timeout: 20_000 }).toBeDefined();
  const before = threads.count();
  for (let deaths = 1; deaths <= 2; deaths += 1) {
    const dying = threads.newest();
    // As Node.js tells of what nobody has caught there.
    dying.emit("error", new Error("a defect"));
    // oxlint-disable-next-line no-await-in-loop -- death after death
    await dying.terminate();
    // oxlint-disable-next-line no-await-in-loop -- death after death
    await expect.poll(() => threads.count(), { timeout: 20_000 }).toBe(before + deaths);
  }
  // The second one died before it could post, which is tried again as well.
  expect(told).toContain("broke");
  await ended();
  await claimsRunOut();
  await expect.poll(() => Atomics.load(received, 0), { timeout: 60_000 }).toBe(1);
  // While it waits to start another one.
  await threads.newest().terminate();
  await stop();
  const atEnd = threads.count();
  await new Promise((resolve) => setTimeout(resolve, 5_000));
  expect(threads.count()).toBe(atEnd);
}, 120_000);

test("a worker that stops while another thread starts does not wait for it", async () => {
  const threads = watchThreads();
  const { url, prefix } = redis;
  const given = { ...PLAIN, redis: { url, prefix, outbox: OUTBOX, startTimeoutMs: 60_000 } };
  const stop = await postInThread(given, { log: SILENT, count: quiet, show: quiet, broke: quiet });
  const before = threads.count();
  // Nobody answers there, so the next one starts for as long as it may.
  given.redis.url = "redis://127.0.0.1:1";
  await threads.newest().terminate();
  await expect.poll(() => threads.count(), { timeout: 20_000 }).toBe(before + 1);
  const startedMs = performance.now();
  await stop();
  expect(performance.now() - startedMs).toBeLessThan(20_000);
}, 120_000);

test("what was posted by a thread that is killed before it was answered is posted again, with the same id", async () => {
  const ids: string[] = [];
  let isHeld = true;
  const receiver = createServer((request, response) => {
    ids.push(String(request.headers["webhook-id"]));
    // The first one is never answered.
    if (!isHeld) response.end();
    isHeld = false;
    request.resume();
  });
  await new Promise<void>((listening) => receiver.listen(0, "127.0.0.1", listening));
  onTestFinished(() => {
    receiver.closeAllConnections();
    receiver.close();
  });
  const threads = watchThreads();
  const { port } = receiver.address() as AddressInfo;
  const { told, stop } = await start(
    `webhooks: { ops: { url: "http://127.0.0.1:${port}/", secret: "\${SECRET}", private: true, events: [task.ended] } }`,
  );
  await expect.poll(async () => ((await redis.webhooks.load("ops")) as { place?: string }).place, { timeout: 20_000 }).toBeDefined();
  await ended();
  await expect.poll(() => ids.length, { timeout: 20_000 }).toBe(1);
  await threads.newest().terminate();
  await claimsRunOut();
  await expect.poll(() => told, { timeout: 90_000 }).toContain("ops delivered");
  expect(ids).toEqual([ids[0], ids[0]]);
  await stop();
}, 150_000);
