/** A deployment that seals content: two front ends, two workers, and keys that are rotated, lost and erased while tasks wait. */
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createClient, type TaskState } from "../../bench/client.ts";
import { aContentKey } from "../contract/content-keys.ts";
import { type FrontEnd, type Launched, startFrontEnd, startWorkerProcess } from "../support/processes.ts";
import { openTestRedis, type TestRedis } from "../support/redis.ts";
import { until } from "../support/until.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const MARKER = "MARKER-of-a-person";
const [older, newer] = [aContentKey(), aContentKey()];

let redis: TestRedis;
let folder: string;
let env: Record<string, string>;
let frontEnds: FrontEnd[] = [];
let workers: Launched[] = [];

async function start(contentKeys: string): Promise<void> {
  const sealing = { ...env, PARLEY_CONTENT_KEYS: contentKeys };
  frontEnds = await Promise.all([0, 1].map(() => startFrontEnd(sealing)));
  workers = await Promise.all([0, 1].map(() => startWorkerProcess(sealing)));
}

async function stop(): Promise<void> {
  await Promise.all([...frontEnds, ...workers].map((each) => each.kill()));
}

beforeAll(async () => {
  redis = openTestRedis();
  folder = await mkdtemp(join(tmpdir(), "parley-sealed-"));
  env = { REDIS_URL: redis.url, PARLEY_PREFIX: redis.prefix, PARLEY_TOOLS: join(import.meta.dirname, "tools/greet.ts") };
  await start(older);
});

afterAll(async () => {
  await stop();
  await redis.close();
  await rm(folder, { recursive: true });
});

/** The front end of that number, for one request. */
async function at<T>(index: number, ask: (client: ReturnType<typeof createClient>) => Promise<T>): Promise<T> {
  const client = createClient(`${frontEnds[index]?.url}/mcp`, 1);
  try {
    return await ask(client);
  } finally {
    client.close();
  }
}

async function reaches(taskId: string, status: string): Promise<TaskState> {
  return await until(async () => {
    const task = await at(1, (client) => client.get(taskId));
    return task.status === status ? task : undefined;
  });
}

async function waiting(): Promise<string> {
  const { taskId } = await at(0, (client) => client.call("greet", { greeting: `${MARKER}-greeting` }));
  await reaches(taskId, "input_required");
  return taskId;
}

const answer = (index: number, taskId: string) =>
  at(index, (client) => client.answer(taskId, { name: { action: "accept", content: { name: `${MARKER}-name` } } }));

async function parley(contentKeys: string, ...command: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, ["apps/cli/main.ts", "content", ...command], {
    cwd: ROOT,
    env: { ...process.env, ...env, PARLEY_CONTENT_KEYS: contentKeys },
  });
  return stdout;
}

const logs = () => JSON.stringify([...frontEnds, ...workers].flatMap((each) => each.logs));

describe("a deployment that seals content", () => {
  test("keeps its tasks while keys are rotated and every process starts again with the new ring alone", async () => {
    const [before, after] = [await waiting(), await waiting()];
    expect(await answer(1, before)).toMatchObject({ _meta: { "parley/receipts": { name: "accepted" } } });
    const done = await reaches(before, "completed");
    expect(done.result?.content?.[0]?.text).toBe(`${MARKER}-greeting, ${MARKER}-name!`);

    expect(await parley(`${newer},${older}`, "rotate", "--data-keys")).toBe(
      "1 data key wrapped by the first key of the ring, 0 were already\nnew data keys for 1 tenant; all processes use them within 10 seconds\n",
    );
    await stop();
    await start(newer);

    expect((await reaches(before, "completed")).result).toEqual(done.result);
    const fresh = await waiting();
    expect(fresh.slice(0, 6)).not.toBe(after.slice(0, 6));
    for (const taskId of [after, fresh]) {
      await answer(0, taskId);
      expect((await reaches(taskId, "completed")).result).toEqual(done.result);
    }
    const keys = await redis.keys();
    const dumped = await Promise.all(keys.map((key) => redis.redis.dumpBuffer(key)));
    expect(keys.length).toBeGreaterThan(6);
    expect(dumped.map((bytes) => bytes?.toString("latin1")).join()).not.toContain(MARKER);
    expect(logs()).not.toContain(MARKER);
  });

  test("reports to the owner of a task that its key is missing, lets the task wait, and continues without a restart", async () => {
    const ring = join(folder, "ring");
    await writeFile(ring, older);
    const taskId = await waiting();
    const lacking = await startFrontEnd({ ...env, PARLEY_CONTENT_RING: ring });
    const idle = workers;
    await Promise.all(idle.map((each) => each.kill()));
    workers = [await startWorkerProcess({ ...env, PARLEY_CONTENT_RING: ring })];

    await expect(ask(lacking, taskId)).resolves.toMatchObject({
      status: 503,
      body: {
        error: { code: -32603, message: `the content of the task ${taskId} cannot be read now`, data: { code: "CONTENT_KEY_MISSING" } },
      },
    });
    expect(await ask(lacking, `0-${"A".repeat(22)}`)).toMatchObject({ status: 200, body: { error: { data: { code: "TASK_NOT_FOUND" } } } });
    await answer(0, taskId);
    await until(() =>
      workers[0]?.logs.some(({ msg, taskId: of }) => msg === "no key for the task's content, run delayed" && of === taskId),
    );
    expect(await at(0, (client) => client.get(taskId))).toMatchObject({ status: "working" });

    await writeFile(ring, `${older}\n${newer}`);
    expect(await reachesSoon(taskId)).toMatchObject({ status: "completed" });
    expect(await ask(lacking, taskId)).toMatchObject({ status: 200, body: { result: { status: "completed" } } });
    await lacking.kill();
  });

  test("erases a tenant: its waiting tasks end, nothing of it is read, and new tasks work", async () => {
    const taskId = await waiting();
    expect(await parley(newer, "erase-tenant", "default", "--yes")).toMatch(
      /^\d data keys of "default" erased; 1 waiting task ends now\n$/,
    );
    await until(async () => (await redis.redis.zscore(`${redis.prefix}:{p0}:due`, taskId)) === null);
    await expect(at(0, (client) => client.get(taskId))).rejects.toThrow(/was erased/);
    const anew = await waiting();
    await answer(1, anew);
    await reaches(anew, "completed");
    expect(workers.flatMap((each) => each.logs).some(({ msg }) => msg === "job failed")).toBe(false);
  });
});

/** A task that was put off comes up again within some seconds. */
async function reachesSoon(taskId: string): Promise<TaskState> {
  return await until(async () => {
    const task = await at(0, (client) => client.get(taskId));
    return task.status === "completed" ? task : undefined;
  });
}

async function ask({ url }: FrontEnd, taskId: string): Promise<{ status: number; body: unknown }> {
  const headers = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tasks/get",
    "mcp-name": taskId,
  };
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": { extensions: { "io.modelcontextprotocol/tasks": {} } },
  };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tasks/get", params: { taskId, _meta } });
  const response = await fetch(`${url}/mcp`, { method: "POST", headers, body });
  return { status: response.status, body: await response.json() };
}
