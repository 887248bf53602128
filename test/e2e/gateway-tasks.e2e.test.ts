/** An upstream that answers calls with tasks of its own (2026-07-28): nothing is held for them, and any worker continues. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Client, createClient, type TaskState } from "../../bench/client.ts";
import { type Deployment, startDeployment } from "../support/deployment.ts";
import type { Launched } from "../support/processes.ts";
import { until } from "../support/until.ts";
import { marksIn, type RunningUpstream, startUpstream, writeUpstreams } from "../support/upstream.ts";

let directory: string;
let env: { readonly MARKS: string; readonly TASKS: string };
let upstream: RunningUpstream;
let stateless: RunningUpstream;
let deployment: Deployment;
let workers: Launched[];
let client: Client;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "parley-tasks-"));
  env = { MARKS: join(directory, "marks"), TASKS: join(directory, "tasks") };
  [upstream, stateless] = await Promise.all([startUpstream("tasks.ts", [], env), startUpstream("stateless.ts", ["0"], env)]);
  const file = await writeUpstreams(directory, [
    { name: "own", url: upstream.url },
    { name: "hasty", url: upstream.url, callTimeout: "1s", include: ["work"] },
    { name: "stateless", url: stateless.url },
  ]);
  deployment = await startDeployment({ frontEnds: 1, workers: 1, env: { PARLEY_UPSTREAMS: file } });
  workers = [...deployment.workers];
  client = createClient(deployment.url, 5);
  for (const tool of ["own_plain", "stateless_echo"]) {
    await until(async () => (await client.call(tool, { text: "hello" })).taskId);
  }
});

afterAll(async () => {
  client?.close();
  await deployment?.close();
  await Promise.all([upstream?.kill(), stateless?.kill()]);
  await rm(directory, { recursive: true });
});

const call = async (tool: string, text: string) => (await client.call(tool, { text })).taskId;
const ended = (taskId: string) =>
  until(
    async () => {
      const task = await client.get(taskId);
      return ["completed", "failed", "cancelled"].includes(task.status) && task;
    },
    { everyMs: 50 },
  );
const asked = (taskId: string, key: string) => until(async () => (await client.get(taskId)).inputRequests?.[key]);
const said = ({ result }: TaskState) => JSON.parse(result?.content?.[0]?.text ?? "null") as unknown;
const accept = (ok: boolean) => ({ action: "accept", content: { ok } });
const marked = async (line: string) => (await marksIn(env.MARKS)).filter((mark) => mark === line).length;

async function replaceWorkers(how: "kill" | "stop"): Promise<void> {
  await Promise.all(workers.splice(0).map((worker) => worker[how]()));
  workers.push(await deployment.addWorker());
}

describe("a task of an upstream", () => {
  test("is polled until it has ended, and its result is the call's; a plain result is accepted as well", async () => {
    expect(said(await ended(await call("own_work", "3")))).toEqual({ text: "3", answers: {} });
    expect(said(await ended(await call("own_plain", "at once")))).toEqual({ text: "at once", capable: true });
  });

  test("asks, and continues with the answers; killed workers and a restarted upstream change nothing", async () => {
    const taskId = await call("own_review", "plan");
    expect(await asked(taskId, "question-1")).toMatchObject({ params: { message: "own asks: first of plan?" } });
    await replaceWorkers("kill");
    await client.answer(taskId, { "question-1": accept(true) });
    expect(await asked(taskId, "question-2")).toMatchObject({ params: { message: "own asks: second of plan?" } });
    await upstream.kill();
    await client.answer(taskId, { "question-2": accept(false) });
    upstream = await startUpstream("tasks.ts", [String(upstream.port)], env);
    expect(said(await ended(taskId))).toEqual({ text: "plan", answers: { first: accept(true), second: accept(false) } });
    expect(await marked("called review plan")).toBe(1);
    expect(await marked("answered first plan")).toBe(1);
    expect(await marked("answered second plan")).toBe(1);
  });

  test("that fails, or is cancelled at the upstream, fails the call with the upstream's message", async () => {
    expect(await ended(await call("own_break", "x"))).toMatchObject({
      status: "failed",
      error: { code: -32099, message: "it broke", data: { part: "axle" } },
    });
    expect(await ended(await call("own_drop", "x"))).toMatchObject({
      status: "failed",
      error: { code: -32000, message: expect.stringContaining("cancelled") },
    });
  });

  test("shows its status message as that of the call's task", async () => {
    const taskId = await call("own_work", "2000000");
    await until(async () => (await client.get(taskId)).statusMessage === "Working on 2000000");
    await client.cancel(taskId);
  });

  test("is cancelled with its call", async () => {
    const taskId = await call("own_review", "unwanted");
    await asked(taskId, "question-1");
    await client.cancel(taskId);
    await until(async () => (await marked("cancelled review unwanted")) === 1);
  });

  test("that neither asks nor ends in time is given up", async () => {
    expect(await ended(await call("hasty_work", "1000000"))).toMatchObject({
      status: "failed",
      error: { data: { code: "UPSTREAM_TIMEOUT" } },
    });
    await until(async () => (await marked("cancelled work 1000000")) === 1);
  });
});

test("a worker that stops leaves the questions of upstreams that hold nothing open", async () => {
  const taskIds = [await call("own_review", "kept"), await call("stateless_deploy", "kept")];
  for (const taskId of taskIds) await asked(taskId, "question-1");
  await replaceWorkers("stop");
  for (const taskId of taskIds) {
    expect(await client.get(taskId)).toMatchObject({ status: "input_required" });
    await client.answer(taskId, { "question-1": accept(true) });
  }
  expect(said(await ended(taskIds[1]!))).toMatchObject({ said: "kept", content: { ok: true } });
  expect(await asked(taskIds[0]!, "question-2")).toMatchObject({ params: { message: "own asks: second of kept?" } });
  expect(await marked("cancelled review kept")).toBe(0);
});
