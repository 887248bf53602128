/** A worker is told to end while a run is in progress. */
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Client, createClient } from "../../bench/client.ts";
import { startProxy } from "../contract/proxy.ts";
import { type Deployment, startDeployment } from "../support/deployment.ts";
import { IN_TIME } from "../support/in-time.ts";
import { startWorkerProcess } from "../support/processes.ts";
import { until } from "../support/until.ts";

let deployment: Deployment;
let client: Client;

beforeAll(async () => {
  deployment = await startDeployment({
    frontEnds: 1,
    workers: 0,
    tools: [join(import.meta.dirname, "tools/busy.ts")],
    workerEnv: { PARLEY_DRAIN_TIMEOUT: "3s", PARLEY_LEASE: "3s", PARLEY_RENEW_EVERY: "1s" },
  });
  client = createClient(deployment.url, 4);
});

afterAll(async () => {
  client.close();
  await deployment.close();
});

test("waits for its runs as long as the settings say, and leaves longer ones to another", async () => {
  const leaving = await deployment.addWorker();
  const { taskId: long } = await client.call("busy", { ms: 15_000 });
  await until(async () => (await client.get(long)).statusMessage === "busy");
  const { taskId: short } = await client.call("busy", { ms: 600 });
  // On a busy machine, it may have ended before anybody has looked.
  await until(async () => {
    const { status, statusMessage } = await client.get(short);
    return statusMessage === "busy" || status === "completed";
  });

  // Not all had ended: the exit code says so.
  expect(await leaving.stop()).toBe(1);
  expect(leaving.logs.at(-1)).toMatchObject({ msg: "worker stopped with active runs, other workers take them over", runs: 1 });

  expect((await client.get(short)).status).toBe("completed");
  expect((await client.get(long)).status).toBe("working");
  const next = await deployment.addWorker();
  await until(async () => (await client.get(long)).status === "completed", { everyMs: 50 });
  expect(await next.stop()).toBe(0);
});

test("leaves a step that came to its result all the same, with the answer that it followed from", async () => {
  const leaving = await deployment.addWorker();
  const { taskId } = await client.call("finish_up", {});
  await until(async () => (await client.get(taskId)).status === "input_required");
  await client.answer(taskId, { name: { action: "accept", content: { name: "Ada" } } });
  await until(async () => (await client.get(taskId)).statusMessage === "busy");
  expect(await leaving.stop()).toBe(0);
  await deployment.addWorker();
  const { result } = await until(async () => {
    const task = await client.get(taskId);
    return task.status !== "working" && task;
  });
  expect(result?.content?.[0]?.text).toBe("done for Ada, all the same");
});

test("ends in time although Redis is frozen, and does not report runs that it does not have", IN_TIME, async () => {
  const { redis } = deployment;
  const url = new URL(redis.url);
  const proxy = await startProxy(Number(url.port));
  url.port = String(proxy.port);
  const leaving = await startWorkerProcess({
    REDIS_URL: url.href,
    PARLEY_PREFIX: redis.prefix,
    PARLEY_TOOLS: join(import.meta.dirname, "tools/busy.ts"),
    PARLEY_DRAIN_TIMEOUT: "3s",
  });
  proxy.freeze();
  const startedMs = Date.now();
  expect(await leaving.stop()).toBe(1);
  expect(Date.now() - startedMs).toBeLessThan(10_000);
  expect(leaving.logs.at(-1)?.msg).toBe("worker stopped without active runs, but Redis or an upstream did not respond in time");
  proxy.close();
});
