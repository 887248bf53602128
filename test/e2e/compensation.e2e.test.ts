/** A saga on real processes: what was booked is released even if any process dies, and no client waits for it. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Client, createClient, message } from "../../bench/client.ts";
import { type Deployment, startDeployment } from "../support/deployment.ts";
import { until } from "../support/until.ts";

let deployment: Deployment;
let client: Client;
let directory: string;
const lines = async () =>
  (await readFile(join(directory, "log"), "utf8").catch(() => ""))
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => line.split(" "));
const words = async (verb: string) => (await lines()).filter(([first]) => first === verb);

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "parley-saga-"));
  deployment = await startDeployment({
    frontEnds: 1,
    workers: 1,
    tools: [join(import.meta.dirname, "tools/saga.ts")],
    workerEnv: { PARLEY_LEASE: "2s", PARLEY_RENEW_EVERY: "500ms", SAGA_LOG: join(directory, "log"), SAGA_GO: join(directory, "go") },
  });
  client = createClient(deployment.url, 4);
});

afterAll(async () => {
  client.close();
  await deployment.close();
  await rm(directory, { recursive: true });
});

test("a cancelled task is undone from its last step to its first, also by the worker that takes over from a killed one", async () => {
  const { taskId } = await client.call("saga", {});
  await until(async () => (await client.get(taskId)).status === "input_required");
  const { headers, body } = message("tasks/cancel", { taskId }, taskId);
  await fetch(deployment.url, { method: "POST", headers, body });
  expect((await client.get(taskId)).status).toBe("cancelled");

  await until(async () => (await words("release")).some(([, what]) => what === "hotel"));
  await deployment.workers[0]?.kill();
  await writeFile(join(directory, "go"), "");
  await deployment.addWorker();
  await until(async () => (await words("over")).length === 1, { everyMs: 50 });

  const released = await words("release");
  // What the dead worker was at is done again, by the same key; what it had recorded is not.
  expect([...new Set(released.map(([, what, key]) => `${what} ${key}`))]).toEqual(
    ["car", "hotel", "flight"].map((what) => `${what} ${taskId}.compensation:/${what}`),
  );
  expect(released.filter(([, what]) => what !== "hotel")).toHaveLength(2);
  expect((await client.get(taskId)).status).toBe("cancelled");
  const keys = await deployment.redis.keys();
  // No key is left that would never expire.
  for (const key of keys.filter((each) => each.includes(taskId)))
    expect([key, await deployment.redis.redis.pttl(key)]).not.toEqual([key, -1]);
});
